// SPDX-License-Identifier: Apache-2.0
// What a process has asked for (its VMAs) and what it has got (the truth about each of its pages).
// Bookkeeping only: os::Vm decides and charges.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "models/os/vm/frame_table.hpp"
#include "models/os/vm/page_table.hpp"
#include "models/os/vm/taking.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::os {

class File;

enum class HugeAdvice : std::uint8_t { none, huge, no_huge };  // MADV_HUGEPAGE, MADV_NOHUGEPAGE

// What swap read-ahead remembers of a VMA.
struct ReadAhead {
  VirtualAddress last = 0;  // page that was read, or found to have been read ahead
  unsigned window = 0;      // pages that were read then
  unsigned hits = 0;        // of them, wanted since
};

// A range of anonymous memory or of a file, whole pages, with one set of attributes.
struct Vma {
  VirtualAddress begin = 0;
  VirtualAddress end = 0;  // first byte after it
  bool writable = true;
  bool accessible = true;   // false: PROT_NONE
  bool locked = false;      // VM_LOCKED
  bool driver = false;      // VM_PFNMAP: the pages are a driver's
  bool inherited = true;    // false: MADV_DONTFORK
  bool shared = false;      // MAP_SHARED, of a file: writes are the file's; else they are the process's own
  bool reserves = false;    // HPAGE_RESV_OWNER: the process made the mapping, and has pages of the pool reserved for it
  bool lost_pages = false;  // HPAGE_RESV_UNMAPPED: the pool was empty when the owner needed pages that were shared here
  HugeAdvice advice = HugeAdvice::none;
  std::uint32_t hugetlb = 0;       // a mapping of the pool of huge pages (MAP_HUGETLB), by HugePool's number; 0: none
  File* file = nullptr;            // none: anonymous memory
  VirtualAddress file_origin = 0;  // where its (or the hugetlb mapping's) first byte lies, or would lie, modulo 2^64
  ReadAhead read_ahead{};

  std::uint64_t bytes() const { return end - begin; }
  bool evictable() const { return !locked && !driver; }
  std::uint32_t file_page(VirtualAddress va) const { return static_cast<std::uint32_t>((va - file_origin) / kPage); }
  bool allows(bool write) const { return accessible && (writable || !write); }
  bool alike(const Vma& other) const {
    return writable == other.writable && accessible == other.accessible && locked == other.locked &&
           driver == other.driver && inherited == other.inherited && shared == other.shared && advice == other.advice &&
           reserves == other.reserves && lost_pages == other.lost_pages && hugetlb == other.hugetlb &&
           file == other.file && file_origin == other.file_origin;
  }
};

// What the entry of a page in the process's table is.
enum class Entry : std::uint8_t {
  none,
  present,    // a valid descriptor
  hidden,     // PROT_NONE, or a NUMA hint: the page is there, its descriptor is not valid
  moving,     // its descriptor is on its way from one page to another: whoever faults on it waits
  migrating,  // a migration entry: the same, until the frame has been moved or has been found to be held
  swapped,    // a swap entry: the page is on the swap device, or on its way
  poisoned,   // memory failure: whoever faults on it gets SIGBUS
};

// The one truth about a page of virtual memory. Pins are counted per frame (FrameTable): they outlive
// the mapping.
struct PageState {
  Address frame = 0;  // also of hidden and moving pages; of a swapped one its slot
  Entry entry = Entry::none;
  bool writable = false;   // the descriptor allows it; when the VMA does, too, a write fault makes it so
  bool clean = false;      // not `writable`, but only because nobody has written (PTE_WRITE and PTE_RDONLY): the next
                           // store faults, and that is all, for there is no hardware that sets dirty bits
  bool young = false;      // the access flag
  bool dirty = false;      // written by the CPU, or handed to a device for writing
  bool zero = false;       // the shared zero page
  bool lazyfree = false;   // MADV_FREE, and not written since
  bool userfault = false;  // a monitor in user space is asked before it is written (userfaultfd)
  bool pool = false;       // of a hugetlb mapping
  Taking hidden_by{};      // who made the entry what it is, unless it is present
  Taking protected_by{};   // who took the right to write, unless `writable`
  Taking aged_by{};        // who cleared the access flag, unless `young`

  bool present() const { return entry == Entry::present; }
  bool may_write() const { return writable || clean; }  // pte_write()
  void write_protect(Taking by) {                       // pte_wrprotect()
    writable = false;
    clean = false;
    protected_by = by;
  }
  // One that is this page's, not the shared zero page.
  bool has_frame() const { return entry != Entry::none && entry != Entry::swapped && !zero; }
  SwapSlot slot() const { return static_cast<SwapSlot>(frame); }
  bool in_motion() const { return entry == Entry::moving || entry == Entry::migrating; }
};

static_assert(sizeof(PageState) == 24, "there are as many as pages");

// Whether get_user_pages takes the page as it is (follow_page_pte), and hmm_range_fault, too: neither asks for the
// access flag, nor whether the descriptor says already that the page is written.
inline bool takeable(const PageState* page, bool write) {
  return page != nullptr && page->present() && (page->may_write() || !write);
}

// 2 MiB of virtual memory, aligned: 512 page states, mapped by one block descriptor or by pages.
struct HugeRange : sim::Recycled {
  bool huge = false;
  unsigned entries = 0;  // that are not none
  std::array<PageState, kPagesPerHuge> pages{};
};

class AddressSpace {
 public:
  explicit AddressSpace(unsigned va_bits) : va_bits_(va_bits) {}

  // Every address that there is.
  Range all() const { return {0, VirtualAddress{1} << va_bits_}; }

  // VMAs. They never overlap; neighbours that are alike are merged, as Linux does.
  const Vma* find(VirtualAddress va) const;
  // As far as the VMAs reach that its ends cut.
  Range whole_vmas(Range range) const;
  // The whole range is covered by VMAs (writable ones, if asked for).
  bool covered(VirtualAddress begin, VirtualAddress end) const;
  // What populate writes to: not to shared files, which would become dirty.
  bool writes_privately(VirtualAddress va) const {
    const Vma* vma = find(va);
    return vma != nullptr && vma->writable && !vma->shared;
  }
  // Where, at the latest at `end`, the first page begins that no VMA allows to be read (or written).
  VirtualAddress accessible_until(VirtualAddress begin, VirtualAddress end, bool write) const;
  template <typename Visit>
  void for_each_vma(VirtualAddress begin, VirtualAddress end, Visit visit) const {
    auto vma = vmas_.upper_bound(begin);
    if (vma != vmas_.begin()) --vma;
    for (; vma != vmas_.end() && vma->first < end; ++vma) {
      if (vma->second.end > begin) visit(vma->second);
    }
  }
  // Lowest address with room, 1 GiB at least; empty when the address space is full.
  std::optional<VirtualAddress> find_gap(std::uint64_t bytes, std::uint64_t alignment) const;
  void insert(Vma vma);
  void erase(VirtualAddress begin, VirtualAddress end);
  void set_locked(VirtualAddress begin, VirtualAddress end, bool locked);
  // Of attributes that nothing is counted by. Cuts VMAs at the ends of the range and merges those that are alike then.
  template <typename Change>
  void change(VirtualAddress begin, VirtualAddress end, Change apply) {
    cut_at(begin);
    cut_at(end);
    for (auto vma = vmas_.lower_bound(begin); vma != vmas_.end() && vma->first < end; ++vma) apply(vma->second);
    merge_around(begin, end);
  }
  // Bytes of [begin, end) that lie in locked VMAs.
  std::uint64_t locked_bytes(VirtualAddress begin, VirtualAddress end) const;
  const sim::Map<VirtualAddress, Vma>& vmas() const { return vmas_; }

  // Pages. page() is nullptr unless the page is present, entry() unless something is there.
  PageState* page(VirtualAddress va);
  const PageState* page(VirtualAddress va) const;
  PageState* entry(VirtualAddress va);
  const PageState* entry(VirtualAddress va) const;
  bool is_huge(VirtualAddress va) const;
  // Of the page that one descriptor maps at va.
  PageSize leaf_size(VirtualAddress va) const { return is_huge(va) ? PageSize::huge : PageSize::small; }
  // The aligned 2 MiB around va have no entry.
  bool huge_range_empty(VirtualAddress va) const;
  // 4 KiB, or 2 MiB of which every page is like the first, but for the frame. Nothing is there yet.
  void add_pages(VirtualAddress va, PageState first, PageSize size);
  void remove_pages(VirtualAddress va);        // a 4 KiB page, or the whole huge page that covers va
  void zero_page_replaced(VirtualAddress va);  // by a frame of its own
  // A page has gone to the swap device, or come back.
  void swapped_out();
  void swapped_in();
  void huge_split(VirtualAddress va);
  // Who has removed the pages from the range, until others come or its VMA goes.
  void note_drop(Range range, Taking by);
  // Of a page without an entry. Nobody: there has been none in its VMA, as far as anybody can tell.
  Taking dropped_by(VirtualAddress va) const;
  // The first page with an entry at or after va and before end: skips what was never touched.
  std::optional<VirtualAddress> next_entry(VirtualAddress va, VirtualAddress end) const;
  // visit(PageState&) on each page that the descriptor for va leads to: one, or the 512 of a huge page. There is an
  // entry.
  template <typename Visit>
  void for_each_page_of_leaf(VirtualAddress va, Visit visit) {
    visit_leaf(*ranges_.at(va / kHugePage), va, visit);
  }
  template <typename Visit>
  void for_each_page_of_leaf(VirtualAddress va, Visit visit) const {
    visit_leaf(std::as_const(*ranges_.at(va / kHugePage)), va, visit);
  }
  // visit(va, size) on each page or huge page with an entry, in order; it may remove the entry.
  template <typename Visit>
  void for_each_leaf(VirtualAddress begin, VirtualAddress end, Visit visit) const {
    for (VirtualAddress va = begin; const auto next = next_entry(va, end);) {
      const PageSize size = leaf_size(*next);
      va = page_range(*next, size).end;
      visit(*next, size);
    }
  }
  // Of the VMA around va; there is one.
  ReadAhead* read_ahead(VirtualAddress va);
  // The first aligned 2 MiB with an entry at or after va.
  std::optional<VirtualAddress> next_huge_range(VirtualAddress va) const;

  // Bytes in frames of its own; of them, those in pages of the pool of huge pages; bytes on the swap device; bytes in
  // locked VMAs (present or not, as RLIMIT_MEMLOCK counts); bytes under long-term pins (a page pinned twice counts
  // twice, as the kernel's pinned_vm does).
  std::uint64_t resident_bytes() const { return resident_pages_ * kPage; }
  std::uint64_t pool_bytes() const { return pool_pages_ * kPage; }
  std::uint64_t swapped_bytes() const { return swapped_pages_ * kPage; }
  std::uint64_t locked_bytes() const { return locked_bytes_; }
  std::uint64_t pinned_bytes() const { return pinned_bytes_; }
  void add_pinned(std::uint64_t bytes) { pinned_bytes_ += bytes; }
  void remove_pinned(std::uint64_t bytes) { pinned_bytes_ -= bytes; }
  // Charged for pins that are still to be made.
  std::uint64_t promised_bytes() const { return promised_bytes_; }
  void add_promised(std::uint64_t bytes) { promised_bytes_ += bytes; }
  void remove_promised(std::uint64_t bytes) { promised_bytes_ -= bytes; }

 private:
  using Vmas = sim::Map<VirtualAddress, Vma>;  // by begin
  void count(const PageState& page, std::int64_t pages);
  void cut_at(VirtualAddress va);
  void merge_around(VirtualAddress begin, VirtualAddress end);
  template <typename Huge, typename Visit>
  static void visit_leaf(Huge& in, VirtualAddress va, Visit visit) {
    if (!in.huge) return visit(in.pages[va % kHugePage / kPage]);
    for (auto& page : in.pages) visit(page);
  }
  const HugeRange* range(VirtualAddress va) const;

  unsigned va_bits_;
  Vmas vmas_;
  sim::Map<std::uint64_t, std::unique_ptr<HugeRange>> ranges_;  // by va / 2 MiB
  struct Drops : sim::Recycled {
    std::array<Taking, kPagesPerHuge> pages{};
  };
  void forget_drops(Range range);
  sim::Map<std::uint64_t, std::unique_ptr<Drops>> drops_;  // likewise; only where somebody has removed pages
  std::uint64_t resident_pages_ = 0;
  std::uint64_t pool_pages_ = 0;
  std::uint64_t swapped_pages_ = 0;
  std::uint64_t locked_bytes_ = 0;
  std::uint64_t pinned_bytes_ = 0;
  std::uint64_t promised_bytes_ = 0;
};

}  // namespace faultline::os
