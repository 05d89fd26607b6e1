// SPDX-License-Identifier: Apache-2.0
// A process with a pin-down cache, a private table that its pins fill, and a few buffers.
#pragma once

#include <rapidcheck.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/rdma/strategy.hpp"
#include "tests/support/os_bench.hpp"

namespace faultline::test {

using rdma::Buffer;

inline constexpr std::uint64_t kBuffers = 6;
inline constexpr std::uint64_t kPagesEach = 2;  // of a buffer, at most
inline constexpr std::uint64_t kBudget = 6;     // pages

// Any of so many, in the first cases, too, where rapidcheck would begin with the lowest.
inline std::uint64_t below(std::uint64_t count) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint64_t>(0, count));
}

struct CacheBench : OsBench {
  // `further`: parameters of the strategy.
  using Further = std::vector<std::pair<const char*, sim::ParameterValue>>;
  explicit CacheBench(const char* emptied_by, double coverage = 1, std::uint64_t budget = kBudget,
                      const Further& further = {})
      : OsBench(limits()) {
    rdma::Strategy strategy;
    strategy.registration = "pin-cache";
    sim::ParameterTable parameters;
    strategy.declare(parameters);
    parameters.find("strategy.pin_cache.budget")->set(std::to_string(budget * kPage) + " B");
    parameters.find("strategy.pin_cache.emptied_by")->set(std::string(emptied_by));
    parameters.find("strategy.pin_cache.hook_coverage")->set(coverage);
    for (const auto& [name, value] : further) parameters.find(name)->set(value);
    strategy.translate = "private";
    CHECK(rdma::conflicts(strategy).empty());
    table = vm.create_private_table(*process).value;
    cache = strategy.registration->open({cpu, vm, *process, table, strategy.unpin});
    for (std::uint64_t i = 0; i < kBuffers; ++i) addresses.push_back(map(kPagesEach * kPage, aligned()));
  }
  static OsConfig limits() {
    OsConfig config;
    config.rlimit_memlock = kMiB;
    config.khugepaged = false;
    config.thp = os::ThpMode::never;
    return config;
  }
  static os::MmapOptions aligned() {
    os::MmapOptions options;
    options.alignment = kHugePage;
    return options;
  }
  Buffer buffer(std::uint64_t which, std::uint64_t pages = kPagesEach, std::uint64_t first = 0) const {
    return {addresses[which] + first * kPage, pages * kPage - 8};
  }
  Error acquire(Buffer which) { return run(cache->acquire(thread, which, true)).value; }
  Error release(Buffer which) { return run(cache->release(thread, which)).value; }
  // Unmaps the buffer and maps another, which the kernel puts at the same place.
  void remap(std::uint64_t which) {
    const os::Range pages = buffer(which).pages();
    run([](CacheBench& b, os::Range range) -> Task<bool> {
      co_await b.cache->unmapping(b.thread, range);
      co_return co_await b.vm.munmap(b.thread, *b.process, range.begin, range.end - range.begin) == Error::none;
    }(*this, pages));
    const VirtualAddress again = map(kPagesEach * kPage, aligned());
    REQUIRE(again == addresses[which]);
  }
  // Whether the device finds the program's own frames at all pages of the buffer, which must be acquired.
  bool is_right(Buffer which) const {
    for (VirtualAddress va = which.address; va < which.pages().end; va += kPage) {
      const auto physical = table->table().translate(va);
      if (!physical || physical != process->page_table().translate(va)) return false;
    }
    return true;
  }

  os::PrivateTable* table = nullptr;
  std::unique_ptr<rdma::Registration> cache;
  std::vector<VirtualAddress> addresses;
};

}  // namespace faultline::test
