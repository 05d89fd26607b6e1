// SPDX-License-Identifier: Apache-2.0
// Operations that take no time, and the declared parameters.
#include <set>

#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;

TEST_CASE("content goes through the page table, and absent pages read as zeros") {
  OsBench b;
  const VirtualAddress va = b.map(4 * kPage);
  REQUIRE(b.vm.make_present(*b.process, va + kPage, 2 * kPage) == Error::none);
  CHECK(b.vm.fill(*b.process, va + 100, 3 * kPage, 5) == 2 * kPage);
  sim::Content expected = sim::Content::zeros(kPage);
  expected.append(sim::Content::pattern(5, kPage - 100, 2 * kPage));
  expected.append(sim::Content::zeros(kPage));
  CHECK(b.vm.read(*b.process, va, 4 * kPage) == expected);
  const auto walked = b.walk(va + kPage + 12);
  CHECK(b.store.read(walked->physical, 8) == sim::Content::pattern(5, kPage - 88, 8));
  CHECK(b.process->space().page(va + kPage)->dirty);
}

TEST_CASE("discard removes whole pages and drops their translations, VMAs and pinned frames stay") {
  OsBench b;
  Listener listener(b, 1us);
  const VirtualAddress va = b.map_present(4 * kPage);
  const auto pin = b.run(b.vm.pin_user_pages(b.thread, *b.process, va + kPage, kPage, true)).value.value;
  const auto frame = b.walk(va + kPage)->physical;
  b.vm.fill(*b.process, va, 4 * kPage, 9);
  const auto used = b.used();
  CHECK(b.vm.discard(*b.process, va + 1, 3 * kPage) == Error::none);
  CHECK(listener.dropped == sim::Vector<VirtualAddress>{va + kPage, va + 2 * kPage});
  CHECK(b.present(va));
  CHECK_FALSE(b.present(va + kPage));
  CHECK_FALSE(b.present(va + 2 * kPage));
  CHECK(b.present(va + 3 * kPage));
  CHECK(b.used() == used - 1);
  CHECK(b.store.read(frame, kPage) == sim::Content::pattern(9, kPage, kPage));

  CHECK(b.run(b.vm.touch(b.thread, *b.process, va + kPage, true)).took == b.cold_page());
  CHECK(b.walk(va + kPage)->physical != frame);
  CHECK(b.vm.read(*b.process, va + kPage, kPage) == sim::Content::zeros(kPage));
  REQUIRE(b.run(b.vm.unpin(b.thread, pin)).value == Error::none);
  CHECK_FALSE(b.vm.frames().is_allocated(frame));
}

TEST_CASE("set-up takes no time and no counters, but memory all the same") {
  OsBench b;
  const VirtualAddress va = b.map(2 * kPage);
  const Time before = b.node.now();
  CHECK(b.vm.make_present(*b.process, va, kPage) == Error::none);
  CHECK(b.vm.make_present(*b.process, va, 3 * kPage) == Error::bad_address);
  CHECK(b.node.now() == before);
  CHECK(b.counted("os.pgfault") == 0);
  CHECK(b.process->space().resident_bytes() == 2 * kPage);
}

TEST_CASE("processes have their own numbers, tables and memory") {
  OsBench b;
  Process* other = b.vm.create_process("other");
  REQUIRE(other != nullptr);
  CHECK(b.process->id() == 1);
  CHECK(other->id() == 2);
  CHECK(other->page_table().root() != b.process->page_table().root());
  const VirtualAddress va = b.map_present(kPage);
  CHECK(b.run(b.vm.touch(b.thread, *other, va, true)).value == Error::bad_address);
}

TEST_CASE("a node of 1 TiB costs nothing until it is used") {
  os::FrameAllocator frames(0, std::uint64_t{1} << 40);
  CHECK(frames.free_pages() == std::uint64_t{1} << 28);
  CHECK(frames.allocate_huge() == 0u);
}

TEST_CASE("every kernel parameter is declared with a legal default and a source") {
  OsConfig config;
  sim::ParameterTable table;
  config.declare(table);
  CHECK(table.all().size() == 88);
  std::set<std::string> names;
  for (const sim::Parameter& p : table.all()) {
    INFO(p.name);
    CHECK(names.insert(p.name).second);
    CHECK(p.name.starts_with("os."));
    CHECK((p.doc.standing == sim::Standing::setting || !p.doc.source.empty()));
    if (p.kind != sim::ParameterKind::count) CHECK_NOTHROW(p.set(p.get()));
  }
  CHECK(config.rlimit_memlock == OsConfig{}.rlimit_memlock);
  CHECK(config.va_bits == OsConfig{}.va_bits);
}
