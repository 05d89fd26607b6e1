// SPDX-License-Identifier: Apache-2.0
// A kernel with its cores and its memory, a thread to charge, and a table walker of the tests' own.
#pragma once

#include <tlm_utils/simple_target_socket.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "models/cpu/cpu.hpp"
#include "models/os/vm/vm.hpp"
#include "models/soc/ddr.hpp"
#include "tests/support/node.hpp"

namespace faultline::test {

using namespace std::chrono_literals;
using os::Error;
using os::kHugePage;
using os::kPage;
using os::OsConfig;
using os::Process;
using os::VirtualAddress;
using sim::Task;
using sim::Time;

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// What the architecture says that a walker sees (Arm ARM D8.2), written down a second time.
struct Walked {
  memory::Address physical;
  unsigned level;
  std::uint64_t descriptor;
};
inline std::optional<Walked> walk(const memory::FrameStore& store, memory::Address root, unsigned va_bits,
                                  VirtualAddress va) {
  memory::Address table = root;
  for (unsigned level = va_bits == 48 ? 0 : 1; level <= 3; ++level) {
    const unsigned shift = 39 - 9 * level;
    const std::uint64_t entry = store.read_word(table + (va >> shift) % 512 * 8);
    const std::uint64_t address = entry & 0xfffffffff000;
    if ((entry & 1) == 0) return {};
    const bool bit1 = (entry & 2) != 0;
    if (level == 3) {
      if (!bit1) return {};
      return Walked{address + va % 4096, level, entry};
    }
    if (!bit1) return Walked{address + va % (std::uint64_t{1} << shift), level, entry};
    table = address;
  }
  return {};
}

template <typename T>
struct Timed {
  T value{};
  Time took{-1};
};

// Runs an operation of a thread to its end, from the moment when the thread has a core.
template <typename T>
Task<void> measure(Node& node, cpu::Cpu& cpu, cpu::Execution& thread, Task<T> operation, Timed<T>& result) {
  co_await cpu.run(thread, cpu::Work::system, Time{0});
  const Time begin = node.now();
  result.value = co_await operation;
  result.took = node.now() - begin;
}

// The same, simulated until nothing is left to happen. Not for benches with daemons that never end.
template <typename T>
Timed<T> run_to_end(Node& node, cpu::Cpu& cpu, cpu::Execution& thread, Task<T> operation) {
  Timed<T> result;
  sim::TaskGroup tasks;
  tasks.start(measure(node, cpu, thread, std::move(operation), result));
  sc_core::sc_start();
  REQUIRE(result.took >= 0ns);
  return result;
}

// The bus behind the cores' register accesses, of which the kernel's memory manager makes none.
class NoDevices : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<NoDevices> socket{"socket"};
  explicit NoDevices(sc_core::sc_module_name name) : sc_module(name) {
    socket.register_b_transport(this, &NoDevices::refuse);
  }

 private:
  void refuse(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  }
};

inline OsConfig of_kernel(os::KernelVersion version) {
  OsConfig config;
  config.kernel.version = version;
  config.khugepaged = false;
  return config;
}

struct OsBench {
  explicit OsBench(const OsConfig& wanted = {}, std::uint64_t memory_bytes = 64 * kMiB, unsigned cores = 4)
      : config(small(wanted)), cpu_config(with_cores(cores)), ddr_config{.size = memory_bytes} {
    cpu.memory.bind(ddr.port);
    cpu.mmio.bind(no_devices.socket);
    process = vm.create_process("test");
    sc_core::sc_start(sc_core::SC_ZERO_TIME);  // elaborates
  }

  template <typename T>
  Timed<T> run(Task<T> operation) {
    return run_to_end(node, cpu, thread, std::move(operation));
  }

  // Memory of a process, set up without looking at the time.
  VirtualAddress map(std::uint64_t bytes, os::MmapOptions options = {}) {
    const auto mapped = run(vm.mmap(thread, *process, bytes, options));
    REQUIRE(mapped.value.ok());
    return mapped.value.value;
  }
  VirtualAddress map_present(std::uint64_t bytes, os::MmapOptions options = {}) {
    const VirtualAddress va = map(bytes, options);
    REQUIRE(vm.make_present(*process, va, bytes) == Error::none);
    return va;
  }
  Timed<bool> end(Process& ending) {
    return run([](os::Vm& manager, cpu::Execution& exec, Process& of) -> Task<bool> {
      co_await manager.exit(exec, of);
      co_return true;
    }(vm, thread, ending));
  }
  std::optional<Walked> walk(VirtualAddress va) const {
    return test::walk(store, process->page_table().root(), process->page_table().va_bits(), va);
  }
  bool present(VirtualAddress va) const { return walk(va).has_value(); }

  // Half of it reading, half writing, a page at a time.
  Time copying(std::int64_t pages) const {
    return pages * 2 * sim::ByteRate{config.copy_bandwidth.bytes_per_second * 2}.time_for(kPage);
  }
  Time zeroing(std::uint64_t pages) const {
    return static_cast<std::int64_t>(pages) * config.zero_bandwidth.time_for(kPage);
  }
  // Invalidations of one flush, and the wait for them.
  Time flush(std::uint64_t operations = 1) const {
    return static_cast<std::int64_t>(operations) * config.cpu_tlbi + config.cpu_dsb;
  }
  // All cores give back their batches of pages, while nobody else runs: there and back.
  Time drain() const { return 2 * cpu_config.context_switch + config.drain_core; }
  Time cold_page() const { return config.anon_minor_fault + zeroing(1); }
  std::uint64_t used() const { return vm.frames().used_pages(); }
  std::uint64_t counted(std::string_view name) const { return node.counted(name); }

  // The tests' memory is small.
  static OsConfig small(OsConfig c) {
    c.kernel_reserved = 2 * kMiB;
    return c;
  }
  static cpu::CpuConfig with_cores(unsigned cores) {
    cpu::CpuConfig c;
    c.cores = cores;
    return c;
  }

  Node node;
  OsConfig config;
  cpu::CpuConfig cpu_config;
  soc::DdrConfig ddr_config;
  cpu::Cpu cpu{"cpu", cpu_config, node.context};
  soc::DdrController ddr{"ddr", ddr_config, node.context};
  NoDevices no_devices{"no_devices"};
  memory::FrameStore& store = ddr.frames();
  os::Vm vm{config, node.context, store, cpu};
  cpu::Execution& thread = cpu.new_thread("thread", std::min(1U, cpu_config.cores - 1));
  Process* process = nullptr;
  sim::TaskGroup tasks;
};

// What an operation that was started at() some time gave, and when it ended.
template <typename T>
struct Outcome {
  T value{};
  Time at{-1};
};
template <typename T>
Task<void> at(OsBench& b, Time when, Task<T> operation, Outcome<T>& outcome) {
  co_await b.node.loop.until(when);
  outcome.value = co_await operation;
  outcome.at = b.node.now();
}

// Paid by a thread that gets a core: the first time, and after it has waited for anything else.
inline constexpr Time kSwitch = 3500ns;

// The same by a thread that has got its core just then.
template <typename T>
Task<void> at_core(OsBench& b, cpu::Execution& thread, Time when, Task<T> operation, Outcome<T>& outcome) {
  co_await b.node.loop.until(when - kSwitch);
  co_await b.cpu.run(thread, cpu::Work::system, Time{0});
  co_await at(b, when, std::move(operation), outcome);
}

// Four pages of the bench's process, present, with the pattern of seed 7.
struct PresentPages {
  static constexpr std::uint64_t kPages = 4;
  static constexpr std::uint64_t kBytes = kPages * kPage;

  explicit PresentPages(OsBench& bench, os::MmapOptions options = {}) : b(bench), va(b.map_present(kBytes, options)) {
    REQUIRE(b.vm.fill(*b.process, va, kBytes, 7) == kBytes);
  }
  os::Range range() const { return {va, va + kBytes}; }
  os::Range first() const { return {va, va + kPage}; }
  memory::Address frame() const { return b.process->space().entry(va)->frame; }
  bool intact(const Process& process) const {
    return b.vm.read(process, va, kBytes) == sim::Content::pattern(7, 0, kBytes);
  }
  bool intact() const { return intact(*b.process); }
  bool writable() const { return (b.walk(va)->descriptor & 0x80) == 0; }
  os::PinId pin() { return b.run(b.vm.pin_user_pages(b.thread, *b.process, va, kBytes, true)).value.value; }

  OsBench& b;
  VirtualAddress va;
};

// Notes what it was told, and how many frames were in use when it was about to answer.
struct Listener : os::TlbInvalidator {
  Listener(OsBench& bench, Time takes) : b(bench), duration(takes) { b.vm.add_invalidator(*this); }
  bool hears_broadcasts() const override { return hears; }
  Task<void> invalidate(cpu::Execution& exec, const Process&, const os::TlbFlush& flush) override {
    flushes.push_back(flush);
    told_at = b.node.now();
    present_at_start = !flush.leaves.empty() && b.present(flush.leaves.front());
    return answer(exec);
  }
  Task<void> finish(cpu::Execution& exec) override {
    finished_at.push_back(b.node.now());
    return answer(exec);
  }
  // The core stands still meanwhile, as in a DSB.
  Task<void> answer(cpu::Execution& exec) {
    co_await b.cpu.run_unscaled(exec, cpu::Work::system, duration);
    used_at_end = b.used();
  }
  void drop(const Process&, const sim::Vector<VirtualAddress>& leaves) override { dropped = leaves; }

  OsBench& b;
  Time duration;
  bool hears = false;
  std::vector<os::TlbFlush> flushes;
  std::vector<Time> finished_at;  // when the core began to wait for those that it had not waited for
  sim::Vector<VirtualAddress> dropped;
  Time told_at{0};
  bool present_at_start = false;
  std::uint64_t used_at_end = 0;
};

// Pins a page of a cluster that is to move, all of which is isolated, when the first page of it goes: the one that lies
// so far behind it.
struct PinsLater : Listener {
  PinsLater(OsBench& bench, std::uint64_t bytes) : Listener(bench, 0ns), distance(bytes) {}
  Task<void> invalidate(cpu::Execution& exec, const Process& process, const os::TlbFlush& flush) override {
    if (flushes.empty()) {
      const VirtualAddress va = flush.leaves.front() + distance;
      b.tasks.start(at(b, b.node.now(), b.vm.pin_user_pages(thread, *b.process, va, kPage, true), pinned));
    }
    return Listener::invalidate(exec, process, flush);
  }
  std::uint64_t distance;
  cpu::Execution& thread = b.cpu.new_thread("pins", 2);
  Outcome<os::Result<os::PinId>> pinned;
};

}  // namespace faultline::test
