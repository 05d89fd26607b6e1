// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/os/vm_core.hpp"

namespace faultline::os {
namespace {

[[noreturn]] void broken(std::string what) { throw std::logic_error("the memory manager's books are wrong: " + what); }

// The descriptor is what the page state says.
void check_descriptor(const Process& process, VirtualAddress va, const PageState& page) {
  const auto mapping = process.page_table().walk(va);
  if (mapping.has_value() != page.present()) broken(fmt::format("{:#x} is present in one of table and state", va));
  if (!mapping) return;
  const Address frame = mapping->frame + va % bytes_of(mapping->size);
  if (frame != page.frame || mapping->writable != page.writable || mapping->young != page.young) {
    broken(fmt::format("the descriptor of {:#x} is not what its state says", va));
  }
}

// Only the first page of a huge one is on a list.
bool is_tail(const FrameTable& frames, Address frame) {
  const Mapper mapper = frames.find(frame).first;
  return mapper.process != nullptr && mapper.va % kHugePage != 0 && mapper.process->space().is_huge(mapper.va);
}

}  // namespace

// Every page in the cache knows where it belongs, and no other frame says that it is there.
void VmCore::audit_files() const {
  std::uint64_t cached = 0;
  std::uint64_t dirty = 0;
  for (const auto& file : page_cache.files()) {
    for (const auto& [number, page] : file->cached()) {
      const FrameRecord record = frame_table.find(page.frame);
      if (record.file != file->id() || record.file_page != number) {
        broken(fmt::format("page {} of file {} and its frame disagree", number, file->id()));
      }
      if (record.list == LruList::none && record.isolated == 0) {
        broken(fmt::format("page {} of file {} is on no list", number, file->id()));
      }
      ++cached;
      dirty += page.dirty ? 1 : 0;
    }
  }
  frame_table.for_each([&](Address, const FrameRecord& record) { cached -= record.file != 0 ? 1 : 0; });
  if (cached != 0) broken("a frame takes itself for a page of a file");
  if (dirty != page_cache.writeback().dirty_pages()) broken("another number of pages is dirty than is counted");
}

void VmCore::audit(bool changing) const {
  sim::HashMap<Address, std::uint32_t> entries;     // that lead to a frame
  sim::HashMap<SwapSlot, std::uint32_t> referring;  // entries to a slot
  for (const auto& process : processes) {
    std::uint64_t resident = 0;
    std::uint64_t swapped = 0;
    const AddressSpace& space = process->space_;
    const VirtualAddress top = VirtualAddress{1} << process->page_table().va_bits();
    for (VirtualAddress va = 0; const auto next = space.next_entry(va, top);) {
      va = *next + kPage;
      const PageState& page = *space.entry(*next);
      if (!page.in_motion()) check_descriptor(*process, *next, page);
      // munmap takes the VMAs first.
      if (!changing && space.find(*next) == nullptr) broken(fmt::format("{:#x} has a page and no VMA", *next));
      if (page.entry == Entry::swapped) {
        ++swapped;
        ++referring[page.slot()];
      }
      if (!page.has_frame()) continue;
      ++resident;
      ++entries[page.frame];
      if (!frames.is_allocated(page.frame)) broken(fmt::format("{:#x} leads to a free frame", *next));
      const auto mappers = frame_table.mappers(page.frame);
      if (std::find(mappers.begin(), mappers.end(), Mapper{process.get(), *next}) == mappers.end()) {
        broken(fmt::format("the frame of {:#x} does not know it", *next));
      }
    }
    if (!changing && process->in_motion_ != 0) broken("a page is in motion, and nobody moves it");
    if (resident * kPage != space.resident_bytes() || swapped * kPage != space.swapped_bytes()) {
      broken("a process has another number of pages than it counts");
    }
  }
  frame_table.for_each([&](Address frame, const FrameRecord& record) {
    const auto found = entries.find(frame);
    const std::uint32_t known = found == entries.end() ? 0 : found->second;
    if (frame_table.mappers(frame).size() != known)
      broken(fmt::format("{:#x} has lost an entry that led to it", frame));
    // Entries that have gone count until the TLBs have forgotten them.
    const bool agree = changing ? record.mappings >= known : record.mappings == known;
    if (!agree) broken(fmt::format("frame {:#x} has {} mappings and {} entries", frame, record.mappings, known));
    if (record.held() != (record.held() && frames.is_allocated(frame))) {
      broken(fmt::format("frame {:#x} is held and free", frame));
    }
    if (known > 0 && record.isolated == 0 && record.list == LruList::none && !record.foreign &&
        !is_tail(frame_table, frame)) {
      broken(fmt::format("frame {:#x} is mapped and on no list", frame));
    }
  });
  audit_files();
  swap.for_each_slot([&](SwapSlot slot, std::uint32_t count, const std::optional<Address>& frame) {
    const auto found = referring.find(slot);
    if (count != (found == referring.end() ? 0 : found->second)) {
      broken(fmt::format("slot {} counts {} entries that refer to it", slot, count));
    }
    if (frame && frame_table.find(*frame).slot != slot) broken(fmt::format("slot {} and its frame disagree", slot));
  });
}

}  // namespace faultline::os
