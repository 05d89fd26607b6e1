// SPDX-License-Identifier: Apache-2.0
// Host time by part: everything is charged once, to the right part; and what looks on from outside.
#include "models/sim/profile.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <numeric>

#include "models/sim/event_loop.hpp"
#include "models/sim/task.hpp"
#include "models/sim/wakeup.hpp"

namespace {

using namespace faultline::sim;
using Clock = Profile::Clock;
using namespace std::chrono_literals;

const ProfiledPart kHere{"the test"};
const ProfiledPart kCalled{"another::Part"};

void work_for(Clock::duration host_time) {
  const auto end = Clock::now() + host_time;
  while (Clock::now() < end) {
  }
}

std::int64_t host_ns(Clock::duration time) { return std::chrono::nanoseconds(time).count(); }

std::map<std::string, Profile::Row> by_name(const Profile& profile) {
  std::map<std::string, Profile::Row> found;
  for (const auto& row : profile.rows()) found[row.part] = row;
  return found;
}

std::int64_t sum(const Profile& profile) {
  const auto rows = profile.rows();
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0},
                         [](std::int64_t ns, const auto& row) { return ns + static_cast<std::int64_t>(row.host_ns); });
}

struct Busy {
  EventLoop& loop;
  Clock::time_point ended{};
  void work() { work_for(2ms); }
  void call() {
    work_for(1ms);
    const ProfileScope turn(loop.profile(), kCalled);
    work_for(3ms);
    ended = Clock::now();
  }
};

struct Waiter {
  explicit Waiter(EventLoop& loop) : wake(loop, *this) {}
  void woken() {}
  Wakeup<Waiter, &Waiter::woken> wake;
};

}  // namespace

TEST_CASE("host time is charged to the part at work, once, and adds up to the whole") {
  EventLoop loop("loop");
  Busy busy{loop};
  for (int i = 1; i <= 5; ++i) loop.at<&Busy::work>(Time{i}, 0, busy);
  loop.at<&Busy::call>(10ns, 0, busy);
  const auto before = Clock::now();
  Profile profile(kHere);
  const auto begun = Clock::now();
  loop.set_profile(&profile);
  loop.run(1us);
  const auto whole = host_ns(Clock::now() - before);

  auto rows = by_name(profile);
  CHECK(rows.at("{anonymous}::Busy").events == 6);
  CHECK(rows.at("{anonymous}::Busy").calls == 0);
  CHECK(rows.at("another::Part").events == 0);
  CHECK(rows.at("another::Part").calls == 1);
  CHECK(rows.at("event loop").events == 0);
  // Work that was done under a part's name, and not that which was done under the other's.
  const auto busy_ns = static_cast<std::int64_t>(rows.at("{anonymous}::Busy").host_ns);
  const auto called_ns = static_cast<std::int64_t>(rows.at("another::Part").host_ns);
  CHECK(busy_ns >= host_ns(11ms));
  CHECK(called_ns >= host_ns(3ms));
  CHECK(busy_ns <= whole - called_ns);
  CHECK(called_ns <= whole - host_ns(11ms));
  // All of it: the profile began before `begun` and was at work until after the last event.
  CHECK(sum(profile) <= whole);
  CHECK(sum(profile) >= host_ns(busy.ended - begun));
  for (std::size_t i = 1; i < profile.rows().size(); ++i) {
    CHECK(profile.rows()[i - 1].host_ns >= profile.rows()[i].host_ns);
  }
}

TEST_CASE("what a part calls in itself is no call of another, and its caller's turn comes back") {
  Profile profile(kHere);
  {
    const ProfileScope outer(&profile, kCalled);
    const ProfileScope inner(&profile, kCalled);
    const ProfileScope thread(&profile, "flow 7");
    const ProfileScope same_kind(&profile, "flow 12");
    work_for(1ms);
  }
  work_for(2ms);
  { const ProfileScope end(&profile, kCalled); }
  auto rows = by_name(profile);
  CHECK(rows.at("another::Part").calls == 2);
  CHECK(rows.at("software, flow").calls == 1);
  CHECK(rows.at("software, flow").host_ns >= 1'000'000);
  CHECK(rows.at("the test").host_ns >= 2'000'000);
}

TEST_CASE("an event is the part's whose method it calls, a wake-up that of whom it wakes, the rest is software") {
  EventLoop loop("loop");
  Waiter waiter(loop);
  TaskGroup tasks;
  Profile profile(kHere);
  loop.set_profile(&profile);
  waiter.wake.at(5ns);
  tasks.start([](EventLoop& l) -> Task<void> { co_await l.delay(3ns); }(loop));
  loop.at<&EventLoop::stop>(9ns, 0, loop);
  loop.run(1us);
  auto rows = by_name(profile);
  CHECK(rows.at("{anonymous}::Waiter").events == 1);
  CHECK(rows.at("software, resumed by a signal or a delay").events == 1);
  CHECK(rows.at("sim::EventLoop").events == 1);
  CHECK(loop.events_run() == 3);
}

TEST_CASE("a method's class is found in the compiler's words for it") {
  CHECK(Profile::class_in("f() [with auto Method = &smmu::Tbu::answered; std::string_view = x]") == "smmu::Tbu");
  CHECK(Profile::class_in("f() [Method = &faultline::smmu::Tbu::answered]") == "smmu::Tbu");
  CHECK(Profile::class_in("f() [with auto Method = &sim::Wakeup<exanest::A, &exanest::A::go>::fire; T = x]") ==
        "exanest::A");
  CHECK(Profile::class_in("f() [with auto Method = &soc::Ddr::Inlet::arrives; T = x]") == "soc::Ddr");
}

TEST_CASE("whoever watches is called every so many events, in their instant, and changes nothing") {
  EventLoop loop("loop");
  std::vector<std::pair<std::uint64_t, Time>> seen;
  loop.watch(3, [&] { seen.emplace_back(loop.events_run(), loop.now()); });
  struct Nothing {
    void event() {}
  } nothing;
  for (int i = 1; i <= 8; ++i) loop.at<&Nothing::event>(Time{i}, 0, nothing);
  loop.run(1us);
  CHECK(seen == std::vector<std::pair<std::uint64_t, Time>>{{3, Time{3}}, {6, Time{6}}});
  CHECK(loop.events_run() == 8);
}
