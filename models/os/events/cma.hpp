// SPDX-License-Identifier: Apache-2.0
// The CMA area: memory that programs' pages may use as long as no driver wants a contiguous piece of it. Then, and when
// a page in it is to be pinned for long, pages are moved elsewhere. As in Linux 6.x, mm/cma.c, mm/gup.c
// (check_and_migrate_movable_pages) and mm/page_alloc.c (alloc_contig_range). Which pages get there: FrameAllocator.
#pragma once

#include <cstdint>
#include <optional>

#include "models/os/events/migration.hpp"
#include "models/os/vm/vm_core.hpp"

namespace faultline::os {

class Cma {
 public:
  Cma(VmCore& core, Migration& migration) : core_(core), migration_(migration) {}

  bool holds(Address frame) const { return core_.frames.cma().owns(frame); }
  bool holds_any(const sim::Vector<Address>& frames) const;
  // Before a pin for long: those of the frames that lie in the area are moved out of it. Nobody holds a pin on the
  // caller's behalf meanwhile, so that whoever pins looks again afterwards where the pages are. no_memory: somebody
  // else holds one, or there is no frame outside.
  sim::Task<Error> move_out(cpu::Execution& exec, const sim::Vector<Address>& frames);

  // cma_alloc: the first contiguous piece that can be had. Whoever gets it gives it back by release().
  sim::Task<std::optional<Address>> allocate(cpu::Execution& exec, std::uint64_t pages);
  // The same, where it is wanted. False: a page of it is held, or a driver's.
  sim::Task<bool> allocate_at(cpu::Execution& exec, Address begin, std::uint64_t pages);
  void release(Address begin);
  // That drivers have, or that are being collected for one.
  std::uint64_t taken_pages() const { return taken_; }

  // Takes no time, for set-up: pages of the area for the range, which has none, as if they had come when the rest of
  // memory was nearly used.
  Error bring_into_area(Process& process, VirtualAddress va, std::uint64_t bytes);

 private:
  class Frames;
  class Piece;
  sim::Task<bool> claim(cpu::Execution& exec, Address begin, std::uint64_t pages);
  sim::Task<bool> empty(cpu::Execution& exec, Piece& piece);
  sim::Task<bool> move_away(cpu::Execution& exec, Migration::Sources& sources, Piece& piece);
  void add_source(Address frame, Migration::Sources& sources);
  // Rounds of the cores' workers that a claim waits for.
  struct Drains {
    unsigned before;  // pages move
    unsigned after;   // all pages have moved
  };
  Drains drains(Range claimed) const;
  bool overlaps_claim(Address begin, std::uint64_t pages) const;

  VmCore& core_;
  Migration& migration_;
  sim::Map<Address, std::uint64_t> claims_;  // drivers' pieces: pages by begin
  std::uint64_t taken_ = 0;
};

}  // namespace faultline::os
