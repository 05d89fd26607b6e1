// SPDX-License-Identifier: Apache-2.0
// What a cache of registrations holds: regions that are pinned, who uses them, and which one goes first. No time passes
// here, and nothing is pinned or unpinned.
#pragma once

#include <cstdint>
#include <list>
#include <optional>

#include "models/rdma/registration/pinned_range.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::rdma {

// Which of the regions that nobody uses goes first.
enum class Replacement : std::uint8_t {
  lru,               // the one that was acquired longest ago
  size_and_recency,  // the one with the most bytes times acquisitions of any region since its own
};

class RegionSet {
 public:
  struct Region {
    os::Range pages;
    os::PinId pinned = 0;
    unsigned users = 0;
    bool is_found = true;             // until its memory changes, or a larger region takes its place
    std::uint64_t last_acquired = 0;  // by number of acquisition
    std::uint64_t bytes() const { return pages.end - pages.begin; }
    bool covers(os::Range wanted) const { return pages.begin <= wanted.begin && wanted.end <= pages.end; }
  };
  using Regions = std::list<Region, sim::Recycling<Region>>;
  using Place = Regions::iterator;
  std::size_t size() const { return regions_.size(); }

  // Begins a use of a region around the buffer: the one that was acquired last, if there are several. False: there is
  // none.
  bool use(Buffer buffer);
  // The same of a region that is new, and around the buffer.
  void add_and_use(os::Range pages, os::PinId pinned, Buffer buffer);
  // Ends the use of this buffer that began first. `last` is the region, if it has no further user. False: it is not in
  // use.
  struct Ended {
    bool known = false;
    std::optional<Place> last = {};
  };
  Ended end_use(Buffer buffer);
  // Of a region without users.
  Gone take_out(Place region);

  // Of those that nobody uses.
  std::optional<Place> victim(Replacement replacement);
  // No region of the range is found from here on. Those in use stay until their last user, others go to `gone`. The
  // number of regions.
  std::size_t lose(os::Range pages, GoneOnes& gone);
  // From the range to the smallest one around all regions that are found and overlap with it, or with each other then.
  os::Range merged(os::Range pages) const;
  bool is_in_use(os::Range pages) const;

 private:
  struct Use {
    Buffer buffer;
    Place region;
  };
  void begin_use(Place region, Buffer buffer);

  Regions regions_;  // the one that was acquired last in front
  sim::Vector<Use> in_use_;
  std::uint64_t acquisitions_ = 0;
};

}  // namespace faultline::rdma
