// SPDX-License-Identifier: Apache-2.0
// AArch64 stage-1 translation tables, 4 KiB granule, whose descriptors live in simulated memory: the
// very words that the SMMU's walker fetches. Takes no simulated time; os::Vm charges it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "models/memory/frame_store.hpp"
#include "models/os/error.hpp"
#include "models/os/vm/frame_allocator.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::os {

using VirtualAddress = std::uint64_t;

enum class PageSize : std::uint8_t { small, huge };  // 4 KiB page descriptor, 2 MiB block descriptor
constexpr std::uint64_t bytes_of(PageSize size) { return size == PageSize::small ? kPage : kHugePage; }

struct Range {
  VirtualAddress begin;
  VirtualAddress end;
  std::uint64_t pages() const { return (end - begin) / kPage; }
  bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
  bool operator==(const Range&) const = default;
};
using Ranges = sim::SmallVector<Range, 4>;
// The page of that size around an address.
constexpr Range page_range(VirtualAddress va, PageSize size) {
  const VirtualAddress begin = va / bytes_of(size) * bytes_of(size);
  return {begin, begin + bytes_of(size)};
}
constexpr Range huge_range(VirtualAddress va) { return page_range(va, PageSize::huge); }
// The aligned 2 MiB that lie wholly in a range; where there are none its end is not above its begin.
constexpr Range whole_huge_pages(Range range) { return {huge_page_end(range.begin), huge_page_begin(range.end)}; }

// The bits of a VMSAv8-64 stage-1 descriptor (Arm ARM DDI 0487, D8.3).
namespace descriptor {
inline constexpr std::uint64_t kValid = 1;
inline constexpr std::uint64_t kTableOrPage = 2;  // bit 1: table (levels 0 to 2) or page (level 3); clear: block
inline constexpr std::uint64_t kAttributeIndexNormal = 0;          // bits 4:2, MAIR entry 0: normal write-back memory
inline constexpr std::uint64_t kUser = std::uint64_t{1} << 6;      // AP[1]
inline constexpr std::uint64_t kReadOnly = std::uint64_t{1} << 7;  // AP[2]
inline constexpr std::uint64_t kInnerShareable = std::uint64_t{3} << 8;
inline constexpr std::uint64_t kAccessFlag = std::uint64_t{1} << 10;
inline constexpr std::uint64_t kNotGlobal = std::uint64_t{1} << 11;  // tagged with the ASID
inline constexpr std::uint64_t kPrivilegedExecuteNever = std::uint64_t{1} << 53;
inline constexpr std::uint64_t kUserExecuteNever = std::uint64_t{1} << 54;
inline constexpr std::uint64_t kAddressMask = 0x0000'FFFF'FFFF'F000;
}  // namespace descriptor

struct Mapping {
  Address frame;  // of the 4 KiB or 2 MiB page
  PageSize size;
  bool writable;
  bool young = true;  // the access flag
};

class PageTable {
 public:
  // va_bits: 39 (walk starts at level 1) or 48 (level 0). Empty when there is no frame for the root.
  // `dated`: its leaves do not follow anything, so that what is translated by them is as old as they are.
  static std::unique_ptr<PageTable> create(memory::FrameStore& store, FrameAllocator& frames, unsigned va_bits,
                                           bool dated = false);
  ~PageTable();
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;

  // Physical address of the first table: TTBR0's BADDR.
  Address root() const { return root_; }
  unsigned va_bits() const { return va_bits_; }
  bool in_range(VirtualAddress va) const { return va >> va_bits_ == 0; }

  // Maps one page of user memory, access flag set, never executable. va and frame are aligned to the
  // size, and at most a note is there. no_memory (then nothing has changed): no frame for a table.
  Error map(VirtualAddress va, Address frame, PageSize size, bool writable);
  // Removes the leaf that covers va; empty when there is none. Tables that become empty are retired, not
  // freed: a walker may still hold them in its walk cache until the TLB invalidation is complete.
  std::optional<Mapping> unmap(VirtualAddress va);
  // Change the leaf that covers va; false when there is none.
  bool protect(VirtualAddress va, bool writable);
  bool set_young(VirtualAddress va, bool young);
  // A note is what the kernel keeps in an invalid descriptor: a swap or migration entry, PROT_NONE. Walkers fault, and
  // the table stays. leave_note puts one in place of the leaf that covers va, whose table must hold pages or blocks of
  // `size`; drop_note removes it, and tables that become empty are retired.
  void leave_note(VirtualAddress va, PageSize size);
  void drop_note(VirtualAddress va, PageSize size);
  // The way from a block to pages, and back. prepare_split makes a table of 512 page descriptors for the frames of the
  // block that covers va, and attaches it to nothing; empty when there is no frame for it. attach_pages puts such a
  // table in place of the block, or of the note that was left for it; detach_pages leaves a note in its place.
  std::optional<Address> prepare_split(VirtualAddress va);
  void attach_pages(VirtualAddress va, Address table);
  Address detach_pages(VirtualAddress va);
  void free_detached(Address table);

  std::optional<Mapping> walk(VirtualAddress va) const;
  // Physical address that va translates to.
  std::optional<Address> translate(VirtualAddress va) const;

  // The tables retired since the last call, to be freed when no walker can hold them.
  sim::Vector<Address> take_retired() { return std::exchange(retired_, {}); }
  void free_tables(const sim::Vector<Address>& retired);
  // In use, the root included.
  std::uint64_t tables() const { return live_entries_.size(); }
  std::uint64_t retired() const { return retired_.size(); }

 private:
  struct Path;
  PageTable(memory::FrameStore& store, FrameAllocator& frames, unsigned va_bits, bool dated, Address root);
  unsigned first_level() const { return va_bits_ > 39 ? 0 : 1; }
  static Address entry_address(Address table, VirtualAddress va, unsigned level);
  static Mapping describe(const Path& path);
  void clear_leaf(const Path& path, VirtualAddress va);
  void adopt_table(Address frame);
  Path find(VirtualAddress va) const;
  void set_entry(Address table, Address entry, std::uint64_t value);
  void clear_entry(Address table, Address entry);

  memory::FrameStore& store_;
  FrameAllocator& frames_;
  unsigned va_bits_;
  bool dated_;
  Address root_;
  sim::HashMap<Address, unsigned> live_entries_;  // of each table, how many entries are valid or notes
  sim::Vector<Address> retired_;
};

}  // namespace faultline::os
