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
  co_await stage.end_others();
}

using Complaints = std::vector<std::string>;

void expect(const Expected& expected, const Facts& facts, Complaints& complaints) {
  const auto found = facts.find(expected.fact);
  const auto complain = [&](const std::string& is) {
    const char* const sign = expected.relation == Expected::equal       ? " = "
                             : expected.relation == Expected::less_than ? " < "
                                                                        : " > ";
    complaints.push_back(expected.fact + sign + std::to_string(expected.value) + " is expected, and " + is);
  };
  if (found == facts.end()) return complain("there is none");
  const std::int64_t value = found->second;
  const bool holds = expected.relation == Expected::equal       ? value == expected.value
                     : expected.relation == Expected::less_than ? value < expected.value
                                                                : value > expected.value;
  if (!holds) complain("it is " + std::to_string(value));
}

// Whether there are facts to look at.
bool goes_on(const Plan& plan, const std::string& told, Complaints& complaints) {
  if (told.empty() != plan.refused.empty() || told.find(plan.refused) == std::string::npos) {
    complaints.push_back(told.empty() ? "it is not refused" : "it says: " + told);
  }
  return told.empty();
}

Facts facts_of_program(const workloads::Configuration& configuration, const Plan& plan) {
  return facts_from_child([&] {
    Stage stage(configuration);
    Facts facts;
    facts["finished"] = stage.run([&](Stage& s) { return play_on(s, facts, plan.program); });
    stage.cluster.loop.run(stage.cluster.loop.now() + 20ms);
    facts["pinned at the end"] = stage.pinned();
    facts["locked at the end"] = stage.locked();
    facts["frames at the end"] = stage.frames_kept();
    facts["stale"] = stage.total("memory.stale_accesses");
    facts["leaked"] = stage.total("memory.leaked_read_bytes") + stage.total("memory.leaked_written_bytes");
    workloads::check_books(stage.cluster, /*changing=*/false);
    return facts;
  });
}

void judge_program(const Subject& subject, const Facts& facts, Complaints& complaints) {
  const bool batches = subject.strategy().unpin.time == rdma::UnpinTime::batched;
  const std::int64_t late = subject.abilities().lets_go ? 2 * os::kPage : 0;
  expect({"finished", Expected::equal, kTrue}, facts, complaints);
  if (facts.contains("pins kept") && !batches) {
    expect({"pins kept", Expected::less_than, late + 1}, facts, complaints);
  }
  if (facts.contains("locks kept")) expect({"locks kept", Expected::equal, 0}, facts, complaints);
  for (const char* fact : {"pinned at the end", "locked at the end", "frames at the end"}) {
    expect({fact, Expected::equal, 0}, facts, complaints);
  }
}

void judge_run(const Plan& plan, const Point& point, const Facts& facts, Complaints& complaints) {
  if (!plan.ends_well) return;
  expect({"transfers_failed", Expected::equal, 0}, facts, complaints);
  expect({"data_errors", Expected::equal, 0}, facts, complaints);
  for (const std::string& check : point.failed_checks) complaints.push_back("a check has failed: " + check);
}

Facts facts_of_run(const Point& point) {
  Facts facts;
  for (const auto& [name, value] : point.metrics) facts[name] = std::llround(value);
  facts["stale"] = facts.at("stale_accesses");
  facts["leaked"] = facts.at("leaked_read") + facts.at("leaked_written");
  return facts;
}

// What it has left; empty where it has not come to its end.
Facts play(const Subject& subject, const Plan& plan, Complaints& complaints) {
  const Settings settings = subject.preset() + surroundings() + plan.settings;
  std::string told;
  Facts facts;
  if (plan.program) {
    try {
      workloads::Configuration c = configuration(settings);
      plan.change(c);
      facts = facts_of_program(c, plan);
    } catch (const std::exception& error) {
      told = error.what();
    }
    if (goes_on(plan, told, complaints)) judge_program(subject, facts, complaints);
  } else {
    const Point point = run(settings);
    if (!goes_on(plan, point.error + point.refused, complaints)) return {};
    facts = facts_of_run(point);
    judge_run(plan, point, facts, complaints);
  }
  return facts;
}

}  // namespace

std::vector<std::string> complaints_about(const Subject& subject, const Plan& plan) {
  Complaints complaints;
  const Facts facts = play(subject, plan, complaints);
  if (facts.empty()) return complaints;
  if (plan.is_truthful) {
    for (const char* fact : {"stale", "leaked"}) expect({fact, Expected::equal, 0}, facts, complaints);
  }
  for (const Expected& expected : plan.expected) expect(expected, facts, complaints);
  return complaints;
}

void check(const Corner& corner) {
  INFO(corner.name << ": " << corner.requirement);
  for (const Subject& subject : subjects()) {
    if (!lacks(corner, subject).empty()) continue;
    INFO(subject.name());
    for (const Plan& plan : corner.plans(subject)) {
      INFO(to_string(plan.settings));
      for (const std::string& complaint : complaints_about(subject, plan)) FAIL_CHECK(complaint);
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
