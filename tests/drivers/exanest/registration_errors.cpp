// SPDX-License-Identifier: Apache-2.0
// A buffer that cannot be prepared: the error of the system call comes back, after what the attempt
// costs, and nothing stays pinned.
#include <memory>

#include "models/rdma/registration/registration.hpp"
#include "tests/support/rdma_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

// A buffer, and the registration that it goes through.
struct Registered {
  std::unique_ptr<rdma::Registration> registration;
  rdma::Buffer buffer;
  Task<Error> add(cpu::Execution& thread) const { return registration->add(thread, buffer); }
  Task<Error> acquire(cpu::Execution& thread) const { return registration->acquire(thread, buffer, true); }
  Task<Error> release(cpu::Execution& thread) const { return registration->release(thread, buffer); }
  Task<Error> remove(cpu::Execution& thread) const { return registration->remove(thread, buffer); }
};

Registered registered(RdmaBench& b, const char* how, std::uint64_t buffer, std::uint64_t pages,
                      os::PrivateTable* table = nullptr) {
  rdma::Strategy strategy;
  strategy.registration = how;
  return {strategy.registration->open({b.cpu, b.vm, b.process, table}), {buffer, pages * kPage}};
}

// Eight pages, of which the first is present, and frames for three more.
struct LowMemory : RdmaBench {
  explicit LowMemory(const char* how, const RdmaConfig& given = {}) : RdmaBench(given) {
    REQUIRE(vm.make_present(process, buffer, kPage) == Error::none);
    leave_free(3);
    policy = registered(*this, how, buffer, 8);
  }
  std::string pages() const { return RdmaBench::pages(buffer, 8); }
  Time three_and_one_refused() const { return 3 * cold_page() + config.os.anon_minor_fault; }

  std::uint64_t buffer = map(8);
  Registered policy;
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
  LowMemory b("ideal");
  const auto refused = b.run(b.policy.add(b.thread));
  CHECK(refused.value == Error::no_memory);
  CHECK(refused.took() == 0ns);
  CHECK(b.pages() == "cccc----");
  check_nothing_held(b);
}

TEST_CASE("touch stops at the first page without memory") {
  LowMemory b("touch");
  const auto refused = b.run(b.policy.acquire(b.thread));
  check_stopped(b, refused, b.config.os.resident_touch);
}

TEST_CASE("populate stops at the first page without memory") {
  LowMemory b("populate");
  const auto refused = b.run(b.policy.add(b.thread));
  check_stopped(b, refused, b.config.os.syscall + 4 * b.config.os.gup_per_page);
}

TEST_CASE("populate by MAP_POPULATE says nothing of the pages without memory, and leaves them absent") {
  RdmaConfig config;
  config.os.kernel.version = cpu::KernelVersion::linux_4_9;
  LowMemory b("populate", config);
  const auto silent = b.run(b.policy.add(b.thread));
  CHECK(silent.value == Error::none);
  CHECK(silent.took() == 4 * b.config.os.gup_per_page + b.three_and_one_refused());
  CHECK(b.pages() == "dddd----");
  check_nothing_held(b);
}

TEST_CASE("mlock without memory leaves its range locked, as Linux does, until it is torn down") {
  LowMemory b("mlock");
  const auto refused = b.run(b.policy.add(b.thread));
  CHECK(refused.value == Error::no_memory);
  CHECK(refused.took() == b.config.os.mlock_fixed + 4 * b.config.os.mlock_per_page + b.three_and_one_refused());
  CHECK(b.vm.locked_bytes() == 8 * kPage);
  const auto released = b.run(b.policy.remove(b.thread));
  CHECK(released.value == Error::none);
  CHECK(released.took() == b.config.os.mlock_fixed + 4 * b.config.os.munlock_per_page);
  check_nothing_held(b);
}

TEST_CASE("pin-once without memory gives its pins back") {
  LowMemory b("pin-once");
  const auto refused = b.run(b.policy.add(b.thread));
  CHECK(refused.value == Error::no_memory);
  CHECK(refused.took() == b.config.os.pin_fixed + 4 * b.config.os.gup_per_page + b.three_and_one_refused() +
                              4 * b.config.os.unpin_per_page);
  CHECK(b.pins(b.buffer, 8) == "0000----");
  check_nothing_held(b);
  CHECK(b.run(b.policy.remove(b.thread)).value == Error::invalid);
}

TEST_CASE("pin-per-transfer without memory gives its pins back, and works once there is memory") {
  LowMemory b("pin-per-transfer");
  const auto refused = b.run(b.policy.acquire(b.thread));
  CHECK(refused.value == Error::no_memory);
  CHECK(b.pins(b.buffer, 8) == "0000----");
  check_nothing_held(b);
  REQUIRE(b.vm.discard(b.process, b.buffer + 8 * kPage, 4 * kPage) == Error::none);  // of the filler
  const auto pinned = b.run(b.policy.acquire(b.thread));
  CHECK(pinned.value == Error::none);
  CHECK(pinned.took() == b.config.os.pin_fixed + 8 * b.config.os.gup_per_page + 4 * b.cold_page());
  CHECK(b.pins(b.buffer, 8) == "11111111");
  CHECK(b.run(b.policy.release(b.thread)).value == Error::none);
  check_nothing_held(b);
}

TEST_CASE("without memory for the private table's own tables the pins are given back") {
  RdmaBench b;
  const std::uint64_t buffer = b.map(2);
  REQUIRE(b.vm.make_present(b.process, buffer, 2 * kPage) == Error::none);
  os::PrivateTable* table = b.vm.create_private_table(b.process).value;
  b.leave_free(0);
  const os::OsConfig& os = b.config.os;
  const auto policy = registered(b, "pin-once", buffer, 2, table);
  const auto refused = b.run(policy.add(b.thread));
  CHECK(refused.value == Error::no_memory);
  CHECK(refused.took() ==
        os.pin_fixed + 2 * os.gup_per_page + 2 * os.private_map_per_page + os.syscall + 2 * os.unpin_per_page);
  CHECK(b.pins(buffer, 2) == "00");
  CHECK_FALSE(table->table().walk(buffer));
  check_nothing_held(b);
}

TEST_CASE("RLIMIT_MEMLOCK refuses mlock and pins, and nothing but those") {
  RdmaBench b(with_limit(4));
  const auto try_step = [&b](const char* how, bool at_set_up) {
    const std::uint64_t buffer = b.map(5);
    const auto policy = registered(b, how, buffer, 5);
    const auto done = b.run(at_set_up ? policy.add(b.thread) : policy.acquire(b.thread));
    if (done.value == Error::limit) CHECK(b.pages(buffer, 5) == "-----");
    check_nothing_held(b);
    return std::pair(done.value, done.took());
  };
  CHECK(try_step("mlock", true) == std::pair(Error::limit, b.config.os.mlock_fixed));
  CHECK(try_step("pin-once", true) == std::pair(Error::limit, b.config.os.pin_fixed));
  CHECK(try_step("pin-per-transfer", false) == std::pair(Error::limit, b.config.os.pin_fixed));
  CHECK(b.counted("os.limit_refusals") == 3);
  for (const char* how : {"nothing", "ideal", "populate"}) {
    CHECK(try_step(how, true).first == Error::none);
  }
  CHECK(try_step("touch", false).first == Error::none);
}

TEST_CASE("a buffer of exactly RLIMIT_MEMLOCK is locked and pinned, and a page more is not") {
  RdmaBench b(with_limit(4));
  const std::uint64_t buffer = b.map(5);
  const auto locked = registered(b, "mlock", buffer, 4);
  const auto pinned = registered(b, "pin-once", buffer, 4);
  const auto one_more = registered(b, "pin-per-transfer", buffer + 4 * kPage, 1);
  CHECK(b.run(locked.add(b.thread)).value == Error::none);
  CHECK(b.run(pinned.add(b.thread)).value == Error::none);
  CHECK(b.run(one_more.acquire(b.thread)).value == Error::limit);
  CHECK(b.pins(buffer, 5) == "1111-");
  CHECK(b.run(pinned.remove(b.thread)).value == Error::none);
  CHECK(b.run(one_more.acquire(b.thread)).value == Error::none);
  CHECK(b.pins(buffer, 5) == "00001");
}

TEST_CASE("a buffer that is not mapped to its end is a bad address, and nothing of it is held") {
  RdmaBench b;
  const std::uint64_t buffer = b.map(2);
  for (const char* how : {"ideal", "populate", "mlock", "pin-once"}) {
    CHECK(b.run(registered(b, how, buffer, 3).add(b.thread)).value == Error::bad_address);
    check_nothing_held(b);
  }
  for (const char* how : {"touch", "pin-per-transfer"}) {
    CHECK(b.run(registered(b, how, buffer, 3).acquire(b.thread)).value == Error::bad_address);
    check_nothing_held(b);
  }
}
