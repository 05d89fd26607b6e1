// SPDX-License-Identifier: Apache-2.0
// Tells timelines of a call of the kernel, or of what a thread waits for in one, from its begin to the end of its
// scope. Where nobody records it allocates nothing.
#pragma once

#include <string_view>

#include "models/cpu/execution.hpp"
#include "models/os/tracks.hpp"
#include "models/os/vm/page_table.hpp"
#include "models/os/vm/process.hpp"
#include "models/sim/context.hpp"

namespace faultline::os {

class ToldCall {
 public:
  // By `thread`, for `process`; it may be about memory of the process. All that is named outlives it.
  ToldCall(const sim::Context& context, const cpu::Execution& thread, const Process& process, std::string_view name,
           VirtualAddress address = 0, std::uint64_t bytes = 0)
      : ToldCall(context, thread, process.id(), name, nullptr) {
    range_ = {sim::page_begin(address), sim::page_end(address + bytes)};
  }
  // A wait for what `holder` holds; nullptr: nobody in particular. Names of waits begin with kWait.
  ToldCall(const sim::Context& context, const cpu::Execution& thread, std::uint16_t process, std::string_view name,
           const cpu::Execution* holder)
      : context_(context), thread_(thread), process_(process), name_(name), holder_(holder), begin_(context.now()) {}
  ToldCall(const ToldCall&) = delete;
  ToldCall& operator=(const ToldCall&) = delete;
  ~ToldCall() {
    if (context_.trace.records()) tell();
  }

  static constexpr std::string_view kWait = "wait for ";

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
