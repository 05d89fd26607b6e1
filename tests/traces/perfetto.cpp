// SPDX-License-Identifier: Apache-2.0
// Whole points that are recorded: every flow is complete, slices nest, the way of a fault is told in its order, and
// the recording changes nothing.
#include <catch2/catch.hpp>

#include <set>

#include "tests/support/perfetto_reader.hpp"
#include "tests/support/point.hpp"
#include "tests/support/sandbox.hpp"

using namespace faultline;
using test::PerfettoSlice;
using test::PerfettoTrace;
using test::Settings;

namespace {

struct Recorded {
  test::Point point;
  std::string line;  // for people
  PerfettoTrace trace;
};

Recorded record(const Settings& settings, const trace::TraceFilter& filter = {}) {
  const test::Sandbox sandbox;
  const std::string file = "recorded.perfetto";
  const std::string text = test::text_from_child([&] {
    workloads::Watch watch;
    watch.trace = trace::TraceRequest{file, "", filter};
    const auto result = workloads::run_point(test::configuration(settings), 1, watch);
    return result.traced + "\n" + test::written(result);
  });
  const auto first = text.find('\n');
  Recorded recorded{test::read_point(text.substr(first + 1)), text.substr(0, first), PerfettoTrace(file)};
  REQUIRE(recorded.point.error == "");
  return recorded;
}

const Settings kFault = test::preset("fault/touch-a-page") + Settings{{"workload.cold", "destination"}};

std::vector<std::string> names(const std::vector<PerfettoSlice>& slices) {
  std::vector<std::string> all;
  for (const auto& slice : slices) all.push_back(slice.name);
  return all;
}

bool is_of_block(std::uint64_t flow) { return flow >> 63 == 1; }

// From a post to a completion, or from a block's scheduling to its acknowledgement, which ends it and nothing before.
// `blocks`: of all transfers.
void check_complete(const PerfettoTrace& trace, std::size_t transfers, std::size_t blocks) {
  std::size_t of_transfers = 0;
  for (const auto& [flow, on] : trace.flows()) {
    CAPTURE(flow, names(on));
    of_transfers += is_of_block(flow) ? 0 : 1;
    const bool is_scheduling = on.front().name == "R5 block scheduling" || on.front().name == "DMA block scheduling";
    CHECK(is_of_block(flow) == is_scheduling);
    if (!is_of_block(flow)) CHECK(on.front().name == "user post");
    CHECK(on.back().category == (is_of_block(flow) ? "DMA engine" : "library"));
    if (!is_of_block(flow)) CHECK(on.back().name == "poll");
    for (const auto& slice : on) {
      const bool ends = std::count(slice.ending.begin(), slice.ending.end(), flow) > 0;
      CHECK(ends == (&slice == &on.back()));
      CHECK(slice.end >= slice.at);
    }
  }
  CHECK(of_transfers == transfers);
  CHECK(trace.flows().size() == transfers + blocks);
}

}  // namespace

TEST_CASE("Every transfer of a trace is complete, on tracks for each part") {
  const auto [point, line, trace] = record(test::preset("resident") + Settings{{"workload.size", "64 KiB"},
                                                                               {"workload.iterations", 3},
                                                                               {"workload.warmup", 1},
                                                                               {"workload.window", 2}});
  check_complete(trace, 4, 4 * 4);
  for (const char* part : {"core 1", "R5", "DMA channel 0", "DMA send unit", "SMMU TBU 0", "SMMU TCU, walk slot 0",
                           "link to node 1", "steps of transfers / library", "memory: free", "memory: pinned",
                           "DMA: blocks in the send unit", "SMMU: walks under way"}) {
    CAPTURE(part);
    CHECK(trace.has_track(std::string("node 0 / ") + part));
  }
  CHECK(trace.has_track("node 1 / link to node 0"));
  CHECK(trace.has_track("node 1 / DMA: trains at the receive unit"));
  CHECK(line.find("slices of 4 transfers") != std::string::npos);
}

TEST_CASE("A fault is a chain in the order in which it happens") {
  const auto [point, line, trace] = record(kFault + Settings{{"workload.size", "4 KiB"}});
  check_complete(trace, 1, 1 * 1);
  const auto flows = trace.flows();
  const std::vector<PerfettoSlice>& block = flows.rbegin()->second;
  const std::vector<std::string> chain{"R5 block scheduling",
                                       "send unit start",
                                       "source read, first cell",
                                       "network",
                                       "walk and fault",
                                       "fault record",
                                       "interrupt to handler",
                                       "handler",
                                       "tasklet dispatch",
                                       "tasklet",
                                       "netlink and wake-up",
                                       "library parse",
                                       "resolve",
                                       "retry request",
                                       "request transport",
                                       "R5 retry processing (resend)",
                                       "R5 block scheduling (resend)",
                                       "send unit start (resend)",
                                       "source read, first cell (resend)",
                                       "network (resend)",
                                       "writes to memory (resend)",
                                       "acknowledgement (resend)"};
  CHECK(names(block) == chain);
  // One after the other, without a gap: all of the block's time is somewhere.
  for (std::size_t i = 1; i < block.size(); ++i) {
    CAPTURE(block[i].name);
    CHECK(block[i].at == block[i - 1].end);
  }
  // The destination's kernel and library, and what they run on.
  CHECK(trace.path_of(block[7].track) == "node 1 / steps of transfers / kernel");
  CHECK(trace.path_of(block[12].track) == "node 1 / steps of transfers / fault thread");
  CHECK(trace.path_of(block[15].track) == "node 0 / steps of transfers / firmware on the R5");
  CHECK(trace.has_track("node 1 / DMA: fault records that wait"));
  const auto interrupt = std::find_if(trace.slices.begin(), trace.slices.end(),
                                      [](const auto& slice) { return slice.category == "interrupt"; });
  REQUIRE(interrupt != trace.slices.end());
  CHECK(interrupt->at < block[7].at);
  CHECK(interrupt->end >= block[7].at);
}

// The last acknowledgement may come before the target's process is told, or after.
TEST_CASE("A notice begins when all is placed, and its source's notification when all is acknowledged") {
  const auto [point, line, trace] = record(test::preset("resident") + Settings{{"workload.kind", "ping-pong"},
                                                                               {"workload.notify", "word"},
                                                                               {"workload.size", "40 KiB"},
                                                                               {"workload.iterations", 1},
                                                                               {"workload.warmup", 0}});
  const auto on_node = [&](const PerfettoSlice& slice) {
    const std::string path = trace.path_of(slice.track);
    return path.find("steps of transfers") == std::string::npos ? "" : path.substr(0, 6);
  };
  const auto last_end = [&](const std::string& name, const std::string& node) {
    std::uint64_t end = 0;
    for (const auto& slice : trace.slices) {
      if (slice.name == name && on_node(slice) == node) end = std::max(end, slice.end);
    }
    return end;
  };
  unsigned found = 0;
  for (const auto& slice : trace.slices) {
    const bool is_notice = slice.name == "notified";
    if (!is_notice && slice.name != "notification") continue;
    ++found;
    CHECK(slice.at == last_end(is_notice ? "placed" : "acknowledgement", on_node(slice)));
    CHECK(slice.end > slice.at);
  }
  CHECK(found == 4);
}

namespace {

std::vector<test::PerfettoEvent> faults_of(const PerfettoTrace& trace) {
  std::vector<test::PerfettoEvent> faults;
  std::copy_if(trace.events.begin(), trace.events.end(), std::back_inserter(faults),
               [](const auto& event) { return event.name == "access_faulted"; });
  return faults;
}

}  // namespace

TEST_CASE("An access that faults tells address, process, cause and the page's state") {
  const auto [point, line, trace] = record(kFault + Settings{{"workload.size", "64 B"}});
  const auto faults = faults_of(trace);
  REQUIRE(faults.size() == 1);
  REQUIRE(point.count("faults_absent") == 1);
  const auto& fault = faults.front();
  CHECK(fault.type == 3);
  CHECK(trace.path_of(fault.track) == "node 1");
  CHECK(fault.arguments.at("address") % 4096 == 0);
  CHECK(fault.arguments.at("address") >= std::uint64_t{1} << 30);  // below it no program maps anything
  CHECK(fault.arguments.at("process") == 1);
  CHECK(fault.arguments.at("injected") == 0);
  CHECK(fault.texts.at("access") == "write");
  CHECK(fault.texts.at("cause") == "absent");
  CHECK(fault.texts.at("page") == "no entry");
  CHECK(fault.texts.at("by") == "nobody");
}

TEST_CASE("Faults of an injection say so, and by which mechanism") {
  const auto [point, line, trace] =
      record(test::preset("fault/touch-a-page") + Settings{{"inject.mechanism", "numa-hint"},
                                                           {"inject.period", "20 us"},
                                                           {"inject.count", 20},
                                                           {"workload.iterations", 10},
                                                           {"workload.size", "64 KiB"},
                                                           {"os.kernel", "6.12"}});
  const auto faults = faults_of(trace);
  REQUIRE(point.count("faults_injected") > 0);
  REQUIRE(faults.size() >= static_cast<std::size_t>(point.count("faults_injected")));
  for (const auto& fault : faults) {
    CHECK(fault.texts.at("cause") == "numa_hint");
    CHECK(fault.texts.at("page") == "hidden");
    CHECK(fault.texts.at("by") == "NUMA hint");
    CHECK(fault.arguments.at("injected") == 1);
  }
}

TEST_CASE("Flows are complete whatever the strategy and whoever sends") {
  for (const auto& [name, preset] : test::presets()) {
    for (const char* kind : {"write", "read"}) {
      CAPTURE(name, kind);
      const Settings settings = preset + Settings{{"workload.kind", kind},
                                                  {"workload.size", "40 KiB"},
                                                  {"elan.block_bytes", "16 KiB"},
                                                  {"workload.cold", "both"},
                                                  {"workload.iterations", 2}};
      if (!workloads::conflicts(test::configuration(settings)).empty()) continue;
      // Each part of a pipelined transfer is one for the NIC.
      const std::size_t parts = test::configuration(settings).strategy.pipeline.parts(40 << 10).size();
      check_complete(record(settings).trace, 2 * parts, 2 * 3);
    }
  }
}

TEST_CASE("What parts do one after the other does not overlap, and everything lies within the run") {
  const auto [point, line, trace] = record(kFault + Settings{{"workload.size", "64 KiB"}, {"workload.iterations", 3}});
  std::map<std::string, std::set<std::uint64_t>> tracks;
  for (const auto& slice : trace.slices) {
    tracks[trace.path_of(slice.track)].insert(slice.track);
    CHECK(slice.end >= slice.at);
    CHECK(slice.end <= static_cast<std::uint64_t>(point.simulated_ps) / 1000);
  }
  for (const auto& [path, ids] : tracks) {
    const bool alone = path.find(" / core ") != std::string::npos || path.ends_with(" / R5") ||
                       path.find("walk slot") != std::string::npos || path.find("interrupt line") != std::string::npos;
    CAPTURE(path);
    if (alone) CHECK(ids.size() == 1);
  }
  // Of each counter, values come in order.
  std::map<std::uint64_t, std::uint64_t> last;
  for (const auto& event : trace.events) {
    if (event.type != 4) continue;
    CHECK(event.at >= last[event.track]);
    CHECK(event.value >= 0);
    last[event.track] = event.at;
  }
  CHECK(last.size() > 8);
}

TEST_CASE("A trace is the same each time, and a run the same with and without one") {
  const Settings settings =
      kFault + Settings{{"workload.size", "64 KiB"}, {"workload.iterations", 4}, {"workload.window", 2}};
  const Recorded a = record(settings);
  const Recorded b = record(settings);
  CHECK(a.trace.bytes == b.trace.bytes);
  CHECK(a.trace.bytes.size() > 10'000);
  CHECK(a.point.text == test::run(settings).text);
}

TEST_CASE("Filters leave out what they say") {
  const Settings settings = kFault + Settings{{"workload.size", "16 KiB"}, {"workload.iterations", 5}};
  const PerfettoTrace whole = record(settings).trace;
  trace::TraceFilter filter;
  SECTION("transfers") {
    filter.transfers = {{2, 2}, {4, 4}};
    const PerfettoTrace trace = record(settings, filter).trace;
    check_complete(trace, 2, 2 * 1);
    std::set<std::uint64_t> numbers;
    for (const auto& slice : trace.slices) {
      if (slice.arguments.count("transfer") != 0) numbers.insert(slice.arguments.at("transfer"));
    }
    CHECK(numbers == std::set<std::uint64_t>{2, 4});
  }
  SECTION("nodes") {
    filter.nodes = {{1, 1}};
    const PerfettoTrace trace = record(settings, filter).trace;
    std::size_t there = 0;
    for (const auto& slice : whole.slices) there += whole.path_of(slice.track).starts_with("node 1 /") ? 1 : 0;
    CHECK(trace.slices.size() == there);
    CHECK_FALSE(trace.has_track("node 0"));
  }
  SECTION("a window of time") {
    const std::uint64_t half = whole.slices.back().end / 2;
    filter.from = std::chrono::nanoseconds(half);
    filter.to = filter.from + std::chrono::microseconds(20);
    const PerfettoTrace trace = record(settings, filter).trace;
    CHECK_FALSE(trace.slices.empty());
    CHECK(trace.slices.size() < whole.slices.size());
    for (const auto& slice : trace.slices) {
      CHECK(slice.end >= half);
      CHECK(slice.at <= half + 20'000);
    }
  }
}

TEST_CASE("A filter that names nothing of the run is told") {
  const Settings settings = kFault + Settings{{"workload.iterations", 2}};
  using Catch::Contains;
  trace::TraceFilter filter;
  SECTION("nodes") {
    filter.nodes = {{1, 1}, {3, 99}};
    const std::string line = record(settings, filter).line;
    CHECK_THAT(line, Contains("; --trace-nodes: there is no 99, nodes are 0 to "));
    CHECK(line.find("there is no 1,") == std::string::npos);
  }
  SECTION("a window behind the end") {
    filter.from = std::chrono::seconds(1);
    CHECK_THAT(record(settings, filter).line,
               Contains("0 slices") && Contains("; --trace-time: the run has ended before, at "));
  }
  SECTION("transfers") {
    filter.transfers = {{100, 200}};
    CHECK_THAT(record(settings, filter).line, Contains("; --trace-transfers: there are none of these numbers"));
  }
  SECTION("nothing where all is there") {
    filter.nodes = {{0, 1}};
    filter.transfers = {{1, 200}};
    CHECK(record(settings, filter).line.find("; --trace") == std::string::npos);
  }
}

TEST_CASE("A trace keeps its limit and says so, and the run goes on") {
  const Settings settings = kFault + Settings{{"workload.size", "16 KiB"}, {"workload.iterations", 200}};
  trace::TraceFilter filter;
  filter.limit = 100'000;
  const auto [point, line, trace] = record(settings, filter);
  CHECK(trace.bytes.size() <= filter.limit);
  CHECK(trace.bytes.size() > filter.limit / 2);
  CHECK(point.count("transfers") == 200);
  CHECK(line.find("it reached its limit of 100 kB after") != std::string::npos);
  CHECK(trace.events.back().name.find("from here on") != std::string::npos);
}

TEST_CASE("A stop is on the link as what it is, and nothing else is named otherwise for it") {
  const Recorded recorded = record(kFault + Settings{{"exanest.stop_after_fault", true}, {"workload.size", "16 KiB"}});
  std::set<std::string> on_links;
  for (const auto& slice : recorded.trace.slices) {
    if (slice.category == "link") on_links.insert(slice.name);
  }
  CHECK(on_links == std::set<std::string>{"acknowledgement", "data", "firmware message", "stop"});
}
