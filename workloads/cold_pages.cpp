// SPDX-License-Identifier: Apache-2.0
#include "workloads/cold_pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/os/files/page_cache.hpp"
#include "models/os/reclaim/reclaim.hpp"
#include "models/sim/failure.hpp"
#include "workloads/stream.hpp"

namespace faultline::workloads {

using os::kPage;
using rdma::Endpoint;
using sim::Task;

ColdKind kind_of_written(ColdKind kind, rdma::Backing backing, std::uint64_t swap_bytes) {
  if (kind != ColdKind::written) return kind;
  if (backing == rdma::Backing::shared_file) return ColdKind::file;
  return swap_bytes > 0 && backing != rdma::Backing::hugetlb ? ColdKind::swapped : ColdKind::never_written;
}

namespace {

constexpr int kAgain = 1'000;  // looks: reclaim is asked again each 100 ms

}  // namespace

Task<void> ColdPages::leave(Endpoint& endpoint, std::uint64_t address, bool cold, ColdKind kind) {
  const os::Range buffer = endpoint.pages_of(address, size_);
  const bool absent = cold && kind == ColdKind::never_written;
  if (!absent || config_.cold_share < 1.0) {
    co_await make_present(endpoint, buffer);
  }
  if (absent) drop(endpoint, address);
}

void ColdPages::drop(Endpoint& endpoint, std::uint64_t address) {
  for (const os::Range& range : choose(endpoint, endpoint.pages_of(address, size_))) {
    check_buffer(endpoint.vm().discard(endpoint.process(), range.begin, range.end - range.begin), "discarding",
                 endpoint.vm());
  }
}

Task<void> ColdPages::put_away(Endpoint& endpoint, cpu::Execution& pager, std::uint64_t address, ColdKind kind) {
  os::Vm& vm = endpoint.vm();
  os::Process& process = endpoint.process();
  const std::vector<os::Range> ranges = choose(endpoint, endpoint.pages_of(address, size_));
  for (const os::Range& range : ranges) {
    const std::uint64_t bytes = range.end - range.begin;
    if (kind == ColdKind::zero_page) {
      check_buffer(vm.discard(process, range.begin, bytes), "discarding", endpoint.vm());
      check_buffer(co_await vm.touch_range(pager, process, range.begin, bytes, /*write=*/false), "reading",
                   endpoint.vm());
      continue;
    }
    // Of a file only what is clean can go.
    if (kind == ColdKind::file)
      co_await vm.page_cache().writeback().sync(pager, *process.space().find(range.begin)->file);
    // As reclaim takes them: MADV_PAGEOUT is younger than some kernels, and refuses locked pages, which reclaim keeps.
    const bool locked = process.space().locked_bytes(range.begin, range.end) > 0;
    check_buffer(locked ? os::Error::invalid : os::Error::none, "paging out", endpoint.vm());
    co_await vm.reclaim().page_out(pager, process, range);
  }
  if (kind != ColdKind::zero_page) co_await have_gone(endpoint, pager, ranges);
}

// The swap device may take its time. And a page that the kernel was reading, or bringing for a fault, could not go.
Task<void> ColdPages::have_gone(Endpoint& endpoint, cpu::Execution& pager, const std::vector<os::Range>& ranges) {
  os::Vm& vm = endpoint.vm();
  int waited = 0;
  for (const os::Range& range : ranges) {
    for (os::VirtualAddress va = range.begin; va < range.end; va += kPage) {
      for (; vm.is_in_core(endpoint.process(), va); ++waited) {
        if (waited == kLooks) {
          throw sim::RunFailure(
              fmt::format("node {}: the kernel keeps pages of a cold buffer in memory", endpoint.node()),
              {"workload.cold_source_kind", "workload.cold_destination_kind", "os.swap_bytes",
               "strategy.registration"});
        }
        if (waited % kAgain == kAgain - 1) co_await vm.reclaim().page_out(pager, endpoint.process(), range);
        co_await vm.context().loop.delay(kBetweenLooks);
      }
    }
  }
}

// The pages of the buffer that are absent, as ranges. A huge page comes and goes as a whole.
std::vector<os::Range> ColdPages::choose(Endpoint& endpoint, os::Range buffer) {
  if (config_.cold_share == 0.0) return {};
  if (config_.cold_share == 1.0) return {buffer};
  const os::AddressSpace& space = endpoint.process().space();
  std::vector<std::uint64_t> begins;
  for (std::uint64_t page = buffer.begin; page < buffer.end; page += kPage) {
    const bool goes_on = page % os::kHugePage != 0 && space.is_huge(page) && !begins.empty() &&
                         begins.back() / os::kHugePage == page / os::kHugePage;
    if (!goes_on) begins.push_back(page);
  }
  begins.push_back(buffer.end);
  const std::vector<bool> chosen = choose(begins.size() - 1);
  std::vector<os::Range> ranges;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) ranges.push_back({begins[i], begins[i + 1]});
  }
  return ranges;
}

// Exactly cold_share of the pages where that is a whole number, else now one more, now one less, so that the
// mean is right. Compared as integers, so that the choice is the same on every machine.
std::uint64_t ColdPages::count(std::uint64_t pages) {
  constexpr std::uint64_t kOne = 1'000'000'000;
  const auto share = static_cast<std::uint64_t>(std::llround(config_.cold_share * static_cast<double>(kOne)));
  std::uint64_t wanted = share * pages / kOne;
  if (draws_.is_below(share * pages % kOne, kOne)) ++wanted;
  return wanted;
}

std::vector<bool> ColdPages::choose(std::uint64_t pages) {
  const std::uint64_t wanted = count(pages);
  std::vector<bool> chosen(pages);
  switch (config_.cold_placement) {
    case ColdPlacement::random:
      for (std::uint64_t i = 0, left = wanted; i < pages; ++i) {
        chosen[i] = draws_.is_below(left, pages - i);
        if (chosen[i]) --left;
      }
      break;
    case ColdPlacement::even:
      for (std::uint64_t i = 0; i < pages; ++i) chosen[i] = (i + 1) * wanted / pages > i * wanted / pages;
      break;
    case ColdPlacement::run:
      const auto first = static_cast<std::ptrdiff_t>(draws_.below(pages - wanted + 1));
      std::fill_n(chosen.begin() + first, wanted, true);
      break;
  }
  return chosen;
}

}  // namespace faultline::workloads
