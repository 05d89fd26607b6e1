// SPDX-License-Identifier: Apache-2.0
// What happens between two steps of a transfer's life: the rows of the fault breakdown, the slices of a trace.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "models/sim/trace.hpp"

namespace faultline::trace {

// Who is at work.
enum class Worker : std::uint8_t { library, firmware, engine, network, kernel, fault_thread };
inline constexpr unsigned kWorkers = 6;
const char* to_string(Worker worker);

// From the step before up to this one.
struct Phase {
  sim::Step step;
  Worker worker;
  const char* name;
  const char* description;
  const char* parameters;  // that the time is made of, where it is made of parameters
};

std::span<const Phase> phases();
// nullptr: the step begins a chain, or belongs to none.
const Phase* phase_to(sim::Step step);
// " (resend)", " (resend 2)"; of the first attempt nothing.
std::string resend_text(std::uint32_t attempt);
bool is_of_a_message(sim::Step step);

}  // namespace faultline::trace
