// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/huge_pool.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/os/vm/mm.hpp"

namespace faultline::os {

HugePool::HugePool(std::uint64_t pages, FrameAllocator& frames, FrameTable& table, sim::EventLoop& loop)
    : table_(table), unlocked_(loop) {
  while (total_ < pages) {
    const auto block = frames.allocate_huge(FrameUse::fixed);
    if (!block) break;
    for (unsigned i = 0; i < kPagesPerHuge; ++i) table_.at(*block + i * kPage).pool = true;
    free_.push_back(*block);
    ++total_;
  }
  std::reverse(free_.begin(), free_.end());
}

bool HugePool::reserve(Process& process, Range range) {
  const std::uint64_t pages = range.pages() / kPagesPerHuge;
  if (pages > available_pages()) return false;
  for (VirtualAddress va = range.begin; va < range.end; va += kHugePage) Mm::of(process).reserved.insert(va);
  reserved_ += pages;
  return true;
}

void HugePool::release(Process& process, Range range) {
  const auto begin = Mm::of(process).reserved.lower_bound(range.begin);
  const auto end = Mm::of(process).reserved.lower_bound(range.end);
  reserved_ -= static_cast<std::uint64_t>(std::distance(begin, end));
  Mm::of(process).reserved.erase(begin, end);
}

void HugePool::move(Process& process, Range from, VirtualAddress to) {
  for (auto at = Mm::of(process).reserved.lower_bound(from.begin);
       at != Mm::of(process).reserved.end() && *at < from.end;) {
    Mm::of(process).reserved.insert(*at - from.begin + to);
    at = Mm::of(process).reserved.erase(at);
  }
}

void HugePool::restore(Process& process, VirtualAddress va) {
  if (Mm::of(process).reserved.insert(va).second) ++reserved_;
}

std::optional<HugePool::Page> HugePool::take(Process& process, VirtualAddress va) {
  if (Mm::of(process).reserved.erase(va) == 0) {
    const auto block = take_available();
    if (!block) return {};
    return Page{*block, false};
  }
  --reserved_;
  const Address block = free_.back();  // reserved ones are free
  free_.pop_back();
  return Page{block, true};
}

std::optional<Address> HugePool::take_available() {
  if (available_pages() == 0) return {};
  const Address block = free_.back();
  free_.pop_back();
  return block;
}

void HugePool::give_back(Address block) { free_.push_back(block); }

// From the end, because whoever lets go of a page begins with its first frame.
void HugePool::frame_released(Address frame) {
  const Address block = huge_page_begin(frame);
  for (Address at = block + kHugePage; at > block; at -= kPage) {
    if (table_.at(at - kPage).held()) return;
  }
  give_back(block);
}

sim::Task<void> HugePool::lock(cpu::Cpu& cpu, cpu::Execution& exec, PageKey page) {
  while (!faulting_.insert(page).second) co_await cpu.sleep(exec, unlocked_);
}

void HugePool::unlock(PageKey page) {
  faulting_.erase(page);
  unlocked_.notify_all();
}

void HugePool::audit(bool changing) const {
  std::uint64_t frames = 0;
  sim::Set<Address> in_use;
  table_.for_each([&](Address frame, const FrameRecord& record) {
    frames += record.pool ? 1 : 0;
    if (record.pool && record.held()) in_use.insert(huge_page_begin(frame));
  });
  const bool overlap = std::any_of(free_.begin(), free_.end(), [&](Address block) { return in_use.contains(block); });
  const std::uint64_t known = free_.size() + in_use.size();
  const bool complete = changing ? known <= total_ : known == total_;
  if (frames != total_ * kPagesPerHuge || overlap || !complete || reserved_ > free_.size()) {
    throw std::logic_error("the pool of huge pages does not hold what it counts");
  }
}

}  // namespace faultline::os
