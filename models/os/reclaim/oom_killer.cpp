// SPDX-License-Identifier: Apache-2.0
#include "models/os/reclaim/oom_killer.hpp"

#include "models/os/reclaim/swap.hpp"
#include "models/os/vm/vm_core.hpp"

namespace faultline::os {

using cpu::Execution;
using sim::Task;

OomKiller::OomKiller(VmCore& core, const Swap& swap)
    : core_(core), swap_(swap), turn_(core.context.loop, 1), reaped_(core.context.loop) {}

// oom_badness: its pages in memory (but for those of the pool of huge pages) and on the swap device, its page tables
// below the first, and what the adjustment makes of all that there is (constrained_alloc): the node's memory or the
// group's, and the swap device.
std::int64_t OomKiller::badness(const Process& process, const MemoryGroup* group) const {
  const std::uint64_t pages = (Mm::of(process).space.resident_bytes() - Mm::of(process).space.pool_bytes() +
                               Mm::of(process).space.swapped_bytes()) /
                              kPage;
  const std::uint64_t tables = process.page_table().tables() - 1;
  const std::uint64_t memory = group != nullptr ? group->max_pages : core_.frames.total_pages();
  const auto total = static_cast<std::int64_t>(memory + swap_.total_pages());
  return static_cast<std::int64_t>(pages + tables) + Mm::of(process).oom_score_adj * (total / 1000);
}

// select_bad_process; of equals the first. One that is ending already is enough.
Process* OomKiller::victim(const MemoryGroup* group) const {
  Process* chosen = nullptr;
  for (const auto& process : core_.processes) {
    if (Mm::of(*process).life == Mm::Life::reaped || Mm::of(*process).oom_score_adj == Process::kNeverKilled) continue;
    if (Mm::of(*process).forming || (group != nullptr && Mm::of(*process).group != group)) continue;
    if (Mm::of(*process).life == Mm::Life::killed) return process.get();
    if (chosen == nullptr || badness(*process, group) > badness(*chosen, group)) chosen = process.get();
  }
  return chosen;
}

Task<bool> OomKiller::kill(Execution& exec, const Process& asking, const MemoryGroup* group) {
  Process* process = victim(group);
  if (process == nullptr) co_return false;
  if (Mm::of(*process).life == Mm::Life::alive) {
    Mm::of(*process).life = Mm::Life::killed;
    ++core_.counters.oom_kill;
    if (reaper_ == nullptr) reaper_ = &core_.cpu.new_thread("oom_reaper");
    tasks_.start(reap(*process));
    on_kill(*process, {.process = process->name(),
                       .id = process->id(),
                       .resident_bytes = Mm::of(*process).space.resident_bytes(),
                       .swapped_bytes = Mm::of(*process).space.swapped_bytes(),
                       .by_limit = group != nullptr,
                       .at = core_.context.now()});
  }
  if (process != &asking) co_await core_.cpu.sleep(exec, reaped_);
  co_return true;
}

// __oom_reap_task_mm: anonymous memory and copies of files' pages, locked or not. What is a file's stays in the cache.
Task<void> OomKiller::reap(Process& process) {
  const MmUser user(process);
  co_await turn_.acquire();
  co_await core_.cpu.run(*reaper_, cpu::Work::system, core_.config.exit_fixed);
  co_await Mm::of(process).lock.lock_shared(core_.cpu, *reaper_);
  const auto vmas = Mm::of(process).space.vmas();
  for (const auto& [begin, vma] : vmas) {
    if (!vma.driver && !vma.shared && vma.hugetlb == 0)
      co_await core_.unmap(*reaper_, process, {vma.begin, vma.end}, Taker::unmapping);
  }
  Mm::of(process).lock.unlock_shared();
  turn_.release();
  Mm::of(process).life = Mm::Life::reaped;
  reaped_.notify_all();
  core_.reclaim().progressed();
}

}  // namespace faultline::os
