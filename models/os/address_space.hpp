// SPDX-License-Identifier: Apache-2.0
// What a process has asked for (its VMAs) and what it has got (the truth about each of its pages).
// Bookkeeping only: os::Vm decides and charges.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/os/page_table.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::os {

enum class HugeAdvice : std::uint8_t { none, huge, no_huge };  // MADV_HUGEPAGE, MADV_NOHUGEPAGE

// A range of private anonymous memory, whole pages, with one set of attributes.
struct Vma {
  VirtualAddress begin = 0;
  VirtualAddress end = 0;  // first byte after it
  bool writable = true;
  bool locked = false;  // VM_LOCKED
  HugeAdvice advice = HugeAdvice::none;

  std::uint64_t bytes() const { return end - begin; }
  bool alike(const Vma& other) const {
    return writable == other.writable && locked == other.locked && advice == other.advice;
  }
};

// The one truth about a page of virtual memory. Pins are counted per frame (FrameTable): they outlive
// the mapping.
struct PageState {
  Address frame = 0;
  bool present = false;
  bool writable = false;
  bool dirty = false;  // written by the CPU, or handed to a device for writing
};

// 2 MiB of virtual memory, aligned: 512 page states, mapped by one block descriptor or by pages.
struct HugeRange : sim::Recycled {
  bool huge = false;
  unsigned present = 0;
  std::array<PageState, kPagesPerHuge> pages{};
};

class AddressSpace {
 public:
  explicit AddressSpace(unsigned va_bits) : va_bits_(va_bits) {}

  // VMAs. They never overlap; neighbours that are alike are merged, as Linux does.
  const Vma* find(VirtualAddress va) const;
  // The whole range is covered by VMAs (writable ones, if asked for).
  bool covered(VirtualAddress begin, VirtualAddress end, bool writable = false) const {
    return covered_until(begin, end, writable) == end;
  }
  // Where, at the latest at `end`, the first page without such a VMA begins.
  VirtualAddress covered_until(VirtualAddress begin, VirtualAddress end, bool writable) const;
  // Lowest address with room, 1 GiB at least; empty when the address space is full.
  std::optional<VirtualAddress> find_gap(std::uint64_t bytes, std::uint64_t alignment) const;
  void insert(Vma vma);
  void erase(VirtualAddress begin, VirtualAddress end);
  void set_locked(VirtualAddress begin, VirtualAddress end, bool locked);
  void set_advice(VirtualAddress begin, VirtualAddress end, HugeAdvice advice);
  // Bytes of [begin, end) that lie in locked VMAs.
  std::uint64_t locked_bytes(VirtualAddress begin, VirtualAddress end) const;
  const sim::Map<VirtualAddress, Vma>& vmas() const { return vmas_; }

  // Pages. page() is nullptr unless the page is present.
  PageState* page(VirtualAddress va);
  const PageState* page(VirtualAddress va) const;
  bool is_huge(VirtualAddress va) const;
  // No page of the aligned 2 MiB around va is present.
  bool huge_range_empty(VirtualAddress va) const;
  void page_mapped(VirtualAddress va, Address frame, PageSize size, bool writable);
  void page_unmapped(VirtualAddress va);  // a 4 KiB page, or the whole huge page that covers va
  void huge_split(VirtualAddress va);
  // The first present page at or after va and before end: skips what was never touched.
  std::optional<VirtualAddress> next_present(VirtualAddress va, VirtualAddress end) const;

  // Bytes present; bytes in locked VMAs (present or not, as RLIMIT_MEMLOCK counts); bytes under
  // long-term pins (a page pinned twice counts twice, as the kernel's pinned_vm does).
  std::uint64_t resident_bytes() const { return resident_pages_ * kPage; }
  std::uint64_t locked_bytes() const { return locked_bytes_; }
  std::uint64_t pinned_bytes() const { return pinned_bytes_; }
  void add_pinned(std::uint64_t bytes) { pinned_bytes_ += bytes; }
  void remove_pinned(std::uint64_t bytes) { pinned_bytes_ -= bytes; }

 private:
  using Vmas = sim::Map<VirtualAddress, Vma>;  // by begin
  void cut_at(VirtualAddress va);
  void merge_around(VirtualAddress begin, VirtualAddress end);
  template <typename Change>
  void change(VirtualAddress begin, VirtualAddress end, Change apply);
  const HugeRange* range(VirtualAddress va) const;

  unsigned va_bits_;
  Vmas vmas_;
  sim::Map<std::uint64_t, std::unique_ptr<HugeRange>> ranges_;  // by va / 2 MiB
  std::uint64_t resident_pages_ = 0;
  std::uint64_t locked_bytes_ = 0;
  std::uint64_t pinned_bytes_ = 0;
};

}  // namespace faultline::os
