// SPDX-License-Identifier: Apache-2.0
// What the manager keeps in several places, compared and counted again: entries, descriptors, frames, pins, locks.
// Files and slots: page_cache.cpp, swap.cpp. And what /proc/meminfo shows of it.
#include <fmt/format.h>

#include "models/os/vm/vm.hpp"

namespace faultline::os {
namespace {

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

// Where something is under way what holds comes before what is counted by, or goes after it.
void compare(const std::string& what, std::uint64_t counted, std::uint64_t found, bool changing) {
  if (counted == found || (changing && counted > found)) return;
  broken(fmt::format("{}: {} are counted, {} are found", what, counted, found));
}

}  // namespace

SlotReferences VmCore::audit(bool changing) const {
  Entries entries;
  SlotReferences to_slots;
  for (const auto& process : processes) audit_process(*process, changing, entries, to_slots);
  audit_mappings(changing, entries);
  return to_slots;
}

void VmCore::audit_process(Process& process, bool changing, Entries& entries, SlotReferences& to_slots) const {
  std::uint64_t resident = 0;
  std::uint64_t swapped = 0;
  const AddressSpace& space = Mm::of(process).space;
  for (VirtualAddress va = 0; const auto next = space.next_entry(va, space.all().end);) {
    va = *next + kPage;
    const PageState& page = *space.entry(*next);
    if (!page.in_motion()) check_descriptor(process, *next, page);
    // munmap takes the VMAs first.
    if (!changing && space.find(*next) == nullptr) broken(fmt::format("{:#x} has a page and no VMA", *next));
    if (page.entry == Entry::swapped) {
      ++swapped;
      ++to_slots[page.slot()];
    }
    if (!page.has_frame()) continue;
    ++resident;
    ++entries[page.frame];
    if (!frames.is_allocated(page.frame)) broken(fmt::format("{:#x} leads to a free frame", *next));
    if (!frame_table.has_mapper(page.frame, {&process, *next})) {
      broken(fmt::format("the frame of {:#x} does not know it", *next));
    }
  }
  if (!changing && Mm::of(process).in_motion != 0) broken("a page is in motion, and nobody moves it");
  if (resident * kPage != space.resident_bytes() || swapped * kPage != space.swapped_bytes()) {
    broken("a process has another number of pages than it counts");
  }
}

void VmCore::audit_mappings(bool changing, const Entries& entries) const {
  frame_table.for_each([&](Address frame, const FrameRecord& record) {
    const auto found = entries.find(frame);
    const std::uint32_t known = found == entries.end() ? 0 : found->second;
    if (frame_table.mappers(frame).size() != known) {
      broken(fmt::format("{:#x} has lost an entry that led to it", frame));
    }
    // Entries that have gone count until the TLBs have forgotten them.
    const bool agree = changing ? record.mappings >= known : record.mappings == known;
    if (!agree) broken(fmt::format("frame {:#x} has {} mappings and {} entries", frame, record.mappings, known));
    if (record.held() && !frames.is_allocated(frame)) broken(fmt::format("frame {:#x} is held and free", frame));
    const bool accounted = record.isolated > 0 || record.list != LruList::none || record.foreign || record.pool;
    if (known == 0 || accounted) return;
    // Of a huge page only the first frame is on a list.
    const bool tail = is_whole(frame) && record.first.va % kHugePage != 0;
    if (!tail) broken(fmt::format("frame {:#x} is mapped and on no list", frame));
  });
}

void VmCore::audit_frames(bool changing, std::uint64_t elsewhere) const {
  frames.audit();
  huge_pool.audit(changing);
  std::uint64_t held = elsewhere;
  std::vector<std::uint64_t> charged(groups.size());
  frame_table.for_each([&](Address frame, const FrameRecord& record) {
    held += record.held() || record.pool ? 1 : 0;
    charged[record.group] += record.charged ? 1 : 0;
    if (record.isolated > 0 && !changing) broken(fmt::format("frame {:#x} is isolated, and nobody works on it", frame));
  });
  for (const auto& group : groups) {
    if (group->charged != charged[group->id]) broken(fmt::format("group {} counts its pages wrong", group->id));
  }
  std::uint64_t tables = 0;
  const auto count = [&tables](const PageTable& table) { tables += table.tables() + table.retired(); };
  for (const auto& process : processes) {
    count(process->page_table());
    for (const auto& table : Mm::of(*process).device_tables) count(table->table());
  }
  compare("frames that are allocated, and pages and tables that hold one", frames.used_pages(), held + tables,
          changing);
}

void Vm::audit(bool changing) const {
  SlotReferences to_slots = core_.audit(changing);
  page_cache_.audit(to_slots);
  swap_.audit(to_slots);
  core_.audit_frames(changing, cma_.taken_pages());
  audit_locks();
  audit_pins(changing);
}

void Vm::audit_locks() const {
  std::uint64_t locked = 0;
  for (const auto& process : core_.processes) {
    const AddressSpace& space = Mm::of(*process).space;
    std::uint64_t in_vmas = 0;
    for (const auto& [begin, vma] : space.vmas()) in_vmas += vma.locked ? vma.bytes() : 0;
    compare(fmt::format("locked bytes of '{}'", process->name()), space.locked_bytes(), in_vmas, false);
    locked += in_vmas;
  }
  compare("locked bytes of all processes", locked_bytes_, locked, false);
}

void Vm::audit_pins(bool changing) const {
  sim::HashMap<const Process*, std::uint64_t> pinned;
  for (const auto& process : core_.processes) pinned[process.get()] = 0;
  std::uint64_t all_pins = 0;
  sim::HashMap<Address, std::uint32_t> pins;
  for (const auto& [id, pin] : pins_) {
    const auto owner = pinned.find(pin.process);
    if (owner == pinned.end()) broken(fmt::format("pin {} is of a process that has ended", id));
    owner->second += pin.bytes();
    all_pins += pin.bytes();
    for (const Address frame : pin.frames) {
      ++pins[frame];
      if (!core_.frame_table.pins(*pin.process, frame)) broken(fmt::format("frame {:#x} does not know a pin", frame));
    }
  }
  for (const auto& process : core_.processes) {
    compare(fmt::format("pinned bytes of '{}'", process->name()), Mm::of(*process).space.pinned_bytes(),
            pinned[process.get()], changing);
  }
  compare("pinned bytes of all processes", pinned_.value(), all_pins, changing);
  core_.frame_table.for_each([&](Address frame, const FrameRecord& record) {
    const auto found = pins.find(frame);
    compare(fmt::format("pins of frame {:#x}", frame), record.pins, found == pins.end() ? 0 : found->second, changing);
  });
}

MemInfo Vm::meminfo() const {
  MemInfo info{.mlocked = 0,
               .unevictable = 0,
               .huge_pages_total = core_.huge_pool.total_pages(),
               .huge_pages_free = core_.huge_pool.free_pages(),
               .huge_pages_rsvd = core_.huge_pool.reserved_pages()};
  core_.frame_table.for_each([&](Address frame, const FrameRecord& record) {
    if (record.first.process == nullptr) return;
    bool locked = false;
    bool driver = false;
    for (const Mapper& mapper : core_.frame_table.mappers(frame)) {
      const AddressSpace& space = mapper.process->space();
      const Vma* vma = space.find(mapper.va);
      const PageState* page = space.entry(mapper.va);
      if (vma == nullptr || page == nullptr || page->entry == Entry::migrating) continue;
      locked = locked || vma->locked;
      driver = driver || vma->driver;
    }
    if (locked && !driver) info.mlocked += kPage;
    // A huge page is on the list by its first frame.
    if (record.list == LruList::unevictable && !driver) {
      info.unevictable += bytes_of(core_.is_whole(frame) ? PageSize::huge : PageSize::small);
    }
  });
  return info;
}

}  // namespace faultline::os
