// SPDX-License-Identifier: Apache-2.0
// A node as the library of a process sees it: cores, memory, a kernel, and in the place of the DMA engine
// and of the SMMU a register file that keeps every access. No configured cost is a sum of others, so that
// a cost charged twice, or in another's place, shows.
#pragma once

#include <tlm_utils/simple_target_socket.h>
#include <catch2/catch.hpp>

#include <cstring>
#include <map>
#include <ostream>
#include <utility>
#include <vector>

#include "models/cpu/interrupt_controller.hpp"
#include "models/drivers/exanest/fault_service.hpp"
#include "models/drivers/exanest/library.hpp"
#include "models/drivers/library/event_service.hpp"
#include "models/nic/exanest/registers.hpp"
#include "models/nic/path/event_source.hpp"
#include "models/soc/ddr.hpp"
#include "tests/support/memory_master.hpp"
#include "tests/support/node.hpp"
#include "tests/support/stream_of.hpp"

namespace faultline::test {

using namespace std::chrono_literals;
using os::Error;
using os::kPage;
using sim::Task;
using sim::Time;
namespace reg = exanest::reg;

// Bus addresses, and the process's channel.
inline constexpr std::uint64_t kEngine = 0xa000'0000;
inline constexpr std::uint64_t kSmmu = 0xfd80'0000;
inline constexpr unsigned kChannels = 4;
inline constexpr unsigned kChannel = 2;
inline constexpr std::uint64_t kRegisters = kEngine + kChannel * reg::kChannelStride;
inline constexpr std::uint64_t kPrivileged = kEngine + kChannels * reg::kChannelStride;

struct Access {
  Time at;
  std::uint64_t address;
  std::uint64_t value;  // written, or read
  bool write = true;
  bool operator==(const Access&) const = default;
};
using Accesses = std::vector<Access>;
inline std::ostream& operator<<(std::ostream& out, const Access& a) {
  return out << std::dec << a.at.count() << " ps: " << (a.write ? "write " : "read ") << std::hex << a.address << " = "
             << a.value;
}

// Registers keep what is written. Of the engine's behaviour only this: a command is given the next
// transfer's id, or 0 when it is refused, and kStatus shows it.
class RegisterFile : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<RegisterFile> socket{"socket"};
  Accesses accesses;
  std::map<std::uint64_t, std::uint64_t> values;
  std::uint64_t next_transfer = 100;
  bool refuse = false;

  RegisterFile(sc_core::sc_module_name name, const sim::Context& context) : sc_module(name), context_(context) {
    socket.register_b_transport(this, &RegisterFile::access);
  }
  Accesses taken() { return std::exchange(accesses, {}); }

 private:
  void access(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
    const std::uint64_t at = payload.get_address();
    std::uint64_t value = 0;
    if (payload.is_read()) {
      value = values[at];
      std::memcpy(payload.get_data_ptr(), &value, payload.get_data_length());
    } else {
      std::memcpy(&value, payload.get_data_ptr(), payload.get_data_length());
      values[at] = value;
      if (at == kRegisters + reg::kCommand) values[kRegisters + reg::kStatus] = refuse ? 0 : next_transfer++;
    }
    accesses.push_back({context_.now(), at, value, payload.is_write()});
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  const sim::Context& context_;
};

struct RdmaConfig {
  RdmaConfig() {
    cpu.context_switch = Time{3'501'003};
    cpu.poll_latency = Time{145'007};
    cpu.mmio_read = Time{150'011};
    cpu.mmio_write = Time{60'013};
    library.post = Time{931'017};
    library.completion = Time{353'019};
    library.message_send = Time{161'023};
    library.message_receive = Time{151'029};
    library.parse_fault = Time{1'009'031};
    library.post_retry = Time{587'037};
    driver.netlink_receive = Time{5'503'041};
    driver.resume_call = Time{503'043};
    os.syscall = Time{501'047};
    os.resident_touch = Time{145'053};
    os.anon_minor_fault = Time{1'703'059};
    os.fault_no_alloc = Time{1'207'061};
    os.gup_per_page = Time{301'067};
    os.pin_fixed = Time{2'011'071};
    os.unpin_per_page = Time{80'073};
    os.mlock_fixed = Time{2'503'079};
    os.mlock_per_page = Time{353'083};
    os.munlock_per_page = Time{307'089};
    os.private_map_per_page = Time{101'097};
    os.kernel_reserved = std::uint64_t{2} << 20;
  }
  cpu::CpuConfig cpu;
  os::OsConfig os;
  mmu500::DriverConfig smmu_driver;
  exanest::DriverConfig driver;
  exanest::LibraryConfig library;
  std::uint64_t memory = std::uint64_t{16} << 20;
};

// How an operation ended; at kNever: not yet.
template <typename T>
struct Timed {
  T value{};
  Time began = sim::kNever;
  Time ended = sim::kNever;
  Time took() const { return ended - began; }
};

// Event counters that a test sets.
struct Events : exanest::EventSource {
  void watch_events(std::uint32_t, sim::Signal& signal) override { counted = &signal; }
  std::uint64_t event_counter(std::uint32_t, unsigned index) const override { return counters.at(index); }
  std::uint64_t event_counter_mask() const override { return UINT32_MAX; }
  void count(unsigned index) {
    ++counters.at(index);
    if (counted != nullptr) counted->notify_all();
  }

  std::array<std::uint64_t, exanest::reg::kEventCounters> counters{};
  sim::Signal* counted = nullptr;
};

struct RdmaBench : sim::StepListener {
  explicit RdmaBench(const RdmaConfig& wanted = {}) : config(wanted), ddr_config{.size = wanted.memory} {
    cpu.memory.bind(ddr.port);
    master.socket.bind(ddr.port);
    cpu.mmio.bind(registers.socket);
    node.trace.listen(*this);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);  // elaborates
  }

  // Starts an operation on a thread, from when that has a core on; `result` must live until it ends.
  template <typename T>
  void start(cpu::Execution& on, Task<T> operation, Timed<T>& result) {
    tasks.start(measure(*this, on, std::move(operation), result));
  }
  void start(cpu::Execution& on, Task<void> operation, Timed<bool>& result) {
    start(on, finished(std::move(operation)), result);
  }
  // Runs one to its end.
  template <typename T>
  Timed<T> run(Task<T> operation) {
    Timed<T> result;
    start(thread, std::move(operation), result);
    settle();
    REQUIRE(result.ended != sim::kNever);
    return result;
  }
  Timed<bool> run(Task<void> operation) { return run(finished(std::move(operation))); }
  // Until nothing more happens.
  static void settle() { sc_core::sc_start(); }

  // A device stores words to memory of the process, announced now; the instant at which they are there.
  Time device_stores(std::uint64_t va, const std::vector<std::uint64_t>& words, Time arrives) {
    sim::Content content;
    for (const std::uint64_t word : words) content.append(sim::Content::literal(word, 8));
    const auto physical = process.page_table().translate(va);
    REQUIRE(physical);
    master.write(*physical, sim::TimeSequence::single(arrives), content.size(), content);
    return arrives + ddr.service(content.size());
  }

  // Memory of the process, behind all that it has mapped.
  std::uint64_t map(std::uint64_t pages) {
    const auto mapped = vm.map(process, pages * kPage);
    REQUIRE(mapped.ok());
    return mapped.value;
  }
  const os::PageState* page(std::uint64_t va) const { return std::as_const(process).space().page(va); }
  // A character a page: - absent, c present and clean, d present and dirty.
  std::string pages(std::uint64_t va, std::uint64_t count) const {
    std::string states;
    for (; count > 0; --count, va += kPage) states += page(va) == nullptr ? '-' : page(va)->dirty ? 'd' : 'c';
    return states;
  }
  // How often each present page is pinned, a digit a page.
  std::string pins(std::uint64_t va, std::uint64_t count) const {
    std::string digits;
    for (; count > 0; --count, va += kPage) {
      digits += page(va) == nullptr ? "-" : std::to_string(vm.frame_record(page(va)->frame).pins);
    }
    return digits;
  }
  // Uses up memory until so many frames are free.
  void leave_free(std::uint64_t frames) {
    const std::uint64_t filler = map(vm.frames().free_pages());
    for (std::uint64_t va = filler; vm.frames().free_pages() > frames; va += kPage) {
      vm.make_present(process, va, kPage);
    }
    REQUIRE(vm.frames().free_pages() == frames);
  }

  std::vector<Time> at(sim::Step step) const {
    std::vector<Time> instants;
    for (const sim::StepRecord& record : steps) {
      if (record.step == step) instants.push_back(record.at);
    }
    return instants;
  }
  void on_step(const sim::StepRecord& record) override { steps.push_back(record); }

  Time cold_page() const { return config.os.anon_minor_fault + config.os.zero_bandwidth.time_for(kPage); }
  std::uint64_t counted(std::string_view name) const { return node.counted(name); }

  Node node;
  RdmaConfig config;
  soc::DdrConfig ddr_config;
  cpu::Cpu cpu{"cpu", config.cpu, node.context};
  soc::DdrController ddr{"ddr", ddr_config, node.context};
  RegisterFile registers{"registers", node.context};
  MemoryMaster master{"master", node.context};
  cpu::InterruptController interrupts{"interrupts", cpu, node.context};
  os::Vm vm{config.os, node.context, ddr.frames(), cpu};
  mmu500::SmmuDriver driver{config.smmu_driver, node.context, cpu, kSmmu, 4, os::VaBits::bits39, nullptr, false};
  exanest::FaultLog fault_log{node.context, vm};
  exanest::FaultService faults{config.driver, node.context, cpu, interrupts, 0, driver, fault_log, kPrivileged};
  library::EventService events{config.driver, node.context, cpu, kPrivileged};
  Events event_counters;
  os::Process& process = *vm.create_process("process");
  exanest::Library library{config.library, node.context, cpu, vm, process, ddr, kEngine, kChannel};
  cpu::Execution& thread = cpu.new_thread("thread", 1);
  cpu::Execution& other_thread = cpu.new_thread("other thread", 2);
  std::vector<sim::StepRecord> steps;
  sim::TaskGroup tasks;

 private:
  template <typename T>
  static Task<void> measure(RdmaBench& b, cpu::Execution& on, Task<T> operation, Timed<T>& result) {
    co_await b.cpu.run(on, cpu::Work::user, Time{0});
    result.began = b.node.now();
    result.value = co_await operation;
    result.ended = b.node.now();
  }
  static Task<bool> finished(Task<void> operation) {
    co_await operation;
    co_return true;
  }
};

// The next message, whose slot is given back.
inline Task<rdma::Message> receive(exanest::Library& library, cpu::Execution& thread) {
  const rdma::Message message = co_await library.take(thread);
  co_await library.give_back(thread);
  co_return message;
}

}  // namespace faultline::test
