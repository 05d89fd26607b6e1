// SPDX-License-Identifier: Apache-2.0
#include "tests/workloads/corner_generator.hpp"

#include <algorithm>
#include <utility>

#include "workloads/cold_pages.hpp"
#include "workloads/programs.hpp"

namespace faultline::test::corners {

std::string_view name_of(Capability capability) {
  switch (capability) {
    case Capability::absent_pages: return "absent pages";
    case Capability::faults: return "pages that come by faults";
    case Capability::free_frames: return "frames that the kernel may take";
    case Capability::limit: return "memory that counts against RLIMIT_MEMLOCK";
    case Capability::bounded_cache: return "a device with fewer translations than pages";
  }
  throw std::logic_error("no such capability");
}

Subject::Subject(std::string name, Settings preset)
    : name_(std::move(name)), preset_(std::move(preset)), configuration_(test::configuration(preset_)) {}

bool Subject::has(Capability capability) const {
  const rdma::Abilities able = abilities();
  switch (capability) {
    case Capability::absent_pages: return workloads::cools(strategy());
    case Capability::faults: return able.leaves_to_faults && follows();
    case Capability::free_frames: return !able.pins && !able.is_bound && !strategy().translate->vetoes;
    case Capability::limit: return able.is_limited();
    case Capability::bounded_cache: return nic().uses_smmu() || !able.is_bound;
  }
  throw std::logic_error("no such capability");
}

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all = [] {
    std::vector<Subject> found;
    for (const auto& [name, settings] : presets()) found.emplace_back(name, settings);
    return found;
  }();
  return all;
}

namespace {

std::vector<const Corner*>& joined() {
  static std::vector<const Corner*> all;
  return all;
}

}  // namespace

const std::vector<const Corner*>& corners() { return joined(); }

Corner::Corner(std::string_view called, std::string_view required, std::vector<Capability> needed, Plans made)
    : name(called), requirement(required), needs(std::move(needed)), plans(made) {
  joined().push_back(this);
}

std::string_view lacks(const Corner& corner, const Subject& subject) {
  for (const Capability capability : corner.needs) {
    if (!subject.has(capability)) return name_of(capability);
  }
  return "";
}

Settings surroundings() {
  return {{"os.kernel", "6.12"},          {"os.swap_bytes", "64 MiB"},       {"os.rlimit_memlock", "16 MiB"},
          {"exanest.retry_limit", 3},     {"exanest.block_timeout", "1 ms"}, {"elan.retry_limit", 3},
          {"elan.block_timeout", "1 ms"}, {"workload.size", "20000 B"}};
}

namespace {

constexpr std::int64_t kTrue = 1;

// Both programs put their buffers away, if they live, and both processes end.
Task<void> play_on(Stage& stage, Facts& facts, const std::function<Task<void>(Stage&, Facts&)>& program) {
  co_await stage.open();
  co_await program(stage, facts);
  stage.on_each_step = {};
  if (!stage.here->killed() && !stage.there->killed()) {
    co_await stage.put_away();
    if (stage.pins_kept() > 0) {  // a cache lets go of what hooks have told it with its next miss
      const Stage::Lane next = co_await stage.lane(os::kPage);
      co_await stage.transfer(next);
      co_await stage.put_away();
    }
    facts["pins kept"] = stage.pins_kept();
    facts["locks kept"] = stage.locks_kept();
  }
  for (rdma::Endpoint* each : {stage.here.get(), stage.there.get()}) {
    if (!each->killed()) co_await stage.exit(*each);
  }
}

void check_refused(const Plan& plan, const std::string& told) {
  INFO("it says: " << told);
  CHECK(told.empty() == plan.refused.empty());
  CHECK(told.find(plan.refused) != std::string::npos);
}

Facts facts_of_program(const workloads::Configuration& configuration, const Plan& plan) {
  const std::function<Facts()> play = [&] {
    Stage stage(configuration);
    Facts facts;
    facts["finished"] = stage.run([&](Stage& s) { return play_on(s, facts, plan.program); });
    stage.cluster.loop.run(stage.cluster.loop.now() + 20ms);
    facts["pinned at the end"] = stage.pinned();
    facts["locked at the end"] = stage.locked();
    facts["stale"] = stage.total("memory.stale_accesses");
    facts["leaked"] = stage.total("memory.leaked_read_bytes") + stage.total("memory.leaked_written_bytes");
    workloads::check_books(stage.cluster, /*changing=*/false);
    return facts;
  };
  std::string told;
  Facts facts;
  try {
    facts = facts_from_child(play);
  } catch (const std::runtime_error& error) {
    told = error.what();
  }
  check_refused(plan, told);
  return facts;
}

Facts facts_of_run(const Settings& settings, const Plan& plan) {
  const Point point = run(settings);
  const std::string told = point.error + point.refused;
  Facts facts;
  check_refused(plan, told);
  if (!told.empty()) return facts;
  for (const auto& [name, value] : point.metrics) facts[name] = std::llround(value);
  facts["stale"] = facts.at("stale_accesses");
  facts["leaked"] = facts.at("leaked_read") + facts.at("leaked_written");
  if (plan.ends_well) {
    CHECK(facts.at("transfers_failed") == 0);
    CHECK(facts.at("data_errors") == 0);
    CHECK(point.failed_checks.empty());
  }
  return facts;
}

void check_expected(const Expected& expected, const Facts& facts) {
  const auto found = facts.find(expected.fact);
  const char* const sign = expected.relation == Expected::equal       ? " = "
                           : expected.relation == Expected::less_than ? " < "
                                                                      : " > ";
  INFO("expected: " << expected.fact << sign << expected.value);
  REQUIRE(found != facts.end());
  INFO("it is " << found->second);
  switch (expected.relation) {
    case Expected::equal: CHECK(found->second == expected.value); break;
    case Expected::less_than: CHECK(found->second < expected.value); break;
    case Expected::more_than: CHECK(found->second > expected.value); break;
  }
}

void check_plan(const Subject& subject, const Plan& plan) {
  const Settings settings = subject.preset() + surroundings() + plan.settings;
  INFO(to_string(settings));
  Facts facts;
  if (plan.program) {
    facts = facts_of_program(configuration(settings), plan);
    if (facts.empty()) return;  // it was refused
    const bool batches = subject.strategy().unpin.time == rdma::UnpinTime::batched;
    const std::int64_t late = subject.abilities().lets_go ? 2 * os::kPage : 0;
    check_expected({"finished", Expected::equal, kTrue}, facts);
    if (facts.contains("pins kept") && !batches) check_expected({"pins kept", Expected::less_than, late + 1}, facts);
    if (facts.contains("locks kept")) check_expected({"locks kept", Expected::equal, 0}, facts);
    check_expected({"pinned at the end", Expected::equal, 0}, facts);
    check_expected({"locked at the end", Expected::equal, 0}, facts);
  } else {
    facts = facts_of_run(settings, plan);
    if (facts.empty()) return;
  }
  if (plan.is_truthful) {
    check_expected({"stale", Expected::equal, 0}, facts);
    check_expected({"leaked", Expected::equal, 0}, facts);
  }
  for (const Expected& expected : plan.expected) check_expected(expected, facts);
}

}  // namespace

void check(const Corner& corner) {
  INFO(corner.name << ": " << corner.requirement);
  for (const Subject& subject : subjects()) {
    if (!lacks(corner, subject).empty()) continue;
    INFO(subject.name());
    for (const Plan& plan : corner.plans(subject)) {
      try {
        check_plan(subject, plan);
      } catch (const std::exception& error) {
        FAIL_CHECK("the run failed: " << error.what());
      }
    }
  }
}

}  // namespace faultline::test::corners

namespace {

using namespace faultline::test;
using namespace faultline::test::corners;

// "C1" of "C1: ...".
std::string number_of(const Corner& corner) { return std::string(corner.name.substr(0, corner.name.find(':'))); }

}  // namespace

TEST_CASE("corners: each preset has plans for each of C1 to C17, or lacks a capability that has a name") {
  std::map<std::string, std::size_t> presets_of;
  std::map<std::string, std::size_t> cases_of;
  for (const Corner* corner : faultline::test::corners::corners()) {
    INFO(corner->name);
    CHECK_FALSE(corner->requirement.empty());
    for (const Subject& subject : subjects()) {
      INFO(subject.name());
      if (!lacks(*corner, subject).empty()) continue;
      ++presets_of[number_of(*corner)];
      ++cases_of[subject.name()];
      const std::vector<Plan> plans = corner->plans(subject);
      CHECK_FALSE(plans.empty());
      for (const Plan& plan : plans) CHECK((!plan.expected.empty() || !plan.refused.empty()));
    }
  }
  for (int number = 1; number <= 17; ++number) {
    INFO("C" << number);
    CHECK(presets_of["C" + std::to_string(number)] > 0);
  }
  for (const Subject& subject : subjects()) {
    INFO(subject.name());
    CHECK(cases_of[subject.name()] > 8);
  }
}
