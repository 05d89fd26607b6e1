// SPDX-License-Identifier: Apache-2.0
#include "models/soc/mmio_bus.hpp"

#include <tlm_utils/simple_target_socket.h>
#include <catch2/catch.hpp>

using namespace faultline;

namespace {

struct Core : sc_core::sc_module {
  explicit Core(sc_core::sc_module_name name) : sc_module(name) {}
  tlm_utils::simple_initiator_socket<Core> bus{"bus"};

  tlm::tlm_response_status access(tlm::tlm_command command, std::uint64_t address, std::uint64_t& word,
                                  unsigned length = 8) {
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(reinterpret_cast<unsigned char*>(&word));
    payload.set_data_length(length);
    payload.set_streaming_width(length);
    sc_core::sc_time delay;
    bus->b_transport(payload, delay);
    CHECK(delay == sc_core::SC_ZERO_TIME);
    CHECK(payload.get_address() == address);
    return payload.get_response_status();
  }
  tlm::tlm_response_status read(std::uint64_t address, unsigned length = 8) {
    return access(tlm::TLM_READ_COMMAND, address, value, length);
  }
  std::uint64_t value = 0;
};

// Reads return the offset plus a mark; writes keep their value.
struct Device : sc_core::sc_module {
  Device(sc_core::sc_module_name name, std::uint64_t mark_) : sc_module(name), mark(mark_) {
    registers.register_b_transport(this, &Device::b_transport);
  }
  tlm_utils::simple_target_socket<Device> registers{"registers"};
  std::uint64_t mark;
  std::uint64_t written = 0;

  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
    auto& word = *reinterpret_cast<std::uint64_t*>(payload.get_data_ptr());
    if (payload.is_read()) {
      word = mark + payload.get_address();
    } else {
      written = word;
    }
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
};

struct Bench {
  sim::EventLoop loop{"loop"};
  sim::PayloadPool pool;
  sim::Statistics statistics;
  sim::Trace trace;
  sim::Context context{0, loop, pool, statistics, trace, 1};
  soc::MmioBus bus{"bus", context};
};

}  // namespace

TEST_CASE("register accesses reach the device whose range holds them") {
  Bench b;
  Core a53("a53"), r5("r5");
  Device smmu("smmu", 0x1'0000'0000), dma("dma", 0x2'0000'0000), top("top", 0x3'0000'0000);
  a53.bus.bind(b.bus.cpu);
  r5.bus.bind(b.bus.cpu);
  // Out of order, adjacent, and up to the end of the address space.
  b.bus.map(0xfd80'1000, 0x1000, "dma").bind(dma.registers);
  b.bus.map(0xfd80'0000, 0x1000, "smmu").bind(smmu.registers);
  b.bus.map(UINT64_MAX - 0xfff, 0x1000, "top").bind(top.registers);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);

  for (Core* core : {&a53, &r5}) {
    CHECK(core->read(0xfd80'0000) == tlm::TLM_OK_RESPONSE);
    CHECK(core->value == 0x1'0000'0000);
    CHECK(core->read(0xfd80'0ff8) == tlm::TLM_OK_RESPONSE);
    CHECK(core->value == 0x1'0000'0ff8);
    CHECK(core->read(0xfd80'1000) == tlm::TLM_OK_RESPONSE);
    CHECK(core->value == 0x2'0000'0000);
    CHECK(core->read(UINT64_MAX - 7) == tlm::TLM_OK_RESPONSE);
    CHECK(core->value == 0x3'0000'0ff8);
  }
  std::uint64_t word = 42;
  CHECK(r5.access(tlm::TLM_WRITE_COMMAND, 0xfd80'1008, word) == tlm::TLM_OK_RESPONSE);
  CHECK(dma.written == 42);
  CHECK(b.statistics.value("mmio.decode_errors") == 0);
}

TEST_CASE("the last byte of a range belongs to it and the next one does not") {
  Bench b;
  Core core("core");
  Device device("device", 0);
  core.bus.bind(b.bus.cpu);
  b.bus.map(0x1000, 0x100, "device").bind(device.registers);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  CHECK(core.read(0x10ff, 1) == tlm::TLM_OK_RESPONSE);
  CHECK(core.read(0x10f8, 8) == tlm::TLM_OK_RESPONSE);
  CHECK(core.read(0x1100, 1) == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(core.read(0x10f9, 8) == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(core.read(0x0fff, 1) == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(core.read(UINT64_MAX, 8) == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(core.read(0x1000, 0) == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(b.statistics.value("mmio.decode_errors") == 5);
}

TEST_CASE("ranges that overlap, are empty or wrap are refused") {
  Bench b;
  b.bus.map(0x1000, 0x1000, "first");
  CHECK_THROWS_AS(b.bus.map(0x1fff, 1, "last_byte"), std::logic_error);
  CHECK_THROWS_AS(b.bus.map(0x0, 0x1001, "from_below"), std::logic_error);
  CHECK_THROWS_AS(b.bus.map(0x0, 0x10000, "around"), std::logic_error);
  CHECK_THROWS_AS(b.bus.map(0x1800, 0x10, "inside"), std::logic_error);
  CHECK_THROWS_AS(b.bus.map(0x5000, 0, "empty"), std::logic_error);
  CHECK_THROWS_AS(b.bus.map(UINT64_MAX, 2, "wraps"), std::logic_error);
  CHECK_NOTHROW(b.bus.map(0x2000, 0x1000, "after"));
  CHECK_NOTHROW(b.bus.map(0x0, 0x1000, "before"));
}
