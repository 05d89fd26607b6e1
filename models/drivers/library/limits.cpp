// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/library/limits.hpp"

#include <fmt/format.h>

#include <utility>

#include "models/nic/path/cells.hpp"
#include "models/nic/path/instruments.hpp"
#include "models/nic/path/registers.hpp"
#include "models/rdma/completion/polled_word.hpp"

namespace faultline::library {

void know_neighbours(nic::PathConfig& config, const rdma::NicKind::Surroundings& around) {
  config.clock = around.axi.pl_clock;
  config.neighbours.outstanding_reads = around.axi.outstanding_reads;
  config.neighbours.outstanding_writes = around.axi.outstanding_writes;
  config.neighbours.router_cells = around.router.injection_cells;
}

rdma::NicLimit most_posted(const nic::PathConfig& config, const char* key) {
  constexpr unsigned kWords = rdma::PolledWord::kWords;
  const unsigned queue = config.channel_queue;
  if (queue <= kWords) return {queue, {key}, "a channel's queue", fmt::format("{}", queue)};
  return {kWords, {}, "the library's page of notification words", fmt::format("{}", kWords)};
}

std::uint64_t bytes_of_notices(const LibraryConfig& config, rdma::NoticeKind kind, unsigned words) {
  if (kind == rdma::NoticeKind::word) return nic::reg::kNoticeWordBytes * words;
  return kind == rdma::NoticeKind::queue ? nic::reg::kEventBytes * config.event_entries : 0;
}

bool is_one_cell(std::uint64_t source_offset, std::uint64_t destination_offset, std::uint64_t bytes) {
  if (bytes > sim::kCellBytes) return false;
  return nic::next_run(source_offset, destination_offset, 0, static_cast<std::uint32_t>(bytes), 1).bytes() == bytes;
}

std::vector<rdma::NicKind::Signal> signals_of(const nic::PathConfig& config) {
  std::vector<rdma::NicKind::Signal> all;
  const auto [channel, name] = nic::kChannelSignal;
  for (unsigned number = 0; number < config.channels; ++number) all.push_back({channel, name, number});
  for (const sim::SignalInfo& signal : nic::kSignals) all.push_back({signal.kind, signal.name, 0});
  return all;
}

namespace {

// Messages that have left a node and reached no mailbox. A lower bound: messages that were refused before they left are
// subtracted, too.
std::int64_t lost_messages(const rdma::NicKind::CounterValue& total, const std::vector<const char*>& refused) {
  std::uint64_t lost = total("dma.messages_sent");
  for (const char* arrived :
       {"dma.messages_received", "dma.messages_dropped", "dma.firmware_messages", "dma.firmware_overflows"}) {
    lost -= total(arrived);
  }
  for (const char* counter : refused) lost -= total(counter);
  return static_cast<std::int64_t>(lost);
}

}  // namespace

std::optional<sim::RunFailure> lost_for_good(const rdma::NicKind::CounterValue& total, std::vector<std::string> keys,
                                             const std::vector<const char*>& refused) {
  if (const std::uint64_t lost = total("dma.notifications_lost"); lost > 0) {
    return sim::RunFailure(fmt::format("programs wait for ever: {} notifications of a transfer's end met a fault until "
                                       "no retry was left",
                                       lost),
                           std::move(keys));
  }
  if (const std::uint64_t lost = total("dma.notices_lost"); lost > 0) {
    return sim::RunFailure(
        fmt::format("programs wait for ever: {} notices of writes met a fault until no retry was left", lost),
        std::move(keys));
  }
  if (const std::int64_t lost = lost_messages(total, refused); lost > 0 && total("network.lost_cells") > 0) {
    return sim::RunFailure(fmt::format("programs wait for ever: nobody sends a program's messages again, and {} of all "
                                       "messages were lost on failed links",
                                       lost),
                           {"network.failures"});
  }
  return std::nullopt;
}

}  // namespace faultline::library
