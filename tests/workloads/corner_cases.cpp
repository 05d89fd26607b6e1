// SPDX-License-Identifier: Apache-2.0
// The corner cases that every way of handling memory for RDMA has to answer, C1 to C17, each by its name: what becomes
// of the data, of the pages and of the device's translations. All of them concern the kernel but C11, whose cache is the
// SMMU's: there it is shown that the kernel's fault path does not depend on it. Each looks at the books at its end.
#include <catch2/catch.hpp>

#include <array>
#include <string>

#include "models/os/page_events.hpp"
#include "models/os/reclaim.hpp"
#include "tests/platform/two_processes.hpp"
#include "tests/support/child.hpp"
#include "tests/support/point.hpp"
#include "workloads/benchmark.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace std::chrono_literals;
using os::kHugePage;
using os::kPage;
using rdma::Operation;
using rdma::Posted;
using rdma::Status;
using sim::Content;
using sim::Step;
using sim::Task;

namespace {

constexpr std::uint64_t kBlock = 16384;
constexpr std::int64_t kMicrosecond = 1'000'000;
const Settings kAhead = preset("fault/touch-ahead");

Settings cold(const char* end, const char* size = "64 B") {
  return kAhead + Settings{{"workload.cold", end}, {"workload.size", size}};
}

// A stream into a buffer of 2 MiB to which something happens.
Settings disturbed(const char* prepare, const char* translate, const char* mechanism) {
  return {{"workload.size", "2 MiB"},      {"workload.iterations", 6},        {"workload.warmup", 1},
          {"workload.checks", "count"},    {"strategy.prepare", prepare},     {"strategy.translate", translate},
          {"inject.mechanism", mechanism}, {"os.rlimit_memlock", "64 MiB"},   {"os.thp", "madvise"},
          {"inject.period", "300 us"},     {"inject.count", std::int64_t{20}}};
}

rdma::Strategy tolerant(rdma::Translate translate = rdma::Translate::shared) {
  rdma::Strategy s;
  s.resolve = rdma::Resolve::touch_a_page;
  s.translate = translate;
  return s;
}

// Buffers at both ends: `length` bytes, the first `absent` pages cold there. The source has the pattern of seed 7.
struct Buffers {
  std::uint64_t local;
  std::uint64_t remote;
  std::uint32_t length;
};
Buffers buffers(TwoProcesses& p, std::uint64_t length, std::uint64_t absent_here = 0, std::uint64_t absent_there = 0) {
  const Buffers b{p.buffer(*p.here, length, absent_here), p.buffer(*p.there, length, absent_there),
                  static_cast<std::uint32_t>(length)};
  p.here->vm().fill(p.here->process(), b.local, length, 7);
  return b;
}

Task<Posted> post(TwoProcesses& p, const Buffers& b, Operation operation = Operation::write) {
  return p.here->library().post(p.here->thread(), operation, b.local, p.remote(b.remote), b.length);
}
Task<Status> transfer(TwoProcesses& p, const Buffers& b) {
  const Posted posted = co_await post(p, b);
  co_return co_await p.here->library().wait(p.here->thread(), posted);
}
bool arrived(TwoProcesses& p, const Buffers& b, std::uint64_t seed = 7) {
  return p.there->vm().read(p.there->process(), b.remote, b.length) == Content::pattern(seed, 0, b.length);
}

// Something that the kernel of an endpoint's node does, begun in the midst of hardware's events.
using Kernel = std::function<Task<void>(cpu::Execution& exec, os::Vm& vm, os::Process& process)>;
Task<void> kernel_does(TwoProcesses& p, rdma::Endpoint& owner, Kernel what) {
  co_await p.cluster.loop.delay(1ns);
  cpu::Execution& exec = p.cluster.node(owner.node()).cpu.new_thread("kernel");
  co_await what(exec, owner.vm(), owner.process());
}
// At the n-th step of this kind.
void at_step(TwoProcesses& p, Step step, unsigned n, rdma::Endpoint& owner, Kernel what) {
  p.on_each_step = [&p, step, left = n, &owner, what](const sim::StepRecord& record) mutable {
    if (record.step != step || left == 0 || --left > 0) return;
    p.start(kernel_does(p, owner, what));
  };
}

Task<void> migrate(cpu::Execution& exec, os::Vm& vm, os::Process& process, std::uint64_t va, std::uint64_t bytes) {
  co_await vm.page_events().migrate(exec, process, {va, va + bytes}, os::PageEvents::Mover::move_pages);
}

// Runs the program; what every case asks at its end.
Facts played(const rdma::Strategy& strategy, const platform::Machine& machine,
             const std::function<Task<void>(TwoProcesses&, Facts&)>& program) {
  return facts_from_child([&] {
    TwoProcesses p(strategy, machine);
    Facts facts;
    facts["finished"] = p.run([&](TwoProcesses& q) -> Task<void> { co_await program(q, facts); });
    facts["now"] = p.cluster.loop.now().count();
    facts["stale"] = p.total("memory.stale_accesses");
    facts["faults"] = p.total("driver.fault_records");
    facts["pgfault"] = p.total("os.pgfault");
    facts["resent"] = p.total("dma.retransmitted_bytes");
    facts["timeouts"] = p.total("dma.timeouts");
    p.cluster.loop.run(p.cluster.loop.now() + 50ms);
    workloads::check_books(p.cluster, /*changing=*/false);
    return facts;
  });
}
Facts played(const std::function<Task<void>(TwoProcesses&, Facts&)>& program) {
  return played(tolerant(), {}, program);
}

platform::Machine with_swap() {
  platform::Machine machine;
  machine.os.swap_bytes = std::uint64_t{1} << 30;
  return machine;
}

}  // namespace

TEST_CASE("C1: the source page is absent when a transfer is posted") {
  const Point p = run_well(cold("source"));
  CHECK(p.count("faults") == 1);
  CHECK(p.count("minor_faults") == 1);
  CHECK(p.count("retransmitted_bytes") == 64);
}

TEST_CASE("C2: the destination page is absent") {
  const Point p = run_well(cold("destination"));
  CHECK(p.count("faults") == 1);
  CHECK(p.count("minor_faults") == 1);
  CHECK(p.count("retransmitted_bytes") == 64);
}

TEST_CASE("C3: both are absent, and cost what each costs alone") {
  const auto latency = [](const char* end) { return run_well(cold(end)).latency(); };
  const std::int64_t present = latency("none");
  const std::int64_t alone = latency("source") - present + latency("destination") - present;
  const Point both = run_well(cold("both"));
  CHECK(both.count("faults") == 2);
  CHECK(both.count("minor_faults") == 2);
  // A block faults at one end after the other. What is warm by the second fault saves a little.
  CHECK(std::abs(both.latency() - present - alone) < 2 * kMicrosecond);
}

TEST_CASE("C4: a page is unmapped between its translation and the DMA") {
  for (const bool at_source : {true, false}) {
    for (const auto translate : {rdma::Translate::shared, rdma::Translate::mirrored}) {
      INFO("at source " << at_source << ", mirrored " << (translate == rdma::Translate::mirrored));
      const Facts f = played(tolerant(translate), {}, [=](TwoProcesses& p, Facts& facts) -> Task<void> {
        co_await p.here->open();
        co_await p.there->open();
        const Buffers b = buffers(p, kBlock);
        rdma::Endpoint& owner = at_source ? *p.here : *p.there;
        const std::uint64_t va = at_source ? b.local : b.remote;
        co_await transfer(p, b);  // the translations are in the TLBs
        p.here->vm().fill(p.here->process(), b.local, b.length, 8);
        const auto frame = owner.process().space().page(va)->frame;
        // The first cell has been translated, and others after it.
        at_step(p, at_source ? Step::cell_sent : Step::cell_arrived, 1, owner,
                [va](cpu::Execution& exec, os::Vm& vm, os::Process& process) {
                  return migrate(exec, vm, process, va, kBlock);
                });
        facts["done"] = co_await transfer(p, b) == Status::done;
        facts["right"] = arrived(p, b, 8);
        facts["moved"] = owner.process().space().page(va)->frame != frame;
      });
      CHECK(f.at("finished") == 1);
      CHECK(f.at("done") == 1);
      CHECK(f.at("right") == 1);
      CHECK(f.at("moved") == 1);
      CHECK(f.at("stale") == 0);
    }
  }
}

TEST_CASE("C4: a kernel that frees the page without telling the SMMU is caught") {
  platform::Machine machine;
  machine.kernel.tlb_maintenance = os::TlbMaintenance::none;
  const Facts f = played(tolerant(), machine, [](TwoProcesses& p, Facts& facts) -> Task<void> {
    const Buffers b = buffers(p, kBlock);
    co_await transfer(p, b);
    const std::uint64_t va = b.remote;
    at_step(p, Step::cell_sent, 1, *p.there, [va](cpu::Execution& exec, os::Vm& vm, os::Process& process) {
      return migrate(exec, vm, process, va, kBlock);
    });
    facts["done"] = co_await transfer(p, b) == Status::done;
  });
  CHECK(f.at("done") == 1);
  CHECK(f.at("stale") > 0);
}

TEST_CASE("C5: pages go in the midst of a message, those that are written and those that are not") {
  constexpr std::uint64_t kBytes = 4 * kBlock;
  const Facts f = played(tolerant(), with_swap(), [](TwoProcesses& p, Facts& facts) -> Task<void> {
    const Buffers b = buffers(p, kBytes);
    const std::uint64_t va = b.remote;
    at_step(p, Step::cell_arrived, 2, *p.there,
            [va](cpu::Execution& exec, os::Vm& vm, os::Process& process) -> Task<void> {
              co_await vm.reclaim().page_out(exec, process, {va, va + kBytes});
            });
    facts["done"] = co_await transfer(p, b) == Status::done;
    facts["right"] = arrived(p, b);
    facts["swapped"] = p.total("os.pswpout") > 0;
  });
  CHECK(f.at("finished") == 1);
  CHECK(f.at("done") == 1);
  CHECK(f.at("right") == 1);
  CHECK(f.at("swapped") == 1);
  CHECK(f.at("faults") > 0);
  CHECK(f.at("stale") == 0);
}

TEST_CASE("C6: one buffer is the source of two transfers at once, and its absent page is resolved once") {
  const Facts f = played([](TwoProcesses& p, Facts& facts) -> Task<void> {
    const Buffers a = buffers(p, kPage, 1);
    const Buffers b{a.local, p.buffer(*p.there, kPage), a.length};
    const Posted first = co_await post(p, a);
    const Posted second = co_await post(p, b);
    const Status one = co_await p.here->library().wait(p.here->thread(), first);
    const Status two = co_await p.here->library().wait(p.here->thread(), second);
    facts["done"] = one == Status::done && two == Status::done;
    facts["right"] = p.same(a.local, a.remote, a.length) && p.same(b.local, b.remote, b.length);
  });
  CHECK(f.at("done") == 1);
  CHECK(f.at("right") == 1);
  CHECK(f.at("pgfault") == 1);
  CHECK(f.at("stale") == 0);
}

TEST_CASE("C6: one buffer is source and destination at once: each cell is of one of the two") {
  const Facts f = played([](TwoProcesses& p, Facts& facts) -> Task<void> {
    const Buffers out = buffers(p, kBlock);
    const Buffers in{out.local, p.buffer(*p.there, kBlock), out.length};
    p.there->vm().fill(p.there->process(), in.remote, kBlock, 9);
    const Posted sent = co_await post(p, out);
    const Posted received = co_await post(p, in, Operation::read);
    const Status one = co_await p.here->library().wait(p.here->thread(), sent);
    const Status two = co_await p.here->library().wait(p.here->thread(), received);
    facts["done"] = one == Status::done && two == Status::done;
    facts["read is right"] = p.same(in.local, in.remote, in.length);
    const Content got = p.there->vm().read(p.there->process(), out.remote, out.length);
    for (std::uint32_t at = 0; at < kBlock; at += 256) {
      const Content cell = got.slice(at, 256);
      facts["torn"] += !(cell == Content::pattern(7, at, 256)) && !(cell == Content::pattern(9, at, 256));
    }
  });
  CHECK(f.at("done") == 1);
  CHECK(f.at("read is right") == 1);
  CHECK(f.at("torn") == 0);
  CHECK(f.at("stale") == 0);
}

TEST_CASE("C6: a buffer that is pinned twice stays pinned until both pins are gone") {
  const Facts f = played([](TwoProcesses& p, Facts& facts) -> Task<void> {
    const Buffers b = buffers(p, kBlock);
    os::Vm& vm = p.here->vm();
    cpu::Execution& thread = p.here->thread();
    os::Process& process = p.here->process();
    const auto first = co_await vm.pin_user_pages(thread, process, b.local, kBlock, true);
    const auto second = co_await vm.pin_user_pages(thread, process, b.local, kBlock, true);
    const auto frame = process.space().page(b.local)->frame;
    facts["charged twice"] = process.space().pinned_bytes() == 2 * kBlock;
    co_await vm.unpin(thread, first.value);
    co_await migrate(thread, vm, process, b.local, kBlock);
    facts["stays"] = process.space().page(b.local)->frame == frame;
    co_await vm.unpin(thread, second.value);
    co_await migrate(thread, vm, process, b.local, kBlock);
    facts["moves"] = process.space().page(b.local)->frame != frame;
  });
  CHECK(f.at("charged twice") == 1);
  CHECK(f.at("stays") == 1);
  CHECK(f.at("moves") == 1);
}

TEST_CASE("C7: the program writes the send buffer and reads the receive buffer while the transfer is under way") {
  // Pages that were shared with a child: the program's store copies the page away from under the device.
  const Facts f = played([](TwoProcesses& p, Facts& facts) -> Task<void> {
    const Buffers b = buffers(p, kBlock);
    const auto child = co_await p.here->vm().fork(p.here->thread(), p.here->process());
    facts["forked"] = child.ok();
    std::vector<Content> seen;
    at_step(p, Step::cell_arrived, 1, *p.here,
            [&, b](cpu::Execution& exec, os::Vm& vm, os::Process& process) -> Task<void> {
              co_await vm.touch_range(exec, process, b.local, kBlock, true);
              co_await vm.store(process, b.local, kBlock, 8);
              seen.push_back(p.there->vm().read(p.there->process(), b.remote, b.length));
            });
    facts["done"] = co_await transfer(p, b) == Status::done;
    seen.push_back(p.there->vm().read(p.there->process(), b.remote, b.length));
    for (std::uint32_t at = 0; at < kBlock; at += 256) {
      const Content cell = seen.back().slice(at, 256);
      facts["torn"] += !(cell == Content::pattern(7, at, 256)) && !(cell == Content::pattern(8, at, 256));
    }
    const Content before = p.here->vm().read(*child.value, b.local, b.length);
    facts["child is right"] = before == Content::pattern(7, 0, b.length);
    co_await p.here->vm().exit(p.here->thread(), *child.value);
  });
  CHECK(f.at("forked") == 1);
  CHECK(f.at("done") == 1);
  CHECK(f.at("torn") == 0);
  CHECK(f.at("child is right") == 1);
  CHECK(f.at("stale") == 0);
}

TEST_CASE("C8: an address that is unmapped and mapped again leads the device to the new frame") {
  for (const auto translate : {rdma::Translate::shared, rdma::Translate::mirrored}) {
    const Facts f = played(tolerant(translate), {}, [](TwoProcesses& p, Facts& facts) -> Task<void> {
      co_await p.here->open();
      co_await p.there->open();
      const Buffers b = buffers(p, kPage);
      co_await transfer(p, b);
      os::Vm& vm = p.there->vm();
      os::Process& process = p.there->process();
      const auto frame = process.space().page(b.remote)->frame;
      co_await vm.munmap(p.there->thread(), process, b.remote, kPage);
      os::MmapOptions aligned;
      aligned.alignment = kHugePage;
      const auto again = co_await vm.mmap(p.there->thread(), process, kPage, aligned);
      facts["same address"] = again.ok() && again.value == b.remote;
      const std::uint64_t other = p.buffer(*p.there, kPage);
      facts["old frame has another owner"] = process.space().page(other)->frame == frame;
      vm.fill(process, other, kPage, 5);
      p.here->vm().fill(p.here->process(), b.local, kPage, 8);
      facts["done"] = co_await transfer(p, b) == Status::done;
      facts["right"] = arrived(p, b, 8);
      facts["other is intact"] = vm.read(process, other, kPage) == Content::pattern(5, 0, kPage);
    });
    INFO("mirrored " << (translate == rdma::Translate::mirrored));
    CHECK(f.at("same address") == 1);
    CHECK(f.at("old frame has another owner") == 1);
    CHECK(f.at("done") == 1);
    CHECK(f.at("right") == 1);
    CHECK(f.at("other is intact") == 1);
    CHECK(f.at("stale") == 0);
  }
}

TEST_CASE("C8: a registration cache that misses the unmapping writes to the old frame, and is caught") {
  rdma::Strategy strategy = tolerant(rdma::Translate::private_);
  strategy.prepare = rdma::Prepare::pin_once;
  const Facts f = played(strategy, {}, [](TwoProcesses& p, Facts& facts) -> Task<void> {
    co_await p.here->open();
    co_await p.there->open();
    const Buffers b = buffers(p, kPage);
    const auto here = p.here->prepare(b.local, kPage);
    const auto there = p.there->prepare(b.remote, kPage);
    co_await here->set_up(p.here->thread());
    co_await there->set_up(p.there->thread());
    co_await transfer(p, b);
    facts["right at first"] = arrived(p, b);
    os::Vm& vm = p.there->vm();
    os::Process& process = p.there->process();
    co_await vm.munmap(p.there->thread(), process, b.remote, kPage);
    os::MmapOptions aligned;
    aligned.alignment = kHugePage;
    const auto again = co_await vm.mmap(p.there->thread(), process, kPage, aligned);
    facts["same address"] = again.ok() && again.value == b.remote;
    co_await vm.touch(p.there->thread(), process, b.remote, true);
    facts["done"] = co_await transfer(p, b) == Status::done;  // the device cannot know
    facts["wrong"] = !arrived(p, b);
  });
  CHECK(f.at("right at first") == 1);
  CHECK(f.at("same address") == 1);
  CHECK(f.at("done") == 1);
  CHECK(f.at("wrong") == 1);
  CHECK(f.at("stale") > 0);
}

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
  const Settings small = {{"workload.size", "64 KiB"}, {"workload.window", 4}, {"os.rlimit_memlock", "128 KiB"}};
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
    const auto second = p.open(2, 0, rdma::OnFault::terminate);
    const auto third = p.open(3, 0, rdma::OnFault::terminate);
    const std::array<rdma::Endpoint*, 3> peers{p.here.get(), second.get(), third.get()};
    std::vector<Posted> posted;
    std::uint64_t at = remote;
    for (rdma::Endpoint* peer : peers) {
      const std::uint64_t local = p.buffer(*peer, 512);
      peer->vm().fill(peer->process(), local, 512, 20 + peer->node());
      posted.push_back(co_await peer->library().post(peer->thread(), Operation::write, local, p.remote(at), 512));
      at += 512;
    }
    at = remote;
    for (std::size_t i = 0; i < peers.size(); ++i, at += 512) {
      const Status status = co_await peers[i]->library().wait(peers[i]->thread(), posted[i]);
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
  for (const Step step : {Step::read_issued, Step::cell_sent, Step::cell_arrived}) {
    const Facts f = played(tolerant(), with_swap(), [step](TwoProcesses& p, Facts& facts) -> Task<void> {
      const Buffers b = buffers(p, kBlock);
      const std::uint64_t va = b.remote;
      at_step(p, step, 1, *p.there, [va](cpu::Execution& exec, os::Vm& vm, os::Process& process) -> Task<void> {
        co_await vm.reclaim().page_out(exec, process, {va, va + kBlock});
      });
      facts["done"] = co_await transfer(p, b) == Status::done;
      facts["right"] = arrived(p, b);
      facts["evicted"] = p.total("os.pswpout");
    });
    INFO("step " << to_string(step));
    CHECK(f.at("done") == 1);
    CHECK(f.at("right") == 1);
    CHECK(f.at("evicted") >= 1);
    CHECK(f.at("stale") == 0);
  }
}

TEST_CASE("C15: a page that is gone at each retry ends the transfer with an error, and the next one works") {
  platform::Machine machine;
  machine.dma.refault_limit = 3;
  const Facts f = played(tolerant(), machine, [](TwoProcesses& p, Facts& facts) -> Task<void> {
    const Buffers b = buffers(p, kPage, 0, 1);
    p.on_each_step = [&](const sim::StepRecord& record) {
      if (record.step == Step::retry_requested) p.there->vm().discard(p.there->process(), b.remote, kPage);
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
