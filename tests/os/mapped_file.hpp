// SPDX-License-Identifier: Apache-2.0
// A file that the bench's process maps, and what the disk takes for it.
#pragma once

#include "models/os/reclaim/reclaim.hpp"
#include "tests/support/os_bench.hpp"

namespace faultline::test {

using os::File;
using os::FileReader;
using os::LruList;
using os::Range;
using sim::Content;

inline constexpr std::uint64_t kFileSeed = 11;

// A mapped file of which nothing is in memory.
struct MappedFile {
  MappedFile(OsBench& bench, std::uint64_t pages, bool shared, std::uint64_t seed = kFileSeed)
      : b(bench),
        file(*b.vm.page_cache().create(pages * kPage, seed)),
        va(b.map(pages * kPage, {.file = &file, .shared = shared})) {}

  Timed<Error> touch(std::uint64_t page, bool write) {
    return b.run(b.vm.touch(b.thread, *b.process, va + page * kPage, write));
  }
  bool mapped(std::uint64_t page) const { return b.present(va + page * kPage); }
  bool writable(std::uint64_t page) const { return (b.walk(va + page * kPage)->descriptor & 0x80) == 0; }
  memory::Address frame(std::uint64_t page) const { return file.find(static_cast<std::uint32_t>(page))->frame; }
  os::FrameRecord record(std::uint64_t page) const { return b.vm.frame_record(frame(page)); }
  Content page_content(std::uint64_t page) const { return b.vm.read(*b.process, va + page * kPage, kPage); }
  Range range(std::uint64_t begin, std::uint64_t end) const { return {va + begin * kPage, va + end * kPage}; }

  OsBench& b;
  File& file;
  VirtualAddress va;
};

inline Time reading(const OsBench& b, std::uint64_t pages) {
  return b.config.disk_read_latency + b.config.disk_bandwidth.time_for(pages * kPage);
}

inline Time writing(const OsBench& b, std::uint64_t pages) {
  return b.config.disk_write_latency + b.config.disk_bandwidth.time_for(pages * kPage);
}

// An operation that cannot fail.
inline Task<bool> done(Task<void> operation) {
  co_await std::move(operation);
  co_return true;
}

inline Content on_disk(std::uint64_t page, std::uint64_t pages = 1) {
  return Content::pattern(kFileSeed, page * kPage, static_cast<std::uint32_t>(pages * kPage));
}

}  // namespace faultline::test
