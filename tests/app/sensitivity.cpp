// SPDX-License-Identifier: Apache-2.0
// faultline sensitivity on a machine whose metric is a known function of its parameters.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "src/runs/seal.hpp"
#include "tests/support/program.hpp"

using namespace faultline;
using namespace faultline::app;
using namespace faultline::experiment;
using namespace faultline::runs;
using namespace faultline::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

// latency_mean = 100 + 10 * large + small - 20 * (more than one server) [us]; of a size above 4096 B ten times that.
class KnownMachine : public Machine {
 public:
  KnownMachine() {
    using sim::Standing;
    const auto group = table_.group("model");
    table_.add_time("small", small_, {0ns, 1ms}, {"a little", "assumed", Standing::assumed, {"0 ns", "4 us"}});
    table_.add_time("large", large_, {0ns, 1ms}, {"much", "assumed", Standing::assumed, {"1 us", "9 us"}});
    table_.add_time("nothing", nothing_, {0ns, 1ms}, {"no effect", "assumed", Standing::assumed, {"1 us", "9 us"}});
    table_.add_time("published", published_, {0ns, 1ms}, {"everything", "a paper", Standing::published});
    table_.add_count("servers", servers_, {1, 3}, {"of nobody", "assumed", Standing::assumed});
    table_.add_text("name", name_, {"anything", "assumed", Standing::assumed});
    table_.add_bytes("size", size_, {1, 1 << 20}, {"a setting", "", {}});
  }
  sim::ParameterTable& parameters() override { return table_; }
  std::vector<workloads::Conflict> conflicts() const override {
    if (large_ == 9us && size_ == 1) return {{{"model.large"}, "too large for one byte"}};
    return {};
  }
  workloads::PointResult run(std::uint64_t seed, const workloads::Watch&) override {
    const auto us = [](sim::Time time) { return static_cast<double>(time.count()) / 1e6; };
    double latency = 100 + 10 * us(large_) + us(small_) + 1000 * us(published_) - (servers_ > 1 ? 20 : 0);
    if (size_ > 4096) latency *= 10;
    if (size_ == 5) latency += small_ == 2us ? 30 : 0;  // most at the default
    if (size_ == 2) latency += 2 * static_cast<double>(seed);
    workloads::PointResult result;
    result.metrics = {{"latency_mean", latency, "us", "mean"}, {"faults", 0, "1", "faults"}};
    if (size_ == 7 && large_ == 9us) {
      result.metrics.push_back({"transfers", 40, "1", "transfers"});
      result.metrics.push_back({"transfers_failed", 3, "1", "that failed"});
    }
    if (size_ != 3) result.metrics.push_back({"goodput", 1 / latency, "MB/s", "payload per time"});
    return result;
  }

 private:
  sim::Time small_ = 2us, large_ = 5us, nothing_ = 5us, published_ = 1us;
  unsigned servers_ = 2;
  std::string name_;
  std::uint64_t size_ = 4096;
  sim::ParameterTable table_;
};

class KnownSimulator : public FakeSimulator {
 public:
  std::unique_ptr<Machine> machine() const override { return std::make_unique<KnownMachine>(); }
};

Ran sensitivity(std::vector<std::string> arguments) {
  std::ostringstream out, err;
  arguments.insert(arguments.begin(), "sensitivity");
  arguments.insert(arguments.end(), {"--configs", test_configs().string()});
  const int code = run_application(arguments, KnownSimulator{}, Console{out, err, false, 160});
  return {code, out.str(), err.str()};
}

Json ranked(const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"mine.toml", "--format", "json", "--quiet"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const Ran ran = sensitivity(all);
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  return Json::parse(ran.out);
}

const Json& entry(const Json& json, const std::string& name) {
  for (const Json& each : json.at("parameters")) {
    if (each.at("name") == name) return each;
  }
  throw std::out_of_range("no " + name);
}

}  // namespace

TEST_CASE("the parameter with the greatest effect ranks first, and one without effect has none") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "question = \"What matters?\"\n");
  const Ran ran = sensitivity({"mine.toml"});
  INFO(ran.out << ran.err);
  CHECK(ran.code == 0);
  CHECK(ran.err == "run folder: runs/mine-sensitivity-1\n");
  // By default 100 + 50 + 2 + 1000 - 20 = 1132.
  CHECK(ran.out == R"(What matters?
latency_mean [us], where each parameter without a published source goes through its range, one at a time: default
parameter        standing   low  default  high   at low  at default  at high  effect  ░ low, █ high value
                                                   [us]        [us]     [us]     [%]
---------------------------------------------------------------------------------------------------------------
model.large      assumed   1 us     5 us  9 us  1092.00     1132.00  1172.00    7.07        ░░░░░░│██████
model.servers *  assumed      1        2     3  1152.00     1132.00  1132.00    1.77              │░░░
model.small      assumed   0 ps     2 us  4 us  1130.00     1132.00  1134.00    0.35              │
(*: nobody has said what is plausible; from half of the default to double, as far as that is legal)
1 parameter changes nothing
not varied, because they have no range: model.name
)");
}

TEST_CASE("effects are in JSON and CSV, of every parameter without a published source and of no other") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "");
  const Json json = ranked({});
  REQUIRE(json.at("parameters").size() == 4);
  CHECK(json.at("metric") == "latency_mean");
  CHECK(json.at("unit") == "us");
  CHECK(json.at("not_varied") == Json{"model.name"});
  const auto effect = [&](std::size_t i, const std::string& name, double span) {
    CHECK(json.at("parameters")[i].at("name") == name);
    CHECK(json.at("parameters")[i].at("effect").get<double>() == Approx(span).margin(1e-9));
    CHECK(json.at("parameters")[i].at("effect_percent").get<double>() == Approx(100 * span / 1132).margin(1e-9));
  };
  effect(0, "model.large", 80);
  effect(1, "model.servers", 20);
  effect(2, "model.small", 4);
  effect(3, "model.nothing", 0);
  // Nobody has said what is plausible: half to double of 2, and at most 3 are legal.
  CHECK(json.at("parameters")[1].at("range") == "half to double");
  CHECK(json.at("parameters")[1].at("low").at("value") == "1");
  CHECK(json.at("parameters")[1].at("high").at("value") == "3");
  CHECK(json.at("parameters")[1].at("high").at("metric") == 1132);
  CHECK(Json::parse(read_text("runs/mine-sensitivity-1/sensitivity.json")) == json);

  const Ran csv = sensitivity({"mine.toml", "--format", "csv", "--quiet"});
  CHECK(csv.out == read_text("runs/mine-sensitivity-2/sensitivity.csv"));
  CHECK(csv.out ==
        "rank,parameter,standing,range,strategy,default,value,latency_mean [us],half_width,at_default,change [%],"
        "monotonic,trouble,default_trouble\n"
        "1,model.large,assumed,plausible,default,5 us,1 us,1092,0,1132,-3.5335689045936394,yes,,\n"
        "1,model.large,assumed,plausible,default,5 us,9 us,1172,0,1132,3.5335689045936394,yes,,\n"
        "2,model.servers,assumed,half to double,default,2,1,1152,0,1132,1.7667844522968197,yes,,\n"
        "2,model.servers,assumed,half to double,default,2,3,1132,0,1132,0,yes,,\n"
        "3,model.small,assumed,plausible,default,2 us,0 ps,1130,0,1132,-0.17667844522968199,yes,,\n"
        "3,model.small,assumed,plausible,default,2 us,4 us,1134,0,1132,0.17667844522968199,yes,,\n"
        "4,model.nothing,assumed,plausible,default,5 us,1 us,1132,0,1132,0,yes,,\n"
        "4,model.nothing,assumed,plausible,default,5 us,9 us,1132,0,1132,0,yes,,\n");
}

TEST_CASE("the list of parameters says what is plausible") {
  const Sandbox sandbox;
  std::ostringstream out, err;
  const std::vector<std::string> arguments{"list", "parameters", "--configs", test_configs().string()};
  REQUIRE(run_application(arguments, KnownSimulator{}, Console{out, err, false, 160}) == 0);
  CHECK(out.str().find("model.large = 5 us   (time; 0 ps to 1 ms; plausible 1 us to 9 us)\n") != std::string::npos);
  CHECK(out.str().find("model.servers = 2   (count; 1 to 3)\n") != std::string::npos);
}

TEST_CASE("an effect is told at the point where it is greatest, and axes are not varied") {
  const Sandbox sandbox;
  sandbox.write("mine.toml",
                "axes.model.size = [\"4 KiB\", \"8 KiB\"]\naxes.model.small = [\"2 us\", \"3 us\"]\n"
                "parameters.model.servers = 1\n");
  const Json json = ranked({});
  CHECK(json.at("points").size() == 4);
  CHECK(json.at("parameters").size() == 3);  // without model.small
  const Json& large = entry(json, "model.large");
  CHECK(large.at("points").size() == 4);
  CHECK(large.at("effect").get<double>() == Approx(80));  // of 1152, which is 6.94 %; of 10 times that the same share
  CHECK(large.at("effect_percent").get<double>() == Approx(100 * 80 / 1152.0));
  CHECK(large.at("greatest_at") == "default, model.size = 4 KiB, model.small = 2 us");
  CHECK(large.at("points")[3].at("others")[0].at("metric").get<double>() == Approx(11130));
}

TEST_CASE("more levels are values by equal factors between the ends") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "");
  const Json json = ranked({"--levels", "3"});
  std::vector<std::string> values;
  for (const Json& other : entry(json, "model.large").at("points")[0].at("others")) values.push_back(other.at("value"));
  CHECK(values == std::vector<std::string>{"1 us", "3 us", "9 us"});
  CHECK(sensitivity({"mine.toml", "--levels", "1"}).code == 2);
}

TEST_CASE("a value that does not go with the others is told and not compared") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "parameters.model.size = \"1 B\"\n");
  const Ran ran = sensitivity({"mine.toml"});
  CHECK(ran.code == 0);
  CHECK(ran.out.find("not compared: model.large = 9 us [default]: too large for one byte\n") != std::string::npos);
  CHECK(ran.out.find("   failed ") != std::string::npos);
}

TEST_CASE("a value without its failed transfers is marked") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "parameters.model.size = \"7 B\"\n");
  const Ran ran = sensitivity({"mine.toml"});
  INFO(ran.out);
  CHECK(ran.out.find("  1092.00     1132.00  1172.00 !3    7.07 ") != std::string::npos);
  CHECK(ran.out.find("(!: so many transfers failed, and are in no value; !!: so many seeds have no result)\n") !=
        std::string::npos);
  CHECK(ran.out.find("with trouble: model.large = 9 us [default]: 3 of 40 transfers failed\n") != std::string::npos);
  const Json json = ranked({});
  CHECK(json.at("tornado").at("bars")[0].at("marks") == "!");
  CHECK(json.at("tornado").at("marks").at("!") == "transfers failed, or seeds have no result");
  const std::string csv = sensitivity({"mine.toml", "--format", "csv"}).out;
  CHECK(csv.find(",,3 of 40 transfers failed\n") == std::string::npos);
  sandbox.write("mine.toml", "parameters.model.size = \"7 B\"\nparameters.model.large = \"9 us\"\n");
  CHECK(sensitivity({"mine.toml", "--format", "csv"}).out.find(",,3 of 40 transfers failed\n") != std::string::npos);
  CHECK(sensitivity({"mine.toml", "--metric", "faults"}).out.find('!') == std::string::npos);
}

TEST_CASE("an effect that is less than the seeds' own differences is marked") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "repetitions = 3\nparameters.model.size = \"2 B\"\n");
  const Json json = ranked({});
  // Means of three values that are 2 us apart: 4.303 * 2 / sqrt(3) = 4.97 us at either end.
  CHECK(entry(json, "model.large").at("within_noise") == false);
  CHECK(entry(json, "model.large").at("default").at("half_width").get<double>() == Approx(4.9686).epsilon(1e-4));
  CHECK(entry(json, "model.small").at("within_noise") == true);
  CHECK(entry(json, "model.nothing").at("within_noise") == false);
}

TEST_CASE("an analysis goes on where it was, and another metric of it simulates nothing") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "");
  const Ran whole = sensitivity({"mine.toml", "--out", "o"});
  REQUIRE(whole.code == 0);
  std::vector<fs::path> points;
  for (const auto& each : fs::directory_iterator("o/points")) points.push_back(each.path());
  REQUIRE(points.size() == 9);
  fs::remove(points[2]);
  fs::remove("o/meta.json");
  fs::remove("o/sensitivity.json");
  const Ran again = sensitivity({"mine.toml", "--out", "o"});
  CHECK(again.err == "8 of 9 points are there already\nrun folder: o\n");
  CHECK(again.out == whole.out);
  CHECK(fs::exists("o/sensitivity.json"));
  const std::string csv = read_text("o/sensitivity.csv");
  const Ran other = sensitivity({"mine.toml", "--out", "o", "--metric", "goodput"});
  CHECK(other.err == "9 of 9 points are there already\nranked: o/sensitivity-goodput.csv\nrun folder: o\n");
  CHECK(Json::parse(read_text("o/sensitivity-goodput.json")).at("metric") == "goodput");
  // What was ranked first stays.
  CHECK(read_text("o/sensitivity.csv") == csv);
  CHECK(sensitivity({"mine.toml", "--out", "o"}).err == "9 of 9 points are there already\nrun folder: o\n");
  CHECK(read_text("o/sensitivity.csv") == csv);
  // With other points neither counts any more.
  REQUIRE(sensitivity({"mine.toml", "--out", "o", "--seed", "2", "--replace"}).code == 0);
  CHECK_FALSE(fs::exists("o/sensitivity-goodput.csv"));
}

TEST_CASE("a damaged analysis is told, and does not count as none") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "");
  REQUIRE(sensitivity({"mine.toml", "--out", "o"}).code == 0);
  const std::string whole = read_text("o/sensitivity.json");
  std::string damaged = whole;
  damaged.replace(damaged.find("1132"), 1, "7");
  sandbox.write("o/sensitivity.json", damaged);
  const std::string there = "9 of 9 points are there already\n";
  CHECK(sensitivity({"mine.toml", "--out", "o"}).err ==
        there + "o/sensitivity.json: was damaged; latency_mean takes its place\nrun folder: o\n");
  CHECK(read_text("o/sensitivity.json") == whole);
  CHECK(sensitivity({"mine.toml", "--out", "o"}).err == there + "run folder: o\n");
}

TEST_CASE("the figure's bars are data: of one point, by their effect there, with the ends and marks of each") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "axes.model.size = [\"4 KiB\", \"5 B\"]\n");
  const Json json = ranked({});
  CHECK(json.at("measure") == "latency_mean");
  const Json& tornado = json.at("tornado");
  // 80 of 1132 at 4 KiB, 80 of 1162 at 5 B; model.small does most at 5 B, which the figure does not show.
  CHECK(tornado.at("point") == "default, model.size = 4 KiB");
  REQUIRE(tornado.at("bars").size() == 3);
  const Json& large = tornado.at("bars")[0];
  CHECK(large.at("name") == "model.large");
  CHECK(large.at("low").at("value") == "1 us");
  CHECK(large.at("low").at("metric") == 1092);
  CHECK(large.at("default").at("metric") == 1132);
  CHECK(large.at("high").at("metric") == 1172);
  CHECK(large.at("marks") == "");
  CHECK(tornado.at("bars")[1].at("name") == "model.servers");
  CHECK(tornado.at("bars")[1].at("marks") == "*");
  CHECK(tornado.at("bars")[2].at("effect") == 4);
  CHECK(tornado.at("marks") == Json{{"*", "range: half of the default to double"}});
  sandbox.write("mine.toml", "parameters.model.size = \"5 B\"\n");
  CHECK(ranked({}).at("tornado").at("bars")[1].at("marks") == "^");  // model.small
  sandbox.write("mine.toml", "repetitions = 3\nparameters.model.size = \"2 B\"\n");
  CHECK(ranked({}).at("tornado").at("marks").contains("~"));
}

TEST_CASE("of several points each has its strategy and axes in the CSV") {
  const Sandbox sandbox;
  sandbox.write("mine.toml",
                "strategies = [\"few\", \"many\"]\naxes.model.size = [\"4 KiB\", \"8 KiB\"]\n"
                "[strategy.few]\nmodel.servers = 1\n[strategy.many]\nmodel.servers = 3\n");
  const std::string csv = sensitivity({"mine.toml", "--format", "csv", "--quiet"}).out;
  INFO(csv);
  CHECK(csv.starts_with("rank,parameter,standing,range,strategy,model.size,default,value,"));
  CHECK(csv.find("model.large,assumed,plausible,many,8 KiB,5 us,1 us,10920,0,11320,") != std::string::npos);
}

TEST_CASE("with a baseline the ratio to its metric is ranked, where both have the value") {
  const Sandbox sandbox;
  // 1000 + 100 + 50 + 2 us, and 20 us less of who has more than one server.
  sandbox.write("mine.toml",
                "strategies = [\"few\", \"many\"]\naxes.model.size = [\"4 KiB\", \"8 KiB\"]\n"
                "[strategy.few]\nmodel.servers = 1\n[strategy.many]\nmodel.servers = 2\n");
  const Json json = ranked({"--baseline", "few"});
  CHECK(json.at("baseline") == "few");
  CHECK(json.at("unit") == "1");
  CHECK(json.at("points") == Json{"many, model.size = 4 KiB", "many, model.size = 8 KiB"});
  const Json& large = entry(json, "model.large").at("points")[1];
  CHECK(large.at("default").at("metric").get<double>() == Approx(11320.0 / 11520));
  CHECK(large.at("others")[0].at("metric").get<double>() == Approx(10920.0 / 11120));
  CHECK(large.at("others")[1].at("metric").get<double>() == Approx(11720.0 / 11920));
  // One server is what the baseline has anyway; to three, double of its own is not enough.
  const Json& servers = entry(json, "model.servers").at("points")[0];
  CHECK(servers.at("default").at("metric").get<double>() == Approx(1132.0 / 1152));
  CHECK(servers.at("others")[0].at("value") == "1");
  CHECK(servers.at("others")[0].at("metric").get<double>() == Approx(1));
  CHECK(servers.at("others")[1].at("metric").is_null());
  CHECK(servers.at("others")[1].at("trouble") == "few: has no such point");
  CHECK(fs::exists("runs/mine-sensitivity-1/sensitivity.json"));
  CHECK(sensitivity({"mine.toml", "--baseline", "few", "--quiet"}).out.find("latency_mean/few, where each") !=
        std::string::npos);
  // Chosen or not, the baseline is simulated.
  CHECK(ranked({"--baseline", "few", "--strategy", "many"}).at("points").size() == 2);
  CHECK(sensitivity({"mine.toml", "--baseline", "few", "--strategy", "few"}).err ==
        "--baseline: there is no other strategy whose metric could be related to it\n");
  CHECK(sensitivity({"mine.toml", "--baseline", "fwe"}).err ==
        "--baseline: mine.toml has no strategy 'fwe'; allowed: few, many; did you mean 'few'?\n");
  sandbox.write("mine.toml",
                "strategies = [\"few\", \"many\"]\nskip = [{ strategy = \"many\" }]\n"
                "[strategy.few]\nmodel.servers = 1\n[strategy.many]\nmodel.servers = 2\n");
  CHECK(sensitivity({"mine.toml", "--baseline", "few"}).err ==
        "--baseline: skip leaves points of 'few' alone, and none to relate to them\n");
}

TEST_CASE("what neither only rises nor only falls over a range is marked") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "parameters.model.size = \"5 B\"\n");
  const Ran ran = sensitivity({"mine.toml"});
  INFO(ran.out);
  CHECK(ran.out.find(" ^ ") != std::string::npos);
  CHECK(ran.out.find("(^: not monotonic: ") != std::string::npos);
  const Json json = ranked({});
  CHECK(entry(json, "model.small").at("monotonic") == false);
  CHECK(entry(json, "model.large").at("monotonic") == true);
  CHECK(sensitivity({"mine.toml", "--format", "csv", "--quiet"}).out.find(",no,,\n") != std::string::npos);
}

TEST_CASE("the experiment that an analysis writes down knows only the strategies that were chosen") {
  const Sandbox sandbox;
  sandbox.write(
      "mine.toml",
      "strategies = [\"few\", \"many\"]\naxes.model.size = [\"1 B\", \"3 B\"]\n"
      "skip = [{ strategy = \"few\", model.size = \"1 B\" }, { strategy = \"!= few\", model.size = \"3 B\" }]\n"
      "[strategy.few]\nmodel.servers = 1\n[strategy.many]\nmodel.servers = 3\n");
  const Ran ran = sensitivity({"mine.toml", "--strategy", "many", "--out", "o"});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const std::string written = read_text("o/effective.toml");
  INFO(written);
  CHECK(written.find("few") == std::string::npos);
  CHECK(written.find("skip = [\n  { \"model.size\" = ") != std::string::npos);
}

TEST_CASE("nobody else takes an analysis' folder for a run of the experiment") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "question = \"What matters?\"\n");
  REQUIRE(sensitivity({"mine.toml", "--out", "o"}).code == 0);
  const std::string before = read_text("o/sensitivity.json");
  for (const char* command : {"run", "worker", "report"}) {
    const Ran ran = faultline_program({command, "o"});
    CHECK(ran.code == 2);
    CHECK(ran.err ==
          "o: is of 'faultline sensitivity', whose points are more than its effective.toml tells: the same 'faultline "
          "sensitivity' goes on with it, 'faultline plot o --figure tornado' draws it\n");
  }
  CHECK(faultline_program({"run", "sizes", "--out", "o"}).err ==
        "o: the run in it is of 'faultline sensitivity', and its tables would be lost; name another folder with --out, "
        "or replace them with --replace\n");
  // Nor when it is damaged.
  sandbox.write("o/manifest.json", "{");
  CHECK(faultline_program({"run", "sizes", "--out", "o"}).err ==
        "o: the run in it is of 'faultline sensitivity', and its tables would be lost; name another folder with --out, "
        "or replace them with --replace\n");
  CHECK(faultline_program({"status", "o"}).err ==
        "o/manifest.json: is damaged; 'faultline sensitivity' of the same experiment with --out o writes it again\n");
  CHECK(read_text("o/sensitivity.json") == before);
  REQUIRE(sensitivity({"mine.toml", "--out", "o"}).code == 0);
  CHECK(read_text("o/sensitivity.json") == before);
  CHECK(faultline_program({"run", "sizes", "--out", "o", "--replace"}).code == 0);
  CHECK_FALSE(fs::exists("o/sensitivity.json"));
}

TEST_CASE("what cannot be analysed is refused with what is allowed") {
  const Sandbox sandbox;
  sandbox.write(
      "mine.toml",
      "strategies = [\"few\", \"many\"]\n[strategy.few]\nmodel.servers = 1\n[strategy.many]\nmodel.servers = 3\n");
  const auto [arguments, message] = GENERATE(table<std::vector<std::string>, std::string>({
      {{"mine.toml", "--metric", "latency_meen"},
       "--metric: no metric 'latency_meen'; 'faultline list metrics' shows all; did you mean 'latency_mean'?\n"},
      {{"mine.toml", "--strategy", "man"},
       "--strategy: mine.toml has no strategy 'man'; allowed: few, many; did you mean 'many'?\n"},
      {{"mine.toml", "--profile"}, "--profile"},
  }));
  const Ran ran = sensitivity(arguments);
  CHECK(ran.code == 2);
  CHECK(ran.err.find(message) != std::string::npos);
  CHECK_FALSE(fs::exists("runs"));
}

TEST_CASE("a metric that no point has is told after the run, whose points stay") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "parameters.model.size = \"3 B\"\n");
  const Ran ran = sensitivity({"mine.toml", "--metric", "goodput"});
  CHECK(ran.code == 2);
  CHECK(ran.err.find("mine.toml: no point has goodput") != std::string::npos);
  CHECK(fs::exists("runs/mine-sensitivity-1/results.json"));
}

TEST_CASE("a run tells what an analysis of the same points beside it has found") {
  const Sandbox sandbox;
  sandbox.write("mine.toml",
                "strategies = [\"resident\", \"fault/touch-ahead\"]\naxes.workload.size = [\"64 B\", \"4 KiB\"]\n");
  const auto run = [] {
    const Ran ran = faultline_program({"run", "mine.toml", "--out", "runs/first"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    return ran.out;
  };
  const std::string sentence = "* latency_mean: none of 1 parameters without a published source turns the order";
  CHECK_THAT(run(), !Catch::Contains(sentence));
  REQUIRE(faultline_program({"sensitivity", "mine.toml"}).code == 0);
  CHECK_THAT(run(), Catch::Contains(sentence));
  // Not of other points.
  const Ran other = faultline_program({"run", "mine.toml", "--out", "runs/other", "--set", "cpu.cores=2"});
  CHECK_THAT(other.out, !Catch::Contains(sentence));
  // Whatever the folder is called, but not from the file of another version, which listed no points.
  fs::rename("runs/mine-sensitivity-1", "runs/analysis");
  CHECK_THAT(run(), Catch::Contains(sentence));
  auto analysis = unsealed_json(read_text("runs/analysis/sensitivity.json")).value();
  analysis["assumptions"].erase("points");
  sandbox.write("runs/analysis/sensitivity.json", sealed_json(analysis, 2));
  CHECK_THAT(run(), !Catch::Contains(sentence));
}
