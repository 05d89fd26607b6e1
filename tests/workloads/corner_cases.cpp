// SPDX-License-Identifier: Apache-2.0
// The corner cases that every way of handling memory for RDMA has to answer, each by its name: what becomes of the
// data, of the pages and of the device's translations. All of them concern the kernel but C11, whose cache is the
// SMMU's: there it is shown that the fault path does not depend on it. Here pages come and go (C1 to C8), the rest
// is in corner_cases_limits.cpp. The memory managers' books are looked at after each.
//
// These are ExaNeSt's NIC and single strategies, with exact figures. corner_generator.hpp makes the same cases for
// every preset.
#include <catch2/catch.hpp>

#include "tests/support/point.hpp"
#include "tests/workloads/corner_case.hpp"

using namespace faultline;
using namespace faultline::test;

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
    for (const std::string_view translate : {"shared", "mirrored"}) {
      INFO("at source " << at_source << ", mirrored " << (translate == "mirrored"));
      const Facts f = played(tolerant(translate), {}, [=](TwoProcesses& p, Facts& facts) -> Task<void> {
        co_await p.here->open();
        co_await p.there->open();
        const Buffers b = buffers(p, 4 * kBlock);
        rdma::Endpoint& owner = at_source ? *p.here : *p.there;
        const std::uint64_t va = (at_source ? b.local : b.remote) + 3 * kBlock;
        co_await transfer(p, b);  // the translations are in the TLBs
        p.here->vm().fill(p.here->process(), b.local, b.length, 8);
        const auto frame = owner.process().space().page(va)->frame;
        at_step(p, at_source ? step::kCellSent : step::kCellArrived, 1, owner,
                [va](cpu::Execution& exec, os::Vm& vm, os::Process& process) {
                  return migrate(exec, vm, process, va, kBlock);
                });
        facts["done"] = co_await transfer(p, b) == Status::done;
        facts["right"] = arrived(p, b, 8);
        facts["moved"] = owner.process().space().page(va)->frame != frame;
      });
      check_arrived(f);
      CHECK(f.at("moved") == 1);
      CHECK(f.at("stale") == 0);
    }
  }
}

TEST_CASE("C4: a kernel that frees the page without telling the SMMU is caught") {
  platform::Machine machine;
  machine.smmu_driver.tlb_maintenance = mmu500::TlbMaintenance::none;
  const Facts f = played(tolerant(), machine, [](TwoProcesses& p, Facts& facts) -> Task<void> {
    const Buffers b = buffers(p, 4 * kBlock);
    co_await transfer(p, b);
    const std::uint64_t va = b.remote + 3 * kBlock;
    at_step(p, step::kCellSent, 1, *p.there, [va](cpu::Execution& exec, os::Vm& vm, os::Process& process) {
      return migrate(exec, vm, process, va, kBlock);
    });
    facts["done"] = co_await transfer(p, b) == Status::done;
  });
  CHECK(f.at("done") == 1);
  CHECK(f.at("stale") > 0);
}

TEST_CASE("C5: pages go in the midst of a message, those that are written and those that are not") {
  constexpr std::uint64_t kBlocks = 16;
  const Facts f = played(tolerant(), with_swap(), [](TwoProcesses& p, Facts& facts) -> Task<void> {
    const Buffers b = buffers(p, kBlocks * kBlock);
    const std::uint64_t va = b.remote;
    const auto page_out = [va](std::uint64_t from, std::uint64_t to) {
      return [=](cpu::Execution& exec, os::Vm& vm, os::Process& process) -> Task<void> {
        const os::Range range{va + from * kBlock, va + to * kBlock};
        co_await vm.reclaim().page_out(exec, process, range);
      };
    };
    at_step(p, step::kCellArrived, 8, *p.there, page_out(0, 4));
    at_step(p, step::kCellArrived, 8, *p.there, page_out(12, kBlocks));
    facts["done"] = co_await transfer(p, b) == Status::done;
    facts["right"] = arrived(p, b);
    facts["swapped"] = p.total("os.pswpout") > 0;
  });
  check_arrived(f);
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
    const Status one = co_await p.here->wait(p.here->thread(), first);
    const Status two = co_await p.here->wait(p.here->thread(), second);
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
    const Status one = co_await p.here->wait(p.here->thread(), sent);
    const Status two = co_await p.here->wait(p.here->thread(), received);
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
    const Buffers b = buffers(p, 8 * kBlock);
    const std::uint32_t stored = 4 * kBlock;  // from here on a block
    p.there->vm().fill(p.there->process(), b.remote, b.length, 9);
    const auto child = co_await p.here->vm().fork(p.here->thread(), p.here->process());
    facts["forked"] = child.ok();
    const auto all_there = [&] { return p.there->vm().read(p.there->process(), b.remote, b.length); };
    Content midst = all_there();
    facts["under way"] = 0;
    at_step(p, step::kCellArrived, 1, *p.here,
            [&, b](cpu::Execution& exec, os::Vm& vm, os::Process& process) -> Task<void> {
              co_await vm.touch_range(exec, process, b.local + stored, kBlock, true);
              co_await vm.store(process, b.local + stored, kBlock, 8);
              midst = all_there();
              facts["under way"] += facts["done"] == 0;
            });
    facts["done"] = 0;
    facts["done"] = co_await transfer(p, b) == Status::done;
    // Each cell that is seen is as it was before the transfer, or as it was sent; and what has come stays.
    const Content end = all_there();
    for (std::uint32_t at = 0; at < b.length; at += 256) {
      const Content there = midst.slice(at, 256);
      const Content in_the_end = end.slice(at, 256);
      const bool may_be_new = at >= stored && at < stored + kBlock;
      const bool is_old = there == Content::pattern(9, at, 256);
      const bool is_new = may_be_new && in_the_end == Content::pattern(8, at - stored, 256);
      facts["not come yet"] += is_old;
      facts["come"] += !is_old && there == in_the_end;
      facts["right"] += is_new || in_the_end == Content::pattern(7, at, 256);
      facts["stored in time"] += is_new;
    }
    const Content before = p.here->vm().read(*child.value, b.local, b.length);
    facts["child is right"] = before == Content::pattern(7, 0, b.length);
    co_await p.here->vm().exit(p.here->thread(), *child.value);
  });
  CHECK(f.at("forked") == 1);
  CHECK(f.at("done") == 1);
  CHECK(f.at("under way") == 1);
  CHECK(f.at("not come yet") > 0);
  CHECK(f.at("come") > 0);
  CHECK(f.at("not come yet") + f.at("come") == 8 * kBlock / 256);
  CHECK(f.at("right") == 8 * kBlock / 256);
  CHECK(f.at("stored in time") > 0);
  CHECK(f.at("child is right") == 1);
  CHECK(f.at("stale") == 0);
}

TEST_CASE("C8: an address that is unmapped and mapped again leads the device to the new frame") {
  for (const std::string_view translate : {"shared", "mirrored"}) {
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
    INFO("mirrored " << (translate == "mirrored"));
    CHECK(f.at("same address") == 1);
    CHECK(f.at("old frame has another owner") == 1);
    CHECK(f.at("done") == 1);
    CHECK(f.at("right") == 1);
    CHECK(f.at("other is intact") == 1);
    CHECK(f.at("stale") == 0);
  }
}

TEST_CASE("C8: a registration cache that misses the unmapping writes to the old frame, and is caught") {
  rdma::Strategy strategy = tolerant("private");
  strategy.registration = "pin-once";
  const Facts f = played(strategy, {}, [](TwoProcesses& p, Facts& facts) -> Task<void> {
    co_await p.here->open();
    co_await p.there->open();
    const Buffers b = buffers(p, kPage);
    const auto here = p.here->buffer(b.local, kPage);
    const auto there = p.there->buffer(b.remote, kPage);
    co_await here.add(p.here->thread());
    co_await there.add(p.there->thread());
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
