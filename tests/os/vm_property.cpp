// SPDX-License-Identifier: Apache-2.0
// Random sequences of operations beside a model of plain maps: same errors, same pages, same contents.
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <map>

#include "tests/os/bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr std::uint64_t kPages = 12;  // of the arena

// A page of the arena as a program knows it.
struct ModelPage {
  bool mapped = false;
  bool locked = false;
  bool present = false;
  std::uint64_t seed = 0;  // of its content, 0: zeros
};

struct Model {
  std::array<ModelPage, kPages> pages;
  std::uint64_t limit;

  std::uint64_t locked() const {
    return static_cast<std::uint64_t>(std::count_if(pages.begin(), pages.end(), [](auto& p) { return p.locked; }));
  }
  template <typename Visit>
  void each(std::uint64_t first, std::uint64_t count, Visit visit) {
    for (std::uint64_t i = first; i < first + count; ++i) visit(pages[i]);
  }
  bool mapped(std::uint64_t first, std::uint64_t count) {
    bool all = true;
    each(first, count, [&](ModelPage& p) { all = all && p.mapped; });
    return all;
  }
  // Up to the first page without VMA, as every populate does.
  Error populate(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = first; i < first + count; ++i) {
      if (!pages[i].mapped) return Error::bad_address;
      pages[i].present = true;
    }
    return Error::none;
  }
  Error lock(std::uint64_t first, std::uint64_t count) {
    if (!mapped(first, count)) return Error::bad_address;
    std::uint64_t added = 0;
    each(first, count, [&](ModelPage& p) { added += p.locked ? 0 : 1; });
    if (locked() + added > limit) return Error::limit;
    each(first, count, [](ModelPage& p) { p.locked = p.present = true; });
    return Error::none;
  }
};

struct Command {
  unsigned kind;
  std::uint64_t first;
  std::uint64_t count;
};

// Runs one command on both; `pins` are those that are held, with their number of pages.
struct Beside {
  OsBench& b;
  Model model;
  VirtualAddress base;
  std::map<os::PinId, std::uint64_t> pins;
  std::uint64_t next_seed = 1;

  void step(const Command& c) {
    const VirtualAddress va = base + c.first * kPage;
    const std::uint64_t bytes = c.count * kPage;
    os::Vm& vm = b.vm;
    Process& p = *b.process;
    switch (c.kind) {
      case 0:
        RC_ASSERT(b.run(vm.munmap(b.thread, p, va, bytes)).value == Error::none);
        model.each(c.first, c.count, [](ModelPage& page) { page = {}; });
        break;
      case 1:
        RC_ASSERT(b.run(vm.touch_range(b.thread, p, va, bytes, true)).value == model.populate(c.first, c.count));
        break;
      case 2: RC_ASSERT(b.run(vm.mlock(b.thread, p, va, bytes)).value == model.lock(c.first, c.count)); break;
      case 3: {
        const Error expected = model.mapped(c.first, c.count) ? Error::none : Error::bad_address;
        RC_ASSERT(b.run(vm.munlock(b.thread, p, va, bytes)).value == expected);
        if (expected == Error::none) model.each(c.first, c.count, [](ModelPage& page) { page.locked = false; });
        break;
      }
      case 4: {
        std::uint64_t held = c.count;
        for (const auto& [id, pages] : pins) held += pages;
        const auto pin = b.run(vm.pin_user_pages(b.thread, p, va, bytes, true)).value;
        const Error expected = held > model.limit ? Error::limit : model.populate(c.first, c.count);
        RC_ASSERT(pin.error == expected);
        if (pin.ok()) pins[pin.value] = c.count;
        break;
      }
      case 5:
        if (pins.empty()) break;
        RC_ASSERT(b.run(vm.unpin(b.thread, pins.begin()->first)).value == Error::none);
        pins.erase(pins.begin());
        break;
      case 6:
        RC_ASSERT(vm.discard(p, va, bytes) == Error::none);
        model.each(c.first, c.count, [](ModelPage& page) { page.present = false, page.seed = 0; });
        break;
      case 7:
        for (std::uint64_t i = c.first; i < c.first + c.count; ++i, ++next_seed) {
          const auto written = vm.fill(p, base + i * kPage, kPage, next_seed);
          RC_ASSERT(written == (model.pages[i].present ? kPage : 0));
          if (written > 0) model.pages[i].seed = next_seed;
        }
        break;
      default:
        // Only a first page without VMA is an error.
        model.populate(c.first, c.count);
        RC_ASSERT(b.run(vm.fault_in_pages(b.thread, p, va, bytes, true)).value.error ==
                  (model.pages[c.first].mapped ? Error::none : Error::bad_address));
    }
  }

  void check(std::uint64_t used_before, std::uint64_t tables_before) {
    std::uint64_t present = 0;
    for (std::uint64_t i = 0; i < kPages; ++i) {
      const ModelPage& page = model.pages[i];
      const VirtualAddress va = base + i * kPage;
      RC_ASSERT(b.present(va) == page.present);
      RC_ASSERT((b.process->space().page(va) != nullptr) == page.present);
      RC_ASSERT((b.process->space().find(va) != nullptr) == page.mapped);
      const auto expected = page.seed == 0 ? sim::Content::zeros(kPage) : sim::Content::pattern(page.seed, 0, kPage);
      RC_ASSERT(b.vm.read(*b.process, va, kPage) == expected);
      present += page.present ? 1 : 0;
    }
    RC_ASSERT(b.process->space().resident_bytes() == present * kPage);
    RC_ASSERT(b.process->space().locked_bytes() == model.locked() * kPage);
    RC_ASSERT(b.vm.locked_bytes() == model.locked() * kPage);
    std::uint64_t pinned = 0;
    for (const auto& [id, pages] : pins) pinned += pages;
    RC_ASSERT(b.vm.pinned_bytes() == pinned * kPage);
    RC_ASSERT(b.process->space().pinned_bytes() == pinned * kPage);
    const auto& frames = b.vm.frames();
    RC_ASSERT(frames.used_pages() + frames.free_pages() == frames.total_pages());
    if (!pins.empty()) return;  // pins keep frames that no mapping has
    RC_ASSERT(b.used() - used_before == present + b.process->page_table().tables() - tables_before);
  }
};

}  // namespace

TEST_CASE("random operations agree with a model of plain maps") {
  OsConfig config;
  config.rlimit_memlock = 9 * kPage;
  OsBench b(config);
  CHECK(rc::check([&b] {
    const auto used = b.used();
    const auto tables = b.process->page_table().tables();
    Beside both{.b = b, .model = {.pages = {}, .limit = 9}, .base = b.map(kPages * kPage), .pins = {}};
    for (ModelPage& page : both.model.pages) page.mapped = true;
    const auto kinds = *rc::gen::container<std::vector<unsigned>>(60, rc::gen::inRange(0u, 30u));
    for (const unsigned kind : kinds) {
      const std::uint64_t first = *rc::gen::inRange<std::uint64_t>(0, kPages);
      const std::uint64_t count = *rc::gen::inRange<std::uint64_t>(1, kPages - first + 1);
      // munmap is rare, or little stays to be looked at.
      both.step({kind == 0 ? 0 : 1 + kind % 8, first, count});
      both.check(used, tables);
    }
    for (const auto& [id, pages] : both.pins) RC_ASSERT(b.run(b.vm.unpin(b.thread, id)).value == Error::none);
    RC_ASSERT(b.run(b.vm.munmap(b.thread, *b.process, both.base, kPages * kPage)).value == Error::none);
    RC_ASSERT(b.used() == used);
  }));
}
