// SPDX-License-Identifier: Apache-2.0
#include "src/results/strategy_looks.hpp"

#include <map>
#include <set>

namespace faultline::results {
namespace {

// From 8 on lines are dashed.
const std::map<std::string, unsigned> kShipped{{"resident", 0},
                                               {"fault/touch-a-page", 1},
                                               {"fault/touch-ahead", 2},
                                               {"fault/stall", 3},
                                               {"pin-per-transfer", 4},
                                               {"pin-once", 5},
                                               {"pre-touch", 6},
                                               {"mlock", 7},
                                               {"populate", 8},
                                               {"fault/touch-ahead-16", 9},
                                               {"fault/mirrored", 10},
                                               {"fault/stall-ahead-16", 11},
                                               {"pin-cache", 12},
                                               {"pin-private", 13},
                                               {"fault/fixup-user-fault", 14},
                                               {"mlock-private", 15},
                                               {"pin-cache-private", 16},
                                               {"fault/touch-ahead-256", 17},
                                               {"fault/touch-ahead-64", 18},
                                               {"fault/stall-ahead-256", 19},
                                               {"register", 20},
                                               {"fault/fixup-stall-256", 21},
                                               {"nic-mmu/pushed", 22},
                                               {"nic-mmu/pushed-256", 23},
                                               {"nic-mmu/on-demand", 24},
                                               {"nic-mmu/veto", 25},
                                               {"nic-mmu/resident", 26},
                                               {"pin-cache-merge", 27},
                                               {"pin-cache-by-size", 28},
                                               {"pin-batched", 29},
                                               {"pin-helper", 30},
                                               {"pin-overlapped", 31},
                                               {"pin-pipelined", 32},
                                               {"pin-pipelined-growing", 33},
                                               {"pin-deferred", 34},
                                               {"firehose", 35},
                                               {"firehose-private", 36}};

}  // namespace

std::vector<unsigned> looks_of(const std::vector<experiment::Strategy>& strategies) {
  std::set<unsigned> taken;
  for (const experiment::Strategy& strategy : strategies) {
    if (const auto shipped = kShipped.find(strategy.name); shipped != kShipped.end()) taken.insert(shipped->second);
  }
  std::vector<unsigned> looks;
  unsigned free = 0;
  for (const experiment::Strategy& strategy : strategies) {
    if (const auto shipped = kShipped.find(strategy.name); shipped != kShipped.end()) {
      looks.push_back(shipped->second);
      continue;
    }
    while (taken.contains(free)) ++free;
    looks.push_back(free++);
  }
  return looks;
}

}  // namespace faultline::results
