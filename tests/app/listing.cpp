// SPDX-License-Identifier: Apache-2.0
// What `faultline list` shows: what there is, what each sets, what a strategy is made of, or what is wrong with it.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using namespace faultline;
using namespace faultline::app;
using namespace faultline::experiment;
using namespace faultline::test;
using Json = nlohmann::json;

TEST_CASE("list shows what there is, for people and for programs") {
  CHECK(faultline_program({"list", "strategies"}).out ==
        "  fault/touch-a-page  tolerate the fault, one page at a time\n  fault/touch-ahead   tolerate the fault\n"
        "  resident            all pages present\n"
        "\n'faultline list strategies NAME' tells what it is made of, adds and excludes.\n");
  CHECK(faultline_program({"list", "experiments"}).out == "  sizes  How does latency grow with size?\n");
  CHECK(faultline_program({"list", "workloads"}).out == "  write  RDMA write\n  read   RDMA read\n");
  CHECK(faultline_program({"list", "parameters", "net*y"}).out ==
        "network.internal_latency = 120 ns   (time; 1 ns to 1 us; plausible 10 ns to 1 us)\n    per hop [assumed]\n");
  CHECK(faultline_program({"list", "parameters", "cores"}).out ==
        "cpu.cores = 4   (count; 1 to 8)\n    cores of a node [published: UG1085]\n");
  CHECK(faultline_program({"list", "parameters", "cores", "--format", "csv"}).out ==
        "name,kind,default,allowed,meaning,source,standing,plausible\ncpu.cores,count,4,1 to 8,cores of a "
        "node,UG1085,published,\n");
  CHECK(Json::parse(faultline_program({"list", "--format", "json"}).out).at("parameters").size() == 12);
  const auto none = faultline_program({"list", "parameters", "zzz"});
  CHECK(none.code == 2);
  CHECK(none.err == "list parameters: none matches 'zzz'\n");
  CHECK(faultline_program({"list", "strategies", "zzz"}).err ==
        "list strategies: none matches 'zzz'; 'faultline config EXPERIMENT' shows an experiment's own strategies\n");
}

TEST_CASE("list shows all that a strategy or a platform sets, and what it is based on") {
  const Sandbox sandbox;
  std::filesystem::copy(test_configs(), "configs", std::filesystem::copy_options::recursive);
  sandbox.write("configs/strategies/mine.toml",
                "description = \"ahead by 8\"\nbased_on = \"fault/touch-ahead\"\n[parameters]\n"
                "strategy.touch_ahead_pages = 8\nstrategy.registration = \"touch\"\n");
  sandbox.write("configs/platforms/board.toml", "description = \"x\"\nbased_on = \"exanest-qfdb\"\n");
  sandbox.write("configs/strategies/broken.toml", "based_on = \"mine\"\nparameters = 3\n");
  int code = -1;
  const auto list = [&code](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "list");
    arguments.insert(arguments.end(), {"--configs", "configs"});
    std::ostringstream out, err;
    code = run_application(arguments, FakeSimulator{}, Console{out, err});
    return out.str();
  };
  CHECK(list({"strategies", "mine"}) ==
        "  mine  ahead by 8 (based on fault/touch-ahead)\n    strategy.registration = touch\n"
        "    strategy.on_destination_fault = terminate\n    strategy.resolve = touch-ahead\n"
        "    strategy.touch_ahead_pages = 8\n");
  CHECK(list({"platforms", "board"}) ==
        "  board  x (based on exanest-qfdb)\n    network.internal_rate = 16 Gb/s\n"
        "    network.internal_latency = 145 ns\n");
  CHECK(list({"strategies"})
            .find("(cannot be read) configs/strategies/broken.toml:2:14: "
                  "parameters: 3 is not a table of parameters (based on mine, fault/touch-ahead)\n") !=
        std::string::npos);
  sandbox.write("configs/strategies/slip.toml",
                "description = \"x\"\n[parameters]\nstrategy.on_destination_fault = \"stal\"\n");
  const std::string slip = list({"strategies", "slip"});
  CHECK(slip.starts_with("  slip  (cannot be read) configs/strategies/slip.toml:3:33: "));
  CHECK(slip.find("made of") == std::string::npos);
  CHECK(code == 2);
  const Json mine = Json::parse(list({"strategies", "mine", "--format", "json"}))[0];
  CHECK(code == 0);
  CHECK(mine.at("based_on") == "fault/touch-ahead");
  CHECK(mine.at("parameters").at("strategy.touch_ahead_pages") == "8");
  CHECK(list({"strategies", "mine", "--format", "csv"})
            .starts_with("name,description,based_on,parameters,made_of,adds,excludes\nmine,ahead by "
                         "8,fault/touch-ahead,\"{\"\"strategy.registration"));
}

namespace {

// Two parameters of a strategy that do not always go together, and one of a workload.
class ComposedMachine : public Machine {
 public:
  ComposedMachine() {
    table_.add_choice("strategy.emptied_by", hooks_, std::vector<std::string>{"notifier", "hooks", "nobody"},
                      {"who empties it", "", {}});
    table_.add_fraction("strategy.coverage", coverage_, {0.0, 1.0}, {"share that hooks see", "", {}});
    table_.add_flag("workload.checks", checks_, {"whether it checks", "", {}});
  }
  sim::ParameterTable& parameters() override { return table_; }
  std::vector<workloads::Conflict> conflicts() const override {
    std::vector<workloads::Conflict> found;
    if (hooks_ != 1 && coverage_ < 1) {
      found.push_back({{"strategy.coverage", "strategy.emptied_by"}, "only hooks miss something", "take hooks"});
    }
    if (hooks_ == 2) found.push_back({{"strategy.emptied_by", "workload.checks"}, "a check fails", ""});
    return found;
  }
  std::vector<workloads::PolicyDoc> strategy() const override {
    return {{"strategy.emptied_by", "hooks", "hooks in the program's calls", "a hook"},
            {"strategy.coverage", "0.9", "what they see", "a hook"}};
  }
  workloads::PointResult run(std::uint64_t, const workloads::Watch&) override { return {}; }

 private:
  std::size_t hooks_ = 0;
  double coverage_ = 1;
  bool checks_ = true;
  sim::ParameterTable table_;
};

class ComposedSimulator : public FakeSimulator {
 public:
  std::unique_ptr<Machine> machine() const override { return std::make_unique<ComposedMachine>(); }
};

}  // namespace

TEST_CASE("list tells what a strategy is made of, adds and excludes, and what to do instead") {
  const Sandbox sandbox;
  for (const char* folder : {"platforms", "strategies", "experiments"})
    std::filesystem::create_directories(std::string("configs/") + folder);
  sandbox.write("configs/strategies/default.toml", "description = \"d\"\n[parameters]\nstrategy.coverage = 1\n");
  sandbox.write("configs/strategies/missing.toml",
                "description = \"m\"\n[parameters]\nstrategy.emptied_by = \"hooks\"\nstrategy.coverage = 0.9\n");
  const auto list = [](const std::string& name) {
    std::ostringstream out, err;
    run_application({"list", "strategies", name, "--configs", "configs"}, ComposedSimulator{}, Console{out, err});
    return out.str() + err.str();
  };
  CHECK(list("missing") ==
        "  missing  m\n    strategy.emptied_by = hooks\n    strategy.coverage = 0.9\n"
        "    made of   strategy.emptied_by = hooks: hooks in the program's calls\n"
        "              strategy.coverage = 0.9: what they see\n"
        "    adds      a hook\n"
        "    not with  strategy.emptied_by = notifier, nobody: only hooks miss something; instead: take hooks\n");
  const std::string not_with =
      "    not with  strategy.coverage = 0 (for instance): only hooks miss something; instead: take hooks\n";
  INFO(list("default"));
  CHECK(list("default").ends_with(not_with));
}
