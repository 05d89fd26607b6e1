// SPDX-License-Identifier: Apache-2.0
// What must not grow with the cluster.
#include <malloc.h>
#include <catch2/catch.hpp>

#include <string_view>

#include "models/platform/cluster.hpp"
#include "tests/support/child.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

std::int64_t threads_in(const std::vector<sc_core::sc_object*>& objects) {
  std::int64_t sum = 0;
  for (const sc_core::sc_object* object : objects) {
    sum += (object->kind() == std::string_view("sc_thread_process") ? 1 : 0) + threads_in(object->get_child_objects());
  }
  return sum;
}

}  // namespace

// Each thread has a stack, and each stack two of the 65530 memory maps that Linux gives a process: TLM's simple
// target sockets start one where only the non-blocking transport is registered.
TEST_CASE("a cluster of 1024 MPSoCs elaborates, without a thread of SystemC's") {
  const Facts facts = facts_from_child([] {
    platform::Machine machine;
    machine.shape.x = 16;
    machine.shape.y = machine.shape.z = 4;
    platform::Cluster cluster("cluster", machine, 1);
    cluster.boot();
    return Facts{{"nodes", cluster.size()}, {"threads", threads_in(sc_core::sc_get_top_level_objects())}};
  });
  CHECK(facts.at("nodes") == 1024);
  CHECK(facts.at("threads") == 0);
}

#ifndef __SANITIZE_ADDRESS__  // whose allocator does not tell
// Some 460 MiB for 4096 MPSoCs. What a node may need later (translations, frames that hold something) is taken when it
// does.
TEST_CASE("an MPSoC that has done nothing takes at most 112 KiB of the heap") {
  const Facts facts = facts_from_child([] {
    platform::Machine machine;
    machine.shape.x = machine.shape.y = 4;
    const auto before = static_cast<std::int64_t>(mallinfo2().uordblks);
    platform::Cluster cluster("cluster", machine, 1);
    cluster.boot();
    return Facts{{"nodes", cluster.size()}, {"bytes", static_cast<std::int64_t>(mallinfo2().uordblks) - before}};
  });
  REQUIRE(facts.at("nodes") == 64);
  CHECK(facts.at("bytes") > 64 * 16 * 1024);  // it was counted
  CHECK(facts.at("bytes") <= 64 * 112 * 1024);
}
#endif
