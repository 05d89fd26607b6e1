// SPDX-License-Identifier: Apache-2.0
// Pages that reclaim unmaps together: since 6.6 TLBs are waited for once. Those of a migration: migration.cpp.
#include "tests/os/mapped_file.hpp"

using namespace faultline;
using namespace faultline::test;
using os::KernelVersion;

namespace {

constexpr std::int64_t kTogether = PresentPages::kPages;
constexpr KernelVersion kBefore = KernelVersion::linux_6_1;
constexpr KernelVersion kSince = KernelVersion::linux_6_6;

// What a thread pays that pages out four pages, written since they came to memory or not, of a file or its own, and how
// often it waits for TLBs in each.
struct PagedOut {
  explicit PagedOut(KernelVersion version) : b(config(version)) {}
  static OsConfig config(KernelVersion version) {
    OsConfig config = of_kernel(version);
    config.swap_bytes = 64 * kMiB;
    return config;
  }
  Time page_out(os::Range range) {
    used = b.used();
    const auto out = b.run(b.vm.reclaim().page_out(b.thread, *b.process, range));
    CHECK(out.value == kTogether);
    b.vm.audit();
    return out.took;
  }
  // Four pages of five: the table stays.
  Time of_file() {
    MappedFile f(b, 5, /*shared=*/true);
    for (unsigned i = 0; i < 5; ++i) f.touch(i, false);
    return page_out(f.range(0, kTogether));
  }
  Time written() {
    const PresentPages pages(b);
    return page_out(pages.range());
  }
  Time unwritten() {
    const PresentPages pages(b);
    page_out(pages.range());
    for (std::uint64_t i = 0; i < kTogether; ++i) {
      REQUIRE(b.run(b.vm.touch(b.thread, *b.process, pages.va + i * kPage, false)).value == Error::none);
    }
    waits.finished_at.clear();
    return page_out(pages.range());
  }
  Time each() const { return b.config.reclaim_page + b.config.cpu_tlbi; }

  OsBench b;
  Listener waits{b, 0ns};
  std::uint64_t used = 0;
};

}  // namespace

TEST_CASE("6.1: reclaim waits for TLBs page by page", "[batched-unmapping]") {
  PagedOut of(kBefore);
  CHECK(of.of_file() == kTogether * (of.each() + of.b.config.cpu_dsb));
  CHECK(of.written() == kTogether * (of.each() + of.b.config.cpu_dsb));
  CHECK(of.waits.finished_at.empty());
}

TEST_CASE("6.6: reclaim waits for TLBs once for pages of a file, and frees them after that", "[batched-unmapping]") {
  PagedOut of(kSince);
  CHECK(of.of_file() == kTogether * of.each() + of.b.config.cpu_dsb);
  CHECK(of.waits.finished_at.size() == 1);
  CHECK(of.waits.used_at_end == of.used);
  CHECK(of.b.used() == of.used - kTogether);
}

TEST_CASE("6.6: reclaim waits for TLBs once for pages that the swap device has already") {
  PagedOut of(kSince);
  CHECK(of.unwritten() == kTogether * of.each() + of.b.config.cpu_dsb);
  CHECK(of.waits.finished_at.size() == 1);
  CHECK(of.waits.used_at_end == of.used);
}

TEST_CASE("6.6: before a page is written TLBs have forgotten it") {
  PagedOut of(kSince);
  CHECK(of.written() == kTogether * (of.each() + of.b.config.cpu_dsb));
  CHECK(of.waits.finished_at.size() == kTogether);
}
