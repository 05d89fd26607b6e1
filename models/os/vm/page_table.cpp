// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/page_table.hpp"

#include <stdexcept>

namespace faultline::os {
namespace {

using namespace descriptor;

constexpr unsigned kEntries = 512;
constexpr unsigned kLeafLevel = 3;

std::uint64_t leaf_descriptor(Address frame, PageSize size, bool writable) {
  return frame | kValid | (size == PageSize::small ? kTableOrPage : 0) | kAttributeIndexNormal << 2 | kUser |
         (writable ? 0 : kReadOnly) | kInnerShareable | kAccessFlag | kNotGlobal | kPrivilegedExecuteNever |
         kUserExecuteNever;
}

// Of the bits that Linux leaves to software in invalid descriptors; which does not matter to any walker.
constexpr std::uint64_t kNote = std::uint64_t{1} << 58;

bool is_table(std::uint64_t value, unsigned level) { return level < kLeafLevel && (value & kTableOrPage) != 0; }

}  // namespace

// The tables from the root down to the one that holds the leaf's descriptor (or the invalid entry).
struct PageTable::Path {
  std::array<Address, kLeafLevel + 1> tables{};
  unsigned level = 0;
  Address entry = 0;
  std::uint64_t value = 0;
  bool mapped() const { return (value & kValid) != 0; }
};

std::unique_ptr<PageTable> PageTable::create(memory::FrameStore& store, FrameAllocator& frames, unsigned va_bits,
                                             bool dated) {
  const auto root = frames.allocate_page(FrameUse::fixed);
  if (!root) return nullptr;
  return std::unique_ptr<PageTable>(new PageTable(store, frames, va_bits, dated, *root));
}

PageTable::PageTable(memory::FrameStore& store, FrameAllocator& frames, unsigned va_bits, bool dated, Address root)
    : store_(store), frames_(frames), va_bits_(va_bits), dated_(dated), root_(root) {
  adopt_table(root);
}

PageTable::~PageTable() {
  free_tables(retired_);
  for (const auto& [table, entries] : live_entries_) frames_.free_page(table);
}

// A frame may have held data: it becomes a table without valid entries.
void PageTable::adopt_table(Address frame) {
  store_.write(frame, sim::Content::zeros(kPage));
  live_entries_.emplace(frame, 0);
}

Address PageTable::entry_address(Address table, VirtualAddress va, unsigned level) {
  const unsigned shift = 12 + 9 * (kLeafLevel - level);
  return table + (va >> shift & (kEntries - 1)) * 8;
}

PageTable::Path PageTable::find(VirtualAddress va) const {
  Path path;
  Address table = root_;
  for (unsigned level = first_level();; ++level) {
    path.tables[level] = table;
    path.level = level;
    path.entry = entry_address(table, va, level);
    path.value = store_.read_word(path.entry);
    if (!path.mapped() || !is_table(path.value, level)) return path;
    table = path.value & kAddressMask;
  }
}

Error PageTable::map(VirtualAddress va, Address frame, PageSize size, bool writable) {
  if (!in_range(va)) return Error::bad_address;
  const unsigned leaf_level = size == PageSize::small ? kLeafLevel : kLeafLevel - 1;
  Path path = find(va);
  if (path.mapped() || path.level > leaf_level) throw std::logic_error("the address is mapped already");
  if (path.value != 0) {
    if (path.level != leaf_level) throw std::logic_error("a page in place of a block's note");
    store_.write_word(path.entry, leaf_descriptor(frame, size, writable));
    return Error::none;
  }

  // All missing tables first, so that running out of memory changes nothing.
  std::array<Address, kLeafLevel> fresh{};
  const unsigned needed = leaf_level - path.level;
  for (unsigned i = 0; i < needed; ++i) {
    const auto table = frames_.allocate_page(FrameUse::fixed);
    if (!table) {
      while (i > 0) frames_.free_page(fresh[--i]);
      return Error::no_memory;
    }
    fresh[i] = *table;
  }
  Address table = path.tables[path.level];
  for (unsigned i = 0; i < needed; ++i) {
    adopt_table(fresh[i]);
    set_entry(table, entry_address(table, va, path.level + i), fresh[i] | kValid | kTableOrPage);
    table = fresh[i];
  }
  set_entry(table, entry_address(table, va, leaf_level), leaf_descriptor(frame, size, writable));
  if (dated_) store_.date_descriptor(entry_address(table, va, leaf_level));
  return Error::none;
}

std::optional<Mapping> PageTable::unmap(VirtualAddress va) {
  const Path path = find(va);
  if (!path.mapped()) return {};
  const Mapping mapping = describe(path);
  clear_leaf(path, va);
  return mapping;
}

void PageTable::clear_leaf(const Path& path, VirtualAddress va) {
  clear_entry(path.tables[path.level], path.entry);
  if (dated_) store_.forget_descriptor(path.entry);
  for (unsigned level = path.level; level > first_level(); --level) {
    const Address table = path.tables[level];
    if (live_entries_.at(table) > 0) break;
    live_entries_.erase(table);
    retired_.push_back(table);
    const Address parent = path.tables[level - 1];
    clear_entry(parent, entry_address(parent, va, level - 1));
  }
}

bool PageTable::protect(VirtualAddress va, bool writable) {
  const Path path = find(va);
  if (!path.mapped()) return false;
  store_.write_word(path.entry, (path.value & ~kReadOnly) | (writable ? 0 : kReadOnly));
  return true;
}

bool PageTable::set_young(VirtualAddress va, bool young) {
  const Path path = find(va);
  if (!path.mapped()) return false;
  store_.write_word(path.entry, (path.value & ~kAccessFlag) | (young ? kAccessFlag : 0));
  return true;
}

void PageTable::leave_note(VirtualAddress va, PageSize size) {
  const Path path = find(va);
  const unsigned level = size == PageSize::small ? kLeafLevel : kLeafLevel - 1;
  if (path.level != level || path.value == 0) throw std::logic_error("a note takes the place of a leaf");
  store_.write_word(path.entry, kNote);
}

void PageTable::drop_note(VirtualAddress va, PageSize size) {
  const Path path = find(va);
  const unsigned level = size == PageSize::small ? kLeafLevel : kLeafLevel - 1;
  if (path.level != level || path.value != kNote) throw std::logic_error("there is no note to drop");
  clear_leaf(path, va);
}

std::optional<Address> PageTable::prepare_split(VirtualAddress va) {
  const Path path = find(va);
  if (!path.mapped() || path.level == kLeafLevel) throw std::logic_error("there is no huge page to split");
  const auto table = frames_.allocate_page(FrameUse::fixed);
  if (!table) return {};
  adopt_table(*table);
  for (unsigned i = 0; i < kEntries; ++i) {
    set_entry(*table, *table + i * 8, (path.value + i * kPage) | kTableOrPage);
  }
  return table;
}

void PageTable::attach_pages(VirtualAddress va, Address table) {
  const Path path = find(va);
  if (path.level != kLeafLevel - 1 || path.value == 0) throw std::logic_error("there is no place for a table of pages");
  store_.write_word(path.entry, table | kValid | kTableOrPage);
}

Address PageTable::detach_pages(VirtualAddress va) {
  const Path path = find(va);
  if (path.level != kLeafLevel) throw std::logic_error("there is no table of pages to detach");
  store_.write_word(entry_address(path.tables[kLeafLevel - 1], va, kLeafLevel - 1), kNote);
  return path.tables[kLeafLevel];
}

void PageTable::free_detached(Address table) {
  live_entries_.erase(table);
  frames_.free_page(table);
}

std::optional<Mapping> PageTable::walk(VirtualAddress va) const {
  if (!in_range(va)) return {};
  const Path path = find(va);
  if (!path.mapped()) return {};
  return describe(path);
}

std::optional<Address> PageTable::translate(VirtualAddress va) const {
  const auto mapping = walk(va);
  if (!mapping) return {};
  return mapping->frame + va % bytes_of(mapping->size);
}

Mapping PageTable::describe(const Path& path) {
  return Mapping{.frame = path.value & kAddressMask,
                 .size = path.level == kLeafLevel ? PageSize::small : PageSize::huge,
                 .writable = (path.value & kReadOnly) == 0,
                 .young = (path.value & kAccessFlag) != 0};
}

void PageTable::set_entry(Address table, Address entry, std::uint64_t value) {
  store_.write_word(entry, value);
  ++live_entries_.at(table);
}

void PageTable::clear_entry(Address table, Address entry) {
  store_.write_word(entry, 0);
  --live_entries_.at(table);
}

void PageTable::free_tables(const sim::Vector<Address>& retired) {
  for (const Address table : retired) frames_.free_page(table);
}

}  // namespace faultline::os
