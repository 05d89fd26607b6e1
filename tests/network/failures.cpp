// SPDX-License-Identifier: Apache-2.0
#include "models/network/failures.hpp"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <map>

#include "tests/network/shapes.hpp"
#include "tests/support/network_mocks.hpp"

using namespace faultline;
using namespace faultline::sim;
using namespace faultline::test;

namespace {

constexpr Time kHop = 120ns + 145ns;
constexpr Time kFarHop = 186ns + 145ns;  // over an external link
constexpr Time kStart = 1us + 145ns;     // a cell that is handed over at 1 us
constexpr Time kInternal{144'000};
constexpr Time kExternal{230'400};

Time now() { return from_sc_time(sc_core::sc_time_stamp()); }

Shipment cells(NodeId to, Time at, std::uint32_t count, std::uint32_t block = 0) {
  Shipment shipment{to, 0x1000, kCellBytes, TimeSequence::regular(at, Time{0}, count)};
  shipment.block = block;
  return shipment;
}
std::vector<Time> regular(Time first, Time gap, int count) {
  const TimeSequence times = TimeSequence::regular(first, gap, static_cast<std::uint32_t>(count));
  std::vector<Time> all(times.size());
  for (std::uint32_t i = 0; i < times.size(); ++i) all[i] = times.at(i);
  return all;
}
std::string at(Time t) { return std::to_string(t.count()) + " ps"; }

// Rigs must all be there before the first simulates: one for each train length of each list of failures.
struct Rigs {
  explicit Rigs(const ClusterShape& cluster, const RouterConfig& router = {}) : shape(cluster), config(router) {}
  NetworkRig& add(std::uint32_t cells_per_train, const FailureConfig& failures, Time hold = Time{0},
                  bool late = false) {
    rigs.push_back(std::make_unique<NetworkRig>("rig" + std::to_string(rigs.size()) + "_", shape, config,
                                                cells_per_train, hold, late, failures));
    return *rigs.back();
  }
  ClusterShape shape;
  RouterConfig config;
  std::vector<std::unique_ptr<NetworkRig>> rigs;
};

}  // namespace

TEST_CASE("failures are read from text") {
  CHECK(parse_failures("").empty());
  CHECK(parse_failures("link 3-7 at 10 us, router 5 at 20 us until 50 us,link 1 - 2 at 0 ns") ==
        std::vector<Failure>{{3, 7, 10us, kNever}, {5, 5, 20us, 50us}, {1, 2, Time{0}, kNever}});
  const auto reason = [](const char* text) {
    try {
      parse_failures(text);
    } catch (const BadParameterValue& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(reason("cable 3 at 1 us") == "'cable 3 at 1 us': neither a link nor a router");
  CHECK(reason("link 3-3 at 1 us") == "'link 3-3 at 1 us': a link joins two routers");
  CHECK(reason("link 3 at 1 us") == "'link 3 at 1 us': no number of a router before '-'");
  CHECK(reason("router five at 1 us") == "'router five at 1 us': no number of a router before 'at'");
  CHECK(reason("router 5 at 2 us until 2 us") == "'router 5 at 2 us until 2 us': repaired before it fails");
  for (const char* text :
       {"router 5", "router 5 at", "router 5 at 1", "router 5 at 1 us until", "router 5 at 1 us,", ",",
        "router 5 at 1 us router 6 at 2 us", "router 99999999999 at 1 us", "router 1 at -1 us"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_failures(text), BadParameterValue);
  }
}

TEST_CASE("failures of what is not there are told") {
  const auto topology = make_topology(qfdbs(2, 1, 1, 4));
  const auto reasons = [&](const std::string& list) {
    std::vector<std::string> all;
    for (const Conflict& c : conflicts(FailureConfig{list, 10us}, *topology)) {
      CHECK(c.keys.front() == "network.failures");
      all.push_back(c.reason);
    }
    return all;
  };
  CHECK(reasons("link 0-4 at 1 us, router 7 at 1 us").empty());
  CHECK(reasons("link 1-4 at 1 us, router 8 at 1 us") ==
        std::vector<std::string>{"no link joins routers 1 and 4", "there are routers 0 to 7"});
}

TEST_CASE("outages may overlap, and a router's are those of all its links") {
  const auto topology = make_topology({});
  const FailureSchedule schedule({"link 0-1 at 10 us until 20 us, router 1 at 15 us until 30 us", 10us}, *topology);
  const Outages both = schedule.outages(0, 1);
  CHECK_FALSE(both.cover(10us - Time{1}));
  CHECK(both.cover(10us));
  CHECK(both.cover(29us));
  CHECK_FALSE(both.cover(30us));
  CHECK(both.next_change(Time{0}) == 10us);
  CHECK(both.next_change(10us) == 15us);
  CHECK(both.next_change(20us) == 30us);
  CHECK(both.next_change(30us) == kNever);
  CHECK(schedule.outages(1, kLocalPort).cover(15us));
  CHECK_FALSE(schedule.outages(1, kLocalPort).cover(10us));
  CHECK(schedule.outages(1, 2).cover(15us));
  CHECK(schedule.outages(0, 2).empty());
  CHECK(schedule.outages(0, kLocalPort).empty());
}

// Of a ring of five: 0, 1, 2 or 0, 4, 3, 2.
TEST_CASE("a path avoids a router that is known to have failed where it begins, passes or ends") {
  ClusterShape shape = torus("5");
  shape.reroute = true;
  const auto topology = make_topology(shape);
  const FailureSchedule schedule({"router 1 at 10 us until 20 us", 5us}, *topology);
  const auto avoids = [&](NodeId from, NodeId to, Time when) {
    return schedule.avoids_known(from, to, topology->path(from, to, 0), when);
  };
  CHECK(avoids(0, 2, 15us - Time{1}));
  CHECK_FALSE(avoids(0, 2, 15us));
  CHECK_FALSE(avoids(0, 1, 15us));
  CHECK_FALSE(avoids(1, 2, 15us));
  CHECK(avoids(2, 3, 15us));
  CHECK_FALSE(avoids(0, 2, 25us - Time{1}));
  CHECK(avoids(0, 2, 25us));
}

TEST_CASE("cells whose heads enter a link before it fails arrive, the others are lost and counted") {
  // Cell 5 starts on the link at kStart + 5 x 144 ns.
  const Time fifth = kStart + 5 * kInternal;
  Rigs rigs({});
  for (const std::uint32_t length : {1U, 16U}) {
    for (const Time fails : {fifth, fifth + Time{1}}) rigs.add(length, {"link 0-1 at " + at(fails), 10us});
  }
  for (const auto& rig : rigs.rigs) {
    rig->source(0).post(cells(1, 1us, 16));
    rig->source(0).post(cells(2, 1us, 16));  // another link
    rig->source(3).post(cells(1, 1us, 16));
  }
  sc_core::sc_start();
  for (std::size_t i = 0; i < 4; ++i) {
    NetworkRig& rig = *rigs.rigs[i];
    const std::uint64_t arrive = i % 2 == 0 ? 5 : 6;
    CHECK(rig.delivered(1).size() == arrive + 16);
    CHECK(rig.delivered(2).size() == 16);
    CHECK(rig.total("network.lost_cells") == 16 - arrive);
    CHECK(rig.nodes[0]->statistics.value("network.port1.cells") == arrive);
    CHECK(rig.pool.in_use() <= rig.most_kept());
  }
}

TEST_CASE("a repaired link carries what starts from that instant on") {
  const Time fourth = kStart + 4 * kInternal;
  Rigs rigs({});
  for (const std::uint32_t length : {1U, 16U}) {
    for (const Time repaired : {fourth, fourth + Time{1}}) {
      rigs.add(length, {"link 1-0 at 0 ps until " + at(repaired), 10us});
    }
  }
  for (const auto& rig : rigs.rigs) rig->source(0).post(cells(1, 1us, 16));
  sc_core::sc_start();
  for (std::size_t i = 0; i < 4; ++i) {
    const int lost = i % 2 == 0 ? 4 : 5;
    CHECK(instants(rigs.rigs[i]->delivered(1)) ==
          regular(kStart + kHop + (lost + 1) * kInternal, kInternal, 16 - lost));
    CHECK(rigs.rigs[i]->total("network.lost_cells") == static_cast<std::uint64_t>(lost));
  }
}

TEST_CASE("what waits for slots behind a link that fails is lost at once and waits no longer") {
  RouterConfig config;
  config.buffer_cells = 2;
  config.injection_cells = 4;
  config.local_buffer_cells = 1;
  // The destination holds each cell for up to 1 ms, so that all that may be sent is sent long before 20 us.
  Rigs rigs({}, config);
  for (const std::uint32_t length : {1U, 16U}) rigs.add(length, {"link 0-1 at 20 us", 10us}, 1ms, true);
  for (const auto& rig : rigs.rigs) rig->source(0).post(cells(1, 1us, 16));
  sc_core::sc_start(sc_core::sc_time(19, sc_core::SC_US));
  for (const auto& rig : rigs.rigs) CHECK(rig->source(0).unsent());
  sc_core::sc_start(sc_core::sc_time(6, sc_core::SC_US));
  for (const auto& rig : rigs.rigs) CHECK_FALSE(rig->source(0).unsent());
  sc_core::sc_start();
  for (const auto& rig : rigs.rigs) {
    CHECK(rig->delivered(1).size() + rig->total("network.lost_cells") == 16);
    CHECK(rig->total("network.lost_cells") == 16 - config.buffer_cells - config.local_buffer_cells);
    CHECK(rig->pool.in_use() <= rig->most_kept());
  }
}

TEST_CASE("a failed router loses what it holds, what comes and what its own MPSoC sends") {
  Rigs rigs(qfdbs(2, 1, 1, 4));
  for (const std::uint32_t length : {1U, 16U}) rigs.add(length, {"router 4 at 2 us until 100 us", 10us});
  for (const auto& rig : rigs.rigs) {
    rig->source(1).post(cells(6, 1us, 16));  // through 4
    rig->source(4).post(cells(4, 3us, 4));   // to itself
    rig->source(4).post(cells(5, 3us, 4));
    rig->source(5).post(cells(6, 3us, 4));     // past it
    rig->source(1).post(cells(6, 101us, 16));  // repaired
  }
  sc_core::sc_start();
  // The first cell starts on the last link, behind 4, at kStart + 2 hops + the difference of the cell's times.
  const Time first = kStart + kHop + kFarHop + kExternal - kInternal;
  const auto before = static_cast<std::uint64_t>(1 + (2us - Time{1} - first) / kExternal);
  for (const auto& rig : rigs.rigs) {
    const auto& delivered = rig->delivered(6);
    CHECK(delivered.size() == before + 4 + 16);
    CHECK(delivered.back().at == 100us + kStart + 2 * kHop + kFarHop + 16 * kExternal);
    CHECK(rig->delivered(4).empty());
    CHECK(rig->delivered(5).empty());
    CHECK(rig->total("network.lost_cells") == 16 - before + 8);
    CHECK(rig->pool.in_use() <= rig->most_kept());
  }
}

TEST_CASE("blocks that start when a failure is known take the other way round") {
  ClusterShape shape = torus("5");
  shape.reroute = true;
  Rigs rigs(shape);
  for (const std::uint32_t length : {1U, 16U}) rigs.add(length, {"link 0-1 at 500 ns until 20 us", 500ns});
  for (const auto& rig : rigs.rigs) {
    rig->source(0).post(cells(1, 1us - Time{1}, 4, 1));
    rig->source(0).post(cells(1, 1us, 4, 2));
    rig->source(0).post(cells(1, 1us, 4, 1));  // of the block that was begun
    Shipment message = cells(1, 10us, 1, 3);
    message.kind = PacketKind::message;
    rig->source(0).post(message);
    rig->source(0).post(cells(1, 20us + 500ns - Time{1}, 1, 4));
    rig->source(0).post(cells(1, 30us, 1, 5));
    rig->source(2).post(cells(0, 20us + 500ns, 1, 6));
  }
  sc_core::sc_start();
  for (const auto& rig : rigs.rigs) {
    std::map<std::uint32_t, std::vector<Time>> arrived;
    for (const Delivery& d : rig->delivered(1)) arrived[d.block].push_back(d.at);
    CHECK(arrived.count(1) == 0);
    CHECK(arrived[2].size() == 4);
    CHECK(arrived[3] == std::vector<Time>{10us + 145ns + 4 * kFarHop + kExternal});
    CHECK(arrived[4] == std::vector<Time>{20us + 500ns - Time{1} + 145ns + 4 * kFarHop + kExternal});
    CHECK(arrived[5] == std::vector<Time>{30us + 145ns + kFarHop + kExternal});
    CHECK(instants(rig->delivered(0)) == std::vector<Time>{20us + 500ns + 145ns + 2 * kFarHop + kExternal});
    CHECK(rig->total("network.lost_cells") == 8);
  }
}

TEST_CASE("every family has a way round a failed link") {
  struct Case {
    ClusterShape shape;
    std::string failures;
    NodeId from, to;
  };
  const std::vector<Case> cases{{qfdbs(4, 1, 1, 4), "link 0-4 at 0 ns", 1, 6},
                                {torus("3 x 3"), "link 0-1 at 0 ns, router 4 at 0 ns", 0, 1},
                                {fat_tree(4, 2, 2), "link 16-20 at 0 ns", 0, 4},
                                {dragonfly(9, 4, 2, 2), "link 72-79 at 0 ns", 0, 8}};
  RouterConfig config;
  config.virtual_channels = 4;
  std::vector<std::pair<Case, std::unique_ptr<NetworkRig>>> rigs;
  for (Case c : cases) {
    for (const Routing routing : {Routing::minimal, Routing::adaptive}) {
      for (const bool reroute : {false, true}) {
        c.shape.routing = routing;
        c.shape.reroute = reroute;
        rigs.emplace_back(c, std::make_unique<NetworkRig>("rig" + std::to_string(rigs.size()) + "_", c.shape, config,
                                                          16, Time{0}, false, FailureConfig{c.failures, Time{0}}));
        rigs.back().second->source(c.from).post(cells(c.to, 1us, 16));
      }
    }
  }
  sc_core::sc_start();
  for (const auto& [c, rig] : rigs) {
    INFO(name_of(c.shape));
    CHECK(rig->delivered(c.to).size() == (c.shape.reroute ? 16U : 0U));
    CHECK(rig->total("network.lost_cells") == (c.shape.reroute ? 0U : 16U));
    CHECK(rig->pool.in_use() <= rig->most_kept());
  }
}

namespace {

// Failures of a link again and again, from 100 us on.
std::string again_and_again(const std::string& what, Time period, Time outage, int times) {
  std::string list;
  for (int i = 1; i <= times; ++i) {
    list += (i > 1 ? ", " : "") + what + " at " + at(100us + i * period) + " until " + at(100us + i * period + outage);
  }
  return list;
}

}  // namespace

// Routers 4, 8 and 9 have each train for longer than it is, until they are told.
TEST_CASE("trains that a failure cuts short are over wherever they have been told of") {
  std::vector<std::size_t> kept;
  Rigs rigs(qfdbs(4, 1, 1, 4));
  for (const int times : {40, 120}) {
    NetworkRig& rig = rigs.add(16, {again_and_again("link 0-4", 100us, 50us, times), 10us});
    for (int i = 1; i <= times; ++i) rig.source(1).post(cells(9, 100us + i * 100us - kStart - 3 * kExternal, 16));
  }
  sc_core::sc_start();
  for (const auto& rig : rigs.rigs) {
    CHECK(rig->total("network.lost_cells") > 0);
    CHECK(rig->delivered(9).size() > 40);
    kept.push_back(rig->pool.in_use());
  }
  CHECK(kept[0] == kept[1]);
}

namespace {

// Every cell arrives or is counted, each block's in order, and every slot comes back.
void check_losses(ClusterShape shape, const std::string& failures) {
  RouterConfig config;
  config.buffer_cells = 5;
  config.injection_cells = 5;
  config.local_buffer_cells = 3;
  config.virtual_channels = 4;
  shape.routing = Routing::adaptive;
  shape.reroute = true;
  const FailureConfig failing{failures, 3us};
  NetworkRig trains("train", shape, config, 16, 400ns, false, failing),
      single("single", shape, config, 1, 400ns, true, failing);
  const NodeId nodes = trains.topology->nodes();
  std::uint64_t all = 0, got_trains = 0, got_single = 0;
  REQUIRE(rc::check([&] {
    trains.clear();
    single.clear();
    std::uint32_t block = 0;
    for (NodeId from = 0; from < nodes; ++from) {
      Time when = now() + 20us;
      const int count = *rc::gen::inRange(0, 6);
      for (int i = 0; i < count; ++i) {
        when += Time{*rc::gen::inRange(0, 3'000'000)};
        Shipment shipment = cells(*rc::gen::inRange<NodeId>(0, nodes), when, *rc::gen::inRange(1U, 17U), ++block);
        shipment.address = std::uint64_t{block} << 16;
        shipment.kind = *rc::gen::element(PacketKind::data, PacketKind::data, PacketKind::message);
        all += shipment.ready.size();
        for (NetworkRig* rig : {&trains, &single}) rig->source(from).post(shipment);
      }
    }
    sc_core::sc_start(sc_core::sc_time(400, sc_core::SC_US));  // all is long done
    for (NetworkRig* rig : {&trains, &single}) {
      std::uint64_t& got = rig == &trains ? got_trains : got_single;
      for (NodeId to = 0; to < nodes; ++to) {
        RC_ASSERT_FALSE(rig->nodes[to]->sink.overfilled);
        std::map<std::uint32_t, std::uint64_t> last;  // of data; messages choose cell by cell
        for (const Delivery& d : rig->delivered(to)) {
          RC_ASSERT(d.content_right);
          if (d.kind == PacketKind::message) continue;
          if (last.count(d.block) > 0) RC_ASSERT(d.address > last[d.block]);
          last[d.block] = d.address;
        }
        got += rig->delivered(to).size();
      }
      RC_ASSERT(got + rig->total("network.lost_cells") == all);
      RC_ASSERT(rig->pool.in_use() <= rig->most_kept());
    }
  }));
  CHECK(got_trains < all);  // some were lost
}

}  // namespace

TEST_CASE("no cell is forgotten where links and routers of a torus come and go") {
  check_losses(torus("4 x 3"),
               again_and_again("link 0-1", 397us, 150us, 105) + ", " + again_and_again("router 5", 531us, 200us, 80));
}
TEST_CASE("no cell is forgotten where links and routers of a fat tree come and go") {
  check_losses(fat_tree(3, 2, 2),
               again_and_again("link 9-12", 397us, 150us, 105) + ", " + again_and_again("router 13", 531us, 200us, 80));
}
TEST_CASE("no cell is forgotten where links and routers of a dragonfly come and go") {
  check_losses(dragonfly(4, 3, 1, 1), again_and_again("router 14", 531us, 200us, 80) + ", " +
                                          again_and_again("link 12-13", 397us, 150us, 105));
}
