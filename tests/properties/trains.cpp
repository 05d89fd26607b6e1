// SPDX-License-Identifier: Apache-2.0
// Cell by cell is the reference: every completion, fault, interrupt and step of software comes in trains at the same
// picosecond. See README.md here for more cases, seeds and replays.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/properties/case.hpp"
#include "tests/properties/runs.hpp"
#include "tests/properties/survey.hpp"
#include "tests/support/number_of_cases.hpp"
#include "tests/support/source_tree.hpp"

using namespace faultline::test;

namespace {

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

void check_equality(const Domain& domain, const std::string& id) {
  const Compare compared = domain.counters ? Compare::all : Compare::times;
  set_number_of_cases(500, 100, 1);  // rapidcheck prints its seed by itself
  const auto result = rc::detail::checkTestable(
      [&] {
        const Case c = *any_case(domain);
        const Difference found = difference(c.configuration(), c.seed, compared);
        if (found) RC_FAIL(found.text);
      },
      rc::detail::TestMetadata{id, id});
  const bool exact = result.is<rc::detail::SuccessResult>();
  // Not through Catch2, which would break the lines of the configuration.
  if (!exact) rc::detail::printResultMessage(result, std::cerr);
  CHECK(exact);
}

}  // namespace

TEST_CASE("trains keep every time of random traffic") {
  check_equality(named_domain(variable("FAULTLINE_DOMAIN", "")), "random traffic");
}

// Smallest cases of properties that failed once.
TEST_CASE("trains keep every time of the cases that were found") {
  int cases = 0;
  for (const auto& file : std::filesystem::directory_iterator(source_tree() / "tests/properties/found")) {
    INFO(file.path());
    std::ifstream stream(file.path());
    const Case c = read_experiment_file(stream);
    CHECK(difference(c.configuration(), c.seed, Compare::all).text == "");
    ++cases;
  }
  CHECK(cases > 1);
}

TEST_CASE("what differs in the traffic of FAULTLINE_DOMAIN, and how often", "[.survey]") {
  const int cases = std::stoi(variable("FAULTLINE_CASES", "500"));
  const std::uint64_t seed = std::stoull(variable("FAULTLINE_SEED", "1"));
  const Survey survey(named_domain(variable("FAULTLINE_DOMAIN", "")), cases, seed);
  std::cout << survey.report();
  CHECK(survey.different() == 0);
}

TEST_CASE("cases of FAULTLINE_SEED, as experiment files in FAULTLINE_FOLDER", "[.files]") {
  const rc::Gen<Case> generator = any_case(full_domain());
  rc::Random random(std::stoull(variable("FAULTLINE_SEED", "1")));
  for (int i = 0; i < std::stoi(variable("FAULTLINE_CASES", "200")); ++i) {
    std::ofstream file(variable("FAULTLINE_FOLDER", ".") + "/case-" + std::to_string(i) + ".toml");
    REQUIRE(file << experiment_file(generator(random.split(), rc::kNominalSize).value()));
  }
}

TEST_CASE("trains keep every time of the case in FAULTLINE_CASE", "[.replay]") {
  std::ifstream file(variable("FAULTLINE_CASE", ""));
  REQUIRE(file);
  const Case c = read_experiment_file(file);
  INFO(experiment_file(c));
  CHECK(difference(c.configuration(), c.seed, Compare::all).text == "");
}
