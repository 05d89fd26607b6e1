// SPDX-License-Identifier: Apache-2.0
// What each way to prepare a buffer costs at each of its four steps, what it does to the pages, and what
// it gives back.
#include "models/rdma/registration/registration.hpp"

#include <memory>

#include "tests/support/rdma_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

// A buffer of five pages, the second and the third of them present, the last one used in part.
struct RegistrationBench : RdmaBench {
  explicit RegistrationBench(const char* how, bool with_device_table = false, const RdmaConfig& given = {})
      : RdmaBench(given) {
    rdma::Strategy strategy;
    strategy.registration = how;
    REQUIRE(vm.make_present(process, buffer + kPage, 2 * kPage) == Error::none);
    if (with_device_table) device_table = vm.create_private_table(process).value;
    registration = strategy.registration->open({cpu, vm, process, device_table});
  }
  rdma::Buffer registered() const { return {buffer, 5 * kPage - 100}; }
  // What a step takes, when it succeeds.
  Time step(Task<Error> call) {
    const auto done = run(std::move(call));
    CHECK(done.value == Error::none);
    return done.took();
  }
  Time set_up() { return step(registration->add(thread, registered())); }
  Time before(bool written) { return step(registration->acquire(thread, registered(), written)); }
  Time after() { return step(registration->release(thread, registered())); }
  Time tear_down() { return step(registration->remove(thread, registered())); }
  std::string pages() const { return RdmaBench::pages(buffer, 6); }
  std::string pins() const { return RdmaBench::pins(buffer, 5); }
  // Pages that the device finds, where they are in the process's memory.
  unsigned device_pages() const {
    unsigned found = 0;
    for (std::uint64_t va = buffer; va < buffer + 6 * kPage; va += kPage) {
      const auto physical = device_table->table().translate(va);
      if (!physical) continue;
      CHECK(physical == process.page_table().translate(va));
      CHECK(device_table->table().walk(va)->writable);
      ++found;
    }
    return found;
  }

  const os::OsConfig& os = config.os;
  std::uint64_t buffer = map(6);
  os::PrivateTable* device_table = nullptr;
  std::unique_ptr<rdma::Registration> registration;
};

// What is pinned and what the device finds at an instant.
struct Holding {
  std::string pins;
  unsigned device_pages = 0;
};
Task<void> look_at(RegistrationBench& b, Time when, Holding& seen) {
  co_await b.node.loop.until(when);
  seen = {b.pins(), b.device_pages()};
}

// A transfer into the buffer that needs nothing, nor leaves anything.
void check_idle_transfer(RegistrationBench& b, const std::string& pages) {
  CHECK(b.before(true) == 0ns);
  CHECK(b.after() == 0ns);
  CHECK(b.pages() == pages);
}

}  // namespace

TEST_CASE("nothing: the device's accesses find out") {
  RegistrationBench b("nothing");
  CHECK(b.set_up() == 0ns);
  check_idle_transfer(b, "-cc---");
  CHECK(b.tear_down() == 0ns);
  CHECK(b.pages() == "-cc---");
  CHECK(b.pins() == "-00--");
}

TEST_CASE("ideal: every page is present, at no cost") {
  RegistrationBench b("ideal");
  CHECK(b.set_up() == 0ns);
  check_idle_transfer(b, "ccccc-");
  CHECK(b.tear_down() == 0ns);
  CHECK(b.counted("os.pgfault") == 0);
  CHECK(b.thread.time(cpu::Work::user) == 0ns);
}

TEST_CASE("touch: a fault for each absent page, a load for each present one, before each transfer") {
  RegistrationBench b("touch");
  CHECK(b.set_up() == 0ns);
  CHECK(b.pages() == "-cc---");
  // Reads find the shared zero page, which the first write replaces.
  CHECK(b.before(false) == 3 * b.os.fault_no_alloc + 2 * b.os.resident_touch);
  CHECK(b.pages() == "ccccc-");
  CHECK(b.after() == 0ns);
  CHECK(b.before(true) == 3 * (b.cold_page() + b.os.cpu_tlbi + b.os.cpu_dsb) + 2 * b.os.resident_touch);
  CHECK(b.pages() == "ddddd-");
  CHECK(b.after() == 0ns);
  CHECK(b.tear_down() == 0ns);
  CHECK(b.pins() == "00000");
}

TEST_CASE("touch: finds out about pages that have gone meanwhile") {
  RegistrationBench b("touch");
  b.before(true);
  REQUIRE(b.vm.discard(b.process, b.buffer + 3 * kPage, kPage) == Error::none);
  CHECK(b.before(true) == b.cold_page() + 4 * b.os.resident_touch);
}

TEST_CASE("populate: one system call when the buffer is set up") {
  RegistrationBench b("populate");
  CHECK(b.set_up() == b.os.syscall + 5 * b.os.gup_per_page + 3 * b.cold_page());
  check_idle_transfer(b, "ddddd-");
  CHECK(b.tear_down() == 0ns);
  CHECK(b.pages() == "ddddd-");
  CHECK(b.vm.locked_bytes() == 0);
  CHECK(b.pins() == "00000");
}

// Beside an mmap that every strategy makes.
TEST_CASE("populate: before Linux 5.14 by MAP_POPULATE, without a call of its own", "[madv-populate]") {
  RdmaConfig config;
  config.os.kernel.version = cpu::KernelVersion::linux_5_10;
  RegistrationBench b("populate", false, config);
  CHECK(b.set_up() == 5 * b.os.gup_per_page + 3 * b.cold_page());
  check_idle_transfer(b, "ddddd-");
  CHECK(b.tear_down() == 0ns);
}

TEST_CASE("populate: in Linux 5.15 by MADV_POPULATE_WRITE", "[madv-populate]") {
  RdmaConfig config;
  config.os.kernel.version = cpu::KernelVersion::linux_5_15;
  RegistrationBench b("populate", false, config);
  CHECK(b.set_up() == b.os.syscall + 5 * b.os.gup_per_page + 3 * b.cold_page());
}

TEST_CASE("mlock: locks when the buffer is set up, unlocks when it is torn down") {
  RegistrationBench b("mlock");
  CHECK(b.set_up() == b.os.mlock_fixed + 5 * b.os.mlock_per_page + 3 * b.cold_page());
  CHECK(b.vm.locked_bytes() == 5 * kPage);
  check_idle_transfer(b, "ddddd-");
  CHECK(b.vm.locked_bytes() == 5 * kPage);
  CHECK(b.tear_down() == b.os.mlock_fixed + 5 * b.os.munlock_per_page);
  CHECK(b.vm.locked_bytes() == 0);
  CHECK(b.pages() == "ddddd-");
  CHECK(b.pins() == "00000");
}

TEST_CASE("pin-per-transfer: pins before each transfer and unpins after it") {
  RegistrationBench b("pin-per-transfer");
  CHECK(b.set_up() == 0ns);
  CHECK(b.pages() == "-cc---");
  // Whoever pins does so for writing.
  CHECK(b.before(false) == b.os.pin_fixed + 5 * b.os.gup_per_page + 3 * b.cold_page());
  CHECK(b.pages() == "ddddd-");
  CHECK(b.pins() == "11111");
  CHECK(b.vm.pinned_bytes() == 5 * kPage);
  CHECK(b.after() == b.os.syscall + 5 * b.os.unpin_per_page);
  CHECK(b.pins() == "00000");
  CHECK(b.before(true) == b.os.pin_fixed + 5 * b.os.gup_per_page);
  CHECK(b.pins() == "11111");
  CHECK(b.after() == b.os.syscall + 5 * b.os.unpin_per_page);
  CHECK(b.pins() == "00000");
  CHECK(b.vm.pinned_bytes() == 0);
  CHECK(b.tear_down() == 0ns);
  CHECK(b.pages() == "ddddd-");
}

TEST_CASE("pin-once: pins when the buffer is set up, unpins when it is torn down") {
  RegistrationBench b("pin-once");
  CHECK(b.set_up() == b.os.pin_fixed + 5 * b.os.gup_per_page + 3 * b.cold_page());
  CHECK(b.pins() == "11111");
  check_idle_transfer(b, "ddddd-");
  CHECK(b.pins() == "11111");
  CHECK(b.vm.pinned_bytes() == 5 * kPage);
  CHECK(b.tear_down() == b.os.syscall + 5 * b.os.unpin_per_page);
  CHECK(b.pins() == "00000");
  CHECK(b.vm.pinned_bytes() == 0);
}

TEST_CASE("pin-once with a private table: fills it after pinning, empties it before unpinning") {
  RegistrationBench b("pin-once", true);
  CHECK(b.device_pages() == 0);
  CHECK(b.set_up() == b.os.pin_fixed + 5 * b.os.gup_per_page + 3 * b.cold_page() + 5 * b.os.private_map_per_page);
  CHECK(b.device_pages() == 5);
  check_idle_transfer(b, "ddddd-");
  const Time released = 5 * b.os.private_map_per_page + b.os.syscall + 5 * b.os.unpin_per_page;
  Holding seen;
  b.tasks.start(look_at(b, b.node.now() + released - Time{1}, seen));
  CHECK(b.tear_down() == released);
  CHECK(seen.pins == "11111");
  CHECK(seen.device_pages == 0);
  CHECK(b.device_pages() == 0);
  CHECK(b.pins() == "00000");
}

TEST_CASE("pin-per-transfer with a private table: fills and empties it for each transfer") {
  RegistrationBench b("pin-per-transfer", true);
  CHECK(b.set_up() == 0ns);
  b.before(true);
  CHECK(b.device_pages() == 5);
  CHECK(b.after() == 5 * b.os.private_map_per_page + b.os.syscall + 5 * b.os.unpin_per_page);
  CHECK(b.device_pages() == 0);
  CHECK(b.before(true) == b.os.pin_fixed + 5 * b.os.gup_per_page + 5 * b.os.private_map_per_page);
  CHECK(b.device_pages() == 5);
  CHECK(b.pins() == "11111");
  b.after();
  CHECK(b.device_pages() == 0);
  CHECK(b.pins() == "00000");
}
