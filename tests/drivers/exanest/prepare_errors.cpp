// SPDX-License-Identifier: Apache-2.0
// A buffer that cannot be prepared: the error of the system call comes back, after what the attempt
// costs, and nothing stays pinned.
#include <memory>

#include "models/rdma/prepare.hpp"
#include "tests/support/rdma_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using rdma::Prepare;
using rdma::PreparePolicy;

namespace {

std::unique_ptr<PreparePolicy> policy_for(RdmaBench& b, Prepare prepare, std::uint64_t buffer, std::uint64_t pages) {
  rdma::Strategy strategy;
  strategy.prepare = prepare;
  return rdma::make_prepare_policy(strategy, {b.vm, b.process, buffer, pages * kPage});
}

// Eight pages, of which the first is present, and frames for three more.
struct LowMemory : RdmaBench {
  explicit LowMemory(Prepare prepare, const RdmaConfig& given = {}) : RdmaBench(given) {
    REQUIRE(vm.make_present(process, buffer, kPage) == Error::none);
    leave_free(3);
    policy = policy_for(*this, prepare, buffer, 8);
  }
  std::string pages() const { return RdmaBench::pages(buffer, 8); }
  Time three_and_one_refused() const { return 3 * cold_page() + config.os.anon_minor_fault; }

  std::uint64_t buffer = map(8);
  std::unique_ptr<PreparePolicy> policy;
};

// Pages that may be locked, and again as many that may be pinned.
RdmaConfig with_limit(std::uint64_t pages) {
  RdmaConfig config;
  config.os.rlimit_memlock = pages * kPage;
  return config;
}

void check_nothing_held(const RdmaBench& b) {
  CHECK(b.vm.pinned_bytes() == 0);
  CHECK(b.process.space().pinned_bytes() == 0);
  CHECK(b.vm.locked_bytes() == 0);
}

// Three pages more came, at their cost and `besides`.
void check_stopped(LowMemory& b, const auto& refused, Time besides) {
  CHECK(refused.value == Error::no_memory);
  CHECK(refused.took() == besides + b.three_and_one_refused());
  CHECK(b.pages() == "dddd----");
  check_nothing_held(b);
}

}  // namespace

TEST_CASE("without memory ideal fails, too") {
  LowMemory b(Prepare::ideal);
  const auto refused = b.run(b.policy->set_up(b.thread));
  CHECK(refused.value == Error::no_memory);
  CHECK(refused.took() == 0ns);
  CHECK(b.pages() == "cccc----");
  check_nothing_held(b);
}

TEST_CASE("touch stops at the first page without memory") {
  LowMemory b(Prepare::touch);
  const auto refused = b.run(b.policy->before(b.thread, true));
  check_stopped(b, refused, b.config.os.resident_touch);
}

TEST_CASE("populate stops at the first page without memory") {
  LowMemory b(Prepare::populate);
  const auto refused = b.run(b.policy->set_up(b.thread));
  check_stopped(b, refused, b.config.os.syscall + 4 * b.config.os.gup_per_page);
}

TEST_CASE("populate by MAP_POPULATE says nothing of the pages without memory, and leaves them absent") {
  RdmaConfig config;
  config.os.kernel.version = cpu::KernelVersion::linux_4_9;
  LowMemory b(Prepare::populate, config);
  const auto silent = b.run(b.policy->set_up(b.thread));
  CHECK(silent.value == Error::none);
  CHECK(silent.took() == 4 * b.config.os.gup_per_page + b.three_and_one_refused());
  CHECK(b.pages() == "dddd----");
  check_nothing_held(b);
}

TEST_CASE("mlock without memory leaves its range locked, as Linux does, until it is torn down") {
  LowMemory b(Prepare::mlock);
  const auto refused = b.run(b.policy->set_up(b.thread));
  CHECK(refused.value == Error::no_memory);
  CHECK(refused.took() == b.config.os.mlock_fixed + 4 * b.config.os.mlock_per_page + b.three_and_one_refused());
  CHECK(b.vm.locked_bytes() == 8 * kPage);
  const auto released = b.run(b.policy->tear_down(b.thread));
  CHECK(released.value == Error::none);
  CHECK(released.took() == b.config.os.mlock_fixed + 4 * b.config.os.munlock_per_page);
  check_nothing_held(b);
}

TEST_CASE("pin-once without memory gives its pins back") {
  LowMemory b(Prepare::pin_once);
  const auto refused = b.run(b.policy->set_up(b.thread));
  CHECK(refused.value == Error::no_memory);
  CHECK(refused.took() == b.config.os.pin_fixed + 4 * b.config.os.gup_per_page + b.three_and_one_refused() +
                              4 * b.config.os.unpin_per_page);
  CHECK(b.pins(b.buffer, 8) == "0000----");
  check_nothing_held(b);
  CHECK(b.run(b.policy->tear_down(b.thread)).value == Error::invalid);
}

TEST_CASE("pin-per-transfer without memory gives its pins back, and works once there is memory") {
  LowMemory b(Prepare::pin_per_transfer);
  const auto refused = b.run(b.policy->before(b.thread, true));
  CHECK(refused.value == Error::no_memory);
  CHECK(b.pins(b.buffer, 8) == "0000----");
  check_nothing_held(b);
  REQUIRE(b.vm.discard(b.process, b.buffer + 8 * kPage, 4 * kPage) == Error::none);  // of the filler
  const auto pinned = b.run(b.policy->before(b.thread, true));
  CHECK(pinned.value == Error::none);
  CHECK(pinned.took() == b.config.os.pin_fixed + 8 * b.config.os.gup_per_page + 4 * b.cold_page());
  CHECK(b.pins(b.buffer, 8) == "11111111");
  CHECK(b.run(b.policy->after(b.thread)).value == Error::none);
  check_nothing_held(b);
}

TEST_CASE("without memory for the private table's own tables the pins are given back") {
  RdmaBench b;
  const std::uint64_t buffer = b.map(2);
  REQUIRE(b.vm.make_present(b.process, buffer, 2 * kPage) == Error::none);
  os::PrivateTable* table = b.vm.create_private_table(b.process).value;
  b.leave_free(0);
  const os::OsConfig& os = b.config.os;
  rdma::Strategy strategy;
  strategy.prepare = Prepare::pin_once;
  const auto policy = rdma::make_prepare_policy(strategy, {b.vm, b.process, buffer, 2 * kPage, table});
  const auto refused = b.run(policy->set_up(b.thread));
  CHECK(refused.value == Error::no_memory);
  CHECK(refused.took() ==
        os.pin_fixed + 2 * os.gup_per_page + 2 * os.private_map_per_page + os.syscall + 2 * os.unpin_per_page);
  CHECK(b.pins(buffer, 2) == "00");
  CHECK_FALSE(table->table().walk(buffer));
  check_nothing_held(b);
}

TEST_CASE("RLIMIT_MEMLOCK refuses mlock and pins, and nothing but those") {
  RdmaBench b(with_limit(4));
  const auto try_step = [&b](Prepare prepare, bool at_set_up) {
    const std::uint64_t buffer = b.map(5);
    const auto policy = policy_for(b, prepare, buffer, 5);
    const auto done = b.run(at_set_up ? policy->set_up(b.thread) : policy->before(b.thread, true));
    if (done.value == Error::limit) CHECK(b.pages(buffer, 5) == "-----");
    check_nothing_held(b);
    return std::pair(done.value, done.took());
  };
  CHECK(try_step(Prepare::mlock, true) == std::pair(Error::limit, b.config.os.mlock_fixed));
  CHECK(try_step(Prepare::pin_once, true) == std::pair(Error::limit, b.config.os.pin_fixed));
  CHECK(try_step(Prepare::pin_per_transfer, false) == std::pair(Error::limit, b.config.os.pin_fixed));
  CHECK(b.counted("os.limit_refusals") == 3);
  for (const Prepare prepare : {Prepare::nothing, Prepare::ideal, Prepare::populate}) {
    CHECK(try_step(prepare, true).first == Error::none);
  }
  CHECK(try_step(Prepare::touch, false).first == Error::none);
}

TEST_CASE("a buffer of exactly RLIMIT_MEMLOCK is locked and pinned, and a page more is not") {
  RdmaBench b(with_limit(4));
  const std::uint64_t buffer = b.map(5);
  const auto locked = policy_for(b, Prepare::mlock, buffer, 4);
  const auto pinned = policy_for(b, Prepare::pin_once, buffer, 4);
  const auto one_more = policy_for(b, Prepare::pin_per_transfer, buffer + 4 * kPage, 1);
  CHECK(b.run(locked->set_up(b.thread)).value == Error::none);
  CHECK(b.run(pinned->set_up(b.thread)).value == Error::none);
  CHECK(b.run(one_more->before(b.thread, true)).value == Error::limit);
  CHECK(b.pins(buffer, 5) == "1111-");
  CHECK(b.run(pinned->tear_down(b.thread)).value == Error::none);
  CHECK(b.run(one_more->before(b.thread, true)).value == Error::none);
  CHECK(b.pins(buffer, 5) == "00001");
}

TEST_CASE("a buffer that is not mapped to its end is a bad address, and nothing of it is held") {
  RdmaBench b;
  const std::uint64_t buffer = b.map(2);
  for (const Prepare prepare : {Prepare::ideal, Prepare::populate, Prepare::mlock, Prepare::pin_once}) {
    CHECK(b.run(policy_for(b, prepare, buffer, 3)->set_up(b.thread)).value == Error::bad_address);
    check_nothing_held(b);
  }
  for (const Prepare prepare : {Prepare::touch, Prepare::pin_per_transfer}) {
    CHECK(b.run(policy_for(b, prepare, buffer, 3)->before(b.thread, true)).value == Error::bad_address);
    check_nothing_held(b);
  }
}
