// SPDX-License-Identifier: Apache-2.0
// Faults that a benchmark does not meet: addresses without a mapping, pages that go again, pages shared by
// transfers, neighbours.
#include <catch2/catch.hpp>

#include "models/drivers/exanest/steps.hpp"
#include "tests/support/child.hpp"
#include "tests/support/exanest_of.hpp"
#include "tests/support/two_processes.hpp"

using namespace faultline;
using namespace faultline::test;
using rdma::Operation;
using rdma::Posted;
using rdma::Status;
namespace step = exanest::step;
using sim::Task;

namespace {

rdma::Strategy tolerant(rdma::Resolve resolve, std::string_view on_fault = "terminate") {
  rdma::Strategy s;
  s.resolve = resolve;
  s.on_source_fault = on_fault;
  s.on_destination_fault = on_fault;
  return s;
}

Task<Status> transfer(TwoProcesses& p, Operation operation, std::uint64_t local, std::uint64_t remote,
                      std::uint64_t length) {
  const Posted posted = co_await p.here->post(p.here->thread(), operation, local, p.remote(remote), length);
  co_return co_await p.here->wait(p.here->thread(), posted);
}

constexpr std::uint64_t kNowhere = 0x7'1234'5000;  // far above what map_buffer() gives

// A transfer to or from an address without a mapping, then one between good buffers.
Facts unmapped(const rdma::Strategy& strategy, Operation operation, bool local_is_bad, std::uint64_t length) {
  return facts_from_child([=] {
    TwoProcesses p(strategy);
    Facts facts;
    const bool finished = p.run([&](TwoProcesses& q) -> Task<void> {
      const std::uint64_t local = q.buffer(*q.here, length);
      const std::uint64_t remote = q.buffer(*q.there, length);
      q.here->vm().fill(q.here->process(), local, length, 7);
      const std::uint64_t bad = kNowhere;
      const Status first =
          co_await transfer(q, operation, local_is_bad ? bad : local, local_is_bad ? remote : bad, length);
      facts["first is an error"] = first == Status::error;
      facts["ended at"] = q.cluster.loop.now().count();
      const Status second = co_await transfer(q, operation, local, remote, length);
      facts["second is done"] = second == Status::done;
      facts["second is right"] = q.same(local, remote, static_cast<std::uint32_t>(length));
    });
    facts["finished"] = finished;
    facts["refused"] = p.total("library.faults_refused");
    facts["stale"] = p.total("memory.stale_accesses");
    return facts;
  });
}

}  // namespace

TEST_CASE("an address without a mapping ends the transfer with an error, and the next one works") {
  for (const Operation operation : {Operation::write, Operation::read}) {
    for (const bool local_is_bad : {false, true}) {
      for (const auto resolve : {rdma::Resolve::touch_a_page, rdma::Resolve::touch_ahead}) {
        for (const char* on_fault : {"terminate", "stall"}) {
          for (const std::uint64_t length : {std::uint64_t{64}, std::uint64_t{100'000}}) {
            INFO("read " << (operation == Operation::read) << ", bad address " << (local_is_bad ? "here" : "there")
                         << ", touch-ahead " << (resolve == rdma::Resolve::touch_ahead) << ", " << on_fault << ", "
                         << length << " B");
            const Facts f = unmapped(tolerant(resolve, on_fault), operation, local_is_bad, length);
            CHECK(f.at("finished") == 1);
            CHECK(f.at("first is an error") == 1);
            CHECK(f.at("ended at") < 1'000'000'000);  // one way of a fault, not a timeout of 1 ms
            CHECK(f.at("second is done") == 1);
            CHECK(f.at("second is right") == 1);
            CHECK(f.at("refused") >= 1);
            CHECK(f.at("stale") == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("a transfer to a process that does not exist ends with an error when its retries are used up") {
  const Facts f = facts_from_child([] {
    platform::Machine machine;
    exanest_of(machine).engine.retry_limit = 3;
    TwoProcesses p(tolerant(rdma::Resolve::touch_a_page), machine);
    Facts facts;
    facts["finished"] = p.run([&](TwoProcesses& q) -> Task<void> {
      const std::uint64_t local = q.buffer(*q.here, 64);
      rdma::RemoteBuffer nobody = q.remote(kNowhere);
      nobody.process = 33;
      const Posted posted = co_await q.here->post(q.here->thread(), Operation::write, local, nobody, 64);
      const Status status = co_await q.here->wait(q.here->thread(), posted);
      facts["error"] = status == Status::error;
    });
    facts["timeouts"] = p.total("dma.timeouts");
    return facts;
  });
  CHECK(f.at("finished") == 1);
  CHECK(f.at("error") == 1);
  CHECK(f.at("timeouts") == 4);  // the first attempt and three retries
}

namespace {

// 16 KiB, one block, written to pages that are there, but whose access flags are clear.
Facts into_old_pages(const rdma::Strategy& strategy) {
  return facts_from_child([=] {
    TwoProcesses p(strategy);
    Facts facts;
    facts["finished"] = p.run([&](TwoProcesses& q) -> Task<void> {
      const std::uint64_t local = q.buffer(*q.here, 16384);
      const std::uint64_t remote = q.buffer(*q.there, 16384);
      q.here->vm().fill(q.here->process(), local, 16384, 7);
      rdma::Endpoint& there = *q.there;
      there.vm().page_events().mark_idle(there.thread(), there.process(), {remote, remote + 16384});
      facts["done"] = co_await transfer(q, Operation::write, local, remote, 16384) == Status::done;
      facts["right"] = q.same(local, remote, 16384);
    });
    facts["page faults"] = p.total("os.pgfault");
    facts["resolved"] = p.total("library.pages_resolved");
    facts["touched"] = p.total("library.refaults_touched");
    return facts;
  });
}

Facts well(int page_faults, int resolved, int touched) {
  return {{"finished", 1},        {"done", 1},         {"right", 1}, {"page faults", page_faults},
          {"resolved", resolved}, {"touched", touched}};
}

}  // namespace

// get_user_pages finds the pages and cures nothing; what comes back at them the library touches, a page a fault.
TEST_CASE("touch-ahead meets old pages twice, and then page by page") {
  rdma::Strategy ahead = tolerant(rdma::Resolve::touch_ahead);
  CHECK(into_old_pages(ahead) == well(4, 5, 4));
  ahead.touch_ahead_pages = 2;
  CHECK(into_old_pages(ahead) == well(4, 5, 4));
}

TEST_CASE("touch-ahead meets old pages twice each where accesses stall") {
  CHECK(into_old_pages(tolerant(rdma::Resolve::touch_ahead, "stall")) == well(4, 8, 4));
}

TEST_CASE("a touch cures an old page, and fixup_user_fault as many as it is asked to") {
  CHECK(into_old_pages(tolerant(rdma::Resolve::touch_a_page)) == well(4, 4, 0));
  rdma::Strategy fixup = tolerant(rdma::Resolve::fixup_user_fault);
  CHECK(into_old_pages(fixup) == well(4, 1, 0));
  fixup.touch_ahead_pages = 2;
  CHECK(into_old_pages(fixup) == well(4, 2, 0));
}

TEST_CASE("a page that is gone again before the block is sent again faults again") {
  for (const bool at_source : {false, true}) {
    for (const auto resolve : {rdma::Resolve::touch_a_page, rdma::Resolve::touch_ahead}) {
      const Facts f = facts_from_child([=] {
        TwoProcesses p(tolerant(resolve));
        Facts facts;
        std::uint64_t cold_page = 0;
        int takes = 3;
        p.on_each_step = [&](const sim::StepRecord& record) {
          if (record.step != step::kRetryRequested || takes == 0) return;
          --takes;
          rdma::Endpoint& owner = at_source ? *p.here : *p.there;
          owner.vm().discard(owner.process(), cold_page, os::kPage);
        };
        facts["finished"] = p.run([&](TwoProcesses& q) -> Task<void> {
          const std::uint64_t local = q.buffer(*q.here, 4096, at_source ? 1 : 0);
          const std::uint64_t remote = q.buffer(*q.there, 4096, at_source ? 0 : 1);
          cold_page = at_source ? local : remote;
          q.here->vm().fill(q.here->process(), local, 4096, 7);  // lost where the page is absent: then zeros are sent
          const Status status = co_await transfer(q, Operation::write, local, remote, 4096);
          facts["done"] = status == Status::done;
          facts["right"] = q.same(local, remote, 4096);
        });
        facts["pgfault"] = p.total("os.pgfault");
        facts["detected"] = p.count(step::kFaultDetected);
        facts["attempts"] = p.count(step::kBlockScheduled);
        facts["stale"] = p.total("memory.stale_accesses");
        return facts;
      });
      INFO("at source " << at_source);
      CHECK(f == Facts{{"finished", 1},
                       {"done", 1},
                       {"right", 1},
                       {"pgfault", 4},
                       {"detected", 4},
                       {"attempts", 5},
                       {"stale", 0}});
    }
  }
}

TEST_CASE("transfers that meet one absent page resolve it once") {
  for (const bool at_source : {false, true}) {
    for (const auto resolve : {rdma::Resolve::touch_a_page, rdma::Resolve::touch_ahead}) {
      const Facts f = facts_from_child([=] {
        TwoProcesses p(tolerant(resolve));
        Facts facts;
        facts["finished"] = p.run([&](TwoProcesses& q) -> Task<void> {
          constexpr unsigned kTransfers = 8;
          const std::uint64_t local = q.buffer(*q.here, 4096, at_source ? 1 : 0);
          const std::uint64_t remote = q.buffer(*q.there, 4096, at_source ? 0 : 1);
          q.here->vm().fill(q.here->process(), local, 4096, 7);
          std::vector<Posted> posted;
          for (unsigned i = 0; i < kTransfers; ++i) {
            posted.push_back(co_await q.here->post(q.here->thread(), Operation::write, local + 512 * i,
                                                   q.remote(remote + 512 * i), 512));
          }
          for (const Posted& each : posted) {
            const Status status = co_await q.here->wait(q.here->thread(), each);
            facts["done"] += status == Status::done ? 1 : 0;
          }
          facts["right"] = q.same(local, remote, 4096);
        });
        facts["pgfault"] = p.total("os.pgfault");
        facts["records"] = p.total("driver.fault_records");
        return facts;
      });
      INFO("at source " << at_source);
      CHECK(f == Facts{{"finished", 1}, {"done", 8}, {"right", 1}, {"pgfault", 1}, {"records", 8}});
    }
  }
}

TEST_CASE("other transfers go on while one waits for its page") {
  for (const bool at_source : {false, true}) {
    const Facts f = facts_from_child([=] {
      TwoProcesses p(tolerant(rdma::Resolve::touch_a_page));
      Facts facts;
      facts["finished"] = p.run([&](TwoProcesses& q) -> Task<void> {
        const std::uint64_t local = q.buffer(*q.here, 4096, at_source ? 1 : 0);
        const std::uint64_t remote = q.buffer(*q.there, 4096, at_source ? 0 : 1);
        const std::uint64_t clean_local = q.buffer(*q.here, 4096);
        const std::uint64_t clean_remote = q.buffer(*q.there, 4096);
        const Posted faulting =
            co_await q.here->post(q.here->thread(), Operation::write, local, q.remote(remote), 4096);
        const Posted clean =
            co_await q.here->post(q.here->thread(), Operation::write, clean_local, q.remote(clean_remote), 4096);
        const Status first = co_await q.here->wait(q.here->thread(), faulting);
        const Status second = co_await q.here->wait(q.here->thread(), clean);
        facts["done"] = first == Status::done && second == Status::done;
        facts["faulting"] = q.first(step::kNotified, faulting.transfer);
        facts["resolved"] = q.first(step::kResolveEnd, faulting.transfer);
        facts["clean"] = q.first(step::kNotified, clean.transfer);
      });
      return facts;
    });
    INFO("at source " << at_source);
    CHECK(f.at("finished") == 1);
    CHECK(f.at("done") == 1);
    CHECK(f.at("clean") > 0);
    CHECK(f.at("clean") < f.at("resolved"));
    CHECK(f.at("resolved") < f.at("faulting"));
  }
}

TEST_CASE("under a table of pinned pages a buffer that is not pinned ends the transfer with an error") {
  for (const char* on_fault : {"terminate", "stall"}) {
    const Facts f = facts_from_child([=] {
      rdma::Strategy strategy = tolerant(rdma::Resolve::touch_a_page, on_fault);
      strategy.registration = "pin-once";
      strategy.translate = "private";
      platform::Machine machine;
      exanest_of(machine).engine.refault_limit = 5;
      TwoProcesses p(strategy, machine);
      Facts facts;
      facts["finished"] = p.run([&](TwoProcesses& q) -> Task<void> {
        co_await q.here->open();
        co_await q.there->open();
        const std::uint64_t local = q.buffer(*q.here, 4096);
        const std::uint64_t remote = q.buffer(*q.there, 4096);
        const auto pinned = q.here->buffer(local, 4096);
        facts["pinned"] = co_await pinned.add(q.here->thread()) == os::Error::none;
        const Status status = co_await transfer(q, Operation::write, local, remote, 4096);
        facts["error"] = status == Status::error;
      });
      facts["stale"] = p.total("memory.stale_accesses");
      return facts;
    });
    INFO("on_fault " << on_fault);
    CHECK(f.at("finished") == 1);
    CHECK(f.at("pinned") == 1);
    CHECK(f.at("error") == 1);
    CHECK(f.at("stale") == 0);
  }
}
