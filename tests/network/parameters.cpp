// SPDX-License-Identifier: Apache-2.0
#include "models/sim/parameters.hpp"

#include <catch2/catch.hpp>

#include "models/network/router.hpp"
#include "models/network/topology.hpp"
#include "tests/support/parameter_source.hpp"

using namespace faultline;

TEST_CASE("the defaults of the network are legal, and each says where it comes from") {
  network::ClusterShape shape;
  network::RouterConfig router;
  network::FailureConfig failures;
  sim::ParameterTable table;
  shape.declare(table);
  router.declare(table);
  failures.declare(table);
  REQUIRE_FALSE(table.all().empty());
  // Derived from the NI's configuration by whoever wires the router.
  CHECK(table.find("network.local_rate") == nullptr);
  CHECK(table.find("network.local_buffer_cells") == nullptr);
  for (const sim::Parameter& parameter : table.all()) {
    INFO(parameter.name);
    CHECK_NOTHROW(parameter.set(parameter.initial));
    CHECK(parameter.get() == parameter.initial);
    CHECK_FALSE(parameter.doc.meaning.empty());
    CHECK(parameter.doc.source.empty() == (parameter.doc.standing == sim::Standing::setting));
    CHECK(test::says_where_it_is_from(parameter));
  }
}

TEST_CASE("a parameter changes the field that it names") {
  network::RouterConfig router;
  sim::ParameterTable table;
  router.declare(table);
  table.find("network.internal_rate")->set("8 Gb/s");
  table.find("network.internal_latency")->set("1 us");
  table.find("network.external_latency")->set("3 us");
  table.find("network.injection_latency")->set("2 us");
  CHECK(router.internal_rate == sim::BitRate{8'000'000'000});
  CHECK(router.internal_latency == sim::Time{1'000'000});
  CHECK(router.external_latency == sim::Time{3'000'000});
  CHECK(router.injection_latency == sim::Time{2'000'000});
  CHECK_THROWS_AS(table.find("network.virtual_channels")->set("65"), sim::BadParameterValue);
}

TEST_CASE("a link takes time, however little, and a router need not") {
  network::RouterConfig router;
  sim::ParameterTable table;
  router.declare(table);
  for (const char* link : {"network.internal_latency", "network.external_latency"}) {
    CHECK_THROWS_AS(table.find(link)->set("0 ns"), sim::BadParameterValue);
    CHECK_NOTHROW(table.find(link)->set("1 ps"));
  }
  CHECK_NOTHROW(table.find("network.router_latency")->set("0 ns"));
}

TEST_CASE("line coding takes its share of the rate of its own kind of link") {
  network::RouterConfig router;
  sim::ParameterTable table;
  router.declare(table);
  CHECK(router.internal_data_rate() == sim::BitRate{16'000'000'000});
  table.find("network.internal_coding")->set("64b/66b");
  CHECK(router.internal_data_rate() == sim::BitRate{15'515'151'515});
  table.find("network.internal_coding")->set("8b/10b");
  CHECK(router.internal_data_rate() == sim::BitRate{12'800'000'000});
  CHECK(router.external_data_rate() == sim::BitRate{10'000'000'000});
  table.find("network.external_coding")->set("64b/66b");
  CHECK(router.external_data_rate() == sim::BitRate{9'696'969'696});
  table.find("network.external_coding")->set("8b/10b");
  CHECK(router.external_data_rate() == sim::BitRate{8'000'000'000});
  CHECK(router.internal_data_rate() == sim::BitRate{12'800'000'000});
}
