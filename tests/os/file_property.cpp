// SPDX-License-Identifier: Apache-2.0
// Random use of a file by calls, a shared and a private mapping, beside write-back, reclaim and migration, agrees with
// a model of two lists of pages.
#include <rapidcheck.h>

#include "models/os/reclaim/reclaim.hpp"
#include "tests/support/number_of_cases.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::PageEvents;
using os::Range;
using sim::Content;

namespace {

constexpr std::uint32_t kPages = 12;
constexpr std::uint64_t kSeed = 21;

enum Operation : unsigned {
  kStoreShared,
  kStorePrivate,
  kReadShared,
  kReadPrivate,
  kCallRead,
  kCallWrite,
  kSync,
  kPunch,
  kCut,
  kPageOut,
  kMove,
  kClean,
  kUnmap,
  kOperations
};

struct Model {
  std::vector<Content> file;                // what is in it
  std::vector<std::optional<Content>> own;  // pages of the private mapping that are its own
  std::uint32_t pages = kPages;

  Model() : own(kPages) {
    for (std::uint32_t i = 0; i < kPages; ++i) file.push_back(Content::pattern(kSeed, i * kPage, kPage));
  }
  Content shared(std::uint32_t page) const { return page < pages ? file[page] : Content::zeros(kPage); }
  Content privately(std::uint32_t page) const { return own[page] ? *own[page] : shared(page); }
};

struct Arena {
  explicit Arena(OsBench& bench)
      : b(bench),
        process(*b.vm.create_process("user")),
        file(*b.vm.page_cache().create(kPages * kPage, kSeed)),
        shared(b.vm.map_file(process, file, true).value),
        own(b.vm.map_file(process, file, false).value) {}

  Content read(VirtualAddress va, std::uint32_t page) const { return b.vm.read(process, va + page * kPage, kPage); }

  OsBench& b;
  Process& process;
  os::File& file;
  VirtualAddress shared;
  VirtualAddress own;
};

Task<bool> apply(Arena& a, Model& model, unsigned what, std::uint32_t page, std::uint32_t count, std::uint64_t seed) {
  os::Vm& vm = a.b.vm;
  os::PageCache& cache = vm.page_cache();
  cpu::Execution& thread = a.b.thread;
  const VirtualAddress shared = a.shared + page * kPage;
  const VirtualAddress own = a.own + page * kPage;
  const Range range{shared, shared + count * kPage};
  const bool inside = page < model.pages;
  switch (what) {
    case kStoreShared:
      RC_ASSERT((co_await vm.touch(thread, a.process, shared, true) == Error::none) == inside);
      if (inside) RC_ASSERT(vm.fill(a.process, shared, kPage, seed) == kPage);
      if (inside) model.file[page] = Content::pattern(seed, 0, kPage);
      break;
    case kStorePrivate:
      // What is its own stays when the file is cut here; Linux takes it, too (even_cows), which is not modelled.
      RC_ASSERT((co_await vm.touch(thread, a.process, own, true) == Error::none) == (inside || model.own[page]));
      if (!inside && !model.own[page]) break;
      RC_ASSERT(vm.fill(a.process, own, kPage, seed) == kPage);
      model.own[page] = Content::pattern(seed, 0, kPage);
      break;
    case kReadShared: co_await vm.touch_range(thread, a.process, shared, count * kPage, false); break;
    case kReadPrivate: co_await vm.touch_range(thread, a.process, own, count * kPage, false); break;
    case kCallRead: {
      os::FileReader reader{.file = &a.file};
      const auto got = co_await cache.read(thread, a.process, reader, page * kPage, count * kPage);
      RC_ASSERT(got.ok() && got.value == (inside ? std::min(count, model.pages - page) * kPage : 0));
      break;
    }
    case kCallWrite: {
      const auto got = co_await cache.write(thread, a.process, a.file, page * kPage + 100, kPage, seed);
      RC_ASSERT(got.ok());
      const Content all = Content::pattern(seed, page * kPage + 100, static_cast<std::uint32_t>(got.value));
      if (inside) model.file[page].overwrite(100, all.slice(0, kPage - 100));
      if (got.value > kPage - 100) model.file[page + 1].overwrite(0, all.slice(kPage - 100, 100));
      break;
    }
    case kSync: co_await cache.writeback().sync(thread, a.file); break;
    case kPunch: {
      const std::uint32_t end = std::min(page + count, kPages);
      co_await cache.punch(thread, a.file, page, end);
      for (std::uint32_t i = page; i < end; ++i) model.file[i] = Content::zeros(kPage);
      break;
    }
    case kCut:
      co_await cache.resize(thread, a.file, page);
      for (std::uint32_t i = page; i < kPages; ++i) model.file[i] = Content::zeros(kPage);
      model.pages = page;
      if (count % 2 == 0) {
        co_await cache.resize(thread, a.file, kPages);
        model.pages = kPages;
      }
      break;
    case kPageOut: co_await vm.reclaim().page_out(thread, a.process, range); break;
    case kMove: co_await vm.page_events().migrate(thread, a.process, range, PageEvents::Mover::move_pages); break;
    case kClean: co_await vm.page_events().write_protect(thread, a.process, range); break;
    default:
      co_await vm.madvise(thread, a.process, shared, kPage, os::Advice::dont_need);
      co_await vm.madvise(thread, a.process, own, kPage, os::Advice::dont_need);
      model.own[page].reset();
  }
  co_return true;
}

}  // namespace

TEST_CASE("random use of a file agrees with a model of two lists of pages", "[property]") {
  set_number_of_cases(300);
  OsConfig config;
  config.swap_bytes = 4 * kMiB;
  config.dirty_writeback_interval = 300us;
  config.dirty_expire = 500us;
  OsBench b(config);
  CHECK(rc::check([&] {
    Arena arena(b);
    Model model;
    const auto operations = *rc::gen::arbitrary<std::vector<std::uint32_t>>();
    std::uint64_t seed = 100;
    for (const std::uint32_t drawn : operations) {
      const unsigned what = *rc::gen::inRange(0u, unsigned{kOperations});
      const auto page = *rc::gen::inRange(0u, kPages);
      const auto count = *rc::gen::inRange(1u, kPages - page + 1);
      b.run(apply(arena, model, what, page, count, ++seed));
      for (std::uint32_t i = 0; i < kPages; ++i) {
        if (!(arena.read(arena.shared, i) == model.shared(i))) RC_FAIL("shared page differs");
        if (!(arena.read(arena.own, i) == model.privately(i))) RC_FAIL("private page differs");
      }
      (void)drawn;
    }
    b.vm.audit();
    const auto end = [&]() -> Task<bool> {
      co_await b.vm.exit(b.thread, arena.process);
      co_await b.vm.page_cache().resize(b.thread, arena.file, 0);
      co_return true;
    };
    b.run(end());
    b.vm.audit();
  }));
  CHECK(b.counted("os.nr_written") > 100);
}
