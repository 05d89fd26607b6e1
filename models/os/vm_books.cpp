// SPDX-License-Identifier: Apache-2.0
// What the manager's parts count in several places, counted again: frames, pins, locks. And what /proc/meminfo shows
// of it.
#include <fmt/format.h>

#include <stdexcept>

#include "models/os/vm.hpp"

namespace faultline::os {
namespace {

[[noreturn]] void broken(std::string what) { throw std::logic_error("the memory manager's books are wrong: " + what); }

// Where something is under way what holds comes before what is counted by, or goes after it.
void compare(const std::string& what, std::uint64_t counted, std::uint64_t found, bool changing) {
  if (counted == found || (changing && counted > found)) return;
  broken(fmt::format("{}: {} are counted, {} are found", what, counted, found));
}

}  // namespace

void VmCore::audit_frames(bool changing, std::uint64_t elsewhere) const {
  frames.audit();
  std::uint64_t held = elsewhere;
  std::vector<std::uint64_t> charged(groups.size());
  frame_table.for_each([&](Address frame, const FrameRecord& record) {
    held += record.held() ? 1 : 0;
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
    for (const auto& table : process->private_tables_) count(table->table());
    for (const auto& mirror : process->mirrors_) count(mirror->table());
  }
  compare("frames that are allocated, and pages and tables that hold one", frames.used_pages(), held + tables,
          changing);
}

void Vm::audit(bool changing) const {
  core_.audit(changing);
  core_.audit_frames(changing, cma_.taken_pages());
  std::uint64_t locked = 0;
  sim::HashMap<const Process*, std::uint64_t> pinned;
  for (const auto& process : core_.processes) {
    const AddressSpace& space = process->space_;
    std::uint64_t in_vmas = 0;
    for (const auto& [begin, vma] : space.vmas()) in_vmas += vma.locked ? vma.bytes() : 0;
    compare(fmt::format("locked bytes of '{}'", process->name()), space.locked_bytes(), in_vmas, false);
    locked += in_vmas;
    pinned[process.get()] = 0;
  }
  compare("locked bytes of all processes", locked_bytes_, locked, false);

  std::uint64_t all_pins = 0;
  sim::HashMap<Address, std::uint32_t> pins;
  for (const auto& [id, pin] : pins_) {
    const auto owner = pinned.find(pin.process);
    if (owner == pinned.end()) broken(fmt::format("pin {} is of a process that has ended", id));
    owner->second += pin.bytes();
    all_pins += pin.bytes();
    for (const Address frame : pin.frames) ++pins[frame];
  }
  for (const auto& process : core_.processes) {
    compare(fmt::format("pinned bytes of '{}'", process->name()), process->space_.pinned_bytes(), pinned[process.get()],
            changing);
  }
  compare("pinned bytes of all processes", pinned_bytes_, all_pins, changing);
  core_.frame_table.for_each([&](Address frame, const FrameRecord& record) {
    const auto found = pins.find(frame);
    compare(fmt::format("pins of frame {:#x}", frame), record.pins, found == pins.end() ? 0 : found->second, changing);
  });
}

MemInfo Vm::meminfo() const {
  MemInfo info;
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
    const bool huge = record.first.process->space().is_huge(record.first.va);
    if (record.list == LruList::unevictable && !driver)
      info.unevictable += bytes_of(huge ? PageSize::huge : PageSize::small);
  });
  return info;
}

}  // namespace faultline::os
