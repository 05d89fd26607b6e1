// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/exanest/instruments.hpp"

#include <fmt/format.h>

namespace faultline::exanest {
namespace {

// Messages that have left a node and reached no mailbox. A lower bound: messages that were refused before they left are
// subtracted, too.
std::int64_t lost_messages(const CounterValue& total) {
  std::uint64_t lost = total("dma.messages_sent");
  for (const char* arrived : {"dma.messages_received", "dma.messages_dropped", "dma.firmware_messages",
                              "dma.firmware_overflows", "dma.rapf_ignored", "dma.rapf_lost"}) {
    lost -= total(arrived);
  }
  return static_cast<std::int64_t>(lost);
}

}  // namespace

std::optional<sim::RunFailure> lost_for_good(const CounterValue& total) {
  if (const std::uint64_t lost = total("dma.notifications_lost"); lost > 0) {
    return sim::RunFailure(fmt::format("programs wait for ever: {} notifications of a transfer's end met a fault until "
                                       "no retry was left",
                                       lost),
                           {"exanest.retry_limit", "exanest.block_timeout", "smmu_driver.hupcf"});
  }
  if (const std::uint64_t lost = total("dma.notices_lost"); lost > 0) {
    return sim::RunFailure(
        fmt::format("programs wait for ever: {} notices of writes met a fault until no retry was left", lost),
        {"exanest.retry_limit", "exanest.block_timeout", "smmu_driver.hupcf"});
  }
  if (const std::int64_t lost = lost_messages(total); lost > 0 && total("network.lost_cells") > 0) {
    return sim::RunFailure(fmt::format("programs wait for ever: nobody sends a program's messages again, and {} of all "
                                       "messages were lost on failed links",
                                       lost),
                           {"network.failures"});
  }
  return std::nullopt;
}

}  // namespace faultline::exanest
