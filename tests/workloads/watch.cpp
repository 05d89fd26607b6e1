// SPDX-License-Identifier: Apache-2.0
// Looking at a run from outside: the result is the same, and what is seen is true.
#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <numeric>

#include "models/platform/cluster.hpp"
#include "tests/support/point.hpp"
#include "workloads/programs.hpp"

using namespace faultline;
using namespace faultline::test;
using Clock = std::chrono::steady_clock;

namespace {

Settings faulting(unsigned iterations) {
  return preset("fault/touch-ahead") +
         Settings{{"workload.size", "64 KiB"}, {"workload.cold", "destination"}, {"workload.iterations", iterations}};
}

struct Seen {
  std::string result;
  Facts facts;
};

// Both texts of a run in one: the result, a line of dashes, the facts.
Seen seen(const Settings& settings,
          const std::function<workloads::PointResult(const workloads::Configuration&, Facts&)>& run) {
  const workloads::Configuration c = configuration(settings);
  const std::string text = text_from_child([&] {
    Facts facts;
    const workloads::PointResult result = run(c, facts);
    std::ostringstream out;
    out << written(result) << "events " << result.events << " hops " << result.cell_hops << "\n---\n";
    for (const auto& [name, value] : facts) out << name << '\t' << value << '\n';
    return out.str();
  });
  const std::size_t dashes = text.find("---\n");
  Seen found{text.substr(0, dashes), {}};
  std::istringstream lines(text.substr(dashes + 4));
  std::int64_t value = 0;
  for (std::string name; std::getline(lines, name, '\t') && lines >> value; lines.ignore()) found.facts[name] = value;
  return found;
}

std::string unwatched(const Settings& settings) {
  return seen(settings, [](const auto& c, Facts&) { return workloads::run_point(c, 1); }).result;
}

}  // namespace

TEST_CASE("a heartbeat tells of what has been simulated so far and changes no result") {
  // Beats come by the host's clock: the run is made longer until there are some.
  for (unsigned iterations = 16;; iterations *= 2) {
    REQUIRE(iterations <= 16384);
    const Seen with = seen(faulting(iterations), [](const auto& c, Facts& facts) {
      std::vector<workloads::Totals> beats;
      const auto result = workloads::run_point(c, 1, {[&](const auto& totals) { beats.push_back(totals); }, false});
      beats.push_back({result.events, result.cell_hops, result.simulated_ps});
      const auto rises = [&](auto member) {
        return std::is_sorted(beats.begin(), beats.end(),
                              [&](const auto& a, const auto& b) { return a.*member < b.*member; });
      };
      facts["beats"] = static_cast<std::int64_t>(beats.size()) - 1;
      facts["first events"] = static_cast<std::int64_t>(beats.front().events);
      facts["first hops"] = static_cast<std::int64_t>(beats.front().cell_hops);
      facts["first time"] = static_cast<std::int64_t>(beats.front().simulated_ps);
      facts["rising"] = rises(&workloads::Totals::events) && rises(&workloads::Totals::simulated_ps);
      return result;
    });
    if (with.facts.at("beats") == 0) continue;
    CHECK(with.facts.at("rising") == 1);
    CHECK(with.facts.at("first events") % 16384 == 0);
    CHECK(with.facts.at("first events") > 0);
    CHECK(with.facts.at("first hops") > 0);
    CHECK(with.facts.at("first time") > 0);
    CHECK(with.result == unwatched(faulting(iterations)));
    return;
  }
}

TEST_CASE("in a long run the heart beats, and the books are compared, by the host's clock") {
  // The run is made longer until it takes 2 s: ten beats, unless the host is busy.
  for (unsigned iterations = 1024;; iterations *= 4) {
    REQUIRE(iterations <= 1 << 20);
    const auto run = [](const auto& c, Facts& facts) {
      std::int64_t beats = 0;
      const auto start = Clock::now();
      const auto result = workloads::run_point(c, 1, {[&](const auto&) { ++beats; }, true});
      facts["tenths"] = (Clock::now() - start) / std::chrono::milliseconds(100);
      facts["beats"] = beats;
      for (const auto& row : result.profile) {
        // Without the last comparison, of the cluster at rest.
        if (row.part == "checking the books") facts["compared"] = static_cast<std::int64_t>(row.calls) - 1;
      }
      return result;
    };
    const Facts facts = seen(faulting(iterations), run).facts;
    if (facts.at("tenths") < 20) continue;
    CHECK(facts.at("beats") >= 3);
    CHECK(facts.at("beats") <= facts.at("tenths") / 2);
    CHECK(facts.at("compared") >= 2);
    return;
  }
}

TEST_CASE("a profile charges every event to one part, the parts' times add up, and no result changes") {
  const Settings settings = faulting(4);
  const Seen with = seen(settings, [](const auto& c, Facts& facts) {
    const auto start = Clock::now();
    const auto result = workloads::run_point(c, 1, {{}, true});
    const auto whole = std::chrono::nanoseconds(Clock::now() - start).count();
    std::uint64_t events = 0;
    std::int64_t sum = 0;
    for (const auto& row : result.profile) {
      events += row.events;
      sum += static_cast<std::int64_t>(row.host_ns);
      facts[row.part] = static_cast<std::int64_t>(row.events + row.calls);
    }
    facts["all events"] = events == result.events;
    facts["sum"] = sum;
    facts["whole"] = whole;
    return result;
  });
  CHECK(with.facts.at("all events") == 1);
  CHECK(with.facts.at("sum") <= with.facts.at("whole"));
  // What is not in it: the end of the cluster, and writing the rows.
  CHECK(2 * with.facts.at("sum") > with.facts.at("whole"));
  for (const char* part :
       {"building and booting", "SystemC kernel", "event loop",         "collecting results",  "checking the books",
        "network::Router",      "soc::AxiPort",   "soc::DdrController", "smmu::Tbu",           "smmu::Tcu",
        "smmu::RegisterFile",   "nic::SendUnit",  "nic::Injector",      "nic::AxiWriter",      "nic::ReceiveUnit",
        "nic::RegisterFile",    "nic::Path",      "cpu::Core",          "software, initiator", "software, softirq"}) {
    INFO(part);
    REQUIRE(with.facts.count(part) == 1);
    CHECK(with.facts.at(part) > 0);
  }
  CHECK(with.result == unwatched(settings));
}

TEST_CASE("cell-hops are what the routers count on their links, cell by cell or in trains") {
  for (const int cells_per_train : {1, 16}) {
    const workloads::Configuration c =
        configuration(faulting(3) + Settings{{"simulation.cells_per_train", cells_per_train}});
    const Facts facts = facts_from_child([&c] {
      platform::Cluster cluster("cluster", c.machine, 1);
      cluster.boot();
      workloads::Programs programs(c, cluster, 1);
      programs.on_finished = [&] { cluster.loop.stop(); };
      programs.start();
      cluster.loop.run(c.workload.time_limit);
      std::uint64_t counted = 0;
      for (unsigned id = 0; id < cluster.size(); ++id) {
        for (const sim::Counter& counter : cluster.node(id).statistics.all()) {
          const std::string& name = counter.name();
          const bool link =
              name.starts_with("network.port") && name.ends_with(".cells") && name != "network.port0.cells";
          if (link) counted += counter.value();
        }
      }
      return Facts{{"counted", static_cast<std::int64_t>(counted)},
                   {"hops", static_cast<std::int64_t>(cluster.cell_hops())}};
    });
    CHECK(facts.at("hops") == facts.at("counted"));
    CHECK(facts.at("hops") >= 3 * 256);  // 64 KiB are 256 cells, and all of them cross a link
  }
}
