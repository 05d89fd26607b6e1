// SPDX-License-Identifier: Apache-2.0
// Two programs and the kernels below them, for cases that come in the midst of a transfer: what a kernel does, when,
// and what every case asks at its end.
#pragma once

#include <functional>

#include "models/drivers/exanest/steps.hpp"
#include "models/os/events/page_events.hpp"
#include "models/os/reclaim/reclaim.hpp"
#include "tests/support/child.hpp"
#include "tests/support/point.hpp"
#include "tests/support/two_processes.hpp"
#include "workloads/programs.hpp"

namespace faultline::test {

namespace step = exanest::step;
using namespace std::chrono_literals;
using os::kHugePage;
using os::kPage;
using rdma::Operation;
using rdma::Posted;
using rdma::Status;
using sim::Content;
using sim::Step;
using sim::Task;

inline constexpr std::uint64_t kBlock = 16384;
inline constexpr std::int64_t kMicrosecond = 1'000'000;

inline rdma::Strategy tolerant(std::string_view translate = "shared") {
  rdma::Strategy s;
  s.resolve = rdma::Resolve::touch_a_page;
  s.translate = translate;
  return s;
}

// Of runs from the outside: touch-ahead, and a transfer whose pages are absent at an end.
inline const Settings kAhead = preset("fault/touch-ahead");
inline Settings cold(const char* end, const char* size = "64 B") {
  return kAhead + Settings{{"workload.cold", end}, {"workload.size", size}};
}

// Buffers at both ends: `length` bytes, the first `absent` pages cold there. The source has the pattern of seed 7.
struct Buffers {
  std::uint64_t local;
  std::uint64_t remote;
  std::uint32_t length;
};
inline Buffers buffers(TwoProcesses& p, std::uint64_t length, std::uint64_t absent_here = 0,
                       std::uint64_t absent_there = 0) {
  const Buffers b{p.buffer(*p.here, length, absent_here), p.buffer(*p.there, length, absent_there),
                  static_cast<std::uint32_t>(length)};
  p.here->vm().fill(p.here->process(), b.local, length, 7);
  return b;
}

inline Task<Posted> post(TwoProcesses& p, const Buffers& b, Operation operation = Operation::write) {
  return p.here->post(p.here->thread(), operation, b.local, p.remote(b.remote), b.length);
}
inline Task<Status> transfer(TwoProcesses& p, const Buffers& b) {
  const Posted posted = co_await post(p, b);
  co_return co_await p.here->wait(p.here->thread(), posted);
}
inline bool arrived(TwoProcesses& p, const Buffers& b, std::uint64_t seed = 7) {
  return p.there->vm().read(p.there->process(), b.remote, b.length) == Content::pattern(seed, 0, b.length);
}

// Something that the kernel of an endpoint's node does, begun in the midst of hardware's events.
using Kernel = std::function<Task<void>(cpu::Execution& exec, os::Vm& vm, os::Process& process)>;
inline Task<void> kernel_does(TwoProcesses& p, rdma::Endpoint& owner, Kernel what) {
  co_await p.cluster.loop.delay(1ns);
  cpu::Execution& exec = p.cluster.node(owner.node()).cpu.new_thread("kernel");
  co_await what(exec, owner.vm(), owner.process());
}
// At the n-th step of this kind; several may be waited for.
inline void at_step(TwoProcesses& p, Step step, unsigned n, rdma::Endpoint& owner, Kernel what) {
  p.on_each_step = [&p, step, left = n, &owner, what, others = p.on_each_step](const sim::StepRecord& record) mutable {
    if (others) others(record);
    if (record.step != step || left == 0 || --left > 0) return;
    p.start(kernel_does(p, owner, what));
  };
}

inline Task<void> migrate(cpu::Execution& exec, os::Vm& vm, os::Process& process, std::uint64_t va,
                          std::uint64_t bytes) {
  const os::Range range{va, va + bytes};
  co_await vm.page_events().migrate(exec, process, range, os::PageEvents::Mover::move_pages);
}

// Runs the program; what every case asks at its end.
inline Facts played(const rdma::Strategy& strategy, const platform::Machine& machine,
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
inline Facts played(const std::function<Task<void>(TwoProcesses&, Facts&)>& program) {
  return played(tolerant(), {}, program);
}

// The program came to its end, and so did its last transfer, with the right data.
inline void check_arrived(const Facts& f) {
  CHECK(f.at("finished") == 1);
  CHECK(f.at("done") == 1);
  CHECK(f.at("right") == 1);
}

inline platform::Machine with_swap() {
  platform::Machine machine;
  machine.os.swap_bytes = std::uint64_t{1} << 30;
  return machine;
}

}  // namespace faultline::test
