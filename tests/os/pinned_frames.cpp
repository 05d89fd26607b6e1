// SPDX-License-Identifier: Apache-2.0
// When what a device's own table says of a pinned frame is no longer true: when the process that pinned it maps it no
// more, whoever else does.
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

// Two processes share pinned pages.
OsConfig shares_pinned() {
  OsConfig config;
  config.kernel.version = os::KernelVersion::linux_4_9;
  return config;
}

// Pages of the bench's process that are pinned, mapped in a device's own table, and shared with a child.
struct Registered {
  static constexpr unsigned kPages = 4;
  explicit Registered(OsBench& bench) : b(bench), va(b.map_present(kPages * kPage)), frame(b.walk(va)->physical) {
    pin = pinned(*b.process);
    table = b.vm.create_private_table(*b.process).value;
    REQUIRE(b.run(b.vm.map_pinned(b.thread, *table, pin)).value == Error::none);
    written = b.store.epoch();
    child = b.run(b.vm.fork(b.thread, *b.process)).value.value;
    REQUIRE(child != nullptr);
    REQUIRE(child->space().page(va)->frame == frame);
  }
  os::PinId pinned(Process& process) const {
    const auto taken = b.run(b.vm.pin_user_pages(b.thread, process, va, kPages * kPage, /*write=*/false));
    REQUIRE(taken.value.ok());
    return taken.value.value;
  }
  void unmap(Process& process) const {
    REQUIRE(b.run(b.vm.munmap(b.thread, process, va, kPages * kPage)).value == Error::none);
  }
  void store_of(Process& process) const {
    REQUIRE(b.run(b.vm.touch(b.thread, process, va, /*write=*/true)).value == Error::none);
  }
  void exit_of_child() const { b.end(*child); }
  bool stale() const { return b.store.is_stale(frame, written); }

  OsBench& b;
  VirtualAddress va;
  memory::Address frame;
  os::PinId pin = 0;
  os::PrivateTable* table = nullptr;
  Process* child = nullptr;
  std::uint64_t written = 0;  // when the device's descriptors were
};

}  // namespace

TEST_CASE("a child that exits leaves what a device's own table says of its parent's pinned pages true") {
  OsBench b(shares_pinned());
  const Registered r(b);
  r.exit_of_child();
  CHECK_FALSE(r.stale());
  b.vm.audit();
}

TEST_CASE("munmap by the owner makes it stale while a child maps the pages") {
  OsBench b(shares_pinned());
  const Registered r(b);
  r.unmap(*b.process);
  CHECK(r.stale());
  b.vm.audit();
}

TEST_CASE("munmap by the owner makes it stale when its child has gone") {
  OsBench b(shares_pinned());
  const Registered r(b);
  r.exit_of_child();
  r.unmap(*b.process);
  CHECK(r.stale());
  b.vm.audit();
}

TEST_CASE("a copy on write of a child leaves it true") {
  OsBench b(shares_pinned());
  const Registered r(b);
  r.store_of(*r.child);
  CHECK(r.child->space().page(r.va)->frame != r.frame);
  CHECK_FALSE(r.stale());
  b.vm.audit();
}

TEST_CASE("a copy on write of the owner makes it stale") {
  OsBench b(shares_pinned());
  const Registered r(b);
  r.store_of(*b.process);
  CHECK(b.process->space().page(r.va)->frame != r.frame);
  CHECK(r.stale());
  b.vm.audit();
}

TEST_CASE("a child that has pinned the page itself counts as an owner") {
  OsBench b(shares_pinned());
  const Registered r(b);
  const os::PinId first = r.pinned(*r.child);
  r.pinned(*r.child);
  CHECK(b.run(b.vm.unpin(b.thread, first)).value == Error::none);
  b.vm.audit();
  r.unmap(*r.child);
  CHECK(r.stale());  // one pin of the child's is left
  b.vm.audit();
}

TEST_CASE("a child that has pinned the page no more does not") {
  OsBench b(shares_pinned());
  const Registered r(b);
  const os::PinId only = r.pinned(*r.child);
  CHECK(b.run(b.vm.unpin(b.thread, only)).value == Error::none);
  r.unmap(*r.child);
  CHECK_FALSE(r.stale());
  b.vm.audit();
}

TEST_CASE("a table without pins is out of date when its process has lost the page, whoever else maps the frame") {
  OsBench b(shares_pinned());
  const VirtualAddress va = b.map_present(kPage);
  const memory::Address frame = b.walk(va)->physical;
  os::PrivateTable& table = *b.vm.create_private_table(*b.process).value;
  REQUIRE(b.run(b.vm.map_unpinned(b.thread, table, va, kPage)).value == Error::none);
  CHECK(table.hopes_for(frame));
  const std::uint64_t written = b.store.epoch();
  Process& child = *b.run(b.vm.fork(b.thread, *b.process)).value.value;
  CHECK_FALSE(b.store.is_stale(frame, written));
  REQUIRE(b.run(b.vm.touch(b.thread, *b.process, va, /*write=*/true)).value == Error::none);
  CHECK(b.process->space().page(va)->frame != frame);
  CHECK(b.store.is_stale(frame, written));
  const auto mappers = b.vm.mappers(frame);
  REQUIRE(mappers.size() == 1);
  CHECK(mappers.front().process == &child);
  b.vm.audit();
}

TEST_CASE("who pinned a frame first may let go of it first") {
  os::FrameTable table;
  OsBench b;
  Process& one = *b.process;
  Process& two = *b.vm.create_process("two");
  Process& three = *b.vm.create_process("three");
  for (const Process* process : {&one, &two, &one, &three, &two}) table.add_pin(kPage, *process);
  CHECK(table.find(kPage).pins == 5);
  table.remove_pin(kPage, one);
  CHECK(table.pins(one, kPage));
  table.remove_pin(kPage, one);
  CHECK_FALSE(table.pins(one, kPage));
  table.remove_pin(kPage, two);
  CHECK(table.pins(two, kPage));
  table.remove_pin(kPage, three);
  CHECK_FALSE(table.pins(three, kPage));
  CHECK(table.pins(two, kPage));
  table.remove_pin(kPage, two);
  CHECK_FALSE(table.pins(two, kPage));
  CHECK(table.find(kPage).pins == 0);
}
