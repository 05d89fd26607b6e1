// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/scan_balance.hpp"

#include <algorithm>

namespace faultline::os {

using cpu::Change;

namespace {

constexpr std::uint64_t kLooksOfWrite = 32;  // SWAP_CLUSTER_MAX, in lru_note_cost

}  // namespace

// update_page_reclaim_stat
void ScanBalance::came(Kind kind, bool active) {
  ++scanned_[kind];
  if (active) ++rotated_[kind];
}

void ScanBalance::looked_at_active(Kind kind, std::uint64_t pages, std::uint64_t used) {
  scanned_[kind] += pages;
  rotated_[kind] += used;
}

void ScanBalance::looked_at_inactive(Kind kind, const Looks& looks, const Listed& listed) {
  scanned_[kind] += looks.taken;
  rotated_[kind] += looks.activated;
  const bool looks_cost = kernel_.has(Change::looks_cost);
  cost_[kind] += looks_cost ? looks.written * kLooksOfWrite + (looks.taken - looks.freed) : looks.written;
  if (cost_[anon] + cost_[file] <= (listed[anon] + listed[file]) / 4) return;
  for (std::uint64_t& cost : cost_) cost /= 2;
}

ScanBalance::Shares ScanBalance::shares(std::uint64_t swappiness, const Listed& listed) {
  const Listed wish{swappiness, 200 - swappiness};
  Listed part{};
  if (kernel_.has(Change::reclaim_by_cost)) {
    const std::uint64_t total = cost_[anon] + cost_[file];
    for (const Kind kind : {anon, file}) part[kind] = wish[kind] * (3 * total + 1) / (total + cost_[kind] + 1);
    return {.anon = part[anon], .file = part[file], .whole = std::max<std::uint64_t>(part[anon] + part[file], 1)};
  }
  for (const Kind kind : {anon, file}) {
    if (scanned_[kind] > listed[kind] / 4) {
      scanned_[kind] /= 2;
      rotated_[kind] /= 2;
    }
    part[kind] = wish[kind] * (scanned_[kind] + 1) / (rotated_[kind] + 1);
  }
  return {.anon = part[anon], .file = part[file], .whole = part[anon] + part[file] + 1};
}

}  // namespace faultline::os
