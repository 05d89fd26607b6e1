// SPDX-License-Identifier: Apache-2.0
// Who asks for the pages of a range to be moved, and pages of the pool, which Migration leaves alone.
#include "models/os/events/page_events.hpp"

#include <algorithm>
#include <limits>

namespace faultline::os {

using cpu::Execution;
using sim::Task;

namespace {

// From the end of memory, as compaction's free scanner, and whole blocks, too: a page does not come back to the frame
// that a private table still has. Frames of the CMA area come last, because a pin would move the page again. Linux
// takes frames of that area without regard to this.
class FramesFromEnd : public Migration::Targets {
 public:
  explicit FramesFromEnd(FrameAllocator& frames) : frames_(frames) {}
  Task<std::optional<Address>> take(Execution& /*exec*/) override { co_return highest(); }
  void give_back(Address frame) override { frames_.free_page(frame); }

 private:
  // Of the highest block that has any free frame the lowest.
  std::optional<Address> highest() {
    for (Address end = frames_.cma().begin(); end > frames_.begin();) {
      const Address block = std::max(huge_page_begin(end - kPage), frames_.begin());
      for (Address frame = block; frame < end && frames_.free_in_block(block) > 0; frame += kPage) {
        if (frames_.take(frame)) return frame;
      }
      end = block;
    }
    return frames_.allocate_page();
  }
  FrameAllocator& frames_;
};

}  // namespace

// move_pages() isolates all pages that it was given, compaction a cluster of them.
Task<unsigned> PageEvents::migrate(Execution& exec, Process& process, Range range, Mover mover) {
  const std::size_t most = mover == Mover::compaction ? Migration::kCluster : std::numeric_limits<std::size_t>::max();
  unsigned moved = 0;
  Migration::Sources sources;
  const MmUser user(process);
  AddressSpace& space = Mm::of(process).space;
  for (VirtualAddress va = range.begin; const auto next = space.next_entry(va, range.end);) {
    va = *next + kPage;
    const PageState* page = space.page(*next);
    if (page == nullptr || page->zero) continue;
    if (mover == Mover::compaction && is_spared_by_compaction(process, *next)) continue;
    if (page->pool) {
      va = huge_range(*next).end;
      moved += co_await migrate_block(exec, process, huge_page_begin(page->frame)) ? kPagesPerHuge : 0;
      continue;
    }
    if (space.is_huge(*next)) {
      const Error error = co_await split(exec, process, *next, Notice::asked);
      if (error == Error::again) {
        ++core_.counters.pgmigrate_fail;
        va = huge_range(*next).end;
        continue;
      }
      if (error != Error::none) break;
      page = space.page(*next);
      if (page == nullptr) continue;
    }
    isolate_to_migrate(page->frame, sources);
    if (sources.size() >= most) moved += co_await migrate_isolated(exec, sources);
  }
  moved += co_await migrate_isolated(exec, sources);
  co_return moved;
}

void PageEvents::isolate_to_migrate(Address frame, Migration::Sources& sources) {
  const FrameRecord& record = core_.frame_table.at(frame);
  const bool active = record.is_active();
  const bool writing = record.file != 0 && page_cache_.page_of(frame).writing;
  if (!writing && core_.isolate(frame)) {
    sources.push_back({frame, active});
  } else {
    ++core_.counters.pgmigrate_fail;
  }
}

Task<unsigned> PageEvents::migrate_isolated(Execution& exec, Migration::Sources& sources) {
  FramesFromEnd targets(core_.frames);
  const Migration::Result result = co_await migration_.migrate(exec, sources, Migration::Mode::sync, targets);
  migration_.put_back(sources);
  co_return result.moved;
}

bool PageEvents::is_spared_by_compaction(const Process& process, VirtualAddress va) const {
  const AddressSpace& space = Mm::of(process).space;
  const Vma* vma = space.find(va);  // none: munmap is about to remove the page
  const bool locked = vma != nullptr && vma->locked && !core_.config.compact_unevictable_allowed;
  return locked || core_.frame_table.find(space.page(va)->frame).pins > 0 || space.is_huge(va);
}

// unmap_and_move_huge_page: a page of the pool, to another one that nobody has reserved.
Task<bool> PageEvents::migrate_block(Execution& exec, const Process& owner, Address frame) {
  const auto to = core_.huge_pool.take_available();
  if (!to) {
    ++core_.counters.pgmigrate_fail;
    co_return false;
  }
  const VmCore::Hold hold(core_, frame);
  bool moved = false;
  for (unsigned pass = 0; pass < core_.config.migrate_passes && !moved; ++pass) {
    const Migration::Unmapping outcome = co_await unmap_block(exec, frame);
    if (outcome == Migration::Unmapping::nobody_maps_it) break;  // whoever had it has let go
    co_await core_.run(exec, core_.config.migrate_page);
    bool held = outcome == Migration::Unmapping::refused || core_.frame_table.any_pinned(frame, PageSize::huge);
    if (!held) co_await core_.copy_block(exec, frame, *to);
    held = held || core_.frame_table.any_pinned(frame, PageSize::huge);
    if (held) ++core_.counters.migrate_restored;
    for (const Mapper& mapper : core_.frame_table.mappers(frame)) {
      Process& process = *mapper.process;
      if (Mm::of(process).space.entry(mapper.va)->entry != Entry::migrating) continue;
      if (!held) core_.redirect_block(process, mapper.va, *to);
      core_.show(process, mapper.va);
      if (!held) core_.retire_block(process, frame);
      moved = !held;
    }
  }
  if (moved) {
    ++core_.counters.pgmigrate_success;
    core_.on_change(owner, kPagesPerHuge);
  } else {
    ++core_.counters.pgmigrate_fail;
    core_.huge_pool.give_back(*to);
  }
  co_return moved;
}

// As Migration::unmap().
Task<Migration::Unmapping> PageEvents::unmap_block(Execution& exec, Address frame) {
  auto outcome = Migration::Unmapping::nobody_maps_it;
  for (const Mapper& mapper : core_.frame_table.mappers(frame)) {
    if (!core_.frame_table.has_mapper(frame, mapper)) continue;
    Process& process = *mapper.process;
    const MmUser user(process);
    const Range range = huge_range(mapper.va);
    if (!co_await core_.change_begins(exec, process, range, Taker::migration, Notice::asked)) {
      outcome = Migration::Unmapping::refused;
      break;
    }
    const PageState* page = Mm::of(process).space.page(mapper.va);
    if (page != nullptr && page->frame == frame) {
      core_.hide(process, mapper.va, Entry::migrating, core_.taking(exec, Taker::migration));
      co_await core_.flush(exec, process, mapper.va);
      const bool stays = migration_.keeps_entry(frame, PageSize::huge);
      if (stays) core_.show(process, mapper.va);
      outcome = stays ? Migration::Unmapping::refused : Migration::Unmapping::unmapped;
    }
    core_.change_ends(process, range);
    if (outcome == Migration::Unmapping::refused) break;
  }
  co_return outcome;
}

}  // namespace faultline::os
