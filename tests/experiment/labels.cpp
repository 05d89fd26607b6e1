// SPDX-License-Identifier: Apache-2.0
// Labels of values on axes: what they name, what they leave alone, and what is said about those that name nothing.
#include <catch2/catch.hpp>

#include "src/experiment/effective.hpp"
#include "src/experiment/input_limits.hpp"
#include "tests/experiment/reading.hpp"

using namespace faultline;
using namespace faultline::experiment;
using namespace faultline::test;
using Texts = std::vector<std::string>;

namespace {

const std::string kNamedSizes =
    "axes.workload.size = [{ value = \"64 B\", label = \"small\" }, \"4 KiB\", { value = \"1 MiB\", label = "
    "\"gro\u00DF\" }]\n";

Texts names_of(const std::vector<Point>& points) {
  Texts names;
  for (const Point& point : points) names.push_back(point.label());
  return names;
}

Texts ids_of_points(const std::vector<Point>& points) {
  Texts ids;
  for (const Point& point : points) ids.push_back(point.id);
  return ids;
}

std::string said_of(const std::string& entry) { return mistake("axes.workload.size = [\"64 B\", " + entry + "]\n"); }

}  // namespace

TEST_CASE("a label names a value, which stays what is simulated") {
  const auto points = points_of(kNamedSizes);
  CHECK(names_of(points) == Texts{"default, workload.size = small", "default, workload.size = 4 KiB",
                                  "default, workload.size = gro\u00DF"});
  CHECK(points[0].axes.front().text == "64 B");
  REQUIRE(points[2].label_on(points[2].axes.front()) != nullptr);
  CHECK(points[1].label_on(points[1].axes.front()) == nullptr);
  CHECK(ids_of_points(points) == ids_of_points(points_of("axes.workload.size = [\"64 B\", \"4 KiB\", \"1 MiB\"]\n")));
}

TEST_CASE("conditions and --set are on values, and a value that is set keeps its label") {
  CHECK(names_of(points_of(kNamedSizes + "skip = [{ workload.size = \"64 B\" }]\n")).size() == 2);
  CHECK(names_of(points_of(kNamedSizes, {"workload.size=1048576 B"})) == Texts{"default, workload.size = gro\u00DF"});
  CHECK(names_of(points_of(kNamedSizes, {"workload.size=2 KiB"})) == Texts{"default, workload.size = 2 KiB"});
}

TEST_CASE("the effective experiment has the labels") {
  const std::string effective = effective_experiment(read(kNamedSizes), kSimulator);
  CHECK(effective.find("workload.size = [{ value = \"64 B\", label = \"small\" }, \"4 KiB\", "
                       "{ value = \"1 MiB\", label = \"gro\u00DF\" }]\n") != std::string::npos);
  CHECK(names_of(points_of(effective)) == names_of(points_of(kNamedSizes)));
  CHECK(ids_of_points(points_of(effective)) == ids_of_points(points_of(kNamedSizes)));
}

TEST_CASE("values that are drawn have labels, and of axes that advance together each value has one") {
  const auto drawn = points_of("sample.count = 4\nsample.axes.cpu.cores = [{ value = 2, label = \"few\" }, 8]\n");
  REQUIRE(drawn.size() == 2);
  CHECK((drawn[0].label() + drawn[1].label()).find("cpu.cores = few") != std::string::npos);
  const auto zipped = points_of(
      "zip = [[\"cpu.cores\", \"workload.size\"]]\naxes.workload.size = [\"1 B\", \"2 B\", \"3 B\"]\n"
      "axes.cpu.cores = [{ value = 2, label = \"few\" }, 8, 2]\n");
  CHECK(names_of(zipped) == Texts{"default, workload.size = 1 B, cpu.cores = few",
                                  "default, workload.size = 2 B, cpu.cores = 8",
                                  "default, workload.size = 3 B, cpu.cores = few"});
}

TEST_CASE("a label that is none is refused with its place and what is allowed") {
  const std::string allowed = "; allowed: one line of 1 to 60 characters";
  CHECK(said_of("{ value = \"4 KiB\", label = \"\" }") == "mine.toml:1:58: workload.size.label: is empty" + allowed);
  CHECK(said_of("{ value = \"4 KiB\", label = 3 }") == "mine.toml:1:58: workload.size.label: 3 is not text" + allowed);
  CHECK(said_of("{ value = \"4 KiB\", label = \" a\" }") ==
        "mine.toml:1:58: workload.size.label: ' a' begins or ends with a space" + allowed);
  for (const char* text : {"a\\tb", "a\\nb"}) {
    CHECK(said_of(std::string("{ value = \"4 KiB\", label = \"") + text + "\" }")
              .find("has control characters" + allowed) != std::string::npos);
  }
  CHECK(said_of("{ value = \"4 KiB\", label = \"a\\u001Bb\" }").find("has control characters") != std::string::npos);
  std::string longest;
  for (std::size_t i = 0; i < kMostLabelCharacters; ++i) longest += "\u00B5";
  CHECK(said_of("{ value = \"4 KiB\", label = \"" + longest + "\" }") == "accepted");
  CHECK(said_of("{ value = \"4 KiB\", label = \"" + longest + "x\" }").find("' has 61 characters" + allowed) !=
        std::string::npos);
}

TEST_CASE("two values that are called alike are refused, as is one with two labels") {
  CHECK(
      said_of("{ value = \"4 KiB\", label = \"a\" }, { value = \"8 KiB\", label = \"a\" }") ==
      "mine.toml:1:75: workload.size.label: 'a' is what '4 KiB' is called, too; allowed: another label for each value");
  CHECK(said_of("{ value = \"4 KiB\", label = \"64 B\" }") ==
        "mine.toml:1:41: workload.size.label: '64 B' is what '64 B' is called, too; allowed: another label for each "
        "value");
  CHECK(mistake("zip = [[\"cpu.cores\", \"workload.size\"]]\naxes.workload.size = [\"1 B\", \"2 B\"]\n"
                "axes.cpu.cores = [{ value = 2, label = \"few\" }, { value = 2, label = \"two\" }]\n") ==
        "mine.toml:3:59: cpu.cores.label: '2' is 'few' already; allowed: one label a value");
}

TEST_CASE("what else is said of a value, or instead of it, is refused") {
  CHECK(said_of("{ value = \"4 KiB\", lable = \"a\" }") ==
        "mine.toml:1:50: workload.size.lable: no such key; allowed: value, label; did you mean 'label'?");
  CHECK(said_of("{ label = \"a\" }") ==
        "mine.toml:1:31: workload.size: says no value; allowed: a value, or { value = ..., label = \"...\" }");
  CHECK(said_of("{ value = [1], label = \"a\" }").find("workload.size: a list is not a value") != std::string::npos);
  CHECK(said_of("{ value = \"8 MiB\", label = \"a\" }") ==
        "mine.toml:1:41: workload.size: '8 MiB' is out of range; allowed: 1 B to 4 MiB");
  CHECK(mistake("axes.cpu.cores = { from = 1, to = 4, step = 1, label = \"a\" }\n")
            .find("cpu.cores.label: no such key") != std::string::npos);
}
