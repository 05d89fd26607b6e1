// SPDX-License-Identifier: Apache-2.0
// How a process learns that another one has written to it, on a whole machine: each way of waiting, what ends it, and
// what each costs.
#include <catch2/catch.hpp>

#include <set>
#include <string>
#include <vector>

#include "models/drivers/exanest/endpoint.hpp"
#include "models/drivers/exanest/steps.hpp"
#include "models/sim/failure.hpp"
#include "tests/support/child.hpp"
#include "tests/support/exanest_of.hpp"
#include "tests/support/two_processes.hpp"

using namespace faultline;
using namespace faultline::test;
using rdma::Awaited;
using rdma::Notice;
using rdma::NoticeKind;
using rdma::Operation;
using rdma::Posted;
using rdma::Status;
using rdma::Waiting;
using sim::Task;
using sim::Time;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kWritten = 4096;

// A writer here, a reader there.
class Pair : public TwoProcesses {
 public:
  explicit Pair(NoticeKind kind, const platform::Machine& machine = {}, const rdma::Strategy& strategy = {})
      : TwoProcesses(strategy, machine) {
    there->expect(kind, 4);
    from = buffer(*here, kWritten);
    to = buffer(*there, kWritten);
    target = remote(to);
  }

  Task<Posted> write(Notice notice, std::uint64_t bytes = kWritten) {
    const Posted posted = co_await here->post(here->thread(), Operation::write, from, target, bytes, notice);
    co_return posted;
  }
  Task<Status> write_to_end(Notice notice) {
    const Posted posted = co_await write(notice);
    const Status status = co_await here->wait(here->thread(), posted);
    co_return status;
  }
  // The reader goes on learning until it is killed; the instants.
  Task<void> learn_for_ever(Awaited awaited) {
    try {
      for (;;) {
        const auto index = co_await there->learn(there->thread(), awaited);
        learned.push_back(cluster.loop.now());
        if (index) indices.push_back(*index);
      }
    } catch (const rdma::ProcessKilled&) {
      killed = cluster.loop.now();
    }
  }

  std::uint64_t from = 0;
  std::uint64_t to = 0;
  rdma::RemoteBuffer target{};  // known when its process has gone, too
  std::vector<Time> learned;
  std::vector<std::uint16_t> indices;
  Time killed = sim::kNever;
};

struct Way {
  const char* name;
  Awaited awaited;
  Notice notice() const { return {awaited.kind, 2}; }
};
const std::vector<Way> kWays{
    {"word", {NoticeKind::word, 2, Waiting::polls}},
    {"counter, read again and again", {NoticeKind::counter, 2, Waiting::polls}},
    {"counter, slept for", {NoticeKind::counter, 2, Waiting::sleeps}},
    {"counter, handled", {NoticeKind::counter, 2, Waiting::handles}},
    {"event queue", {NoticeKind::queue, 0, Waiting::polls}},
    {"event queue, slept for", {NoticeKind::queue, 0, Waiting::sleeps}},
};

constexpr std::int64_t kNever = sim::kNever.count();

}  // namespace

TEST_CASE("each way of waiting learns of each write once, after its data") {
  for (const Way& way : kWays) {
    INFO(way.name);
    const Facts f = facts_from_child([way] {
      Pair p(way.awaited.kind);
      Facts facts;
      p.start(p.learn_for_ever(way.awaited));
      facts["finished"] = p.run([&](TwoProcesses&) -> Task<void> {
        for (std::uint64_t i = 1; i <= 5; ++i) {
          co_await p.here->vm().store(p.here->process(), p.from, kWritten, i);
          const Status status = co_await p.write_to_end(way.notice());
          facts["done"] += status == Status::done ? 1 : 0;
          co_await p.cluster.loop.delay(50us);
          facts["learned each"] += p.learned.size() == i ? 1 : 0;
          facts["same"] += p.same(p.from, p.to, kWritten) ? 1 : 0;
        }
        p.there->kill();
        co_await p.cluster.loop.delay(20us);
      });
      for (const std::uint16_t index : p.indices) facts["index"] += index;
      facts["notices"] = p.total("dma.notices");
      facts["killed"] = p.killed != sim::kNever;
      return facts;
    });
    CHECK(f.at("finished") == 1);
    CHECK(f.at("done") == 5);
    CHECK(f.at("learned each") == 5);
    CHECK(f.at("same") == 5);
    CHECK(f.at("index") == 10);
    CHECK(f.at("notices") == 5);
    CHECK(f.at("killed") == 1);
  }
}

TEST_CASE("what comes while the process does something else is not lost") {
  for (const Way& way : kWays) {
    // A word says that something has come, not how often.
    const std::int64_t expected = way.awaited.kind == NoticeKind::word ? 1 : 4;
    INFO(way.name);
    const Facts f = facts_from_child([way, expected] {
      Pair p(way.awaited.kind);
      Facts facts;
      facts["finished"] = p.run([&](TwoProcesses&) -> Task<void> {
        for (int i = 0; i < 4; ++i) co_await p.write_to_end(way.notice());
        const Time before = p.cluster.loop.now();
        for (std::int64_t i = 0; i < expected; ++i) co_await p.there->learn(p.there->thread(), way.awaited);
        facts["took"] = (p.cluster.loop.now() - before).count();
        p.start(p.learn_for_ever(way.awaited));
        co_await p.cluster.loop.delay(100us);
        p.there->kill();
      });
      facts["more"] = static_cast<std::int64_t>(p.learned.size());
      return facts;
    });
    CHECK(f.at("finished") == 1);
    CHECK(Time{f.at("took")} < expected * 10us);
    CHECK(f.at("more") == 0);
  }
}

TEST_CASE("a process that polls, sleeps or handles can be killed and closed while it waits, and when a notice comes") {
  for (const Way& way : kWays) {
    for (const bool under_way : {false, true}) {
      INFO(way.name << (under_way ? ", with a write under way" : ""));
      const Facts f = facts_from_child([way, under_way] {
        platform::Machine machine;
        exanest_of(machine).engine.block_timeout = 50us;
        exanest_of(machine).engine.retry_limit = 2;
        Pair p(way.awaited.kind, machine);
        Facts facts;
        p.start(p.learn_for_ever(way.awaited));
        facts["finished"] = p.run([&](TwoProcesses&) -> Task<void> {
          co_await p.cluster.loop.delay(20us);
          Posted posted;
          if (under_way) {
            posted = co_await p.write(way.notice());
            co_await p.cluster.loop.delay(3us);
          }
          p.there->kill();
          co_await p.cluster.loop.delay(20us);
          facts["killed"] = p.killed != sim::kNever;
          co_await p.there->close(p.there->cpu().new_thread("exit"));
          if (under_way) co_await p.here->wait(p.here->thread(), posted);
          // And a notice to the closed endpoint: nobody is told, the writer gets an error.
          const Status status = co_await p.write_to_end(way.notice());
          facts["error"] = status == Status::error;
        });
        facts["stale"] = p.total("memory.stale_accesses");
        return facts;
      });
      CHECK(f.at("finished") == 1);
      CHECK(f.at("killed") == 1);
      CHECK(f.at("error") == 1);
      CHECK(f.at("stale") == 0);
    }
  }
}

TEST_CASE("a process that has been killed posts, waits and learns no more") {
  const Facts f = facts_from_child([] {
    Pair p(NoticeKind::counter);
    Facts facts;
    const auto refused = [&](Task<void> call) -> Task<void> {
      try {
        co_await call;
      } catch (const rdma::ProcessKilled&) {
        ++facts["refused"];
      }
    };
    const auto post = [&]() -> Task<void> { co_await p.write({NoticeKind::counter, 1}); };
    const auto learn = [&]() -> Task<void> { co_await p.here->learn(p.here->thread(), {NoticeKind::counter, 1}); };
    const auto poll = [&]() -> Task<void> { co_await p.here->poll_byte(p.here->thread(), p.from, 0); };
    facts["finished"] = p.run([&](TwoProcesses&) -> Task<void> {
      p.here->kill();
      co_await refused(post());
      co_await refused(learn());
      co_await refused(poll());
      co_await p.here->close(p.here->cpu().new_thread("exit"));
      co_await refused(post());
    });
    facts["transfers"] = p.total("dma.transfers");
    return facts;
  });
  CHECK(f.at("finished") == 1);
  CHECK(f.at("refused") == 4);
  CHECK(f.at("transfers") == 0);
}

TEST_CASE("a handler that is at work when its event comes again is called again") {
  const Facts f = facts_from_child([] {
    platform::Machine machine;
    exanest_of(machine).library.completion = 100us;  // the handler's own work
    Pair p(NoticeKind::counter, machine);
    Facts facts;
    p.start(p.learn_for_ever({NoticeKind::counter, 2, Waiting::handles}));
    facts["finished"] = p.run([&](TwoProcesses&) -> Task<void> {
      std::vector<Posted> posted;
      for (int i = 0; i < 6; ++i) posted.push_back(co_await p.write({NoticeKind::counter, 2}, 64));
      co_await p.cluster.loop.delay(120us);
      facts["at work"] = p.total("dma.notices") > static_cast<std::int64_t>(p.learned.size());
      co_await p.cluster.loop.delay(2ms);
      p.there->kill();
    });
    facts["learned"] = static_cast<std::int64_t>(p.learned.size());
    facts["interrupts"] = p.total("cpu.interrupts");
    return facts;
  });
  CHECK(f.at("finished") == 1);
  CHECK(f.at("at work") == 1);
  CHECK(f.at("learned") == 6);
}

TEST_CASE("a counter that goes round tells of each write, unless it has gone round once before it was looked at") {
  const Facts f = facts_from_child([] {
    platform::Machine machine;
    exanest_of(machine).engine.event_counter_bits = 2;
    Pair p(NoticeKind::counter, machine);
    const Awaited awaited{NoticeKind::counter, 0, Waiting::sleeps};
    Facts facts;
    facts["finished"] = p.run([&](TwoProcesses&) -> Task<void> {
      for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 3; ++i) co_await p.write_to_end({NoticeKind::counter, 0});
        for (int i = 0; i < 3; ++i) co_await p.there->learn(p.there->thread(), awaited);
      }
      facts["learned"] = 15;
      for (int i = 0; i < 4; ++i) co_await p.write_to_end({NoticeKind::counter, 0});
      p.start(p.learn_for_ever(awaited));
      co_await p.cluster.loop.delay(1ms);
      facts["after a round"] = static_cast<std::int64_t>(p.learned.size());
      p.there->kill();
    });
    return facts;
  });
  CHECK(f.at("finished") == 1);
  CHECK(f.at("learned") == 15);
  CHECK(f.at("after a round") == 0);
}

TEST_CASE("a queue that overflows delays notices, and loses none") {
  const Facts f = facts_from_child([] {
    platform::Machine machine;
    exanest_of(machine).library.event_entries = 2;
    exanest_of(machine).engine.block_timeout = 100us;
    Pair p(NoticeKind::queue, machine);
    Facts facts;
    facts["finished"] = p.run([&](TwoProcesses&) -> Task<void> {
      std::vector<Posted> posted;
      for (std::uint16_t i = 0; i < 8; ++i) posted.push_back(co_await p.write({NoticeKind::queue, i}, 64));
      co_await p.cluster.loop.delay(500us);
      facts["before"] = p.total("dma.notices");
      p.start(p.learn_for_ever({NoticeKind::queue, 0, Waiting::sleeps}));
      for (const Posted& each : posted) {
        const Status status = co_await p.here->wait(p.here->thread(), each);
        facts["done"] += status == Status::done ? 1 : 0;
      }
      co_await p.cluster.loop.delay(1ms);
      p.there->kill();
    });
    facts["learned"] = static_cast<std::int64_t>(p.indices.size());
    facts["distinct"] = static_cast<std::int64_t>(std::set<std::uint16_t>(p.indices.begin(), p.indices.end()).size());
    return facts;
  });
  CHECK(f.at("finished") == 1);
  CHECK(f.at("before") == 2);
  CHECK(f.at("done") == 8);
  CHECK(f.at("learned") == 8);
  CHECK(f.at("distinct") == 8);
}

TEST_CASE("each way costs what its parameters say, from the notice until the program goes on") {
  for (const Way& way : kWays) {
    INFO(way.name);
    const Facts f = facts_from_child([way] {
      Pair p(way.awaited.kind);
      Facts facts;
      p.start(p.learn_for_ever(way.awaited));
      facts["finished"] = p.run([&](TwoProcesses&) -> Task<void> {
        co_await p.cluster.loop.delay(30us);
        co_await p.write_to_end(way.notice());
        co_await p.cluster.loop.delay(100us);
        p.there->kill();
      });
      facts["took"] = kNever;
      for (const sim::StepRecord& r : p.steps) {
        if (r.step == exanest::step::kTargetNotified) facts["took"] = (p.learned.at(0) - r.at).count();
      }
      return facts;
    });
    platform::Machine m;
    const Time took{f.at("took")};
    const Time ends = exanest_of(m).library.completion;
    if (way.awaited.kind == NoticeKind::word) {
      // A pass over the four words, at most, and the load that sees the word's line. The engine knows of its write
      // memory.latency after the store is there for loads.
      CHECK(took <= m.cpu.poll_latency + 4 * exanest_of(m).library.scan_word + ends);
      CHECK(took + m.ddr.latency >= m.cpu.poll_latency + ends - 1us);
    } else if (way.awaited.waiting == Waiting::polls && way.awaited.kind == NoticeKind::counter) {
      CHECK(took >= ends);
      CHECK(took <= m.cpu.mmio_read + ends);
    } else if (way.awaited.waiting != Waiting::polls) {
      const Time wakes = m.cpu.irq_to_handler + m.cpu.mmio_read + m.cpu.mmio_write +
                         exanest_of(m).driver.event_handler + m.cpu.context_switch;
      const Time handles = way.awaited.waiting == Waiting::handles ? exanest_of(m).library.signal : Time{0};
      const Time takes = way.awaited.kind == NoticeKind::counter ? m.cpu.mmio_read : m.cpu.mmio_write;
      CHECK(took >= wakes + handles + takes + ends - 1us);
      CHECK(took <= wakes + handles + takes + ends + 1us);
    }
  }
}
