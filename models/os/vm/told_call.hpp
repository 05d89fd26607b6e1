// SPDX-License-Identifier: Apache-2.0
// Tells timelines of a call of the kernel, from its begin to the end of its scope.
#pragma once

#include <string_view>

#include "models/os/tracks.hpp"
#include "models/os/vm/page_table.hpp"
#include "models/os/vm/process.hpp"
#include "models/sim/context.hpp"

namespace faultline::os {

class ToldCall {
 public:
  // `name` outlives it; it may be about memory of the process.
  ToldCall(const sim::Context& context, const Process& process, std::string_view name, VirtualAddress address = 0,
           std::uint64_t bytes = 0)
      : context_(context),
        process_(process.id()),
        name_(name),
        range_{sim::page_begin(address), sim::page_end(address + bytes)},
        begin_(context.now()) {}
  ToldCall(const ToldCall&) = delete;
  ToldCall& operator=(const ToldCall&) = delete;
  ~ToldCall() {
    if (context_.trace.records()) tell();
  }

 private:
  void tell() const;

  const sim::Context& context_;
  const std::uint16_t process_;
  const std::string_view name_;
  const Range range_;
  const sim::Time begin_;
};

}  // namespace faultline::os
