// SPDX-License-Identifier: Apache-2.0
// Which pages of a buffer are absent when a transfer begins.
#pragma once

#include <cstdint>

#include "models/sim/parameters.hpp"
#include "workloads/field_conflict.hpp"

namespace faultline::workloads {

// Which end's pages are absent when a transfer begins.
enum class Cold : std::uint8_t { none, source, destination, both };

// What the absent pages of a cold end are.
enum class ColdKind : std::uint8_t {
  written,        // sources only: the one of the next three that memory comes to that was written (kind_of_written())
  never_written,  // no access yet, or given back since (MADV_DONTNEED): zeros
  swapped,        // written, then paged out to the swap device
  file,           // of a file: written back and dropped from the page cache
  zero_page,      // read, never written: the shared page of zeros is mapped, which no write may enter
};

// Which of a cold end's pages are the absent ones, where it is a share of them.
enum class ColdPlacement : std::uint8_t {
  random,  // each set of that many pages is as likely
  even,    // at equal distances, the buffer's last page among them
  run,     // one next to the other, from a page that is drawn
};

struct ColdConfig {
  Cold cold = Cold::none;
  double cold_share = 1.0;
  ColdPlacement cold_placement = ColdPlacement::random;
  std::uint64_t cold_every = 1;

  bool operator==(const ColdConfig&) const = default;
  bool cold_source() const { return cold == Cold::source || cold == Cold::both; }
  bool cold_destination() const { return cold == Cold::destination || cold == Cold::both; }
  // Whether a buffer's pages are made absent before its use of this number, counted from 0.
  bool is_due(std::uint64_t use) const { return cold_every == 0 ? use == 0 : use % cold_every == 0; }
  // In the group that is open, which is why names begin with "cold".
  void declare_cold(sim::ParameterTable& table);
};

// nullptr: they go together.
const FieldConflict* conflict_of(const ColdConfig& config);

}  // namespace faultline::workloads
