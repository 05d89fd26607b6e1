// SPDX-License-Identifier: Apache-2.0
// Entry point of every test program. SystemC owns main(), so Catch2 runs inside sc_main().
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <systemc>

int sc_main(int argc, char* argv[]) {
  // A SystemC warning is a fault of the model (style: VCML), so it throws and fails the test.
  sc_core::sc_report_handler::set_actions(sc_core::SC_WARNING, sc_core::SC_THROW);
  return Catch::Session().run(argc, argv);
}
