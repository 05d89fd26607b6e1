// SPDX-License-Identifier: Apache-2.0
// Buffers in shared memory, through the whole machine.
#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

const Settings kShmem = {{"workload.memory", "shmem"},
                         {"os.rlimit_memlock", "64 MiB"},
                         {"workload.size", "64 KiB"},
                         {"workload.iterations", 10},
                         {"workload.warmup", 1}};
const Settings kInjected =
    kShmem + Settings{{"inject.period", "60 us"}, {"inject.count", 20}, {"os.swap_bytes", "1 GiB"}};

}  // namespace

TEST_CASE("shmem: every strategy that ships transfers from and to shared memory, warm and cold") {
  for (const auto& [name, strategy] : presets()) {
    for (const char* cold : {"none", "both"}) {
      INFO(name << ", " << cold);
      // mlock only reads a shared mapping, as a file's, so that this table would be filled without the right to write.
      if (name == "mlock-private" && std::string(cold) == "both") continue;
      run_well(kShmem + strategy + Settings{{"workload.cold", cold}});
    }
  }
}

TEST_CASE("shmem: what goes to the swap device comes back by major faults of the device's, with the data") {
  for (const char* translate : {"shared", "mirrored"}) {
    INFO(translate);
    const Point p = run_well(kInjected + Settings{{"strategy.translate", translate}, {"inject.mechanism", "reclaim"}});
    CHECK(p.count("faults") > 0);
    CHECK(p.count("major_faults") > 0);
  }
}

TEST_CASE("shmem: a pin is seen after the page is unmapped, as a file's; a locked page stays") {
  const Settings reclaim = kInjected + Settings{{"inject.mechanism", "reclaim"}};
  const Point locked = run_well(reclaim + Settings{{"strategy.registration", "mlock"}});
  CHECK(locked.count("injections") > 0);
  CHECK(locked.count("faults") == 0);
  const Point pinned = run_well(reclaim + Settings{{"strategy.registration", "pin-once"}});
  CHECK(pinned.count("faults") > 0);
  CHECK(pinned.count("major_faults") == 0);
}

TEST_CASE("shmem: neither write-back nor a fork takes the right to write away") {
  for (const char* mechanism : {"write-protect", "fork"}) {
    INFO(mechanism);
    const Point p =
        run_well(kInjected + Settings{{"inject.mechanism", mechanism}, {"strategy.registration", "pin-once"}});
    CHECK(p.count("injections") > 0);
    CHECK(p.count("faults") == 0);
  }
}
