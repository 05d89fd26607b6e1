// SPDX-License-Identifier: Apache-2.0
// Whole numbers, as options and variables of the environment have them.
#include <catch2/catch.hpp>

#include "src/experiment/quantity.hpp"

using namespace faultline::experiment;

TEST_CASE("a whole number is digits and nothing else") {
  CHECK(whole("0") == 0u);
  CHECK(whole("0042") == 42u);
  CHECK(whole("18446744073709551615") == UINT64_MAX);
  for (const char* text : {"", " 1", "1 ", "+1", "-1", "1.0", "1e3", "0x10", "18446744073709551616", "many"}) {
    INFO(text);
    CHECK_FALSE(whole(text));
  }
}
