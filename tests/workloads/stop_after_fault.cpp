// SPDX-License-Identifier: Apache-2.0
// exanest.stop_after_fault on a whole machine: fewer bytes cross the network in vain, and all data are right.
#include <catch2/catch.hpp>

#include "tests/support/point.hpp"

using namespace faultline::test;

namespace {

const Settings kStops{{"exanest.stop_after_fault", true}};
const Settings kFaulting{{"workload.cold", "destination"}, {"workload.size", "64 KiB"}};

}  // namespace

TEST_CASE("stops save bytes of blocks that are sent again, of writes and of reads") {
  for (const char* kind : {"write", "read"}) {
    for (const char* strategy : {"fault/touch-ahead", "fault/touch-a-page", "fault/mirrored"}) {
      INFO(kind << ", " << strategy);
      const Settings settings = preset(strategy) + kFaulting + Settings{{"workload.kind", kind}};
      const Point without = run_well(settings), with = run_well(settings + kStops);
      CHECK(with.count("dropped_bytes") > 0);
      CHECK(with.count("dropped_bytes") < without.count("dropped_bytes") * 3 / 4);
      CHECK(with.count("timeouts") == 0);
      const Point lost = run_well(settings + kStops + Settings{{"exanest.stop_loss", 1.0}});
      CHECK(lost.count("dropped_bytes") == without.count("dropped_bytes"));
    }
  }
}

TEST_CASE("an access that stalls is not refused, and stops nothing") {
  const Point without = run_well(preset("fault/stall") + kFaulting);
  const Point with = run_well(preset("fault/stall") + kFaulting + kStops);
  CHECK(with.text == without.text);
  CHECK(with.count("dropped_bytes") == 0);
}

TEST_CASE("without faults, and with faults at the source, stops change nothing") {
  for (const char* end : {"none", "source"}) {
    const Settings settings = preset("fault/touch-ahead") + kFaulting + Settings{{"workload.cold", end}};
    CHECK(run_well(settings + kStops).text == run_well(settings).text);
  }
}
