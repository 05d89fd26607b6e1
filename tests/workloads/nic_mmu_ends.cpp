// SPDX-License-Identifier: Apache-2.0
// The NIC with an MMU of its own: what is parked or refused ends, whatever becomes of the page, the process or the
// table.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tests/workloads/nic_mmu.hpp"

using namespace faultline;
using namespace faultline::test;

TEST_CASE("two sources of one absent page both come to their end: nobody starves") {
  const Facts f = played(nic_mmu(), machine_with_elan(), [](TwoProcesses& p, Facts& facts) -> Task<void> {
    const std::uint64_t remote = p.buffer(*p.there, 64 * os::kPage, 64);
    const auto second = p.open(2);
    std::map<sim::NodeId, std::int64_t> ended;
    p.on_each_step = [&ended, &facts](const sim::StepRecord& record) {
      if (record.step != elan::step::kNotified) return;
      ++ended[record.node];
      if (ended[0] + ended[2] == 8) facts["of the slower at half"] = std::min(ended[0], ended[2]);
    };
    std::vector<std::pair<rdma::Endpoint*, Posted>> posted;
    for (rdma::Endpoint* peer : {p.here.get(), second.get()}) {
      const std::uint64_t local = p.buffer(*peer, 64 * os::kPage);
      for (unsigned i = 0; i < 8; ++i) {
        const Posted one =
            co_await peer->post(peer->thread(), Operation::write, local, p.remote(remote), 64 * os::kPage);
        posted.emplace_back(peer, one);
      }
    }
    facts["done"] = 0;
    for (const auto& [peer, one] : posted) {
      const Status status = co_await peer->wait(peer->thread(), one);
      facts["done"] += status == Status::done ? 1 : 0;
    }
  });
  CHECK(f.at("finished") == 1);
  CHECK(f.at("done") == 16);
  CHECK(f.at("of the slower at half") >= 2);
  CHECK(f.at("stale") == 0);
}

namespace {

// A write of which one end is nowhere, and another one behind it.
Facts write_of_nothing(bool at_source, Mutate mutate) {
  return played(nic_mmu(), machine_with_elan(mutate), [=](TwoProcesses& p, Facts& facts) -> Task<void> {
    const std::uint64_t local = p.buffer(*p.here, os::kPage);
    const std::uint64_t remote = p.buffer(*p.there, os::kPage);
    constexpr std::uint64_t kNowhere = 0x7000'0000;  // nobody has mapped it
    const Posted posted = co_await p.here->post(p.here->thread(), Operation::write, at_source ? kNowhere : local,
                                                p.remote(at_source ? remote : kNowhere), 64);
    const Status status = co_await p.here->wait(p.here->thread(), posted);
    facts["error"] = status == Status::error;
    // And the next one goes.
    const Posted next = co_await p.here->post(p.here->thread(), Operation::write, local, p.remote(remote), 64);
    const Status after = co_await p.here->wait(p.here->thread(), next);
    facts["next"] = after == Status::done;
    facts["naks"] = p.total("elan.naks");
    facts["parks"] = p.total("elan.parks");
  });
}

}  // namespace

TEST_CASE("an operation ends where the page never comes: parked, or refused to the limit") {
  for (const bool at_source : {true, false}) {
    INFO("at source " << at_source);
    const Facts f = write_of_nothing(at_source, [](elan::NicConfig& c) { c.engine.nak_limit = 5; });
    CHECK(f.at("finished") == 1);
    CHECK(f.at("error") == 1);
    CHECK(f.at("next") == 1);
    CHECK(f.at("naks") == (at_source ? 0 : 6));
    CHECK(f.at("parks") == (at_source ? 1 : 0));
    // Without an end of tries it never does.
    const Facts mutant = write_of_nothing(at_source, [](elan::NicConfig& c) {
      c.engine.nak_limit = 1'000'000'000;
      c.engine.nak_back_off = c.engine.nak_back_off_limit = 5ms;  // few tries: the test's time
      c.driver.trap_service = 5ms;
      c.driver.gives_up = false;
    });
    CHECK(mutant.at("finished") == 0);
  }
}

TEST_CASE("a write to a process that has gone ends at once") {
  const Facts f = played(nic_mmu(), machine_with_elan(), [](TwoProcesses& p, Facts& facts) -> Task<void> {
    const std::uint64_t local = p.buffer(*p.here, os::kPage);
    const rdma::RemoteBuffer gone = p.remote(p.buffer(*p.there, os::kPage));
    co_await p.there->close(p.cluster.node(1).cpu.new_thread("kernel"));
    const Posted posted = co_await p.here->post(p.here->thread(), Operation::write, local, gone, 64);
    const Status status = co_await p.here->wait(p.here->thread(), posted);
    facts["error"] = status == Status::error;
    facts["naks"] = p.total("elan.naks");
  });
  CHECK(f.at("finished") == 1);
  CHECK(f.at("error") == 1);
  CHECK(f.at("naks") == 1);
  CHECK(f.at("timeouts") == 0);
}

TEST_CASE("a process may die with blocks parked, or refused, and its successor has its number") {
  for (const bool source_dies : {true, false}) {
    for (const unsigned n : {1u, 3u}) {
      const Facts f = played(nic_mmu(), machine_with_elan(), [=](TwoProcesses& p, Facts& facts) -> Task<void> {
        const std::uint64_t local = p.buffer(*p.here, 32 * os::kPage, source_dies ? 32 : 0);
        const std::uint64_t remote = p.buffer(*p.there, 32 * os::kPage, source_dies ? 0 : 32);
        rdma::Endpoint& dies = source_dies ? *p.here : *p.there;
        sim::Signal closed(p.cluster.loop);
        bool is_closed = false;
        at_step(p, source_dies ? elan::step::kFaultDetected : elan::step::kNakReceived, n, dies,
                [&](cpu::Execution& exec, os::Vm&, os::Process&) -> Task<void> {
                  co_await dies.close(exec);
                  is_closed = true;
                  closed.notify_all();
                });
        const Posted posted =
            co_await p.here->post(p.here->thread(), Operation::write, local, p.remote(remote), 32 * os::kPage);
        if (!source_dies) {
          const Status status = co_await p.here->wait(p.here->thread(), posted);
          facts["error"] = status == Status::error;
        }
        while (!is_closed) co_await closed;
        p.on_each_step = nullptr;
        // Another process takes its place.
        const auto heir = p.open(dies.node());
        const auto other = p.open(source_dies ? 1 : 0);
        rdma::Endpoint& from = source_dies ? *heir : *other;
        rdma::Endpoint& to = source_dies ? *other : *heir;
        const std::uint64_t source = p.buffer(from, 4 * os::kPage);
        const std::uint64_t target = p.buffer(to, 4 * os::kPage, 4);
        const Posted next = co_await from.post(from.thread(), Operation::write, source,
                                               {to.node(), to.process().id(), target}, 4 * os::kPage);
        const Status status = co_await from.wait(from.thread(), next);
        facts["heir"] = status == Status::done;
      });
      INFO("source dies " << source_dies << ", at step " << n);
      CHECK(f.at("finished") == 1);
      CHECK(f.at("heir") == 1);
      CHECK(f.at("stale") == 0);
      if (!source_dies) CHECK(f.at("error") == 1);
    }
  }
}

TEST_CASE("a table that is full makes room for what the NIC misses, and pushes no more") {
  const Settings small = Settings{{"elan.table_entries", 256}, {"workload.size", "2 MiB"}, {"workload.iterations", 2}};
  for (const char* translate : {"pushed", "on-demand"}) {
    const Point p = run_well(kPushed + small + Settings{{"strategy.translate", translate}});
    INFO(translate);
    CHECK(p.count("faults") > 0);
    CHECK(p.count("data_errors") == 0);
    CHECK(p.count("nic_invalidations") > 0);
  }
}

// 128 times as many pages as there is room for. That took minutes when each looked at all that waited before it.
TEST_CASE("a table with no room for what libraries keep is found full at once, and what they keep is named") {
  const workloads::Configuration c =
      configuration(preset("nic-mmu/pushed") + Settings{{"workload.kind", "send-receive"},
                                                        {"messages.slots", 32},
                                                        {"messages.slot_bytes", "1 MiB"},
                                                        {"elan.table_entries", 256}});
  const Point point =
      read_point(Child([&c] { return written(workloads::run_point(c, 1)); }, /*cpu_seconds=*/20).text());
  CHECK(point.error.starts_with("the NIC's table has no entry left beside those of the processes' libraries"));
  for (const char* key : {"elan.table_entries", "messages.slots", "messages.slot_bytes"}) {
    INFO(key);
    CHECK(std::ranges::find(point.error_keys, key) != point.error_keys.end());
  }
}
