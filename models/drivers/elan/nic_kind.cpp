// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/elan/nic_kind.hpp"

#include <fmt/format.h>

#include "models/drivers/elan/instruments.hpp"
#include "models/drivers/elan/steps.hpp"
#include "models/drivers/library/instruments.hpp"
#include "models/drivers/library/limits.hpp"
#include "models/nic/elan/instruments.hpp"

namespace faultline::elan {

using rdma::NicLimit;

const sim::TransferLife& NicKind::life() const { return kTransferLife; }

bool NicKind::translates(const rdma::Translation& t) const { return t.loaded; }

bool NicKind::answers(const rdma::AbsentPage& answer, rdma::End end) const {
  return end == rdma::End::source ? answer.parks : answer.naks;
}

// Its accesses do not go through the SMMU, whose line may still be used by others.
std::vector<sim::Conflict> NicKind::conflicts(const Surroundings& around) const {
  std::vector<sim::Conflict> all;
  if (config.engine.interrupt_line == around.smmu_interrupt_line) {
    all.push_back({{"elan.interrupt_line", "smmu.interrupt_line"},
                   fmt::format("the NIC and the SMMU have the interrupt line {} both", around.smmu_interrupt_line),
                   "give them different lines"});
  }
  if (config.engine.nak_back_off > config.engine.nak_back_off_limit) {
    all.push_back(
        {{"elan.nak_back_off", "elan.nak_back_off_limit"},
         fmt::format("the first back-off, {}, is longer than the longest, {}",
                     sim::format_time(config.engine.nak_back_off), sim::format_time(config.engine.nak_back_off_limit)),
         "raise elan.nak_back_off_limit; with both the same the back-off does not grow"});
  }
  return all;
}

std::unique_ptr<rdma::Nic> NicKind::make(const Surroundings& around, const sim::Context& context) const {
  NicConfig own = config;
  library::know_neighbours(own.engine, around);
  return std::make_unique<Nic>(own, context);
}

NicLimit NicKind::most_endpoints(const Surroundings&) const {
  return {config.engine.channels, {"elan.channels"}, "a channel", fmt::format("{}", config.engine.channels)};
}

NicLimit NicKind::most_posted() const { return library::most_posted(config.engine, "elan.channel_queue"); }

std::span<const sim::CounterMetric> NicKind::metrics() const { return kMetrics; }

std::vector<const sim::BusyPart*> NicKind::busy_parts() const { return {&kProcessorBusy, &library::kFaultThreadBusy}; }

const char* NicKind::faults_recorded() const { return kFaultsRecorded; }

std::span<const char* const> NicKind::faults_handled() const { return kFaultsHandled; }

std::optional<sim::RunFailure> NicKind::lost_for_good(const CounterValue& total) const {
  return library::lost_for_good(total, {"elan.retry_limit", "elan.block_timeout"});
}

std::vector<std::string> NicKind::keys_of_delay() const {
  return {"elan.block_timeout", "elan.retry_limit", "elan.nak_back_off", "elan.nak_limit"};
}
std::vector<std::string> NicKind::keys_of_failure() const { return {"elan.nak_limit", "elan.retry_limit"}; }

}  // namespace faultline::elan
