// SPDX-License-Identifier: Apache-2.0
// The examples of docs/plug-in.md, and that the page shows them word for word.
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>
#include <catch2/catch.hpp>

#include <cstring>
#include <fstream>
#include <sstream>
#include <systemc>
#include <tlm>
#include <vector>

#include "models/tlm/from_base.hpp"
#include "models/tlm/to_base.hpp"
#include "tests/support/source_tree.hpp"

namespace {

// A memory of 1 MiB that takes 80 ns.
class Scratchpad : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Scratchpad> socket{"socket"};

  explicit Scratchpad(sc_core::sc_module_name name) : sc_module(name), bytes_(1 << 20) {
    socket.register_b_transport(this, &Scratchpad::b_transport);
  }

 private:
  void b_transport(tlm::tlm_generic_payload& access, sc_core::sc_time& delay) {
    wait(delay + sc_core::sc_time(80, sc_core::SC_NS));
    delay = sc_core::SC_ZERO_TIME;
    if (access.get_address() + access.get_data_length() > bytes_.size()) {
      access.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      return;
    }
    unsigned char* here = &bytes_[access.get_address()];
    if (access.is_write()) {
      std::memcpy(here, access.get_data_ptr(), access.get_data_length());
    } else {
      std::memcpy(access.get_data_ptr(), here, access.get_data_length());
    }
    access.set_response_status(tlm::TLM_OK_RESPONSE);
  }

  std::vector<unsigned char> bytes_;
};

// Reads 1 KiB, adds one to each byte, and writes them back.
class Incrementer : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Incrementer> socket{"socket"};
  sc_core::sc_time read_done, write_done;

  explicit Incrementer(sc_core::sc_module_name name) : sc_module(name) {
    sc_core::sc_spawn([this] { run(); }, "run");
  }

 private:
  void run() {
    std::vector<unsigned char> bytes(1024);
    access(tlm::TLM_READ_COMMAND, 0x10000, bytes);
    read_done = sc_core::sc_time_stamp();
    for (unsigned char& byte : bytes) ++byte;
    access(tlm::TLM_WRITE_COMMAND, 0x10000, bytes);
    write_done = sc_core::sc_time_stamp();
  }
  void access(tlm::tlm_command command, std::uint64_t address, std::vector<unsigned char>& bytes) {
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(bytes.data());
    payload.set_data_length(static_cast<unsigned>(bytes.size()));
    payload.set_streaming_width(static_cast<unsigned>(bytes.size()));
    sc_core::sc_time delay;
    socket->b_transport(payload, delay);
    if (delay > sc_core::SC_ZERO_TIME) wait(delay);
    if (payload.is_response_error()) SC_REPORT_ERROR("Incrementer", payload.get_response_string().c_str());
  }
};

using namespace faultline;
using namespace std::chrono_literals;

struct Machine {
  sim::PayloadPool payloads;  // outlives whoever may keep one
  sim::Statistics statistics;
  sim::Trace trace;
  sim::EventLoop loop{"loop"};
  sim::Context context{0, loop, payloads, statistics, trace, 1};

  Incrementer accelerator{"accelerator"};
  adapters::FromBase<> from_accelerator{"from_accelerator", {.master_id = 5, .outstanding_reads = 2}, context};
  adapters::ToBase<> to_memory{"to_memory", {.calls = adapters::ToBaseConfig::Calls::blocking}, context};
  Scratchpad memory{"memory"};

  Machine() {
    accelerator.socket.bind(from_accelerator.in);
    from_accelerator.reads.bind(to_memory.in);
    from_accelerator.writes.bind(to_memory.in);
    to_memory.out.bind(memory.socket);
  }
};

// Without the spaces before each line.
std::string flat(std::istream& text) {
  std::string all;
  for (std::string line; std::getline(text, line);) {
    all += line.substr(std::min(line.find_first_not_of(' '), line.size())) + "\n";
  }
  return all;
}

}  // namespace

TEST_CASE("an accelerator and a memory are plugged in") {
  Machine machine;
  machine.loop.run(10us);
  // Four bursts of 256 B: two at a time are read, all are written at once.
  CHECK(machine.accelerator.read_done == sc_core::sc_time(160, sc_core::SC_NS));
  CHECK(machine.accelerator.write_done == sc_core::sc_time(240, sc_core::SC_NS));
}

TEST_CASE("docs/plug-in.md shows what is compiled here") {
  std::ifstream here(test::source_tree() / "tests/tlm/plug_in.cpp");
  std::ifstream page(test::source_tree() / "docs/plug-in.md");
  const std::string compiled = flat(here);
  unsigned blocks = 0;
  for (std::string line; std::getline(page, line);) {
    if (line != "```cpp") continue;
    std::stringstream block;
    while (std::getline(page, line) && line != "```") block << line << "\n";
    ++blocks;
    const std::string shown = flat(block);
    INFO("not in this test:\n" << shown);
    CHECK(compiled.find(shown) != std::string::npos);
  }
  CHECK(blocks >= 3);
}
