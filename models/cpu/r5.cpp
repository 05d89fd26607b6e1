// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/r5.hpp"

#include <algorithm>

#include "models/cpu/tracks.hpp"

namespace faultline::cpu {

using sim::Frequency;
using sim::Standing;

void R5Config::declare(sim::ParameterTable& table) {
  const auto group = table.group("r5");
  table.add_frequency("clock", clock, sim::kAnyClock,
                      {"of the firmware core; firmware costs are stated at exanest.r5.stated_clock and scale with this",
                       "assumed; the ZynqMP's R5 runs at up to 600 MHz",
                       Standing::assumed,
                       {"500 MHz", "600 MHz"}});
  table.add_frequency("stated_clock", stated_clock, sim::kAnyClock,
                      {"clock of the firmware core that firmware costs are stated for", "", Standing::setting});
}

R5Core::R5Core(sc_core::sc_module_name name, const R5Config& config, const sim::Context& context)
    : sc_module(name),
      scaled_(config.stated_clock, config.clock),
      context_(context),
      busy_(context.statistics.counter("r5.time_busy", "ps", "firmware work accepted by the R5")) {}

sim::Time R5Core::busy() const {
  const sim::Time left = std::max(core_.free() - context_.now(), sim::Time{0});
  return sim::Time{static_cast<std::int64_t>(busy_.value())} - left;
}

sim::Task<void> R5Core::run(sim::Time stated, const char* what) {
  const sim::Time duration = scaled(stated);
  busy_ += static_cast<std::uint64_t>(duration.count());
  const sim::Time done = core_.serve(context_.now(), duration);
  context_.slice(track::kR5, 0, done - duration, done, what, "firmware");
  co_await context_.loop.until(done);
}

}  // namespace faultline::cpu
