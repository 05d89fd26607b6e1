// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/registration/region_set.hpp"

#include <algorithm>
#include <iterator>

namespace faultline::rdma {

bool RegionSet::use(Buffer buffer) {
  const auto found = std::ranges::find_if(
      regions_, [&](const Region& region) { return region.is_found && region.covers(buffer.pages()); });
  if (found == regions_.end()) return false;
  begin_use(found, buffer);
  return true;
}

void RegionSet::add_and_use(os::Range pages, os::PinId pinned, Buffer buffer) {
  regions_.push_front({pages, pinned});
  begin_use(regions_.begin(), buffer);
}

void RegionSet::begin_use(Place region, Buffer buffer) {
  regions_.splice(regions_.begin(), regions_, region);
  ++region->users;
  region->last_acquired = ++acquisitions_;
  in_use_.push_back({buffer, region});
}

RegionSet::Ended RegionSet::end_use(Buffer buffer) {
  const auto used = std::ranges::find(in_use_, buffer, &Use::buffer);
  if (used == in_use_.end()) return {};
  const Place region = used->region;
  in_use_.erase(used);
  if (--region->users > 0) return {.known = true};
  return {true, region};
}

Gone RegionSet::take_out(Place region) {
  const Gone gone{region->pinned, region->bytes()};
  regions_.erase(region);
  return gone;
}

std::optional<RegionSet::Place> RegionSet::victim(Replacement replacement) {
  std::optional<Place> found;
  std::uint64_t most = 0;
  for (Place at = regions_.end(); at != regions_.begin();) {
    --at;
    if (at->users > 0) continue;
    if (replacement == Replacement::lru) return at;
    // Pages, so that 2^32 acquisitions of 1 TiB are counted.
    const std::uint64_t weight = (acquisitions_ - at->last_acquired + 1) * (at->bytes() / os::kPage);
    if (weight <= most) continue;
    most = weight;
    found = at;
  }
  return found;
}

std::size_t RegionSet::lose(os::Range pages, GoneOnes& gone) {
  std::size_t lost = 0;
  for (Place region = regions_.begin(); region != regions_.end();) {
    const Place at = region++;
    if (!at->is_found || !at->pages.overlaps(pages)) continue;
    ++lost;
    at->is_found = false;
    if (at->users == 0) gone.push_back(take_out(at));
  }
  return lost;
}

os::Range RegionSet::merged(os::Range pages) const {
  for (bool grows = true; grows;) {
    grows = false;
    for (const Region& region : regions_) {
      if (!region.is_found || !region.pages.overlaps(pages)) continue;
      grows = grows || region.pages.begin < pages.begin || region.pages.end > pages.end;
      pages = {std::min(pages.begin, region.pages.begin), std::max(pages.end, region.pages.end)};
    }
  }
  return pages;
}

bool RegionSet::is_in_use(os::Range pages) const {
  return std::ranges::any_of(regions_, [&](const Region& r) { return r.users > 0 && r.pages.overlaps(pages); });
}

}  // namespace faultline::rdma
