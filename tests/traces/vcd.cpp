// SPDX-License-Identifier: Apache-2.0
// Signals of a whole point, read back from the VCD file: what they show happens when the run says it does.
#include <catch2/catch.hpp>

#include <map>

#include "tests/support/point.hpp"
#include "tests/support/sandbox.hpp"

using namespace faultline;
using test::Settings;

namespace {

struct Waves {
  // By name: instants in ps and values, beginning with the first.
  std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> signals;
  std::string text;  // without the date
  std::string line;  // for people
  test::Point point;

  std::vector<std::int64_t> values(const std::string& name) const {
    std::vector<std::int64_t> all;
    for (const auto& [at, value] : signals.at(name)) all.push_back(value);
    return all;
  }
};

std::int64_t binary(const std::string& digits) { return static_cast<std::int64_t>(std::stoull(digits, nullptr, 2)); }

void read_changes(std::istream& lines, const std::map<std::string, std::string>& names, Waves& waves) {
  std::int64_t now = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || std::string("01b#").find(line[0]) == std::string::npos) continue;  // a comment
    if (line[0] == '#') {
      now = std::stoll(line.substr(1));
      continue;
    }
    const bool wide = line[0] == 'b';
    const auto blank = line.find(' ');
    const std::string name = names.at(wide ? line.substr(blank + 1) : line.substr(1));
    const std::int64_t value = wide ? binary(line.substr(1, blank - 1)) : line[0] - '0';
    waves.signals[name].emplace_back(now, value);
  }
}

Waves record(const Settings& settings, const trace::TraceFilter& filter = {}) {
  const test::Sandbox sandbox;
  const std::string file = "waves.vcd";
  Waves waves;
  const std::string result = test::text_from_child([&] {
    workloads::Watch watch;
    watch.trace = trace::TraceRequest{"", file, filter};
    const auto point = workloads::run_point(test::configuration(settings), 1, watch);
    return point.traced + "\n" + test::written(point);
  });
  waves.line = result.substr(0, result.find('\n'));
  waves.point = test::read_point(result.substr(waves.line.size() + 1));
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  waves.text = text.str();
  REQUIRE(waves.text.find("$timescale") != std::string::npos);
  const auto date = waves.text.find("$date");
  waves.text.erase(date, waves.text.find("$end", date) - date);
  std::map<std::string, std::string> names;
  std::istringstream lines(waves.text);
  std::string scope;
  for (std::string line; std::getline(lines, line) && line.find("$enddefinitions") == std::string::npos;) {
    std::istringstream words(line);
    std::string keyword, kind, width, code, name;
    words >> keyword;
    if (keyword == "$scope") {
      words >> kind >> name;
      scope = name;
    } else if (keyword == "$var") {
      words >> kind >> width >> code >> name;
      names[code] = scope == "SystemC" ? name : scope + "." + name;
    }
  }
  read_changes(lines, names, waves);
  return waves;
}

const Settings kFault =
    test::preset("fault/touch-a-page") + Settings{{"workload.cold", "destination"}, {"workload.size", "4 KiB"}};

}  // namespace

TEST_CASE("Signals show a fault: its record, the interrupt, the links, the channel") {
  const Waves waves = record(kFault);
  CHECK(waves.values("node1.dma_fault_fifo") == std::vector<std::int64_t>{0, 1, 0});
  CHECK(waves.values("node1.smmu_interrupt") == std::vector<std::int64_t>{0, 1, 0});
  CHECK(waves.values("node0.smmu_interrupt") == std::vector<std::int64_t>{0});
  CHECK(waves.values("node0.dma_channel0_transfers") == std::vector<std::int64_t>{0, 1, 0});
  CHECK(waves.signals.contains("node0.dma_channel7_transfers"));
  CHECK_FALSE(waves.signals.contains("node0.dma_channel8_transfers"));
  // The block goes out twice; it is acknowledged, after a RAPF.
  const auto& out = waves.signals.at("node0.link_to_node1_busy");
  const auto& back = waves.signals.at("node1.link_to_node0_busy");
  CHECK(out.size() >= 5);
  CHECK(back.size() >= 5);
  const auto& channel = waves.signals.at("node0.dma_channel0_transfers");
  CHECK(channel[1].first < out[1].first);
  CHECK(out[1].first < waves.signals.at("node1.smmu_interrupt")[1].first);
  CHECK(waves.signals.at("node1.smmu_interrupt")[2].first < back[1].first);
  CHECK(back.back().first < channel[2].first);
  // A page of cells of 288 B on the wire, at 10 Gb/s: so long is the link busy with each attempt.
  CHECK(out[2].first - out[1].first > 0);
  CHECK(out[2].first - out[1].first == out[4].first - out[3].first);
}

TEST_CASE("Signals change nothing, and are the same each time") {
  const Settings settings = kFault + Settings{{"workload.iterations", 5}, {"workload.size", "64 KiB"}};
  const Waves a = record(settings);
  const Waves b = record(settings);
  CHECK(a.text == b.text);
  CHECK(a.point.text == test::run(settings).text);
}

TEST_CASE("Signals keep to nodes, a window and a limit") {
  const Settings settings = kFault + Settings{{"workload.iterations", 20}};
  trace::TraceFilter filter;
  SECTION("nodes") {
    filter.nodes = {{1, 1}};
    const Waves waves = record(settings, filter);
    CHECK(waves.signals.count("node1.dma_fault_fifo") == 1);
    for (const auto& [name, changes] : waves.signals) CHECK(name.starts_with("node1."));
  }
  SECTION("a window") {
    const Waves whole = record(settings);
    const std::int64_t half = whole.signals.at("node1.smmu_interrupt").back().first / 2;
    filter.from = sim::Time{half};
    filter.to = sim::Time{half + 100'000'000};
    const Waves waves = record(settings, filter);
    std::size_t changes = 0;
    for (const auto& [name, all] : waves.signals) {
      for (std::size_t i = 1; i < all.size(); ++i) {
        CHECK(all[i].first >= half);
        CHECK(all[i].first <= half + 100'000'000);
        ++changes;
      }
    }
    CHECK(changes > 10);
  }
  SECTION("a limit") {
    filter.limit = 64 << 10;
    const Waves waves = record(settings + Settings{{"workload.iterations", 2000}}, filter);
    CHECK(waves.text.size() <= filter.limit);
    CHECK(waves.line.find("it reached its limit of 64 KiB after") != std::string::npos);
    CHECK(waves.point.count("transfers") == 2000);
  }
}
