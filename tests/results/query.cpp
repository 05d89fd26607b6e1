// SPDX-License-Identifier: Apache-2.0
// Questions to a run and differences between two: against values that are worked out here.
#include <catch2/catch.hpp>

#include <cmath>

#include "src/experiment/diagnostics.hpp"
#include "src/results/difference.hpp"
#include "src/results/query.hpp"
#include "tests/results/made_run.hpp"

using namespace faultline;
using namespace faultline::experiment;
using namespace faultline::results;
using namespace faultline::test;

namespace {

const std::string kSizes =
    "strategies = [\"resident\", \"fault/touch-ahead\"]\naxes.workload.size = [\"64 B\", \"4 KiB\", \"64 KiB\"]\n";
const std::string kSeeds = kSizes + "repetitions = 3\nparameters.workload.label = \"noisy\"\n";

template <typename Work>
std::string refusal(Work work) {
  try {
    work();
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

const Difference::Row& row_of(const Difference& difference, const std::string& metric) {
  for (const auto& row : difference.rows) {
    if (row.metric.name == metric) return row;
  }
  throw std::logic_error("no row of " + metric);
}

}  // namespace

TEST_CASE("a question is answered by strategy and axes, with mean, interval, least and greatest over the seeds") {
  const Sandbox sandbox;
  const MadeRun made(sandbox, kSeeds);
  made.write();
  Run run("o");
  const Answer answer = ask(run, {{"latency_mean", "faults"}, {}, {}});
  REQUIRE(answer.by.size() == 2);
  CHECK(answer.by[1].title() == "workload.size [B]");
  REQUIRE(answer.rows.size() == 2 * 6);
  const Answer::Row& row = answer.rows[1];
  CHECK(row.first == 3);
  CHECK(answer.by[1].texts[row.first] == "4 KiB");
  CHECK(answer.by[1].numbers[row.first] == 4096);
  CHECK(row.summary.count == 3);
  CHECK(row.half_width == Approx(2.484137712));
  CHECK(row.max - row.min == Approx(2));
  CHECK(row.summary.mean == Approx(row.min + 1));
  CHECK(answer.rows[11].metric.name == "faults");
  CHECK(answer.rows[11].summary.mean == 16);
  CHECK(answer.rows[11].half_width == 0);
  CHECK(answer.mixed.empty());
}

TEST_CASE("rows of several combinations have no interval, and what they mix is told") {
  const Sandbox sandbox;
  MadeRun made(sandbox, kSeeds);
  made.outcomes[0].result.metrics.clear();  // it failed
  made.write();
  Run run("o");
  const Answer answer = ask(run, {{"latency_mean"}, {"strategy"}, {}});
  REQUIRE(answer.rows.size() == 2);
  CHECK(answer.rows[0].summary.count == 8);
  CHECK(std::isnan(answer.rows[0].half_width));
  CHECK(answer.rows[1].summary.count == 9);
  CHECK(answer.mixed == std::vector<std::string>{"workload.size"});
  // Of one seed there is none either; any parameter may be asked by.
  const Answer one = ask(run, {{"latency_mean"}, {"strategy.resolve", "seed"}, {"workload.size = 64 B"}});
  REQUIRE(one.rows.size() == 6);
  CHECK(one.rows[0].summary.count == 0);
  CHECK(one.rows[1].summary.count == 1);
  CHECK(std::isnan(one.rows[1].half_width));
}

TEST_CASE("conditions compare numbers with their units, and texts") {
  const Sandbox sandbox;
  MadeRun(sandbox, kSizes).write();
  Run run("o");
  using Points = std::vector<std::size_t>;
  CHECK(run.points_where({"workload.size=4KiB"}) == Points{1, 4});
  CHECK(run.points_where({"workload.size = 0.0625 MiB"}) == Points{2, 5});
  CHECK(run.points_where({"workload.size>=4 KiB", "strategy=resident"}) == Points{1, 2});
  CHECK(run.points_where({"workload.size<4 KiB"}) == Points{0, 3});
  CHECK(run.points_where({"strategy!=resident", "workload.size > 4 KiB"}) == Points{5});
  CHECK(run.points_where({"strategy.resolve=touch-ahead", "workload.size<=64B"}) == Points{3});
  CHECK(run.points_where({"cpu.cores=4", "seed<2", "status=complete"}).size() == 6);
  CHECK(refusal([&] { run.points_where({"workload.size"}); }).find("--where: 'workload.size' is no condition") == 0);
  CHECK(refusal([&] { run.points_where({"workload.size=4"}); }) ==
        "--where: workload.size: '4' is no number with a unit, as 64 B");
  CHECK(refusal([&] { run.points_where({"cpu.cores=four"}); }) == "--where: cpu.cores: 'four' is no number");
  CHECK(refusal([&] { run.points_where({"cpu.cores=400 %"}); }) == "--where: cpu.cores: '400 %' is no number");
  CHECK(refusal([&] { run.points_where({"workload.sise=4 KiB"}); }) ==
        "o: 'workload.sise' is no parameter; did you mean 'workload.size'?; its axes are workload.size");
  CHECK(refusal([&] { run.points_where({"workload.size=5 KiB"}); }) ==
        "--where: no point of o has workload.size=5 KiB; there are 64 B, 4 KiB, 64 KiB");
  CHECK(
      refusal([&] { run.points_where({"strategy=residant"}); }) ==
      "--where: no point of o has strategy=residant; there are resident, fault/touch-ahead; did you mean 'resident'?");
  CHECK(refusal([&] { run.metric("latency_meen"); }) ==
        "o: no metric 'latency_meen'; did you mean 'latency_mean'?; 'faultline query o' names them");
}

TEST_CASE("shares are compared as numbers or in percent") {
  const Sandbox sandbox;
  MadeRun(sandbox, "axes.workload.cold_share = [0, 0.5, \"75 %\"]\n").write();
  Run run("o");
  using Points = std::vector<std::size_t>;
  CHECK(run.points_where({"workload.cold_share=50 %"}) == Points{1});
  CHECK(run.points_where({"workload.cold_share>=50%"}) == Points{1, 2});
  CHECK(run.points_where({"workload.cold_share<0.75"}) == Points{0, 1});
  CHECK(refusal([&] { run.points_where({"workload.cold_share=half"}); }) ==
        "--where: workload.cold_share: 'half' is no share, as 0.5 or 50 %");
  CHECK(refusal([&] { run.points_where({"workload.cold_share=%"}); }) ==
        "--where: workload.cold_share: '%' is no share, as 0.5 or 50 %");
}

TEST_CASE("axes that advance together are one, and whatever else tells points apart is said") {
  const Sandbox sandbox;
  const std::string zip =
      "zip = [[\"workload.iterations\", \"workload.size\"]]\naxes.workload.iterations = [10, 10, 5]\n"
      "axes.workload.size = [\"64 B\", \"4 KiB\", \"64 KiB\"]\n";
  MadeRun(sandbox, zip).write();
  Run run("o");
  const Answer answer = ask(run, {{"latency_mean"}, {}, {}});
  REQUIRE(answer.by.size() == 2);
  CHECK(answer.by[1].key == "workload.size");
  CHECK(answer.mixed.empty());
  CHECK(ask(run, {{"latency_mean"}, {"strategy"}, {}}).mixed == std::vector<std::string>{"workload.size"});
  CHECK(ask(run, {{"latency_mean"}, {"workload.iterations"}, {}}).mixed == std::vector<std::string>{"workload.size"});
  // An analysis of sensitivity has points off the axes.
  MadeRun varied(sandbox, kSizes);
  const std::vector<Point> base{varied.points[0]};
  const auto machine = configure(base.front(), kFakeSimulator);
  for (const char* value : {"100 ns", "140 ns"}) {
    const Setting setting{"network.internal_latency", std::string(value), {}, {}, "", "", ""};
    varied.points.push_back(with_value(base, setting, *machine).points.front());
    varied.outcomes.push_back(varied.outcomes[0]);
  }
  varied.write("v");
  Run other("v");
  const Answer mixed = ask(other, {{"latency_mean"}, {}, {}});
  CHECK(mixed.rows[0].summary.count == 3);
  CHECK(mixed.mixed == std::vector<std::string>{"network.internal_latency"});
  // The parameters of strategies are told apart by their names.
  CHECK(ask(other, {{"latency_mean"}, {"workload.size"}, {}}).mixed ==
        std::vector<std::string>{"strategy", "network.internal_latency"});
}

TEST_CASE("two parts of a run are compared by what is the same on both sides") {
  const Sandbox sandbox;
  MadeRun(sandbox, kSeeds).write();
  Side a("o:strategy=resident", {}), b("o:strategy=fault/touch-ahead", {});
  const Difference found = difference(a, b, {"faults"}, false);
  CHECK(found.pairs == 3);
  CHECK(found.only_a.empty());
  CHECK(found.only_b.empty());
  REQUIRE(found.rows.size() == 3);
  CHECK(found.rows[0].point == "resident, workload.size = 64 B");
  CHECK(found.rows[2].a.mean == 0);
  CHECK(found.rows[2].b.mean == 16);
  Side small("o:workload.size=64B", {"strategy=resident"}), large("o:workload.size = 64 KiB", {"strategy=resident"});
  CHECK(difference(small, large, {"goodput"}, false).pairs == 1);
  // A whole run has several of what the other side chooses.
  Side all("o", {});
  CHECK(refusal([&] { difference(a, all, {}, false); }) ==
        "o: what is compared has several values of strategy: resident, fault/touch-ahead; choose one, as "
        "o:strategy=fault/touch-ahead");
  Side several("o:workload.size>=4 KiB", {});
  CHECK(refusal([&] {
          difference(small, several, {}, false);
        }).find("several values of workload.size: 4 KiB, 64 KiB") != std::string::npos);
}

TEST_CASE("mistakes in what names a part are told with that name") {
  const Sandbox sandbox;
  MadeRun(sandbox, kSizes).write();
  const auto refused = [](const std::string& name, const std::vector<std::string>& where = {}) {
    return refusal([&] { Side(name, where); });
  };
  CHECK(refused("o:strategy=residant") ==
        "o:strategy=residant: no point of o has strategy=residant; there are resident, fault/touch-ahead; did you mean "
        "'resident'?");
  CHECK(refused("o:workload.size=4") == "o:workload.size=4: workload.size: '4' is no number with a unit, as 64 B");
  CHECK(refused("o:=4").find("o:=4: '=4' is no condition; allowed: KEY=VALUE") == 0);
  CHECK(refused("o:") == "o:: nothing follows the colon; allowed: RUN, RUN:NUMBER, RUN:ID, RUN:KEY=VALUE");
  CHECK(refused("o:strategy=resident", {"strategy!=resident"}) ==
        "o:strategy=resident: no point of it is left by --where");
  CHECK(refused("o:strategy=resident", {"strategy=nobody"}).find("--where: no point of o has strategy=nobody") == 0);
}

TEST_CASE("a folder may have a colon and the signs of conditions in its name") {
  const Sandbox sandbox;
  MadeRun(sandbox, kSizes).write("size=4");
  MadeRun(sandbox, kSizes).write("at=12:30");
  CHECK(Side("size=4", {}).points.size() == 6);
  CHECK(Side("size=4:3", {}).points == std::vector<std::size_t>{2});
  CHECK(Side("size=4:strategy=resident", {}).points.size() == 3);
  CHECK(Side("at=12:30", {}).points.size() == 6);
  CHECK(Side("at=12:30:3", {}).points == std::vector<std::size_t>{2});
  CHECK(Side("at=12:30:workload.size!=64 B", {}).points.size() == 4);
  CHECK(run_of("nowhere:3") == "nowhere");
}

TEST_CASE("parts whose points nothing matches are refused") {
  const Sandbox sandbox;
  const std::string zip = "zip = [[\"workload.iterations\", \"workload.size\"]]\n";
  MadeRun(sandbox, zip +
                       "axes.workload.iterations = [10, 10, 5, 5]\n"
                       "axes.workload.size = [\"64 B\", \"4 KiB\", \"64 KiB\", \"1 MiB\"]\n")
      .write("z");
  const auto refused = [](const std::string& name_a, const std::string& name_b,
                          const std::vector<std::string>& where = {}) {
    return refusal([&] {
      Side a(name_a, where), b(name_b, where);
      difference(a, b, {}, false);
    });
  };
  CHECK(refused("z:workload.iterations=10", "z:workload.iterations=5") ==
        "z: points 1 and 2 cannot be matched with those of another part: they differ by workload.size alone; choose "
        "among them with --where, or compare two points, as z:1");
  CHECK(refused("z:workload.size=64 B", "z:workload.size=1 MiB") == "accepted");
  CHECK(refused("z", "z") == "accepted");
  MadeRun(sandbox,
          "[sample]\ncount = 8\naxes.cpu.cores = [1, 2]\naxes.workload.size = { from = \"1 KiB\", to = \"1 MiB\" }\n")
      .write("s");
  CHECK(refused("s:cpu.cores=1", "s:cpu.cores=2").find("they differ by workload.size alone") != std::string::npos);
  // An analysis of sensitivity varies more than axes.
  MadeRun varied(sandbox, kSizes);
  const std::vector<Point> bases{varied.points[0], varied.points[3]};
  const auto machine = configure(bases.front(), kFakeSimulator);
  for (const char* value : {"100 ns", "140 ns"}) {
    const Setting setting{"network.internal_latency", std::string(value), {}, {}, "", "", ""};
    for (const Point& point : with_value(bases, setting, *machine).points) {
      varied.points.push_back(point);
      varied.outcomes.push_back(varied.outcomes[0]);
    }
  }
  varied.write("v");
  CHECK(refused("v:strategy=resident", "v:strategy=fault/touch-ahead")
            .find("they differ by network.internal_latency alone") != std::string::npos);
  CHECK(refused("v:strategy=resident", "v:strategy=fault/touch-ahead", {"network.internal_latency=140 ns"}) ==
        "accepted");
  CHECK(refused("v:network.internal_latency=100 ns", "v:network.internal_latency=140 ns") == "accepted");
}

TEST_CASE("two runs differ by their configuration, by points that one has, and by metrics beyond noise") {
  const Sandbox sandbox;
  MadeRun a(sandbox, kSeeds);
  MadeRun b(sandbox,
            "strategies = [\"resident\"]\naxes.workload.size = [\"4 KiB\", \"64 B\", \"1 MiB\"]\nrepetitions = 3\n"
            "parameters.workload.label = \"noisy\"\nparameters.network.internal_latency = \"130 ns\"\n");
  // Beside what the link takes: at 64 B 10 us more, at 4 KiB half of what seeds differ by.
  for (std::size_t i = 3; i < 6; ++i) b.metric(i, "latency_mean").value += 10;
  for (std::size_t i = 0; i < 3; ++i) b.metric(i, "latency_mean").value += 0.5;
  a.write("a");
  b.write("b");
  Side side_a("a", {}), side_b("b", {});
  const Difference found = difference(side_a, side_b, {}, false);

  std::string settings;
  for (const auto& s : found.configuration) settings += s.key + ": " + s.a + " | " + s.b + "\n";
  CHECK(settings ==
        "strategy: resident, fault/touch-ahead | resident\nnetwork.internal_latency: 120 ns | 130 ns\n"
        "strategy.on_destination_fault: stall, terminate | stall\nstrategy.registration: touch, nothing | touch\n"
        "strategy.resolve: touch-a-page, touch-ahead | touch-a-page\n"
        "workload.size: 64 B, 4 KiB, 64 KiB | 4 KiB, 64 B, 1 MiB\n");
  CHECK(found.only_a == std::vector<std::string>{
                            "resident, workload.size = 64 KiB", "fault/touch-ahead, workload.size = 64 B",
                            "fault/touch-ahead, workload.size = 4 KiB", "fault/touch-ahead, workload.size = 64 KiB"});
  CHECK(found.only_b == std::vector<std::string>{"resident, workload.size = 1 MiB"});
  CHECK(found.pairs == 2);
  CHECK(found.compared == 12);
  CHECK(found.equal == 4);  // faults and pinned_bytes_peak
  REQUIRE(found.rows.size() == 8);
  const Difference::Row& row = row_of(found, "latency_mean");
  CHECK(row.point == "resident, workload.size = 64 B");
  CHECK(row.a.mean == Approx(2 + 0.0512 + 0.12 + 0.1 / 3));
  CHECK(row.b.mean == Approx(row.a.mean + 10.01));
  CHECK(row.change == Approx(100 * 10.01 / row.a.mean));
  CHECK(row.beyond_noise == BeyondNoise::yes);
  // The same 10 ns of a latency without noise.
  CHECK(row_of(found, "latency_min").beyond_noise == BeyondNoise::exact);
  const auto& small = found.rows[4 + 2];
  CHECK(small.metric.name == "latency_mean");
  CHECK(small.point == "resident, workload.size = 4 KiB");
  CHECK(small.beyond_noise == BeyondNoise::no);

  const Difference all = difference(side_a, side_b, {"faults"}, true);
  REQUIRE(all.rows.size() == 2);
  CHECK(all.rows[0].change == 0);
  CHECK(all.rows[0].beyond_noise == BeyondNoise::exact);
}

TEST_CASE("where the first repetition is lost another one stands for all") {
  const Sandbox sandbox;
  MadeRun made(sandbox, "repetitions = 3\nparameters.workload.label = \"exact\"\n");
  made.write("whole");
  made.outcomes[0] = {};
  made.outcomes[0].status = runs::PointStatus::host_failed;
  made.write("lost");
  Side lost("lost", {}), whole("whole", {});
  const Difference found = difference(lost, whole, {}, false);
  CHECK(found.equal == 6);
  CHECK(found.compared == 6);
  CHECK(found.marked.empty());
  const Answer::Row row = ask(lost.run, {{"latency_mean"}, {}, {}}).rows.at(0);
  CHECK(row.summary.exact);
  CHECK(row.failures == Failures{0, 0, 0, 1});
}

TEST_CASE("what failed on one side alone makes equal means differ, and no difference significant") {
  const Sandbox sandbox;
  MadeRun made(sandbox, kSeeds);
  made.write("a");
  for (const std::size_t i : {0, 3}) {
    made.outcomes[i].result.metrics.push_back({"transfers", 100, "1", "transfers"});
    made.outcomes[i].result.metrics.push_back({"transfers_failed", 2, "1", "that failed"});
  }
  for (const std::size_t i : {3, 4, 5}) made.metric(i, "latency_mean").value += 1000;
  made.write("b");
  const std::vector<std::string> metrics{"latency_mean", "pinned_bytes_peak"};
  Side a("a", {}), b("b", {});
  const Difference found = difference(a, b, metrics, false);
  CHECK(found.compared == 12);
  CHECK(found.equal == 10);
  REQUIRE(found.rows.size() == 2);
  CHECK(found.rows[0].change == 0);
  CHECK(found.rows[0].failures_b.failed == 2);
  CHECK(found.rows[1].change > 100);
  for (const Difference::Row& row : found.rows) CHECK(row.beyond_noise == BeyondNoise::marked);
  CHECK(found.marked.size() == 2);
  // The same on both sides is equal, and told.
  Side again("b", {});
  const Difference same = difference(b, again, metrics, false);
  CHECK(same.rows.empty());
  CHECK(same.marked.size() == 2);
}

TEST_CASE("points of one label whose values differ are told apart") {
  const Sandbox sandbox;
  const auto sizes = [](const std::string& light) {
    return "axes.workload.size = [{ value = \"" + light + "\", label = \"light\" }, \"4 KiB\"]\n";
  };
  MadeRun(sandbox, sizes("64 B")).write("a");
  MadeRun(sandbox, sizes("128 B")).write("b");
  Side a("a", {}), b("b", {});
  const Difference found = difference(a, b, {"latency_mean"}, false);
  CHECK(found.only_a == std::vector<std::string>{"default, workload.size = light (another workload.size than in B)"});
  CHECK(found.only_b == std::vector<std::string>{"default, workload.size = light (another workload.size than in A)"});
}

TEST_CASE("two points are compared whatever tells them apart, and of one seed nothing is known of noise") {
  const Sandbox sandbox;
  const MadeRun made(sandbox, kSizes);
  made.write();
  Side a("o:2", {}), b("o:" + made.points[5].id.substr(0, 13), {});
  const Difference found = difference(a, b, {"latency_mean", "faults", "pinned_bytes_peak"}, false);
  CHECK(found.pairs == 1);
  CHECK(found.equal == 1);
  REQUIRE(found.rows.size() == 2);
  CHECK(found.rows[0].point == "resident, workload.size = 4 KiB");
  CHECK(found.rows[0].beyond_noise == BeyondNoise::unknown);
  CHECK(found.rows[1].a.mean == 0);
  CHECK(found.rows[1].b.mean == 16);
  CHECK(std::isnan(found.rows[1].change));
  CHECK(found.configuration.size() == 5);  // strategy, three of its parameters, size
  CHECK(refusal([&] { Side("o:7", {}); }) ==
        "o: no point '7'; allowed: a number from 1 to 6, or how an id begins, with 8 characters or more");
  CHECK(Side("o:" + made.points[5].id.substr(0, 8), {}).points == std::vector<std::size_t>{5});
  CHECK(refusal([&] { Side("o:" + made.points[5].id.substr(0, 7), {}); }).find("o: no point '") == 0);
  CHECK(refusal([&] { Side("o:2", {"seed=1"}); }) == "o:2: is one point; --where is for runs");
  CHECK(refusal([&] {
          Side run("o", {});
          difference(a, run, {}, false);
        }).find("a run and a point cannot be compared") == 0);
}

TEST_CASE("runs of equal results have no differences; a metric that one lacks has no change") {
  const Sandbox sandbox;
  MadeRun made(sandbox, kSizes);
  made.write("a");
  made.write("b");
  made.outcomes[1].result.metrics.clear();
  made.write("c");
  Side a("a", {}), b("b", {"workload.size<64 KiB"}), c("c", {"strategy=resident", "workload.size=4 KiB"});
  const Difference none = difference(a, a, {}, false);
  CHECK(none.rows.empty());
  CHECK(none.configuration.empty());
  CHECK(none.pairs == 6);
  CHECK(none.equal == none.compared);
  CHECK(difference(a, b, {}, false).only_a.size() == 2);
  Side one("a", {"strategy=resident", "workload.size=4 KiB"});
  const Difference lost = difference(one, c, {"latency_mean"}, false);
  REQUIRE(lost.rows.size() == 1);
  CHECK(lost.rows[0].b.count == 0);
  CHECK(std::isnan(lost.rows[0].change));
  CHECK(lost.equal == 0);
}
