// SPDX-License-Identifier: Apache-2.0
// What reclaim remembers of the pages of a memory group that it has looked at, anonymous ones and those of files, and
// how it divides the next looks between the two kinds where it does not choose one outright (get_scan_count).
//
// Up to 5.7 a kind is looked at the less, the more of its pages were in use (recent_rotated of recent_scanned). Since
// 5.8 it is the less, the more pages of it had to be written (lru_note_cost); since 6.2 looks in vain count, too, 32 of
// them as one write.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "models/cpu/kernel.hpp"

namespace faultline::os {

class ScanBalance {
 public:
  enum Kind : std::size_t { anon, file };
  // Both kinds on the lists of the group, in pages.
  using Listed = std::array<std::uint64_t, 2>;
  // What became of pages of an inactive list.
  struct Looks {
    std::uint64_t taken = 0;      // off the list
    std::uint64_t activated = 0;  // and are on the active list now
    std::uint64_t written = 0;    // are being written
    std::uint64_t freed = 0;
  };
  // How much of each kind is to be looked at, in parts of `whole`, which is not 0.
  struct Shares {
    std::uint64_t anon;
    std::uint64_t file;
    std::uint64_t whole;
  };

  explicit ScanBalance(const cpu::Kernel& kernel) : kernel_(kernel) {}

  // A page has come to a list from elsewhere, or to the active list because it is used.
  void came(Kind kind, bool active);
  // Pages of an active list were looked at, of which so many had been used.
  void looked_at_active(Kind kind, std::uint64_t pages, std::uint64_t used);
  void looked_at_inactive(Kind kind, const Looks& looks, const Listed& listed);
  // `swappiness`: of 200.
  Shares shares(std::uint64_t swappiness, const Listed& listed);

 private:
  const cpu::Kernel kernel_;
  std::array<std::uint64_t, 2> scanned_{};  // up to 5.7, in pages
  std::array<std::uint64_t, 2> rotated_{};
  std::array<std::uint64_t, 2> cost_{};  // since 5.8
};

}  // namespace faultline::os
