// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/address_space.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace faultline::os {
namespace {

constexpr VirtualAddress kLowestMapping = VirtualAddress{1} << 30;

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

std::size_t index_of(VirtualAddress va) { return va % kHugePage / kPage; }

}  // namespace

const Vma* AddressSpace::find(VirtualAddress va) const {
  auto next = vmas_.upper_bound(va);
  if (next == vmas_.begin()) return nullptr;
  const Vma& vma = std::prev(next)->second;
  return va < vma.end ? &vma : nullptr;
}

Range AddressSpace::whole_vmas(Range range) const {
  const Vma* first = find(range.begin);
  const Vma* last = find(range.end - 1);
  return {first != nullptr ? first->begin : range.begin, last != nullptr ? last->end : range.end};
}

bool AddressSpace::covered(VirtualAddress begin, VirtualAddress end) const {
  while (begin < end) {
    const Vma* vma = find(begin);
    if (vma == nullptr) return false;
    begin = vma->end;
  }
  return true;
}

VirtualAddress AddressSpace::accessible_until(VirtualAddress begin, VirtualAddress end, bool write) const {
  while (begin < end) {
    const Vma* vma = find(begin);
    if (vma == nullptr || !vma->allows(write)) return begin;
    begin = vma->end;
  }
  return end;
}

std::optional<VirtualAddress> AddressSpace::find_gap(std::uint64_t bytes, std::uint64_t alignment) const {
  const VirtualAddress top = all().end;
  if (bytes > top) return {};
  VirtualAddress at = align_up(kLowestMapping, alignment);
  for (const auto& [begin, vma] : vmas_) {
    if (at < begin && bytes <= begin - at) break;
    at = std::max(at, align_up(vma.end, alignment));
  }
  if (at > top || bytes > top - at) return {};
  return at;
}

void AddressSpace::insert(Vma vma) {
  if (vma.locked) locked_bytes_ += vma.bytes();
  vmas_.emplace(vma.begin, vma);
  merge_around(vma.begin, vma.end);
}

void AddressSpace::erase(VirtualAddress begin, VirtualAddress end) {
  locked_bytes_ -= locked_bytes(begin, end);
  cut_at(begin);
  cut_at(end);
  vmas_.erase(vmas_.lower_bound(begin), vmas_.lower_bound(end));
  forget_drops({begin, end});
}

void AddressSpace::set_locked(VirtualAddress begin, VirtualAddress end, bool locked) {
  locked_bytes_ -= locked_bytes(begin, end);
  // mlock_fixup: a hugetlb VMA is never locked (nor cut), for its pages stay anyway.
  sim::SmallVector<Range, 2> parts;
  for_each_vma(begin, end, [&](const Vma& vma) {
    if (vma.hugetlb == 0) parts.push_back({std::max(begin, vma.begin), std::min(end, vma.end)});
  });
  for (const Range part : parts) change(part.begin, part.end, [locked](Vma& vma) { vma.locked = locked; });
  locked_bytes_ += locked_bytes(begin, end);
}

std::uint64_t AddressSpace::locked_bytes(VirtualAddress begin, VirtualAddress end) const {
  std::uint64_t bytes = 0;
  for_each_vma(begin, end, [&](const Vma& vma) {
    if (vma.locked) bytes += std::min(end, vma.end) - std::max(begin, vma.begin);
  });
  return bytes;
}

void AddressSpace::cut_at(VirtualAddress va) {
  const Vma* found = find(va);
  if (found == nullptr || found->begin == va) return;
  Vma upper = *found;
  vmas_.at(found->begin).end = va;
  upper.begin = va;
  vmas_.emplace(va, upper);
}

void AddressSpace::merge_around(VirtualAddress begin, VirtualAddress end) {
  auto vma = vmas_.lower_bound(begin);
  if (vma != vmas_.begin()) --vma;
  while (vma != vmas_.end() && vma->first <= end) {
    const auto next = std::next(vma);
    if (next == vmas_.end()) break;
    if (vma->second.end == next->second.begin && vma->second.alike(next->second)) {
      vma->second.end = next->second.end;
      vmas_.erase(next);
    } else {
      vma = next;
    }
  }
}

const HugeRange* AddressSpace::range(VirtualAddress va) const {
  const auto found = ranges_.find(va / kHugePage);
  return found == ranges_.end() ? nullptr : found->second.get();
}

const PageState* AddressSpace::entry(VirtualAddress va) const {
  const HugeRange* in = range(va);
  if (in == nullptr || in->pages[index_of(va)].entry == Entry::none) return nullptr;
  return &in->pages[index_of(va)];
}

PageState* AddressSpace::entry(VirtualAddress va) {
  return const_cast<PageState*>(std::as_const(*this).entry(va));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

const PageState* AddressSpace::page(VirtualAddress va) const {
  const PageState* state = entry(va);
  return state != nullptr && state->present() ? state : nullptr;
}

PageState* AddressSpace::page(VirtualAddress va) {
  PageState* state = entry(va);
  return state != nullptr && state->present() ? state : nullptr;
}

bool AddressSpace::is_huge(VirtualAddress va) const {
  const HugeRange* in = range(va);
  return in != nullptr && in->huge;
}

bool AddressSpace::huge_range_empty(VirtualAddress va) const { return range(va) == nullptr; }

void AddressSpace::add_pages(VirtualAddress va, PageState first, PageSize size) {
  auto& in = ranges_[va / kHugePage];
  if (!in) in = std::make_unique<HugeRange>();
  const auto pages = static_cast<unsigned>(bytes_of(size) / kPage);
  for (unsigned i = 0; i < pages; ++i) {
    in->pages[index_of(va) + i] = first;
    in->pages[index_of(va) + i].frame += i * kPage;
  }
  in->huge = size == PageSize::huge;
  in->entries += pages;
  count(first, pages);
}

void AddressSpace::remove_pages(VirtualAddress va) {
  const auto found = ranges_.find(va / kHugePage);
  HugeRange& in = *found->second;
  const unsigned pages = in.huge ? kPagesPerHuge : 1;
  count(in.pages[index_of(va)], -std::int64_t{pages});
  in.entries -= pages;
  in.pages[index_of(va)] = {};
  if (in.entries == 0) ranges_.erase(found);
}

void AddressSpace::count(const PageState& page, std::int64_t pages) {
  if (page.has_frame()) resident_pages_ += static_cast<std::uint64_t>(pages);
  if (page.pool) pool_pages_ += static_cast<std::uint64_t>(pages);
  if (page.entry == Entry::swapped) swapped_pages_ += static_cast<std::uint64_t>(pages);
}

void AddressSpace::swapped_out() {
  --resident_pages_;
  ++swapped_pages_;
}

void AddressSpace::swapped_in() {
  ++resident_pages_;
  --swapped_pages_;
}

ReadAhead* AddressSpace::read_ahead(VirtualAddress va) { return &std::prev(vmas_.upper_bound(va))->second.read_ahead; }

void AddressSpace::zero_page_replaced(VirtualAddress va) {
  entry(va)->zero = false;
  ++resident_pages_;
}

void AddressSpace::huge_split(VirtualAddress va) { ranges_.at(va / kHugePage)->huge = false; }

void AddressSpace::note_drop(Range range, Taking by) {
  if (by.by == Taker::nobody) return forget_drops(range);
  for (VirtualAddress va = range.begin; va < range.end; va += kPage) {
    auto& drops = drops_[va / kHugePage];
    if (!drops) drops = std::make_unique<Drops>();
    drops->pages[index_of(va)] = by;
  }
}

Taking AddressSpace::dropped_by(VirtualAddress va) const {
  const auto found = drops_.find(va / kHugePage);
  return found == drops_.end() ? Taking{} : found->second->pages[index_of(va)];
}

void AddressSpace::forget_drops(Range range) {
  for (auto at = drops_.lower_bound(range.begin / kHugePage); at != drops_.end();) {
    const VirtualAddress base = at->first * kHugePage;
    if (base >= range.end) return;
    if (range.begin <= base && base + kHugePage <= range.end) {
      at = drops_.erase(at);
      continue;
    }
    const VirtualAddress end = std::min(range.end, base + kHugePage);
    for (VirtualAddress va = std::max(range.begin, base); va < end; va += kPage) at->second->pages[index_of(va)] = {};
    ++at;
  }
}

std::optional<VirtualAddress> AddressSpace::next_huge_range(VirtualAddress va) const {
  const auto found = ranges_.lower_bound(huge_page_end(va) / kHugePage);
  if (found == ranges_.end()) return {};
  return found->first * kHugePage;
}

std::optional<VirtualAddress> AddressSpace::next_entry(VirtualAddress va, VirtualAddress end) const {
  auto in = ranges_.lower_bound(va / kHugePage);
  for (; in != ranges_.end() && in->first * kHugePage < end; ++in) {
    const VirtualAddress base = in->first * kHugePage;
    for (std::size_t i = va > base ? index_of(va) : 0; i < kPagesPerHuge; ++i) {
      if (base + i * kPage >= end) return {};
      if (in->second->pages[i].entry != Entry::none) return base + i * kPage;
    }
  }
  return {};
}

}  // namespace faultline::os
