// SPDX-License-Identifier: Apache-2.0
// Tells timelines of a call of the kernel, or of what a thread waits for in one, from its begin to the end of its
// scope. Where nobody records it allocates nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "models/cpu/execution.hpp"
#include "models/os/tracks.hpp"
#include "models/os/vm/page_table.hpp"
#include "models/os/vm/process.hpp"
#include "models/sim/context.hpp"

namespace faultline::os {

class ToldCall {
 public:
  // By `thread`, for `process`. `address` and `bytes`: the memory that it is about; 0: none. All that is named outlives
  // it.
  ToldCall(const sim::Context& context, const cpu::Execution& thread, const Process& process, std::string_view name,
           VirtualAddress address = 0, std::uint64_t bytes = 0)
      : ToldCall(context, thread, process.id(), name, nullptr) {
    range_ = {sim::page_begin(address), sim::page_end(address + bytes)};
  }
  // A wait, whose name begins with kWait. `holder`: who held what is waited for when the wait began; nullptr: several,
  // or nobody known.
  ToldCall(const sim::Context& context, const cpu::Execution& thread, std::uint16_t process, std::string_view name,
           const cpu::Execution* holder)
      : context_(context), thread_(thread), process_(process), name_(name), holder_(holder), begin_(context.now()) {}
  ToldCall(const ToldCall&) = delete;
  ToldCall& operator=(const ToldCall&) = delete;
  ~ToldCall() {
    if (context_.trace.records()) tell();
  }

  static constexpr std::string_view kWait = "wait for ";
  static constexpr std::string_view kPageFault = "page fault";
  static constexpr std::string_view kReclaim = "direct reclaim";
  // With which the category of each slice for the process begins; the thread's name follows.
  static std::string category_of(std::uint32_t process);

 private:
  void tell() const;

  const sim::Context& context_;
  const cpu::Execution& thread_;
  const std::uint16_t process_;
  const std::string_view name_;
  const cpu::Execution* const holder_;
  Range range_{};
  const sim::Time begin_;
};

}  // namespace faultline::os
