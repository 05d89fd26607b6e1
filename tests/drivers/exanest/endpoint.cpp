// SPDX-License-Identifier: Apache-2.0
// A process that opens the device: how its channel is set up, what a private table holds, what is refused.
#include "models/drivers/exanest/endpoint.hpp"

#include "models/sim/failure.hpp"
#include "tests/support/rdma_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using exanest::Endpoint;
using rdma::Strategy;

namespace {

Strategy with(const char* registration, std::string_view translate = "shared") {
  Strategy strategy;
  strategy.registration = registration;
  strategy.translate = translate;
  return strategy;
}

std::unique_ptr<Endpoint> open(RdmaBench& b, const Strategy& strategy, unsigned channel = 1) {
  return std::make_unique<Endpoint>(
      strategy, b.config.library, Endpoint::Host{b.node.context, b.cpu, b.vm},
      Endpoint::Device{{b.ddr, b.event_counters, b.events, kEngine, kChannels}, b.driver, b.faults}, "opener", channel,
      rdma::End::source);
}

// The parameters that the failure names.
std::vector<std::string> refused(RdmaBench& b, const Strategy& strategy, unsigned channel = 1) {
  try {
    open(b, strategy, channel);
  } catch (const sim::RunFailure& failure) {
    return failure.keys();
  }
  return {};
}

}  // namespace

TEST_CASE("opening the device sets the channel up, at no time") {
  RdmaBench b;
  const auto endpoint = open(b, with("nothing"), 3);
  const std::uint64_t pdid = endpoint->process().id();
  CHECK(pdid == 2);
  CHECK(b.node.now() == 0ns);
  Accesses channel;
  for (const Access& access : b.registers.taken()) {
    if (access.address < kSmmu) channel.push_back(access);
  }
  CHECK(channel == Accesses{{0ns, kPrivileged + reg::kChannelSelect, 3},
                            {0ns, kPrivileged + reg::kChannelPdid, pdid},
                            {0ns, kPrivileged + reg::kChannelMailbox, endpoint->library().mailbox_ring()},
                            {0ns, kPrivileged + reg::kChannelSlots, 64}});
  // And the library uses it.
  const auto posted = b.run(endpoint->library().post(b.thread, rdma::Operation::write, 0, {1, 1, 0}, 1));
  for (const Access& access : b.registers.taken()) CHECK(access.address / 0x1000 == kEngine / 0x1000 + 3);
  CHECK(posted.took() == b.config.library.post + 7 * b.config.cpu.mmio_write + b.config.cpu.mmio_read);
}

TEST_CASE("a buffer may begin inside its first page, and is registered in whole pages") {
  RdmaBench b;
  const auto endpoint = open(b, with("populate"));
  const std::uint64_t buffer = endpoint->map_buffer(2 * kPage, 64);
  CHECK(buffer % os::kHugePage == 64);
  const rdma::RegisteredBuffer registered = endpoint->buffer(buffer, 2 * kPage);
  const auto prepared = b.run(registered.add(b.thread));
  CHECK(prepared.value == Error::none);
  CHECK(prepared.took() == b.config.os.syscall + 3 * (b.config.os.gup_per_page + b.cold_page()));
  CHECK(endpoint->process().space().page(buffer + 2 * kPage) != nullptr);
}

TEST_CASE("with a private table the library's own pages are pinned into it before the first transfer") {
  RdmaBench b;
  const auto endpoint = open(b, with("pin-once", "private"));
  const auto opened = b.run(endpoint->open());
  const os::OsConfig& os = b.config.os;
  CHECK(opened.ended - opened.began ==
        b.config.cpu.context_switch + 2 * (os.pin_fixed + os.gup_per_page + os.private_map_per_page));
  CHECK(b.vm.pinned_bytes() == 2 * kPage);
}

TEST_CASE("with the process's own table there is nothing to open: the program gets to a core") {
  RdmaBench b;
  const auto endpoint = open(b, with("pin-once"));
  CHECK(b.run(endpoint->open()).took() == b.config.cpu.context_switch);
  CHECK(b.vm.pinned_bytes() == 0);
}

TEST_CASE("what a node has not left is named by the parameters that decide it") {
  RdmaBench b;
  using Keys = std::vector<std::string>;
  CHECK(refused(b, with("nothing"), kChannels) == Keys{"exanest.channels"});
  for (int i = 0; i < 4; ++i) open(b, with("nothing"));
  CHECK(refused(b, with("nothing")) == Keys{"smmu.context_banks"});
  const auto no_memory = Keys{"ddr.size", "os.user_memory", "os.cma_bytes", "workload.size"};
  b.leave_free(0);
  CHECK(refused(b, with("nothing")) == no_memory);
}
