// SPDX-License-Identifier: Apache-2.0
// Corner cases C9 to C17 of every preset, but for C14: what is shared, what is limited, and what comes to its end.
#include <catch2/catch.hpp>

#include "tests/workloads/corner_generator.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace faultline::test::corners;

namespace {

using enum Expected::Relation;

// C9: the target has a child that lives on, and stores to its buffer, which copies pages that it shares.
std::vector<Plan> forked_target(const Subject& subject) {
  Plan plan{.is_truthful = subject.claims_truth()};
  plan.program = [](Stage& s, Facts& facts) -> Task<void> {
    const Stage::Lane lane = co_await s.lane(kBlockBytes);
    co_await s.transfer(lane);
    os::Vm& vm = s.there->vm();
    os::Process& process = s.there->process();
    cpu::Execution& thread = s.mapper(*s.there);
    co_await s.there->registration().forking(thread);
    const auto child = co_await vm.fork(thread, process);
    facts["forked"] = child.ok();
    co_await vm.touch_range(thread, process, lane.remote, lane.bytes, true);
    co_await vm.store(process, lane.remote, lane.bytes, 3);
    s.fill(lane, 8);
    const Status status = co_await s.transfer(lane);
    facts["done"] = status == Status::done;
    facts["right"] = s.arrived(lane, 8);
    facts["child is right"] = vm.read(*child.value, lane.remote, lane.bytes) == sim::Content::pattern(7, 0, lane.bytes);
    co_await vm.exit(thread, *child.value);
  };
  plan.expected = {{"forked", equal, 1}, {"done", equal, 1}};
  if (subject.claims_truth()) {
    plan.expected.insert(plan.expected.end(), {{"right", equal, 1}, {"child is right", equal, 1}});
  } else {
    plan.expected.insert(plan.expected.end(), {{"leaked", more_than, 0}, {"child is right", equal, 0}});
  }
  return {plan};
}

// C10: four buffers at a time, with room for one of them, and with room for all and for the library's own memory.
std::vector<Plan> out_of_budget(const Subject& subject) {
  constexpr std::int64_t kRoom = 512 << 10;
  const Settings four = {
      {"workload.size", "64 KiB"}, {"workload.window", 4}, {"workload.iterations", 8}, {"workload.checks", "count"}};
  std::vector<Plan> plans;
  plans.push_back(
      {.settings = four + Settings{{"os.rlimit_memlock", "512 KiB"}},
       .expected = {{"pinned_bytes_peak", less_than, 2 * kRoom + 1}, {"locked_bytes_peak", less_than, 2 * kRoom + 1}}});
  // Parts of a transfer wait for room instead.
  if (!subject.strategy().pipeline.is_used()) {
    plans.push_back({.settings = four + Settings{{"os.rlimit_memlock", "64 KiB"}}, .refused = "RLIMIT_MEMLOCK"});
  }
  return plans;
}

// C11: transfers in flight use more pages than the device can translate at a time.
std::vector<Plan> few_translations(const Subject& subject) {
  Plan plan{.settings = {{"workload.window", 4}, {"workload.iterations", 8}, {"workload.size", "64 KiB"}}};
  if (subject.nic().uses_smmu()) {
    plan.settings = plan.settings + Settings{{"smmu.micro_tlb_entries", 1},
                                             {"smmu.macro_tlb_entries", 4},
                                             {"smmu.misses_per_tbu", 1},
                                             {"smmu.walk_slots", 1}};
    plan.expected = {{"walks", more_than, 8 * 2 * 16}};  // of each page at both ends, at least
  } else {
    // Two nodes with 512 pages each.
    plan.settings = plan.settings + Settings{{"elan.table_entries", 256}, {"workload.size", "512 KiB"}};
    plan.expected = {{"faults", more_than, 0}};
  }
  return {plan};
}

// C12: the second page of a message's second block is absent.
std::vector<Plan> fault_in_the_midst(const Subject& subject) {
  std::vector<Plan> plans;
  for (const bool at_source : {true, false}) {
    Plan plan;
    plan.program = [at_source](Stage& s, Facts& facts) -> Task<void> {
      const Stage::Lane lane = co_await s.lane(2 * kBlockBytes);
      rdma::Endpoint& owner = at_source ? *s.here : *s.there;
      const std::uint64_t va = (at_source ? lane.local : lane.remote) + kBlockBytes + os::kPage;
      co_await s.transfer(lane);  // all else is where the device looks for it
      const std::int64_t resent = s.total("dma.retransmitted_bytes");
      owner.vm().discard(owner.process(), va, os::kPage);
      const auto before = owner.process().faults().minor;
      const Status status = co_await s.transfer(lane);
      facts["done"] = status == Status::done;
      facts["right"] = s.same(lane);
      facts["page faults"] = static_cast<std::int64_t>(owner.process().faults().minor - before);
      facts["resent"] = s.total("dma.retransmitted_bytes") - resent;
    };
    plan.expected = {{"done", equal, 1}, {"right", equal, 1}};
    if (subject.counts_page_faults()) plan.expected.push_back({"page faults", equal, 1});
    const rdma::End end = at_source ? rdma::End::source : rdma::End::destination;
    const rdma::AbsentPage& answer = subject.strategy().on_fault(end);
    const bool resends = subject.has(Capability::faults) && !answer.stalls;
    const auto block = static_cast<std::int64_t>(kBlockBytes);
    // A NIC that refuses sends in vain until the page is there; others send the block again once.
    if (resends && !answer.naks && !answer.parks) plan.expected.push_back({"resent", equal, block});
    if (!resends && !subject.holds_late()) plan.expected.push_back({"resent", equal, 0});
    plans.push_back(plan);
  }
  return plans;
}

// C13: four transfers at a time to one absent page.
std::vector<Plan> one_page_for_many(const Subject&) {
  Plan plan;
  plan.program = [](Stage& s, Facts& facts) -> Task<void> {
    std::vector<Stage::Lane> lanes{};
    const Stage::Lane first = co_await s.lane(os::kPage);
    lanes.push_back(first);
    for (std::uint64_t seed = 8; seed < 11; ++seed) {
      const Stage::Lane next = co_await s.lane_to(first, seed);
      lanes.push_back(next);
    }
    os::Process& process = s.there->process();
    s.there->vm().discard(process, first.remote, os::kPage);
    const auto before = process.faults().minor;
    std::vector<Stage::UnderWay> all;
    for (const Stage::Lane& lane : lanes) {
      Stage::UnderWay one = co_await s.begin(lane);
      all.push_back(std::move(one));
    }
    for (const Stage::UnderWay& each : all) {
      const Status status = co_await s.end(each);
      facts["done"] += status == Status::done;
    }
    const sim::Content got = s.got(first);
    for (std::uint32_t at = 0; at < first.bytes; at += 256) {
      std::int64_t known = 0;
      for (std::uint64_t seed = 7; seed < 11; ++seed) {
        known += got.slice(at, 256) == sim::Content::pattern(seed, at, 256);
      }
      facts["torn"] += known == 0;
    }
    facts["page faults"] = static_cast<std::int64_t>(process.faults().minor - before);
  };
  plan.expected = {{"done", equal, 4}, {"torn", equal, 0}, {"page faults", equal, 1}};
  return {plan};
}

// C15: the page is gone at each retry, more often than the NIC has patience for; later it stays.
std::vector<Plan> no_retry_left(const Subject& subject) {
  Plan plan{.settings = {{"exanest.refault_limit", 3}, {"elan.nak_limit", 2}}};
  plan.program = [](Stage& s, Facts& facts) -> Task<void> {
    const Stage::Lane lane = co_await s.lane(os::kPage);
    s.there->vm().discard(s.there->process(), lane.remote, os::kPage);
    s.on_each_step = [&s, lane, left = 8](const sim::StepRecord& record) mutable {
      if (record.step->name != "resolve_end" || left-- <= 0) return;
      s.there->vm().discard(s.there->process(), lane.remote, os::kPage);
    };
    const Status status = co_await s.transfer(lane);
    facts["error"] = status == Status::error;
    s.on_each_step = {};
    co_await s.cluster.loop.delay(1ms);
    co_await s.there->vm().touch(s.mapper(*s.there), s.there->process(), lane.remote, true);
    co_await s.cluster.loop.delay(1ms);
    const Status later = co_await s.transfer(lane);
    facts["done later"] = later == Status::done;
    facts["right"] = s.arrived(lane, 7);
  };
  // A stalled access is not sent again, and so has no retry that could be the last.
  const bool stalls = subject.strategy().on_fault(rdma::End::destination).stalls;
  plan.expected = {{"error", equal, !stalls}, {"done later", equal, 1}, {"right", equal, 1}};
  return {plan};
}

// C16: memory that is only hoped to stay, while transfers write to it.
std::vector<Plan> hoped_to_stay(const Subject& subject, std::vector<const char*> mechanisms, const Settings& size) {
  std::vector<Plan> plans;
  for (const std::string mechanism : mechanisms) {
    const bool moves = mechanism == "move-pages" || mechanism == "collapse";
    Plan plan{.settings = size + Settings{{"inject.mechanism", mechanism}, {"workload.checks", "count"}}};
    // Khugepaged leaves pages alone that are kept present.
    if (subject.is_bound() && mechanism != "collapse") plan.refused = "no bound";
    plan.is_truthful = subject.claims_truth() || !moves;
    plan.ends_well = plan.is_truthful;
    plan.expected = {{"injections", more_than, 0}, {"transfers_failed", equal, 0}};
    if (!plan.is_truthful) {
      plan.expected.insert(plan.expected.end(), {{"stale", more_than, 0}, {"data_errors", more_than, 0}});
    }
    plans.push_back(plan);
  }
  return plans;
}
std::vector<Plan> small_pages_move(const Subject& subject) {
  return hoped_to_stay(subject, {"move-pages", "numa-hint"},
                       {{"workload.size", "64 KiB"},
                        {"workload.iterations", 8},
                        {"workload.warmup", 1},
                        {"inject.period", "300 us"},
                        {"inject.count", 20}});
}
std::vector<Plan> huge_pages_move(const Subject& subject) {
  return hoped_to_stay(subject, {"collapse", "thp-split"},
                       {{"workload.size", "2 MiB"},
                        {"workload.iterations", 3},
                        {"workload.warmup", 1},
                        {"os.thp", "madvise"},
                        {"inject.period", "300 us"},
                        {"inject.count", 20}});
}

// C17: a process ends in the midst of a transfer. The other one learns of it by an error, unless it waits for an answer
// of the dead program about a further part; then it is ended, too.
std::vector<Plan> process_ends(const Subject& subject) {
  std::vector<Plan> plans;
  for (const bool target : {true, false}) {
    Plan plan;
    plan.program = [target](Stage& s, Facts& facts) -> Task<void> {
      const Stage::Lane lane = co_await s.lane(16 * kBlockBytes);
      rdma::Endpoint& dying = target ? *s.there : *s.here;
      facts["gone"] = 0;
      s.at_step(target ? "cell_arrived" : "cell_sent", 2, dying,
                [&s, &dying, &facts](cpu::Execution&, os::Vm&, os::Process&) -> Task<void> {
                  co_await s.exit(dying);
                  facts["gone"] = 1;
                });
      facts["error"] = facts["done"] = 0;
      s.start([](Stage& stage, const Stage::Lane of, Facts& out) -> Task<void> {
        try {
          const Stage::UnderWay moving = co_await stage.begin(of);
          const Status status = co_await stage.wait(moving);
          ++out[status == Status::done ? "done" : "error"];
        } catch (const rdma::ProcessKilled&) {
        }
      }(s, lane, facts));
      co_await s.cluster.loop.delay(40ms);
    };
    plan.expected = {{"gone", equal, 1}, {"done", equal, 0}};
    if (target && !subject.strategy().pipeline.is_used()) plan.expected.push_back({"error", equal, 1});
    plans.push_back(plan);
  }
  return plans;
}

const Corner kC9{"C9: the target has a child that shares its pages",
                 "the data reach the parent, and not the child",
                 {},
                 forked_target};
const Corner kC10{"C10: the budget of pins is spent",
                  "refused with the limit's name, or within the limit; never beyond it",
                  {Capability::limit},
                  out_of_budget};
const Corner kC11{"C11: the device's translations are all in use",
                  "slower, and right",
                  {Capability::bounded_cache},
                  few_translations};
const Corner kC12{"C12: one page of many is absent",
                  "one page fault, and no more than its block is sent again",
                  {Capability::absent_pages},
                  fault_in_the_midst};
const Corner kC13{"C13: many transfers need one absent page",
                  "all end, and the page comes once",
                  {Capability::absent_pages},
                  one_page_for_many};
const Corner kC15{"C15: no retry is left",
                  "an error and no hang, and the next transfer works",
                  {Capability::absent_pages, Capability::faults},
                  no_retry_left};
const Corner kC16{"C16: pages move that are only hoped to stay",
                  "right data, or a stale access that is counted",
                  {},
                  small_pages_move};
const Corner kC16Huge{
    "C16: huge pages come and go", "right data, or a stale access that is counted", {}, huge_pages_move};
const Corner kC17{"C17: a process ends with DMA under way",
                  "the other one gets an error, nothing stays pinned or locked, nobody else's memory is written to",
                  {},
                  process_ends};

}  // namespace

TEST_CASE("corners: C9 of every preset") { check(kC9); }
TEST_CASE("corners: C10 of every preset") { check(kC10); }
TEST_CASE("corners: C11 of every preset") { check(kC11); }
TEST_CASE("corners: C12 of every preset") { check(kC12); }
TEST_CASE("corners: C13 of every preset") { check(kC13); }
TEST_CASE("corners: C15 of every preset") { check(kC15); }
TEST_CASE("corners: C16 of every preset") { check(kC16); }
TEST_CASE("corners: C16 of every preset, huge pages", "[.][nightly]") { check(kC16Huge); }
TEST_CASE("corners: C17 of every preset") { check(kC17); }
