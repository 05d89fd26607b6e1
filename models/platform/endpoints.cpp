// SPDX-License-Identifier: Apache-2.0
#include "models/platform/endpoints.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/drivers/exanest/endpoint.hpp"
#include "models/nic/exanest/cells.hpp"
#include "models/nic/exanest/registers.hpp"

namespace faultline::platform {

std::unique_ptr<rdma::Endpoint> open_endpoint(Node& node, const Machine& machine, const rdma::Strategy& strategy,
                                              const rdma::ProgramMemory& memory, const std::string& name,
                                              rdma::End end) {
  const exanest::Endpoint::Device device{
      node.smmu_driver, node.faults, node.ddr, node.engine, node.events, kEngineBase, machine.engine.channels};
  // Where none is free the endpoint says so.
  const unsigned channel = node.channels.take().value_or(machine.engine.channels);
  auto endpoint = std::make_unique<exanest::Endpoint>(strategy, machine.library,
                                                      rdma::Endpoint::Host{node.context, node.cpu, node.vm, memory},
                                                      device, name, channel, end);
  ++node.endpoints;
  endpoint->on_closed = [&node, channel] { node.channels.give_back(channel); };
  return endpoint;
}

std::string NicLimit::named() const { return fmt::format("{}", fmt::join(keys, " and ")); }

std::vector<std::string> NicLimit::keys_behind(std::vector<std::string> others) const {
  others.insert(others.end(), keys.begin(), keys.end());
  return others;
}

NicLimit most_endpoints(const Machine& machine) {
  return {std::min(machine.engine.channels, machine.smmu.context_banks),
          {"exanest.channels", "smmu.context_banks"},
          "a channel and a context bank",
          fmt::format("{} and {}", machine.engine.channels, machine.smmu.context_banks)};
}

NicLimit most_posted(const Machine& machine) {
  const unsigned queue = machine.engine.channel_queue;
  constexpr unsigned kWords = rdma::PolledWord::kWords;
  if (queue <= kWords) return {queue, {"exanest.channel_queue"}, "a channel's queue", fmt::format("{}", queue)};
  return {kWords, {}, "the library's page of notification words", fmt::format("{}", kWords)};
}

std::uint64_t bytes_of_notices(const Machine& machine, rdma::NoticeKind kind, unsigned words) {
  if (kind == rdma::NoticeKind::word) return exanest::reg::kNoticeWordBytes * words;
  return kind == rdma::NoticeKind::queue ? exanest::reg::kEventBytes * machine.library.event_entries : 0;
}

// A cell is written whole; where several are, one of them may meet a fault.
bool is_placed_in_order(std::uint64_t source_offset, std::uint64_t destination_offset, std::uint64_t bytes) {
  return bytes <= sim::kCellBytes &&
         exanest::next_run(source_offset, destination_offset, 0, static_cast<std::uint32_t>(bytes), 1).bytes() == bytes;
}

unsigned most_waiting_messages() { return exanest::Library::kMailboxSlots; }

}  // namespace faultline::platform
