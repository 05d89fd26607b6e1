// SPDX-License-Identifier: Apache-2.0
#include "workloads/cold_config.hpp"

namespace faultline::workloads {

void ColdConfig::declare_cold(sim::ParameterTable& table) {
  table.add_choice(
      "cold", cold,
      {{"none", Cold::none}, {"source", Cold::source}, {"destination", Cold::destination}, {"both", Cold::both}},
      {"end whose pages are absent before each transfer (see cold_every), unless the strategy keeps them present",
       "",
       {}});
  table.add_fraction(
      "cold_share", cold_share, {0.0, 1.0},
      {"share of the pages of a cold end that are absent, drawn anew for each transfer and end: that many "
       "exactly, or where it is no whole number one more or one less so that the mean is right; a "
       "huge page counts as one",
       "",
       {}});
  table.add_choice(
      "cold_placement", cold_placement,
      {{"random", ColdPlacement::random}, {"even", ColdPlacement::even}, {"run", ColdPlacement::run}},
      {"which pages are the share that is absent: any, each set of as many being as likely; at equal distances, the "
       "last page among them; or one next to the other from a page that is drawn",
       "",
       {}});
  table.add_count(
      "cold_every", cold_every, {std::uint64_t{0}, std::uint64_t{10'000'000}},
      {"uses of a buffer from one time that its pages are made absent to the next: 1: before each transfer; "
       "10: cold once, then used nine times as the transfer before has left it; 0: cold once, before the "
       "first measured transfer",
       "",
       {}});
}

const FieldConflict* conflict_of(const ColdConfig& config) {
  static constexpr const char* kSayWhich = "say by 'cold' which end is cold";
  static constexpr FieldConflict kShare{"cold_share", "a share of the pages of no end", kSayWhich};
  static constexpr FieldConflict kPlacement{"cold_placement", "a place for pages of no end", kSayWhich};
  static constexpr FieldConflict kEvery{"cold_every", "how often pages of no end are made absent", kSayWhich};
  if (config.cold != Cold::none) return nullptr;
  if (config.cold_share < 1.0) return &kShare;
  if (config.cold_placement != ColdPlacement::random) return &kPlacement;
  if (config.cold_every != 1) return &kEvery;
  return nullptr;
}

}  // namespace faultline::workloads
