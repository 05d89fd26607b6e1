// SPDX-License-Identifier: Apache-2.0
#include "models/soc/axi_train.hpp"

#include <utility>

#include "models/soc/axi.hpp"

namespace faultline::soc {

using sim::Train;

namespace {

void set_access(tlm::tlm_generic_payload& payload, tlm::tlm_command command, std::uint64_t address) {
  const std::uint32_t bytes = sim::train_of(payload).bytes();
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_length(bytes);
  payload.set_streaming_width(bytes);
}

}  // namespace

tlm::tlm_generic_payload& part_train(tlm::tlm_generic_payload& payload, std::uint32_t first,
                                     sim::PayloadPool& payloads) {
  Train& train = sim::train_of(payload);
  const std::uint32_t bytes = first * train.cell_bytes;
  tlm::tlm_generic_payload& payload_of_rest = payloads.acquire();
  Train& rest = sim::train_of(payload_of_rest);
  rest.times = train.times.suffix(first);
  rest.cell_bytes = train.cell_bytes;
  if (payload.is_write() && !train.content.empty()) {
    rest.content = train.content.slice(bytes, rest.bytes());
    train.content = train.content.slice(0, bytes);
  }
  train.times.drop_back(rest.cells());
  sim::extension<AxiAttributes>(payload_of_rest) = sim::extension<AxiAttributes>(payload);
  set_access(payload_of_rest, payload.get_command(), payload.get_address() + bytes);
  return payload_of_rest;
}

void translate_train(tlm::tlm_generic_payload& request, const tlm::tlm_generic_payload& payload, std::uint64_t address,
                     sim::TimeSequence times, std::uint64_t epoch) {
  const Train& from = *payload.get_extension<Train>();
  Train& train = sim::train_of(request);
  train.times = std::move(times);
  train.cell_bytes = from.cell_bytes;
  if (payload.is_write()) train.content = from.content;
  AxiAttributes& attributes = sim::extension<AxiAttributes>(request);
  attributes = {};
  attributes.master_id = payload.get_extension<AxiAttributes>()->master_id;
  attributes.translation_epoch = epoch;
  set_access(request, payload.get_command(), address);
}

void shorten_train(tlm::tlm_generic_payload& request, std::uint32_t cells) {
  Train& train = sim::train_of(request);
  train.times.drop_back(train.cells() - cells);
  if (request.is_write() && !train.content.empty()) train.content = train.content.slice(0, train.bytes());
}

}  // namespace faultline::soc
