// SPDX-License-Identifier: Apache-2.0
// Corner cases C1 to C8 of every preset: pages that are absent, and pages that come and go.
#include <catch2/catch.hpp>

#include "tests/workloads/corner_generator.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace faultline::test::corners;

namespace {

using enum Expected::Relation;

// An end of a transfer's data.
struct AtEnd {
  bool source;
  rdma::Endpoint& owner(Stage& s) const { return source ? *s.here : *s.there; }
  std::uint64_t address(const Stage::Lane& lane) const { return source ? lane.local : lane.remote; }
};

// C1 to C3. Where faults bring pages the device faults; where the programs prepare, it does not, and their kernels do.
std::vector<Plan> absent_at(const Subject& subject, const char* end) {
  Plan plan{.settings = {{"workload.cold", end}}};
  if (!subject.lets_pages_go() && std::string_view(end) != "destination") {
    plan.settings.push_back({"workload.cold_source_kind", "never-written"});
  }
  if (subject.has(Capability::faults)) plan.expected.push_back({"faults", more_than, 0});
  if (!subject.has(Capability::faults) && !subject.holds_late()) plan.expected.push_back({"faults", equal, 0});
  plan.expected.push_back({"minor_faults", more_than, 0});
  return {plan};
}

// C4: when its first cell is on its way, which the device has translated, the kernel moves the last block's pages.
std::vector<Plan> moved_under_dma(const Subject& subject) {
  std::vector<Plan> plans;
  for (const AtEnd end : {AtEnd{true}, AtEnd{false}}) {
    Plan plan{.is_truthful = subject.claims_truth()};
    if (subject.is_bound()) plan.refused = "no bound";  // it loses the entries while the kernel tries
    plan.program = [end](Stage& s, Facts& facts) -> Task<void> {
      const Stage::Lane lane = co_await s.lane(4 * kBlockBytes);
      co_await s.transfer(lane);  // the translations are where the device keeps them
      s.fill(lane, 8);
      const std::uint64_t va = end.address(lane) + 3 * kBlockBytes;
      os::Process& process = end.owner(s).process();
      const auto frame = process.space().page(va)->frame;
      s.at_step(end.source ? "cell_sent" : "cell_arrived", 1, end.owner(s),
                [va](cpu::Execution& exec, os::Vm& vm, os::Process& owner) -> Task<void> {
                  const os::Range range{va, va + kBlockBytes};
                  co_await vm.page_events().migrate(exec, owner, range, os::PageEvents::Mover::move_pages);
                });
      const Stage::UnderWay moving = co_await s.begin(lane);
      const Status status = co_await s.wait(moving);
      facts["done"] = status == Status::done;
      facts["right"] = s.arrived(lane, 8);
      facts["moved in use"] = process.space().page(va)->frame != frame;
      co_await s.let_go(moving);
      co_await s.cluster.loop.delay(1ms);
      facts["moved"] = process.space().page(va)->frame != frame;
    };
    plan.expected = {{"done", equal, 1}};
    const bool free = subject.has(Capability::free_frames);
    if (free) plan.expected.push_back({"moved", equal, 1});
    if (!free && !subject.holds_late()) plan.expected.push_back({"moved in use", equal, 0});
    plan.expected.push_back(subject.claims_truth() ? Expected{"right", equal, 1} : Expected{"stale", more_than, 0});
    plans.push_back(plan);
  }
  return plans;
}

// C5 and C14: the kernel writes pages of the destination to the swap device, which reads them again if they are wanted.
// Locked pages stay, and so do frames that are held.
std::vector<Plan> paged_out(const Subject& subject, std::uint64_t blocks, std::string_view step, unsigned n,
                            std::vector<std::pair<std::uint64_t, std::uint64_t>> parts) {
  const bool goes = subject.has(Capability::free_frames) && !subject.abilities().locks;
  // So slow that pages go while the transfer lasts.
  Plan plan{.settings = {{"os.reclaim_page", "4 us"}}, .is_truthful = subject.claims_truth() || !goes};
  plan.program = [=](Stage& s, Facts& facts) -> Task<void> {
    const Stage::Lane lane = co_await s.lane(blocks * kBlockBytes);
    for (const auto& [from, to] : parts) {
      const os::Range range{lane.remote + from * kBlockBytes, lane.remote + to * kBlockBytes};
      s.at_step(step, n, *s.there, [range](cpu::Execution& exec, os::Vm& vm, os::Process& owner) -> Task<void> {
        co_await vm.reclaim().page_out(exec, owner, range);
      });
    }
    const Status status = co_await s.transfer(lane);
    facts["done"] = status == Status::done;
    facts["right"] = s.arrived(lane, 7);
    facts["evicted"] = s.total("os.pswpout") > 0;
  };
  plan.expected = {{"done", equal, 1}};
  if (!subject.holds_late()) plan.expected.push_back({"evicted", equal, goes});
  if (plan.is_truthful) plan.expected.push_back({"right", equal, 1});
  return {plan};
}

// C6: two transfers at once from one buffer, whose first page is absent where that can be.
std::vector<Plan> posted_twice(const Subject& subject) {
  Plan plan;
  const bool absent = subject.has(Capability::absent_pages);
  plan.program = [absent](Stage& s, Facts& facts) -> Task<void> {
    const Stage::Lane first = co_await s.lane(kBlockBytes);
    const Stage::Lane second = co_await s.lane_from(first);
    if (absent) s.here->vm().discard(s.here->process(), first.local, os::kPage);
    const auto before = s.here->process().faults().minor;
    const Stage::UnderWay one = co_await s.begin(first);
    const Stage::UnderWay two = co_await s.begin(second);
    const Status of_one = co_await s.end(one);
    const Status of_two = co_await s.end(two);
    facts["done"] = of_one == Status::done && of_two == Status::done;
    facts["right"] = s.same(first) && s.same(second);
    facts["page faults"] = static_cast<std::int64_t>(s.here->process().faults().minor - before);
  };
  plan.expected = {{"done", equal, 1}, {"right", equal, 1}};
  if (!absent || subject.counts_page_faults()) plan.expected.push_back({"page faults", equal, absent});
  return {plan};
}

// C7: the program stores to the buffer that is being sent. Each cell has what was there before or after.
std::vector<Plan> stored_under_way(const Subject&) {
  Plan plan;
  plan.program = [](Stage& s, Facts& facts) -> Task<void> {
    const Stage::Lane lane = co_await s.lane(2 * kBlockBytes);
    s.at_step("cell_arrived", 1, *s.here, [lane](cpu::Execution& exec, os::Vm& vm, os::Process& owner) -> Task<void> {
      co_await vm.touch_range(exec, owner, lane.local, lane.bytes, true);
      co_await vm.store(owner, lane.local, lane.bytes, 8);
    });
    const Status status = co_await s.transfer(lane);
    facts["done"] = status == Status::done;
    facts["torn"] = s.torn(lane, 7, 8);
  };
  plan.expected = {{"done", equal, 1}, {"torn", equal, 0}};
  return {plan};
}

// C8: the program unmaps its buffer, tells its library, and has another one at the same address.
std::vector<Plan> mapped_anew(const Subject& subject) {
  Plan plan{.is_truthful = subject.claims_truth()};
  plan.program = [](Stage& s, Facts& facts) -> Task<void> {
    Stage::Lane lane = co_await s.lane(kBlockBytes);
    co_await s.transfer(lane);
    facts["right at first"] = s.arrived(lane, 7);
    const auto frame = s.there->process().space().page(lane.remote)->frame;
    facts["refused"] = 0;
    try {
      facts["same address"] = co_await s.map_anew(lane);
    } catch (const Refused&) {
      facts["refused"] = 1;
    }
    if (facts["refused"] == 0) {
      facts["done"] = co_await s.transfer(lane) == Status::done;
      facts["right"] = s.same(lane);
      facts["other frame"] = s.there->process().space().page(lane.remote)->frame != frame;
    }
  };
  plan.expected = {{"right at first", equal, 1}};
  if (subject.claims_truth()) {
    plan.expected.insert(plan.expected.end(),
                         {{"refused", equal, 0}, {"same address", equal, 1}, {"done", equal, 1}, {"right", equal, 1}});
  } else {
    // Its table still has the old frames, which it cannot take out: it may not go on as if nothing was.
    plan.expected.push_back({"refused", equal, 1});
  }
  return {plan};
}

const Corner kC1{"C1: the source is absent when a transfer is posted",
                 "it arrives whole, by a fault or prepared before",
                 {Capability::absent_pages},
                 [](const Subject& s) { return absent_at(s, "source"); }};
const Corner kC2{"C2: the destination is absent",
                 "it arrives whole, by a fault or prepared before",
                 {Capability::absent_pages},
                 [](const Subject& s) { return absent_at(s, "destination"); }};
const Corner kC3{"C3: both are absent",
                 "it arrives whole, by faults or prepared before",
                 {Capability::absent_pages},
                 [](const Subject& s) { return absent_at(s, "both"); }};
const Corner kC4{"C4: a page moves between its translation and the DMA",
                 "right data and no stale access, or frames that do not move; a table that only hopes is caught",
                 {},
                 moved_under_dma};
const Corner kC5{"C5: pages go in the midst of a message",
                 "they are fetched back, or were never let go of",
                 {},
                 [](const Subject& s) {
                   return paged_out(s, 16, "cell_arrived", 8, {{0, 4}, {12, 16}});
                 }};
const Corner kC6{
    "C6: one buffer is sent twice at a time", "both arrive, one page fault, each pin let go of once", {}, posted_twice};
const Corner kC7{
    "C7: the program stores to what is being sent", "each cell is the old one or the new one", {}, stored_under_way};
const Corner kC8{"C8: other memory at the same address",
                 "the device reaches the new frames, or the library refuses",
                 {},
                 mapped_anew};
const Corner kC14{"C14: the kernel evicts what a peer is about to write to",
                  "it is fetched back, or stays",
                  {},
                  [](const Subject& s) {
                    return paged_out(s, 1, "block_scheduled", 1, {{0, 1}});
                  }};

}  // namespace

TEST_CASE("corners: C1 of every preset") { check(kC1); }
TEST_CASE("corners: C2 of every preset") { check(kC2); }
TEST_CASE("corners: C3 of every preset") { check(kC3); }
TEST_CASE("corners: C4 of every preset") { check(kC4); }
TEST_CASE("corners: C5 of every preset") { check(kC5); }
TEST_CASE("corners: C6 of every preset") { check(kC6); }
TEST_CASE("corners: C7 of every preset") { check(kC7); }
TEST_CASE("corners: C8 of every preset") { check(kC8); }
TEST_CASE("corners: C14 of every preset") { check(kC14); }
