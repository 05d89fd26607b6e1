// SPDX-License-Identifier: Apache-2.0
// What a timeline makes of what it is told, read back from its file.
#include "models/trace/perfetto_timeline.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "models/sim/context.hpp"
#include "tests/support/perfetto_reader.hpp"
#include "tests/support/sandbox.hpp"
#include "tests/support/toy_nic.hpp"

using namespace std::chrono_literals;
using namespace faultline;
namespace toy = test::toy;
using sim::Step;
using test::PerfettoTrace;
using trace::TraceFilter;

namespace {

// Two nodes that report what a test says, at the times that it says.
struct Bench {
  explicit Bench(TraceFilter filter = {})
      : file(path), timeline(file, std::move(filter), loop, toy::kLife, 2, [](auto, auto port) {
          return "node " + std::to_string(port);
        }) {}

  void step(sim::Time at, sim::NodeId node, Step step, sim::PartKey key) { timeline.on_step({at, node, step, key}); }
  void core(sim::Time begin, sim::Time end, const char* name, const char* kind = "user") {
    timeline.on_slice({{0, toy::kThread, 1}, begin, end, name, kind, {}});
  }
  // A write of one page from node 0 to node 1.
  void transfer(std::uint64_t id, sim::Time at) {
    const sim::PartKey all{id, 0, 0};
    step(at, 0, toy::kBegin, all);
    step(at + 1us, 0, toy::kPosted, all);
    step(at + 2us, 0, toy::kStarted, all);
    step(at + 3us, 0, toy::kTurned, all);
    step(at + 4us, 0, toy::kRead, all);
    step(at + 5us, 0, toy::kSent, all);
    step(at + 6us, 1, toy::kArrived, all);
    step(at + 7us, 1, toy::kWritten, all);
    step(at + 8us, 0, toy::kAnswered, all);
    step(at + 9us, 0, toy::kTold, all);
    step(at + 10us, 0, toy::kDone, all);
  }
  PerfettoTrace read() {
    timeline.finish();
    file.flush();
    return PerfettoTrace(path);
  }

  const test::Sandbox sandbox;
  const std::string path = "timeline.perfetto";
  sim::EventLoop loop{sc_core::sc_gen_unique_name("loop")};
  trace::PerfettoFile file;
  trace::PerfettoTimeline timeline;
};

std::vector<std::string> names(const std::vector<test::PerfettoSlice>& slices) {
  std::vector<std::string> all;
  for (const auto& slice : slices) all.push_back(slice.name);
  return all;
}

}  // namespace

TEST_CASE("A transfer is a chain of slices from its post to its completion") {
  Bench bench;
  bench.transfer(7, 0us);
  const PerfettoTrace trace = bench.read();
  REQUIRE(trace.slices.size() == 10);
  const auto flows = trace.flows();
  REQUIRE(flows.size() == 2);
  CHECK(names(flows.at(7)) == std::vector<std::string>{"post", "set-up", "page's turn", "answer", "word", "look"});
  CHECK(flows.at(7).back().ending == std::vector<std::uint64_t>{7});
  const auto& page = flows.rbegin()->second;
  CHECK(names(page) == std::vector<std::string>{"page's turn", "read", "send", "wire", "write", "answer"});
  CHECK(page.back().ending.size() == 1);
  for (const auto& slice : trace.slices) {
    CHECK(slice.end - slice.at == 1000);
    CHECK(slice.arguments.at("transfer") == 1);  // the first, whatever its id
  }
  CHECK(trace.path_of(page[3].track) == "node 1 / steps of transfers / wire");
  CHECK(trace.path_of(page[5].track) == "node 0 / steps of transfers / card");
}

TEST_CASE("Steps and tracks are called what their NIC calls them") {
  Bench bench;
  bench.transfer(7, 0us);
  bench.step(9us, 1, toy::kRung, {});
  bench.timeline.on_fault({.at = 9us, .node = 1, .step = toy::kRefused, .cause = "locked", .state = "", .by = ""});
  bench.step(9us, 1, toy::kRefused, {});  // no second time
  bench.timeline.on_slice({{0, toy::kRing, 12}, 0us, 1us, "write", "card", {7, 0, 0}});
  bench.timeline.on_level(1us, {0, toy::kRing, 12}, 4);
  bench.timeline.on_level(1us, {0, toy::kDepth, 0}, 1);
  int train = 0;
  bench.timeline.on_link({{1, toy::kPort, 5}, 1us, 2us, "data", "link", {7, 0, 0}}, &train);
  bench.timeline.on_slice({{0, toy::kReader, 0}, 0us, 1us, "read", "card", {}});
  const PerfettoTrace trace = bench.read();
  CHECK(trace.slices.front().arguments ==
        std::map<std::string, std::uint64_t>{{"transfer", 1}, {"page", 0}, {"attempt", 0}});
  for (const char* track : {"node 0 / toy ring 12", "node 0 / toy ring 12: pages", "node 0 / toy: pages that wait",
                            "node 0 / toy reader", "node 0 / steps of transfers / host"}) {
    CAPTURE(track);
    CHECK(trace.has_track(track));
  }
  std::vector<std::string> instants;
  for (const auto& event : trace.events) {
    if (event.type == 3) instants.push_back(event.name);
  }
  CHECK(instants == std::vector<std::string>{"rung", "refused"});
  std::map<std::string, std::int64_t> ranks;
  for (const auto& [uuid, track] : trace.tracks) ranks[trace.path_of(uuid)] = track.rank;
  CHECK(ranks.at("node 0 / toy reader") < ranks.at("node 0 / toy ring 12"));
  CHECK(ranks.at("node 0 / toy ring 12") < ranks.at("node 0 / toy ring 12: pages"));
  CHECK(ranks.at("node 0 / toy ring 12: pages") < ranks.at("node 0 / toy: pages that wait"));
}

TEST_CASE("Of a part what comes before a step for timelines alone is no part of the rest") {
  Bench bench;
  const sim::PartKey key{7, 3, 1};
  bench.step(1us, 0, toy::kTurned, key);
  SECTION("with it") { bench.step(2us, 1, toy::kWritten, key); }
  SECTION("without it") {}
  bench.step(3us, 0, toy::kAnswered, key);
  const PerfettoTrace trace = bench.read();
  const auto& last = trace.slices.back();
  CHECK(last.name == (last.at == 2000 ? "answer (resend)" : "write and answer (resend)"));
  CHECK(trace.slices.size() == (last.at == 2000 ? 3 : 2));
  CHECK(last.arguments.at("page") == 3);
}

TEST_CASE("Steps of a message are slices where they follow each other at one end") {
  Bench bench;
  bench.step(1us, 0, toy::kNoteBegin, {});
  bench.step(2us, 0, toy::kNoteSent, {});
  bench.step(3us, 1, toy::kNoteArrived, {});  // sent elsewhere
  bench.step(4us, 1, toy::kNoteRead, {});
  bench.step(5us, 1, toy::kNoteRead, {});  // of another one, whose arrival was forgotten
  bench.step(6us, 1, toy::kNoteGone, {});
  const PerfettoTrace trace = bench.read();
  CHECK(names(trace.slices) == std::vector<std::string>{"write note", "read note", "drop note"});
  CHECK(trace.path_of(trace.slices.front().track) == "node 0 / steps of transfers / host");
}

TEST_CASE("What comes after a completion is no part of the transfer, and begins none") {
  Bench bench;
  bench.transfer(7, 0us);
  bench.step(20us, 0, toy::kLost, {7, 0, 0});
  bench.step(21us, 0, toy::kTurned, {7, 0, 1});
  bench.transfer(8, 30us);
  const PerfettoTrace trace = bench.read();
  CHECK(trace.slices.size() == 20);
  CHECK(trace.slices.back().arguments.at("transfer") == 2);
}

TEST_CASE("A thread that goes on is one slice, another one or other work are others") {
  Bench bench;
  bench.core(1us, 2us, "program");
  bench.core(2us, 4us, "program");
  bench.core(4us, 5us, "program", "system");
  bench.core(6us, 7us, "program", "system");
  const PerfettoTrace trace = bench.read();
  REQUIRE(trace.slices.size() == 3);
  CHECK(trace.slices[0].at == 1000);
  CHECK(trace.slices[0].end == 4000);
  CHECK(trace.slices[0].category == "user");
  CHECK(trace.slices[1].category == "system");
  CHECK(trace.path_of(trace.slices[0].track) == "node 0 / toy thread 1");
}

TEST_CASE("Nodes are processes with numbers of their own, and their tracks stand in the order of theirs") {
  Bench bench;
  for (const std::uint32_t core : {10U, 2U, 1U})
    bench.timeline.on_slice({{0, toy::kThread, core}, 1us, 2us, "program", "user", {}});
  bench.timeline.on_slice({{1, toy::kThread, 0}, 1us, 2us, "program", "user", {}});
  const PerfettoTrace trace = bench.read();
  std::set<std::int64_t> pids;
  std::map<std::string, std::int64_t> ranks;
  for (const auto& [uuid, track] : trace.tracks) {
    if (track.is_process) CHECK(pids.insert(track.pid).second);
    if (!track.is_process) ranks[trace.path_of(uuid)] = track.rank;
  }
  CHECK(pids.size() == 2);
  CHECK(pids.count(-1) == 0);
  CHECK(ranks.at("node 0 / toy thread 1") < ranks.at("node 0 / toy thread 2"));
  CHECK(ranks.at("node 0 / toy thread 2") < ranks.at("node 0 / toy thread 10"));
}

TEST_CASE("Slices that overlap lie on tracks of one name side by side") {
  Bench bench;
  const sim::Track channel{0, toy::kRing, 3};
  bench.timeline.on_slice({channel, 1us, 4us, "write", "DMA", {}});
  bench.timeline.on_slice({channel, 2us, 5us, "write", "DMA", {}});
  bench.timeline.on_slice({channel, 4us, 6us, "write", "DMA", {}});
  const PerfettoTrace trace = bench.read();
  REQUIRE(trace.slices.size() == 3);
  CHECK(trace.slices[0].track == trace.slices[2].track);
  CHECK(trace.slices[0].track != trace.slices[1].track);
  for (const auto& slice : trace.slices) CHECK(trace.path_of(slice.track) == "node 0 / toy ring 3");
}

TEST_CASE("Levels are counters that hold what has changed") {
  Bench bench;
  std::uint64_t free_bytes = 4096;
  bench.timeline.add_gauge(0, "memory: free", trace::Unit::bytes, [&] { return free_bytes; });
  bench.timeline.on_level(1us, {0, toy::kDepth, 0}, 1);
  bench.timeline.on_level(2us, {0, toy::kDepth, 0}, 1);
  bench.timeline.on_level(3us, {0, toy::kDepth, 0}, 0);
  bench.timeline.on_level(3us, {0, toy::kBell, 0}, 1);  // lines are slices
  bench.core(0us, 1us, "program");
  bench.timeline.on_slice({{0, toy::kReader, 0}, 0us, 1us, "read", "card", {}});
  const PerfettoTrace trace = bench.read();
  std::vector<std::int64_t> values;
  for (const auto& event : trace.events) {
    if (event.type != 4) continue;
    const auto& track = trace.tracks.at(event.track);
    if (track.unit == 3) {
      CHECK(track.name == "memory: free");
      CHECK(event.value == 4096);
    } else {
      values.push_back(event.value);
    }
  }
  CHECK(values == std::vector<std::int64_t>{1, 0});
  CHECK(trace.has_track("node 0 / memory: free"));
}

TEST_CASE("Gauges are looked at once in a while, from the first instant on") {
  Bench bench;
  std::uint64_t free_bytes = 4096;
  bench.timeline.add_gauge(0, "memory: free", trace::Unit::bytes, [&] { return free_bytes; });
  for (; free_bytes < 4 * 4096; free_bytes += 4096)
    bench.timeline.on_slice({{0, toy::kReader, 0}, 0us, 1us, "read", "card", {}});
  const PerfettoTrace trace = bench.read();
  const auto is_value = [](const auto& event) { return event.type == 4; };
  CHECK(std::count_if(trace.events.begin(), trace.events.end(), is_value) == 1);
}

TEST_CASE("Filters leave out what they say and nothing else") {
  TraceFilter filter;
  SECTION("transfers, by the order in which they begin") {
    filter.transfers = {{2, 3}};
    Bench bench(filter);
    for (const std::uint64_t id : {30, 20, 10, 40}) bench.transfer(id, id * 1us);
    const auto flows = bench.read().flows();
    CHECK(flows.size() == 4);
    CHECK(flows.count(20) == 1);
    CHECK(flows.count(10) == 1);
  }
  SECTION("nodes") {
    filter.nodes = {{1, 1}};
    Bench bench(filter);
    bench.transfer(7, 0us);
    bench.core(0us, 1us, "program");
    const PerfettoTrace trace = bench.read();
    CHECK(names(trace.slices) == std::vector<std::string>{"wire", "write"});
    CHECK_FALSE(trace.has_track("node 0"));
  }
  SECTION("a window, with what reaches into it") {
    filter.from = 3500ns;
    filter.to = 5us;
    Bench bench(filter);
    bench.transfer(7, 0us);
    CHECK(names(bench.read().slices) == std::vector<std::string>{"read", "send", "wire"});
  }
}

TEST_CASE("A trace says when it was cut, though that was at the beginning") {
  TraceFilter filter;
  filter.limit = 64 << 10;
  Bench bench(filter);
  struct Later {
    Bench& bench;
    void report(std::uint64_t) {
      for (std::uint64_t level = 1; level < 9; ++level) bench.timeline.on_level(1us, {0, toy::kDepth, 0}, level);
    }
  } later{bench};
  bench.loop.at<&Later::report>(1us, 1, later, 0);
  for (std::uint64_t id = 1; id <= 2000; ++id) bench.transfer(id, 0us);
  REQUIRE(bench.timeline.summary().cut == 0us);
  sc_core::sc_start();
  CHECK(bench.timeline.summary().cut == 0us);
}

TEST_CASE("A trace keeps its limit, says so, and holds whole slices up to there") {
  TraceFilter filter;
  filter.limit = 64 << 10;
  Bench bench(filter);
  for (std::uint64_t id = 1; id <= 2000; ++id) bench.transfer(id, id * 20us);
  const PerfettoTrace trace = bench.read();
  CHECK(trace.bytes.size() <= filter.limit);
  CHECK(trace.bytes.size() > filter.limit * 3 / 4);
  const auto summary = bench.timeline.summary();
  CHECK(summary.bytes == trace.bytes.size());
  CHECK(summary.slices == trace.slices.size());
  CHECK(summary.cut >= 0us);
  const auto& last = trace.events.back();
  CHECK(last.type == 3);
  CHECK(last.name.find("limit of 65536 B") != std::string::npos);
  // Whole transfers: what has begun has a reserve.
  for (const auto& [flow, on] : trace.flows()) CHECK_FALSE(on.back().ending.empty());
  CHECK(trace.slices.size() == 10 * summary.transfers);
}

TEST_CASE("A file that cannot be made is refused, a full disk ends it with the reason") {
  CHECK_THROWS_WITH(trace::PerfettoFile("no/such/folder/t"), Catch::Contains("No such file"));
  trace::PerfettoFile full("/dev/full");
  const trace::Uuid track = full.track(0, "track", 1);
  full.instant(track, 1us, "here");
  full.flush();
  CHECK(full.failure() == "No space left on device");
}
