// SPDX-License-Identifier: Apache-2.0
// Transfers across networks of every family, with all parts in, and through failures.
#include <catch2/catch.hpp>

#include "tests/support/child.hpp"
#include "tests/support/exanest_of.hpp"
#include "tests/support/two_processes.hpp"

using namespace faultline;
using namespace faultline::test;
using network::Routing;
using network::TopologyKind;
using rdma::Posted;
using rdma::Status;
using sim::Task;

namespace {

constexpr std::uint32_t kBytes = 256 * 1024;

platform::Machine machine_of(TopologyKind topology) {
  platform::Machine machine;
  machine.shape.topology = topology;
  machine.shape.x = 4;  // a blade, if it is QFDBs
  machine.shape.torus = "4 x 3";
  machine.shape.fat_tree_arity = 3;
  machine.shape.fat_tree_up = 2;
  machine.shape.dragonfly_groups = 4;
  machine.shape.dragonfly_routers = 3;
  machine.shape.dragonfly_terminals = 1;
  machine.shape.dragonfly_global_links = 1;
  machine.router.virtual_channels = 4;
  return machine;
}

// One write whose source pages and destination pages are all there.
Facts write(const platform::Machine& machine, sim::NodeId from, sim::NodeId to) {
  return facts_from_child([=] {
    TwoProcesses p({}, machine, from, to);
    Facts facts;
    facts["finished"] = p.run([&](TwoProcesses& q) -> Task<void> {
      const std::uint64_t local = q.buffer(*q.here, kBytes);
      const std::uint64_t remote = q.buffer(*q.there, kBytes);
      q.here->vm().fill(q.here->process(), local, kBytes, 7);
      const Posted posted =
          co_await q.here->post(q.here->thread(), rdma::Operation::write, local, q.remote(remote), kBytes);
      facts["done"] = co_await q.here->wait(q.here->thread(), posted) == Status::done;
      facts["right"] = q.same(local, remote, kBytes);
      facts["ended"] = q.cluster.loop.now().count() / 1'000'000;
    });
    facts["timeouts"] = p.total("dma.timeouts");
    facts["lost"] = static_cast<std::int64_t>(p.cluster.total("network.lost_cells"));
    return facts;
  });
}

struct Case {
  TopologyKind topology;
  sim::NodeId from;
  sim::NodeId to;
  std::string link;  // on the fixed path
};
const std::vector<Case> kCases{{TopologyKind::qfdb_torus, 1, 6, "link 0-4"},
                               {TopologyKind::torus, 0, 6, "link 1-2"},
                               {TopologyKind::fat_tree, 0, 8, "link 9-12"},
                               {TopologyKind::dragonfly, 0, 11, "link 14-21"}};

}  // namespace

TEST_CASE("a transfer between distant nodes arrives on every network, with every routing") {
  for (const Case& c : kCases) {
    for (const Routing routing : {Routing::minimal, Routing::adaptive}) {
      platform::Machine machine = machine_of(c.topology);
      machine.shape.routing = routing;
      INFO(c.link << (routing == Routing::adaptive ? " adaptive" : ""));
      REQUIRE(platform::conflicts(machine).empty());
      const Facts facts = write(machine, c.from, c.to);
      CHECK(facts.at("finished") == 1);
      CHECK(facts.at("done") == 1);
      CHECK(facts.at("right") == 1);
      CHECK(facts.at("timeouts") == 0);
      CHECK(facts.at("lost") == 0);
    }
  }
}

TEST_CASE("a transfer that meets a failed link is finished by retries after the repair, or round it before") {
  for (const Case& c : kCases) {
    platform::Machine machine = machine_of(c.topology);
    INFO(c.link);
    machine.failures.list = c.link + " at 100 us until 3500 us";
    REQUIRE(platform::conflicts(machine).empty());
    const Facts repaired = write(machine, c.from, c.to);
    CHECK(repaired.at("done") == 1);
    CHECK(repaired.at("right") == 1);
    CHECK(repaired.at("lost") > 0);
    CHECK(repaired.at("ended") >= 3500);

    machine.shape.reroute = true;
    const Facts round = write(machine, c.from, c.to);
    CHECK(round.at("done") == 1);
    CHECK(round.at("right") == 1);
    CHECK(round.at("lost") > 0);
    CHECK(round.at("timeouts") > 0);
    CHECK(round.at("ended") < 3500);
  }
}

TEST_CASE("a transfer to a router that has failed ends with an error when its retries are used up") {
  platform::Machine machine = machine_of(TopologyKind::fat_tree);
  machine.failures.list = "router 8 at 10 us";
  machine.shape.reroute = true;
  exanest_of(machine).engine.retry_limit = 3;
  const Facts facts = write(machine, 0, 8);
  CHECK(facts.at("finished") == 1);
  CHECK(facts.at("done") == 0);
  CHECK(facts.at("lost") > 0);
}
