// SPDX-License-Identifier: Apache-2.0
// Completion by a polled word: the device writes a word of the process's memory when a transfer has ended, and the
// program's loads see it. Nothing of it enters the kernel.
#pragma once

#include <cstdint>
#include <functional>

#include "models/cpu/cpu.hpp"
#include "models/os/vm/vm.hpp"
#include "models/sim/task.hpp"

namespace faultline::rdma {

class PolledWord {
 public:
  // Transfers under way of one process: each has a word of its own in the page.
  static constexpr unsigned kWords = 512;

  // `page`: mapped by the process, present and kept so. `written`: told when a device has written it.
  PolledWord(cpu::Cpu& cpu, const os::Vm& vm, const os::Process& process, std::uint64_t page, sim::Signal& written)
      : cpu_(cpu), vm_(vm), process_(process), page_(page), written_(written) {}

  std::uint64_t page() const { return page_; }
  // Where the device writes the word of the n-th transfer.
  std::uint64_t address(std::uint64_t n) const { return page_ + 8 * (n % kWords); }
  std::uint64_t load(std::uint64_t n) const { return vm_.read(process_, address(n), 8).word(0); }
  // Polls until the word of the n-th transfer is what is awaited.
  sim::Task<void> poll(cpu::Execution& thread, std::uint64_t n, std::function<bool(std::uint64_t word)> awaited) const {
    const std::function<bool()> arrived = [this, n, &awaited] { return awaited(load(n)); };
    co_await cpu_.poll(thread, written_, arrived);
  }

 private:
  cpu::Cpu& cpu_;
  const os::Vm& vm_;
  const os::Process& process_;
  std::uint64_t page_;
  sim::Signal& written_;
};

static_assert(PolledWord::kWords * std::uint64_t{8} <= os::kPage);

}  // namespace faultline::rdma
