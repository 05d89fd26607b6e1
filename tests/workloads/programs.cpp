// SPDX-License-Identifier: Apache-2.0
// Several programs in a run: each is what it would be alone, they share the machine, and their needs are added up.
#include <catch2/catch.hpp>

#include "models/platform/cluster.hpp"
#include "tests/support/point.hpp"
#include "workloads/program_settings.hpp"
#include "workloads/programs.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

// The settings of a program that is alone, as those of one with a name.
Settings named(const std::string& program, const Settings& settings) {
  Settings own;
  for (const auto& [key, value] : settings) {
    const bool unnamed = key.starts_with("workload.");
    own.push_back({"program." + program + "." + (unnamed ? key.substr(9) : key), value});
  }
  return own;
}

const Settings kWrite = {{"workload.kind", "write"}, {"workload.size", "16 KiB"}, {"workload.iterations", 10}};
const Settings kInnocent = {{"workload.kind", "innocent"}, {"workload.size", "16 KiB"}};

// Of a point that must end well, whatever programs there are.
Point run_programs(const Settings& settings) {
  INFO(to_string(settings));
  Point point = run(settings);
  REQUIRE(point.error == "");
  CHECK(point.count("transfers_failed") == 0);
  CHECK(point.count("data_errors") == 0);
  CHECK(point.count("stale_accesses") == 0);
  CHECK(point.failed_checks.empty());
  return point;
}

}  // namespace

TEST_CASE("programs: one with a name does what one without does, whatever its kind") {
  // All but `innocent`, which is never alone. Without jitter, whose draws are by the names of threads.
  const std::vector<Settings> kinds{
      kWrite + preset("fault/touch-ahead") + Settings{{"workload.cold", "both"}},
      kWrite + preset("pin-per-transfer") + Settings{{"workload.window", 3}},
      {{"workload.kind", "read"}, {"workload.clean_window", 1}, {"workload.iterations", 5}},
      {{"workload.kind", "message"}, {"workload.size", "16 B"}},
      {{"workload.kind", "flows"},
       {"workload.flows", "from=0, to=1, transfers=3; from=2, to=1, kind=read, size=100 B"}},
      {{"workload.kind", "all-to-all"}, {"workload.size", "4 KiB"}, {"workload.warmup", 1}},
      {{"workload.kind", "permutation"}, {"workload.start_spread", "10 us"}},
      {{"workload.kind", "ring"}, {"workload.size", "100 B"}},
      {{"workload.kind", "kernel-cost"}, {"workload.program", "lat_pipe"}},
      {{"workload.kind", "reuse"}, {"workload.size", "8 KiB"}, {"workload.iterations", 8}, {"reuse.buffers", 4}},
      {{"workload.kind", "ping-pong"}, {"workload.cold", "destination"}},
      {{"workload.kind", "fan-in"}, {"workload.window", 2}, {"workload.iterations", 6}}};
  for (const Settings& settings : kinds) {
    INFO(to_string(settings));
    const Point alone = run(settings);
    const Point with_name = run(named("mine", settings));
    REQUIRE(alone.error == "");
    REQUIRE(with_name.error == "");
    CHECK(with_name.simulated_ps == alone.simulated_ps);
    CHECK(with_name.breakdown == alone.breakdown);
    for (const auto& [name, value] : alone.metrics) {
      if (name == "cpu_time_initiator" || name == "cpu_time_target") continue;  // of the only program
      INFO(name);
      const auto own = with_name.metrics.find("mine." + name);
      CHECK((own == with_name.metrics.end() ? with_name[name] : own->second) == value);
    }
  }
}

TEST_CASE("programs: those that share nothing do not feel each other, and begin to measure together") {
  const Settings pair = kWrite + Settings{{"workload.initiator", 2}, {"workload.target", 3}};
  const Settings slow = kWrite + preset("pin-per-transfer");
  const Point alone = run(pair);
  const Point both = run_programs(named("here", slow) + named("there", pair));
  CHECK(both["there.latency_mean"] == alone["latency_mean"]);
  CHECK(both["there.goodput"] == alone["goodput"]);
  CHECK(both["here.latency_mean"] == run(slow)["latency_mean"]);
  CHECK(both.count("transfers") == 20);
}

TEST_CASE("programs: the first measured transfers of all begin when the last program is ready") {
  // One is ready at once; the other pins 4 MiB before, and has more transfers that are not measured.
  const Settings slow = kWrite + preset("pin-once") + Settings{{"workload.size", "4 MiB"}, {"workload.warmup", 2}};
  for (const std::int64_t warmup : {0, 1}) {
    const Settings quick =
        kWrite + Settings{{"workload.initiator", 2}, {"workload.target", 3}, {"workload.warmup", warmup}};
    const workloads::Configuration c = configuration(
        named("a", quick) + named("b", slow) + Settings{{"program.b.iterations", 1}, {"os.rlimit_memlock", "64 MiB"}});
    const Facts facts = facts_from_child([&c] {
      platform::Cluster cluster("cluster", c.machine, 1);
      cluster.boot();
      workloads::Programs programs(c, cluster, 1);
      Facts of;
      programs.on_measurement_begins = [&] { of["begins"] = cluster.loop.now().count(); };
      programs.start();
      cluster.loop.run(c.workload.time_limit);
      for (const auto& one : programs.all()) of[one.name] = one.program->measured_from().count();
      of["first"] = programs.all().front().program->samples().front().begin.count();
      return of;
    });
    CHECK(facts.at("a") == facts.at("b"));
    CHECK(facts.at("a") == facts.at("begins"));
    CHECK(facts.at("first") == facts.at("a"));
    CHECK(facts.at("a") > 1'000'000'000);  // two writes of 4 MiB take more than 1 ms
  }
}

TEST_CASE("programs: what each process pins is held to RLIMIT_MEMLOCK, not what all pin together") {
  const auto reason = [](const char* size) {
    const Settings pins = kWrite + preset("pin-once");
    return reason_against(named("a", pins + Settings{{"workload.size", "6 MiB"}}) +
                          named("b", pins + Settings{{"workload.size", size}}) +
                          Settings{{"os.rlimit_memlock", "8 MiB"}});
  };
  CHECK(reason("8 MiB") == "none");
  CHECK(
      reason("12 MiB").starts_with("program.b.size: a process on node 0 would have 12 MiB pinned or locked at a time"));
  const Settings flows{{"workload.kind", "flows"}, {"workload.flows", "from=1, to=2, size=12 MiB"}};
  CHECK(
      reason_against(preset("pin-once") + flows).starts_with("workload.flows: a process on node 1 would have 12 MiB"));
  CHECK(reason_against(preset("fault/touch-ahead") + flows) == "none");
  // With a table of what is registered the library's two pages are in it, too.
  const Settings page{{"workload.size", "4 KiB"}, {"os.rlimit_memlock", "12 KiB"}};
  CHECK(reason_against(preset("register") + page) == "none");
  CHECK(reason_against(preset("register") + page + Settings{{"os.rlimit_memlock", "8 KiB"}})
            .starts_with("workload.size: a process on node 0 would have 12 KiB pinned or locked"));
  CHECK(run(preset("register") + page).error == "");
  // Two buffers of a rank are pinned at a time where it learns of a write before the sender has let go of its own.
  const auto ping_pong = [](const char* notify) {
    return preset("pin-per-transfer") + Settings{{"workload.kind", "ping-pong"},
                                                 {"workload.size", "1 MiB"},
                                                 {"os.rlimit_memlock", "1 MiB"},
                                                 {"workload.notify", notify}};
  };
  CHECK(run(ping_pong("message")).error == "");
  CHECK(reason_against(ping_pong("word")).find("2 MiB pinned or locked") != std::string::npos);
}

TEST_CASE("programs: with a strategy of its own one inherits nothing of the run's") {
  const Settings run_has = preset("pin-private");
  const Settings mine = named("mine", kWrite + preset("fault/touch-ahead"));
  CHECK(reason_against(run_has + mine).starts_with("strategy.translate: program mine: "));
  CHECK(reason_against(run_has + mine + Settings{{"program.mine.own_strategy", true}}) == "none");
  workloads::Configuration c = configuration(run_has + mine + Settings{{"program.mine.own_strategy", true}});
  const auto own = workloads::configurations_of_programs(c).front();
  CHECK(own.strategy.translate->name == "shared");
  CHECK(own.strategy.resolve == rdma::Resolve::touch_ahead);
}

TEST_CASE("programs: the order in which they are set changes nothing") {
  const Settings one = named("one", kWrite + preset("fault/touch-ahead") + Settings{{"workload.cold", "both"}});
  const Settings two = named("two", kWrite + Settings{{"workload.start_spread", "10 us"}});
  CHECK(run(one + two).text == run(two + one).text);
}

TEST_CASE("programs: each has its strategy, and inherits what it does not set") {
  const Settings common = preset("pin-per-transfer") + Settings{{"workload.iterations", 4}, {"workload.size", "8 KiB"}};
  const Point point =
      run_programs(common + named("pins", {{"workload.kind", "write"}}) +
                   named("faults", preset("fault/touch-ahead") + Settings{{"workload.kind", "write"},
                                                                          {"workload.initiator", 2},
                                                                          {"workload.target", 3},
                                                                          {"workload.cold", "destination"}}));
  CHECK(point.count("pins.transfers") == 4);
  CHECK(point.count("faults.transfers") == 4);
  CHECK(point.count("faults") >= 4);
  CHECK(point.count("pinned_bytes_peak") == 2 * 8192);
  CHECK(point.ps("pins.latency_mean") == run(common + Settings{{"workload.kind", "write"}}).latency());
}

TEST_CASE("programs: an innocent one goes on for as long as others are measured, and its metrics are its own") {
  const Settings faulting = kWrite + preset("fault/touch-ahead") + Settings{{"workload.cold", "destination"}};
  const Point alone = run(faulting);
  const Point beside = run_programs(named("victim", faulting) + named("innocent", kInnocent));
  CHECK(beside.count("victim.transfers") == 10);
  CHECK(beside.count("innocent.transfers") > 10);
  CHECK(beside.count("innocent.data_errors") == 0);
  CHECK(beside.ps("victim.latency_mean") > alone.latency());
  CHECK(beside.parts.at("innocent rank 0").at("innocent.transfers") == beside["innocent.transfers"]);
  // On nodes of its own it is as fast as it can be.
  const Point apart =
      run_programs(named("victim", faulting) + named("innocent", kInnocent + Settings{{"workload.nodes", "2, 3"}}));
  CHECK(apart.ps("victim.latency_mean") == alone.latency());
  CHECK(apart.ps("innocent.latency_max") < beside.ps("innocent.latency_max"));
}

TEST_CASE("programs: a rank that computes polls for no request, whatever strategy it inherits") {
  const Settings pool = {{"workload.kind", "reuse"}, {"workload.iterations", 50}, {"reuse.period", "1 ms"}};
  const Settings load = {{"workload.kind", "compute"}, {"workload.nodes", "2, 3"}, {"workload.ranks", 3}};
  const Point point = run_programs(preset("pin-per-transfer") + named("pool", pool) + named("load", load));
  CHECK(point["load.computed"] > 0.99);
}

TEST_CASE("programs: they need what all of them need together") {
  const Settings two = named("one", kWrite) + named("two", kWrite);
  CHECK(reason_against(two) == "none");
  const Settings few = {{"exanest.channels", 3}};
  CHECK(reason_against(two + few) == "none");
  CHECK(
      reason_against(two + named("three", kWrite) + named("four", kWrite) + few)
          .starts_with("program.four.kind: 4 processes on node 0, each of which needs a channel and a context bank, of "
                       "which it has 3 and"));
  const Settings large = {{"workload.size", "5 MiB"}, {"os.user_memory", "8 MiB"}};
  CHECK(reason_against(named("one", kWrite) + large + Settings{{"program.one.size", "inherited"}}) == "none");
  CHECK(reason_against(two + large + Settings{{"program.one.size", "inherited"}, {"program.two.size", "5 MiB"}}) ==
        "workload.size: buffers of 10 MiB on node 0 do not fit in its 8 MiB of user memory; take fewer or smaller "
        "buffers, or give nodes more memory");
}

TEST_CASE("programs: what cannot be is refused by the name of the program's own setting") {
  CHECK(reason_against(named("one", kWrite) + Settings{{"program.oen.size", "1 KiB"}}) ==
        "program.oen.size: the program 'oen' has no kind, so its name may be a slip; set program.oen.kind, or the "
        "setting of a program that is there");
  CHECK(reason_against(named("alone", kInnocent)) ==
        "program.alone.kind: a program that goes on as long as others do would never end; add a [[program]] that ends "
        "by itself");
  CHECK(reason_against(named("one", kWrite + Settings{{"workload.target", 9}}))
            .starts_with("program.one.target: program one: there are nodes 0 to 3"));
  CHECK(reason_against(named("one", kWrite) + Settings{{"workload.target", 9}})
            .starts_with("workload.target: program one: there are nodes 0 to 3"));
  CHECK(reason_against(named("one", kWrite) + Settings{{"workload.kind", "read"}}) ==
        "workload.kind: each program has a kind of its own; leave workload.kind at its default");
  // Neither sets strategy.translate for this program: it is at its default, because of that setting.
  CHECK(reason_against(preset("nic-mmu/pushed") + named("one", kWrite) + Settings{{"program.one.own_strategy", true}})
            .starts_with("program.one.own_strategy: program one: a NIC of the kind elan knows no strategy.translate"));
  const Settings beside = named("one", kWrite) + named("by", kInnocent);
  CHECK(reason_against(beside + Settings{{"program.by.cold", "both"}})
            .starts_with("program.by.cold: program by: the pages of an innocent program are present"));
  CHECK(reason_against(beside + Settings{{"workload.cold", "both"}, {"workload.iterations", 3}}) == "none");
  CHECK(reason_against(beside + Settings{{"workload.cold", "both"}, {"workload.cold_share", 0.5}}) == "none");
  CHECK(reason_against(beside + Settings{{"workload.cold", "destination"},
                                         {"workload.cold_destination_kind", "zero-page"},
                                         {"inject.mechanism", "compaction"},
                                         {"workload.cold_every", 0}}) == "none");
}

TEST_CASE("programs: a name is letters, digits and hyphens, and settings of the whole run are no program's") {
  using workloads::ProgramSettings;
  CHECK(ProgramSettings::parse("program.a-1.size")->key == "workload.size");
  CHECK(ProgramSettings::parse("program.a-1.strategy.resolve")->key == "strategy.resolve");
  for (const char* wrong : {"program", "program.", "program.size", "program.1.size", "program.A.size", "workload.size"})
    CHECK_FALSE(ProgramSettings::parse(wrong));
  workloads::Configuration c;
  sim::ParameterTable table;
  c.declare(table);
  CHECK(table.find("program.a.size")->get() == "inherited");
  CHECK(table.find("program.a.time_limit") == nullptr);
  CHECK(table.find("program.a.ddr.latency") == nullptr);
  CHECK(c.programs.all().empty());
  const sim::Parameter* size = table.find("program.a.size");
  CHECK_THROWS_AS(size->set(std::string("4 kg")), sim::BadParameterValue);
  CHECK(c.programs.all().empty());
  size->set(std::string("4096 B"));
  CHECK(size->get() == "4 KiB");
  CHECK(c.programs.all().size() == 1);
  CHECK(workloads::configurations_of_programs(c).front().workload.size == 4096);
  size->set(std::string("inherited"));
  CHECK(c.programs.all().empty());
}

// What a program says of its strategy lives as long as the program, whichever programs come after it.
TEST_CASE("programs: each kind goes with those behind it, whatever is prepared for its transfers") {
  for (const char* kind : {"write", "read", "flows", "ring", "reuse", "ping-pong", "fan-in"}) {
    Settings settings = preset("pin-per-transfer");
    for (const char* name : {"a", "b", "c"}) settings = settings + named(name, {{"workload.kind", "write"}});
    settings = settings + named("a", {{"workload.kind", kind}, {"workload.iterations", 4}});
    if (std::string(kind) == "flows") settings.pop_back();
    if (std::string(kind) == "flows") {
      settings = settings + named("a", {{"workload.flows", "from=0, to=1, size=8 KiB, transfers=3"}});
    }
    run_programs(settings);
  }
}
