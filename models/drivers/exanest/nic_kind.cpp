// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/exanest/nic_kind.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/drivers/exanest/instruments.hpp"
#include "models/drivers/exanest/steps.hpp"
#include "models/drivers/library/instruments.hpp"
#include "models/drivers/library/limits.hpp"
#include "models/nic/exanest/instruments.hpp"

namespace faultline::exanest {

using rdma::NicLimit;

const sim::TransferLife& NicKind::life() const { return kTransferLife; }

bool NicKind::translates(const rdma::Translation& t) const { return !t.loaded; }

bool NicKind::answers(const rdma::AbsentPage& answer, rdma::End) const { return !answer.parks && !answer.naks; }

std::vector<sim::Conflict> NicKind::conflicts(const Surroundings& around) const {
  if (config.engine.interrupt_line != around.smmu_interrupt_line) return {};
  return {{{"exanest.interrupt_line", "smmu.interrupt_line"},
           fmt::format("the DMA engine and the SMMU have the interrupt line {} both", around.smmu_interrupt_line),
           "give them different lines"}};
}

std::unique_ptr<rdma::Nic> NicKind::make(const Surroundings& around, const sim::Context& context) const {
  NicConfig own = config;
  library::know_neighbours(own.engine, around);
  return std::make_unique<Nic>(own, context);
}

NicLimit NicKind::most_endpoints(const Surroundings& around) const {
  return {std::min(config.engine.channels, around.context_banks),
          {"exanest.channels", "smmu.context_banks"},
          "a channel and a context bank",
          fmt::format("{} and {}", config.engine.channels, around.context_banks)};
}

NicLimit NicKind::most_posted() const { return library::most_posted(config.engine, "exanest.channel_queue"); }

std::vector<const sim::BusyPart*> NicKind::busy_parts() const { return {&kFirmwareBusy, &library::kFaultThreadBusy}; }

const char* NicKind::faults_recorded() const { return kFaultsRecorded; }

std::span<const char* const> NicKind::faults_handled() const { return kFaultsHandled; }

std::optional<sim::RunFailure> NicKind::lost_for_good(const CounterValue& total) const {
  return library::lost_for_good(total, {"exanest.retry_limit", "exanest.block_timeout", "smmu_driver.hupcf"},
                                {"dma.rapf_ignored", "dma.rapf_lost"});
}

std::vector<std::string> NicKind::keys_of_delay() const { return {kKeysOfDelay.begin(), kKeysOfDelay.end()}; }
std::vector<std::string> NicKind::keys_of_failure() const { return {kKeysOfFailure.begin(), kKeysOfFailure.end()}; }

}  // namespace faultline::exanest
