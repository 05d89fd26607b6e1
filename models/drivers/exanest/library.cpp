// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/exanest/library.hpp"

#include "models/drivers/exanest/steps.hpp"
#include "models/nic/exanest/registers.hpp"

namespace faultline::exanest {

sim::Task<void> Library::request_retry(cpu::Execution& thread, sim::NodeId node, sim::PartKey key, bool faulted) {
  const std::array<std::uint64_t, 3> words{faulted ? reg::kRetransmit : reg::kResend, key.transfer,
                                           key.part | std::uint64_t{key.attempt} << 32};
  co_await send_to_nic(thread, config_.post_retry, node, words, 3);
  context_.report(step::kRetryRequested, key);
}

sim::Task<void> Library::request_abort(cpu::Execution& thread, sim::NodeId node, std::uint64_t transfer) {
  const std::array<std::uint64_t, 3> words{reg::kAbort, transfer, 0};
  co_await send_to_nic(thread, config_.post_retry, node, words, 2);
}

}  // namespace faultline::exanest
