// SPDX-License-Identifier: Apache-2.0
// What the kernel does to the pages of a buffer while transfers use it, at times that the experiment says: mechanisms
// that come once in seconds or hours by themselves, brought into a run of milliseconds.
#pragma once

#include <cstdint>

#include "models/cpu/cpu.hpp"
#include "models/os/vm/vm.hpp"
#include "models/rdma/registration/registration.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/random.hpp"
#include "models/sim/task.hpp"

namespace faultline::workloads {

using namespace std::chrono_literals;

enum class Mechanism : std::uint8_t {
  none,
  collapse,          // khugepaged (MADV_COLLAPSE, so that sysfs does not matter), which tries for a period
  thp_split,         // splits of huge pages, which the buffer gets for this purpose, by advice on a part of each
  compaction,        // migration of the buffer's pages, if they look movable
  compact_memory,    // compaction of all memory (vm.compact_memory)
  longterm_pin,      // the buffer's pages lie in the CMA area, and somebody else pins them for long
  cma_alloc,         // the buffer's pages lie in the CMA area, and a driver allocates that memory
  move_pages,        // migration of the buffer's pages, movable or not (move_pages(), memory offlining)
  numa_hint,         // NUMA balancing
  ksm,               // write protection and merging with an equal page
  ageing,            // access flags cleared by reclaim
  clear_refs,        // access flags cleared by a tool that measures what a program uses (/proc/PID/clear_refs)
  idle_tracking,     // access flags cleared by idle-page tracking or DAMON
  write_protect,     // mprotect() to read-only and back; of a shared file write-back
  fork,              // a child that goes on to exec() at once
  fork_child_lives,  // a child that lives on, while the program stores to its buffer between transfers
  userfault_wp,      // a monitor in user space wants to be asked before pages are written (userfaultfd, from 6.10 on)
  lock_on_fault,     // the program maps its buffer anew, and locks it by mlock2(MLOCK_ONFAULT)
  zero_page,         // the program has only read its buffer before it prepares it
  truncate,          // the file below is cut, or gets a hole
  dont_need,         // the program drops the pages (MADV_DONTNEED_LOCKED; before 5.18 not those that are locked)
  memory_failure,    // one page has failed (hwpoison)
  reclaim,  // the buffer's pages go to the swap device, used or not (MADV_PAGEOUT; before 5.4 as reclaim takes them)
};

struct InjectionConfig {
  Mechanism mechanism = Mechanism::none;
  bool at_source = false;
  sim::Time after{0};
  sim::Time period = 1ms;
  std::uint64_t count = 1;
  std::uint64_t draw = 1;
  sim::Time child_life = 5ms;

  void declare(sim::ParameterTable& table);
};

class Injection {
 public:
  // The buffer of a program; whole pages.
  struct Buffer {
    os::Vm& vm;
    os::Process& process;
    os::VirtualAddress begin;
    std::uint64_t bytes;
    rdma::Registration& registration;  // its memory hooks see what the program itself does to the memory
  };

  Injection(const InjectionConfig& config, sim::Seed seed);

  // What has happened before the strategy prepares the buffer. On the program's time.
  sim::Task<void> before_preparation(cpu::Execution& thread, Buffer buffer) const;
  // From now on, on a kernel thread of its own; the buffers stay until the end of the run. `locked`: by mlock.
  sim::Task<void> run(cpu::Cpu& cpu, sim::Vector<Buffer> buffers, bool locked);
  // The program has prepared a buffer for a transfer, or begins to release it: pages that are changed for good between
  // the two are taken from under the device.
  void transfer_begins() { ++under_way_; }
  void transfer_ends() { --under_way_; }
  // There are no more transfers: no further injection.
  void end() { ended_ = true; }

  bool at_source() const { return config_.at_source; }
  // Whether the owner of a destination stores to it before each transfer, as the owner of a source does anyway: what
  // makes copy-on-write move the program away from its child.
  bool owner_stores() const { return config_.mechanism == Mechanism::fork_child_lives; }
  std::uint64_t injections() const { return injections_; }
  // Injections that found nothing to happen to: no whole 2 MiB in a buffer that was to be collapsed or split.
  std::uint64_t in_vain() const { return in_vain_; }
  // Pages that were changed for good while transfers were under way: moved, merged, dropped ... A mechanism that was
  // undone has changed none.
  std::uint64_t pages() const { return pages_; }

 private:
  bool can_happen_to(const Buffer& buffer) const;
  sim::Task<void> inject(cpu::Cpu& cpu, cpu::Execution& exec, Buffer buffer);
  sim::Task<void> lock_on_fault(cpu::Execution& exec, Buffer buffer);
  sim::Task<void> collapse(cpu::Execution& exec, Buffer buffer);
  sim::Task<void> split(cpu::Execution& exec, Buffer buffer);
  sim::Task<void> drop(cpu::Execution& exec, Buffer buffer);
  sim::Task<void> reclaim(cpu::Execution& exec, Buffer buffer);
  sim::Task<void> fork(cpu::Cpu& cpu, cpu::Execution& exec, Buffer buffer);
  sim::Task<void> live(cpu::Execution& exec, os::Vm& vm, os::Process& child) const;
  sim::Task<void> pin(cpu::Execution& exec, Buffer buffer);
  sim::Task<void> claim_cma(cpu::Execution& exec, Buffer buffer);
  void count(std::uint64_t pages) { pages_ += under_way_ > 0 ? pages : 0; }

  const InjectionConfig config_;
  sim::RandomStream times_;
  unsigned under_way_ = 0;
  bool ended_ = false;
  std::uint64_t injections_ = 0;
  std::uint64_t in_vain_ = 0;
  std::uint64_t pages_ = 0;
  sim::TaskGroup children_;
};

}  // namespace faultline::workloads
