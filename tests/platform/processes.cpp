// SPDX-License-Identifier: Apache-2.0
// Several processes on a node: context banks, channels, sockets and fault threads of their own. And a
// kernel that does wrong: it must show.
#include <catch2/catch.hpp>

#include "models/drivers/exanest/steps.hpp"
#include "models/sim/failure.hpp"
#include "tests/support/child.hpp"
#include "tests/support/exanest_of.hpp"
#include "tests/support/two_processes.hpp"

using namespace faultline;
using namespace faultline::test;
using rdma::Endpoint;
using rdma::Operation;
using rdma::Posted;
using rdma::Status;
namespace step = exanest::step;
using sim::Task;

namespace {

rdma::Strategy tolerant() {
  rdma::Strategy s;
  s.resolve = rdma::Resolve::touch_a_page;
  return s;
}

Task<Status> write(Endpoint& from, std::uint64_t local, rdma::RemoteBuffer remote, std::uint64_t length) {
  const Posted posted = co_await from.post(from.thread(), Operation::write, local, remote, length);
  co_return co_await from.wait(from.thread(), posted);
}

}  // namespace

TEST_CASE("the handler looks at every bank up to the one that faulted") {
  for (const unsigned before : {0u, 1u, 5u}) {
    const Facts f = facts_from_child([=] {
      TwoProcesses p(tolerant());
      // Banks are given in order: the last pair's is number `before`.
      std::vector<std::unique_ptr<Endpoint>> others;
      for (unsigned i = 1; i <= before; ++i) others.push_back(p.open(1));
      Endpoint& target = others.empty() ? *p.there : *others.back();
      Facts facts;
      facts["finished"] = p.run([&](TwoProcesses& q) -> Task<void> {
        const std::uint64_t local = q.buffer(*q.here, 4096);
        const std::uint64_t remote = q.buffer(target, 4096, 1);
        const Status status = co_await write(*q.here, local, {1, target.process().id(), remote}, 4096);
        facts["done"] = status == Status::done;
      });
      for (const sim::StepRecord& r : p.steps) {
        if (r.step == step::kHandlerEntered) facts["entered"] = r.at.count();
        if (r.step == step::kHandlerDone) facts["handler"] = r.at.count() - facts["entered"];
      }
      facts["records"] = p.total("driver.fault_records");
      return facts;
    });
    const platform::Machine m;
    INFO(before << " banks before");
    CHECK(f.at("finished") == 1);
    CHECK(f.at("done") == 1);
    CHECK(f.at("records") == 1);
    CHECK(f.at("handler") == (m.smmu_driver.handler_body + (4 + before) * m.cpu.mmio_read + m.cpu.mmio_write).count());
  }
}

TEST_CASE("two processes of a node fault at once, and each is told of its own page") {
  const Facts f = facts_from_child([] {
    TwoProcesses p(tolerant());
    const auto other_here = p.open(0);
    const auto other_there = p.open(1);
    Facts facts;
    facts["finished"] = p.run([&](TwoProcesses& q) -> Task<void> {
      struct Pair {
        Endpoint& from;
        Endpoint& to;
        std::uint64_t local;
        std::uint64_t remote;
      };
      std::vector<Pair> pairs;
      std::vector<Posted> posted;
      for (const auto& [from, to] : {std::pair(q.here.get(), q.there.get()), {other_here.get(), other_there.get()}}) {
        pairs.push_back({*from, *to, q.buffer(*from, 8192, 1), q.buffer(*to, 8192, 1)});
        const Pair& pair = pairs.back();
        posted.push_back(co_await from->post(from->thread(), Operation::write, pair.local,
                                             {1, to->process().id(), pair.remote}, 8192));
      }
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const Status status = co_await pairs[i].from.wait(pairs[i].from.thread(), posted[i]);
        facts["done"] += status == Status::done;
        facts["right"] += q.same(pairs[i].from, pairs[i].local, pairs[i].to, pairs[i].remote, 8192);
      }
    });
    facts["pgfault"] = p.total("os.pgfault");
    facts["records"] = p.total("driver.fault_records");
    facts["timeouts"] = p.total("dma.timeouts");
    return facts;
  });
  CHECK(f == Facts{{"finished", 1}, {"done", 2}, {"right", 2}, {"pgfault", 4}, {"records", 4}, {"timeouts", 0}});
}

namespace {

// Whether the process behind so many others is refused, because of this parameter.
bool refused_behind(unsigned processes, unsigned channels, const std::string& key) {
  platform::Machine machine;
  exanest_of(machine).engine.channels = channels;
  TwoProcesses p(tolerant(), machine);
  std::vector<std::unique_ptr<Endpoint>> others;
  while (others.size() + 1 < processes) others.push_back(p.open(1));
  try {
    others.push_back(p.open(1));
  } catch (const sim::RunFailure& failure) {
    return failure.keys() == std::vector<std::string>{key};
  }
  return false;
}

}  // namespace

TEST_CASE("a node runs out of context banks and of channels with a message that names the parameter") {
  const Facts channels = facts_from_child([] { return Facts{{"refused", refused_behind(3, 3, "exanest.channels")}}; });
  CHECK(channels.at("refused") == 1);
  const Facts banks = facts_from_child([] { return Facts{{"refused", refused_behind(16, 64, "smmu.context_banks")}}; });
  CHECK(banks.at("refused") == 1);
}

TEST_CASE("a kernel that gives a frame away without telling the SMMU shows as stale accesses") {
  for (const bool tells : {true, false}) {
    const Facts f = facts_from_child([=] {
      TwoProcesses p(tolerant());
      Facts facts;
      facts["finished"] = p.run([&](TwoProcesses& q) -> Task<void> {
        const std::uint64_t local = q.buffer(*q.here, 4096);
        const std::uint64_t remote = q.buffer(*q.there, 4096);
        // The first transfer leaves the translation in the SMMU's TLBs.
        const Status first = co_await write(*q.here, local, q.remote(remote), 4096);
        os::Process& process = q.there->process();
        if (tells) {
          q.there->vm().discard(process, remote, 4096);
        } else {
          q.cluster.node(1).ddr.frames().mapping_changed(process.space().page(remote)->frame);
        }
        const Status second = co_await write(*q.here, local, q.remote(remote), 4096);
        facts["done"] = first == Status::done && second == Status::done;
      });
      facts["stale"] = p.total("memory.stale_accesses");
      return facts;
    });
    INFO("tells " << tells);
    CHECK(f.at("finished") == 1);
    CHECK(f.at("done") == 1);
    CHECK(f.at("stale") == (tells ? 0 : 16));
  }
}
