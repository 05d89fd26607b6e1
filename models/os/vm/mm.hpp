// SPDX-License-Identifier: Apache-2.0
// What the kernel keeps of a process's memory (struct mm_struct). Mm::of() is for models/os and for tests of the
// kernel's books; scripts/check-tree refuses it elsewhere. The header itself reaches everybody who includes vm.hpp,
// whose inline members need the whole type.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "models/os/vm/address_space.hpp"
#include "models/os/vm/device_table.hpp"
#include "models/os/vm/mmap_lock.hpp"
#include "models/os/vm/mmu_notifiers.hpp"
#include "models/os/vm/page_table.hpp"
#include "models/os/vm/process.hpp"
#include "models/sim/context.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::os {

struct MemoryGroup;

struct Mm {
  enum class Life : std::uint8_t { alive, killed, reaped };  // reaped: killed, and its memory is gone

  // `process`: its id, for timelines.
  Mm(const sim::Context& context, std::uint16_t process, std::unique_ptr<PageTable> root, unsigned va_bits,
     MemoryGroup& charged)
      : group(&charged),
        table(std::move(root)),
        space(va_bits),
        lock(context, process),
        page_settled(context.loop),
        notifiers(context.loop, space) {}
  // The only way there.
  static Mm& of(Process& process) { return *process.mm_; }
  static const Mm& of(const Process& process) { return *process.mm_; }

  Life life = Life::alive;
  bool forming = false;   // fork is at it, and nobody else may be
  int oom_score_adj = 0;  // -1000 to 1000
  MemoryGroup* group;
  std::unique_ptr<PageTable> table;
  AddressSpace space;
  Process::Faults faults;
  MmapLock lock;
  unsigned in_motion = 0;             // pages
  sim::Signal page_settled;           // one of them has come to rest, or the last user of the process has gone
  unsigned users = 0;                 // who works on it without holding its lock: it stays while there are any
  sim::Set<VirtualAddress> reserved;  // HugePool's, for each 2 MiB that has not been touched
  MmuNotifiers notifiers;
  std::vector<std::unique_ptr<DeviceTable>> device_tables;
};

// Keeps a process that has ended from going while somebody still looks at it (mmgrab, mmdrop).
class MmUser {
 public:
  explicit MmUser(Process& process) : process_(&process) { ++Mm::of(process).users; }
  MmUser(MmUser&& other) noexcept : process_(std::exchange(other.process_, nullptr)) {}
  ~MmUser() {
    if (process_ == nullptr) return;
    if (--Mm::of(*process_).users == 0) Mm::of(*process_).page_settled.notify_all();
  }
  MmUser(const MmUser&) = delete;
  MmUser& operator=(const MmUser&) = delete;
  MmUser& operator=(MmUser&&) = delete;
  Process& process() const { return *process_; }

 private:
  Process* process_;
};

}  // namespace faultline::os
