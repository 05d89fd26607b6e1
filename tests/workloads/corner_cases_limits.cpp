// SPDX-License-Identifier: Apache-2.0
// The corner cases of corner_cases.cpp, continued: what is shared, what is limited, and what comes to its end (C9 to
// C17).
#include <catch2/catch.hpp>

#include <array>
#include <string>

#include "tests/support/exanest_of.hpp"
#include "tests/support/point.hpp"
#include "tests/workloads/corner_case.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

// A stream into a buffer of 2 MiB to which something happens.
Settings disturbed(const char* prepare, const char* translate, const char* mechanism) {
  return {{"workload.size", "2 MiB"},      {"workload.iterations", 3},         {"workload.warmup", 1},
          {"workload.checks", "count"},    {"strategy.registration", prepare}, {"strategy.translate", translate},
          {"inject.mechanism", mechanism}, {"os.rlimit_memlock", "64 MiB"},    {"os.thp", "madvise"},
          {"inject.period", "300 us"},     {"inject.count", std::int64_t{20}}};
}

}  // namespace

TEST_CASE("C9: the target forks, and its child keeps what was there, whether the parent's pages are pinned or not") {
  for (const bool pinned : {false, true}) {
    const Facts f = played([pinned](TwoProcesses& p, Facts& facts) -> Task<void> {
      const Buffers b = buffers(p, kBlock);
      os::Vm& vm = p.there->vm();
      os::Process& process = p.there->process();
      vm.fill(process, b.remote, kBlock, 3);
      co_await transfer(p, b);
      vm.fill(process, b.remote, kBlock, 3);
      os::PinId pin = 0;
      if (pinned) pin = (co_await vm.pin_user_pages(p.there->thread(), process, b.remote, kBlock, true)).value;
      const auto child = co_await vm.fork(p.there->thread(), process);
      facts["forked"] = child.ok();
      const std::int64_t copies = p.total("os.cow_faults");
      const std::int64_t faults = p.total("driver.fault_records");
      facts["done"] = co_await transfer(p, b) == Status::done;
      facts["device faults"] = p.total("driver.fault_records") - faults;
      facts["copies"] = p.total("os.cow_faults") - copies;
      facts["right"] = arrived(p, b);
      const Content kept = vm.read(*child.value, b.remote, b.length);
      facts["child is right"] = kept == Content::pattern(3, 0, b.length);
      if (pinned) co_await vm.unpin(p.there->thread(), pin);
      co_await vm.exit(p.there->thread(), *child.value);
    });
    INFO("pinned " << pinned);
    CHECK(f.at("forked") == 1);
    CHECK(f.at("done") == 1);
    CHECK(f.at("device faults") == (pinned ? 0 : 4));
    CHECK(f.at("copies") == (pinned ? 0 : 4));
    CHECK(f.at("right") == 1);
    CHECK(f.at("child is right") == 1);
    CHECK(f.at("stale") == 0);
  }
}

TEST_CASE("C9: the target's child exits, and the device goes on with the parent's pinned pages by a table of its own") {
  for (const bool owner_unmaps : {false, true}) {
    rdma::Strategy strategy = tolerant("private");
    strategy.registration = "pin-once";
    platform::Machine machine;
    machine.os.kernel.version = os::KernelVersion::linux_4_9;
    const Facts f = played(strategy, machine, [owner_unmaps](TwoProcesses& p, Facts& facts) -> Task<void> {
      co_await p.here->open();
      co_await p.there->open();
      const Buffers b = buffers(p, kBlock);
      const auto here = p.here->buffer(b.local, kBlock);
      const auto there = p.there->buffer(b.remote, kBlock);
      co_await here.add(p.here->thread());
      co_await there.add(p.there->thread());
      os::Vm& vm = p.there->vm();
      const auto child = co_await vm.fork(p.there->thread(), p.there->process());
      facts["forked"] = child.ok();
      if (owner_unmaps) co_await vm.munmap(p.there->thread(), p.there->process(), b.remote, kBlock);
      co_await vm.exit(p.there->thread(), *child.value);
      facts["done"] = co_await transfer(p, b) == Status::done;
      facts["right"] = arrived(p, b);
    });
    INFO("the owner unmaps: " << owner_unmaps);
    CHECK(f.at("forked") == 1);
    CHECK(f.at("done") == 1);
    CHECK(f.at("right") == !owner_unmaps);
    CHECK((f.at("stale") > 0) == owner_unmaps);
  }
}

TEST_CASE("C9: with HUPCF = 0 a transfer to memory that is not registered fails alone") {
  rdma::Strategy strategy = tolerant("private");
  strategy.registration = "pin-once";
  platform::Machine machine;
  machine.smmu_driver.hupcf = false;
  const Facts f = played(strategy, machine, [](TwoProcesses& p, Facts& facts) -> Task<void> {
    co_await p.here->open();
    co_await p.there->open();
    const Buffers good = buffers(p, 16 * kBlock);
    const Buffers bad = buffers(p, kPage);
    const auto here = p.here->buffer(good.local, good.length);
    const auto also_here = p.here->buffer(bad.local, bad.length);
    const auto there = p.there->buffer(good.remote, good.length);
    for (const auto& buffer : {&here, &also_here}) co_await buffer->add(p.here->thread());
    co_await there.add(p.there->thread());
    const Posted first = co_await post(p, bad);
    const Posted second = co_await post(p, good);
    facts["bad failed"] = co_await p.here->wait(p.here->thread(), first) == Status::error;
    facts["done"] = co_await p.here->wait(p.here->thread(), second) == Status::done;
    facts["right"] = arrived(p, good);
    facts["held off"] = p.total("library.held_off");
  });
  check_arrived(f);
  CHECK(f.at("bad failed") == 1);
  CHECK(f.at("held off") > 0);
}

TEST_CASE("C10: the budget of pins is exhausted: an error, nothing lost, and room again after an unpin") {
  platform::Machine machine;
  machine.os.rlimit_memlock = kBlock;
  const Facts f = played(tolerant(), machine, [](TwoProcesses& p, Facts& facts) -> Task<void> {
    const Buffers b = buffers(p, kBlock);
    const Buffers more = buffers(p, kPage, 0, 1);
    os::Vm& vm = p.there->vm();
    os::Process& process = p.there->process();
    cpu::Execution& thread = p.there->thread();
    const auto pin = co_await vm.pin_user_pages(thread, process, b.remote, kBlock, true);
    const auto refused = co_await vm.pin_user_pages(thread, process, more.remote, kPage, true);
    facts["pinned"] = pin.ok();
    facts["refused"] = refused.error == os::Error::limit;
    facts["refusals"] = p.total("os.limit_refusals");
    facts["page stays absent"] = process.space().entry(more.remote) == nullptr;
    facts["done"] = co_await transfer(p, more) == Status::done;  // by a fault instead
    facts["right"] = arrived(p, more);
    co_await vm.unpin(thread, pin.value);
    const auto again = co_await vm.pin_user_pages(thread, process, more.remote, kPage, true);
    facts["pinned again"] = again.ok();
    facts["pinned bytes"] = static_cast<std::int64_t>(process.space().pinned_bytes());
  });
  CHECK(f.at("pinned") == 1);
  CHECK(f.at("refused") == 1);
  CHECK(f.at("refusals") == 1);
  CHECK(f.at("page stays absent") == 1);
  CHECK(f.at("done") == 1);
  CHECK(f.at("right") == 1);
  CHECK(f.at("faults") == 1);
  CHECK(f.at("pinned again") == 1);
  CHECK(f.at("pinned bytes") == static_cast<std::int64_t>(kPage));
}

TEST_CASE("C10: a strategy that hits RLIMIT_MEMLOCK is a result where failures are counted, an impossible point else") {
  const Settings small = {{"workload.size", "64 KiB"},
                          {"workload.window", 4},
                          {"os.rlimit_memlock", "128 KiB"},
                          {"workload.iterations", 8}};
  for (const char* strategy : {"pin-once", "pin-per-transfer", "mlock"}) {
    INFO(strategy);
    const Settings settings = small + preset(strategy);
    CHECK_FALSE(workloads::conflicts(configuration(settings)).empty());
    const Point p = run(settings + Settings{{"workload.checks", "count"}});
    CHECK(p.error == "");
    CHECK(p.refused.find("RLIMIT_MEMLOCK") != std::string::npos);
    CHECK(p.metrics.empty());
  }
  run_well(small + kAhead + Settings{{"workload.cold", "both"}});
}

TEST_CASE("C10: a library whose own pages exceed RLIMIT_MEMLOCK is a result where failures are counted") {
  const Settings none{{"os.rlimit_memlock", "4 KiB"}, {"workload.checks", "count"}, {"workload.size", "64 B"}};
  const Point p = run(preset("register") + none);
  CHECK(p.error == "");
  CHECK(p.refused.find("RLIMIT_MEMLOCK") != std::string::npos);
}

TEST_CASE("C11: the device's translation cache is full of entries in use") {
  const Settings many = cold("both", "64 KiB") + Settings{{"workload.window", 4}, {"workload.iterations", 8}};
  const Point large = run_well(many);
  const Point small = run_well(many + Settings{{"smmu.micro_tlb_entries", 1},
                                               {"smmu.macro_tlb_entries", 4},
                                               {"smmu.misses_per_tbu", 1},
                                               {"smmu.walk_slots", 1}});
  CHECK(small.count("minor_faults") == large.count("minor_faults"));
  CHECK(small.count("walks") > large.count("walks"));
  // Some more walks of half a microsecond for each of 256 cells at either end, one at a time.
  CHECK(small.ps("latency_max") < large.ps("latency_max") + 4 * 2 * 256 * kMicrosecond);
}

TEST_CASE("C12: a fault in the midst of a message sends its block again, whichever page it is, and no other block") {
  for (const bool at_source : {true, false}) {
    for (const std::uint64_t page : {0, 1, 2, 3, 5, 7}) {
      const Facts f = played([=](TwoProcesses& p, Facts& facts) -> Task<void> {
        const Buffers b = buffers(p, 2 * kBlock);
        rdma::Endpoint& owner = at_source ? *p.here : *p.there;
        const std::uint64_t va = (at_source ? b.local : b.remote) + page * kPage;
        owner.vm().discard(owner.process(), va, kPage);
        facts["done"] = co_await transfer(p, b) == Status::done;
        facts["right"] = p.same(b.local, b.remote, b.length);
      });
      INFO("at source " << at_source << ", page " << page);
      CHECK(f.at("done") == 1);
      CHECK(f.at("right") == 1);
      CHECK(f.at("faults") == 1);
      CHECK(f.at("pgfault") == 1);
      CHECK(f.at("timeouts") == 0);
      CHECK(f.at("resent") == static_cast<std::int64_t>(kBlock));
    }
  }
}

TEST_CASE("C13: several peers fault on one page, which is resolved once") {
  const Facts f = played([](TwoProcesses& p, Facts& facts) -> Task<void> {
    const std::uint64_t remote = p.buffer(*p.there, kPage, 1);
    const auto second = p.open(2);
    const auto third = p.open(3);
    const std::array<rdma::Endpoint*, 3> peers{p.here.get(), second.get(), third.get()};
    std::vector<Posted> posted;
    std::uint64_t at = remote;
    for (rdma::Endpoint* peer : peers) {
      const std::uint64_t local = p.buffer(*peer, 512);
      peer->vm().fill(peer->process(), local, 512, 20 + peer->node());
      posted.push_back(co_await peer->post(peer->thread(), Operation::write, local, p.remote(at), 512));
      at += 512;
    }
    at = remote;
    for (std::size_t i = 0; i < peers.size(); ++i, at += 512) {
      const Status status = co_await peers[i]->wait(peers[i]->thread(), posted[i]);
      facts["done"] += status == Status::done;
      const Content got = p.there->vm().read(p.there->process(), at, 512);
      facts["right"] += got == Content::pattern(20 + peers[i]->node(), 0, 512);
    }
  });
  CHECK(f.at("done") == 3);
  CHECK(f.at("right") == 3);
  CHECK(f.at("pgfault") == 1);
  CHECK(f.at("stale") == 0);
}

TEST_CASE("C14: a page is evicted that a peer has just begun to write to") {
  platform::Machine machine = with_swap();
  machine.os.reclaim_page = 4us;  // so that pages go while the transfer lasts
  for (const Step step : std::initializer_list<Step>{step::kReadIssued, step::kCellSent, step::kCellArrived}) {
    const Facts f = played(tolerant(), machine, [step](TwoProcesses& p, Facts& facts) -> Task<void> {
      const Buffers b = buffers(p, kBlock);
      const std::uint64_t va = b.remote;
      at_step(p, step, 1, *p.there, [va](cpu::Execution& exec, os::Vm& vm, os::Process& process) -> Task<void> {
        const os::Range range{va, va + kBlock};
        co_await vm.reclaim().page_out(exec, process, range);
      });
      facts["done"] = co_await transfer(p, b) == Status::done;
      facts["right"] = arrived(p, b);
      facts["evicted"] = p.total("os.pswpout");
    });
    INFO("step " << step->name);
    CHECK(f.at("done") == 1);
    CHECK(f.at("right") == 1);
    CHECK(f.at("evicted") >= 1);
    CHECK(f.at("stale") == 0);
  }
}

TEST_CASE("C15: a page that is gone at each retry ends the transfer with an error, and the next one works") {
  platform::Machine machine;
  exanest_of(machine).engine.refault_limit = 3;
  const Facts f = played(tolerant(), machine, [](TwoProcesses& p, Facts& facts) -> Task<void> {
    const Buffers b = buffers(p, kPage, 0, 1);
    p.on_each_step = [&](const sim::StepRecord& record) {
      if (record.step == step::kRetryRequested) p.there->vm().discard(p.there->process(), b.remote, kPage);
    };
    facts["error"] = co_await transfer(p, b) == Status::error;
    facts["ended at"] = p.cluster.loop.now().count();
    p.on_each_step = {};
    facts["done"] = co_await transfer(p, b) == Status::done;
    facts["right"] = arrived(p, b);
  });
  CHECK(f.at("error") == 1);
  CHECK(f.at("ended at") < 4 * 50 * kMicrosecond);  // four times the way of a fault, and no timeout
  CHECK(f.at("timeouts") == 0);
  CHECK(f.at("done") == 1);
  CHECK(f.at("right") == 1);
  CHECK(f.at("faults") == 5);
  CHECK(f.at("pgfault") == 5);
}

TEST_CASE("C16: collapse, split, migration and NUMA hints of memory that is only hoped to stay") {
  for (const char* mechanism : {"collapse", "thp-split", "move-pages", "numa-hint"}) {
    INFO(mechanism);
    const Point shared = run(disturbed("mlock", "shared", mechanism));
    REQUIRE(shared.error == "");
    CHECK(shared.count("faults") > 0);
    CHECK(shared.count("data_errors") == 0);
    CHECK(shared.count("stale_accesses") == 0);
    CHECK(shared.count("transfers_failed") == 0);
    const Point pinned = run(disturbed("pin-once", "private", mechanism));
    REQUIRE(pinned.error == "");
    CHECK(pinned.count("faults") == 0);
    CHECK(pinned.count("data_errors") == 0);
    CHECK(pinned.count("stale_accesses") == 0);
    // The frames that locked pages had when the table was filled: what moves them is caught.
    const Point hoped = run(disturbed("mlock", "private", mechanism));
    REQUIRE(hoped.error == "");
    const bool moves = std::string(mechanism) == "collapse" || std::string(mechanism) == "move-pages";
    CHECK((hoped.count("stale_accesses") > 0) == moves);
    CHECK((hoped.count("data_errors") > 0) == moves);
  }
}

namespace {

// What the kernel does to a process that is killed: the device is taken away first, as MMU notifiers' release does.
Task<void> kill_process(TwoProcesses& p, rdma::Endpoint& owner, cpu::Execution& exec) {
  platform::Node& node = p.cluster.node(owner.node());
  os::Process& process = owner.process();
  co_await node.smmu_driver.detach(exec, process);
  dynamic_cast<exanest::Nic&>(*node.nic).faults().close(process.id());
  co_await node.vm.exit(exec, process);
}

platform::Machine impatient() {
  platform::Machine machine;
  exanest_of(machine).engine.retry_limit = 3;
  exanest_of(machine).engine.block_timeout = 1ms;
  return machine;
}

}  // namespace

TEST_CASE("C17: the target's process is killed with DMA outstanding, pinned memory or not") {
  for (const bool pinned : {false, true}) {
    for (const char* on_fault : {"terminate", "stall"}) {
      rdma::Strategy strategy = tolerant();
      strategy.on_destination_fault = on_fault;
      const Facts f = played(strategy, impatient(), [pinned](TwoProcesses& p, Facts& facts) -> Task<void> {
        const Buffers b = buffers(p, 16 * kBlock, 0, pinned ? 0 : 8);
        const auto neighbour = p.open(1);
        platform::Node& node = p.cluster.node(1);
        os::Process& process = p.there->process();
        if (pinned) {
          co_await node.vm.pin_user_pages(p.there->thread(), process, b.remote, b.length, true);
          co_await node.vm.mlock(p.there->thread(), process, b.remote, b.length);
        }
        const std::uint64_t used = node.vm.frames().used_pages();
        at_step(p, step::kCellArrived, 2, *p.there, [&](cpu::Execution& exec, os::Vm&, os::Process&) -> Task<void> {
          co_await kill_process(p, *p.there, exec);
          facts["gone at"] = p.cluster.loop.now().count();
          facts["freed"] = static_cast<std::int64_t>(used - node.vm.frames().used_pages());
        });
        facts["error"] = co_await transfer(p, b) == Status::error;
        facts["ended at"] = p.cluster.loop.now().count();
        facts["pinned"] = static_cast<std::int64_t>(node.vm.pinned_bytes());
        facts["locked"] = static_cast<std::int64_t>(node.vm.locked_bytes());
        // Who is next gets the frames, and the transfers of the node's other process go on.
        const std::uint64_t local = p.buffer(*p.here, kBlock);
        const std::uint64_t remote = p.buffer(*neighbour, kBlock, 4);
        p.here->vm().fill(p.here->process(), local, kBlock, 4);
        const rdma::RemoteBuffer to{1, neighbour->process().id(), remote};
        const Posted posted = co_await p.here->post(p.here->thread(), Operation::write, local, to, kBlock);
        facts["neighbour is done"] = co_await p.here->wait(p.here->thread(), posted) == Status::done;
        facts["neighbour is right"] = TwoProcesses::same(*p.here, local, *neighbour, remote, kBlock);
      });
      INFO("pinned " << pinned << ", on_fault " << on_fault);
      CHECK(f.at("finished") == 1);
      CHECK(f.at("error") == 1);
      CHECK(f.at("gone at") < f.at("ended at"));
      CHECK(f.at("ended at") - f.at("gone at") < 5 * 1000 * kMicrosecond);  // four attempts, each with its timeout
      CHECK(f.at("freed") >= (pinned ? 64 : 56));
      CHECK(f.at("pinned") == 0);
      CHECK(f.at("locked") == 0);
      CHECK(f.at("neighbour is done") == 1);
      CHECK(f.at("neighbour is right") == 1);
      CHECK(f.at("stale") == 0);
    }
  }
}

TEST_CASE(
    "C17: the initiator's process is killed with DMA outstanding: the engine gives up, the target keeps its data") {
  const Facts f = played(tolerant(), impatient(), [](TwoProcesses& p, Facts& facts) -> Task<void> {
    const Buffers b = buffers(p, 16 * kBlock);
    const std::uint64_t used = p.cluster.node(0).vm.frames().used_pages();
    co_await post(p, b);
    co_await p.cluster.loop.delay(30us);
    cpu::Execution& exec = p.cluster.node(0).cpu.new_thread("kernel");
    co_await kill_process(p, *p.here, exec);
    facts["freed"] = static_cast<std::int64_t>(used - p.cluster.node(0).vm.frames().used_pages());
    co_await p.cluster.loop.delay(50ms);
    facts["under way"] = p.cluster.loop.pending();
    const Content got = p.there->vm().read(p.there->process(), b.remote, b.length);
    for (std::uint32_t at = 0; at < b.length; at += 256) {
      const Content cell = got.slice(at, 256);
      facts["sent"] += cell == Content::pattern(7, at, 256);
      facts["strange"] += !(cell == Content::pattern(7, at, 256)) && !(cell == Content::zeros(256));
    }
  });
  CHECK(f.at("finished") == 1);
  CHECK(f.at("freed") >= 64);
  CHECK(f.at("under way") == 0);
  CHECK(f.at("sent") > 0);
  CHECK(f.at("sent") < 16 * 64);
  CHECK(f.at("strange") == 0);
  CHECK(f.at("stale") == 0);
}
