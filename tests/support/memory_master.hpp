// SPDX-License-Identifier: Apache-2.0
// An initiator that sends trains to a memory-mapped target and keeps the answers.
#pragma once

#include <algorithm>
#include <deque>
#include <systemc>
#include <vector>

#include "models/sim/context.hpp"
#include "models/sim/transport.hpp"
#include "models/soc/axi.hpp"

namespace faultline::test {

class MemoryMaster : public sc_core::sc_module {
 public:
  struct Answer {
    sim::Time announced{0};
    sim::TimeSequence responses;
    sim::Content content;
    tlm::tlm_response_status status = tlm::TLM_INCOMPLETE_RESPONSE;
    bool arrived = false;
    std::vector<tlm::tlm_response_status> statuses = {};  // one for each response
    const Answer* rest = nullptr;                         // of the cells that parted
  };

  sim::InitiatorSocket<MemoryMaster> socket{"socket"};

  MemoryMaster(sc_core::sc_module_name name, const sim::Context& context) : sc_module(name), context_(context) {
    socket.register_nb_transport_bw(this, &MemoryMaster::on_response);
  }

  // Each announces the train now; the reference holds the answer once it has come.
  const Answer& read(std::uint64_t address, const sim::TimeSequence& times, std::uint32_t cell_bytes,
                     std::uint64_t epoch = soc::AxiAttributes::kUntranslated) {
    return send(tlm::TLM_READ_COMMAND, address, times, cell_bytes, {}, epoch);
  }
  const Answer& write(std::uint64_t address, const sim::TimeSequence& times, std::uint32_t cell_bytes,
                      const sim::Content& content, std::uint64_t epoch = soc::AxiAttributes::kUntranslated) {
    return send(tlm::TLM_WRITE_COMMAND, address, times, cell_bytes, content, epoch);
  }

  // Only the first `kept` cells of the train come, those that parted from it included.
  void recall(const Answer& answer, std::uint32_t kept) {
    const std::size_t index = index_of([&](std::size_t i) { return &answers_[i] == &answer; });
    tlm::tlm_generic_payload& payload = *pending_[index];
    sim::Train& train = sim::train_of(payload);
    const std::uint32_t cells = train.cells();
    if (answer.rest != nullptr) recall(*answer.rest, kept - std::min(kept, cells));
    if (kept >= cells) return;
    train.times.drop_back(cells - kept);
    if (payload.is_write() && !train.content.empty()) train.content = train.content.slice(0, train.bytes());
    keep_responses(answers_[index], kept);
    sim::send_on(socket, payload, {kept});
  }

  // A train of a core's bulk traffic.
  const Answer& bulk(std::uint64_t address, const sim::TimeSequence& times, std::uint32_t cell_bytes) {
    bulk_ = true;
    const Answer& answer =
        send(tlm::TLM_WRITE_COMMAND, address, times, cell_bytes, {}, soc::AxiAttributes::kUntranslated);
    bulk_ = false;
    return answer;
  }

  // b_transport of up to 8 bytes, of any number, and transport_dbg.
  tlm::tlm_response_status word(tlm::tlm_command command, std::uint64_t address, std::uint64_t& value,
                                unsigned length = 8) {
    return blocking(command, address, reinterpret_cast<unsigned char*>(&value), length);
  }
  tlm::tlm_response_status bytes(tlm::tlm_command command, std::uint64_t address, std::vector<unsigned char>& data) {
    return blocking(command, address, data.data(), static_cast<unsigned>(data.size()));
  }
  unsigned debug(tlm::tlm_command command, std::uint64_t address, std::vector<unsigned char>& data) {
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(data.data());
    payload.set_data_length(static_cast<unsigned>(data.size()));
    return socket->transport_dbg(payload);
  }

 private:
  tlm::tlm_response_status blocking(tlm::tlm_command command, std::uint64_t address, unsigned char* data,
                                    unsigned length) {
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(data);
    payload.set_data_length(length);
    payload.set_streaming_width(length);
    sc_core::sc_time delay;
    socket->b_transport(payload, delay);
    return payload.get_response_status();
  }
  tlm::tlm_generic_payload& make(tlm::tlm_command command, std::uint64_t address, const sim::TimeSequence& times,
                                 std::uint32_t cell_bytes) {
    tlm::tlm_generic_payload& payload = context_.payloads.acquire();
    sim::Train& train = sim::train_of(payload);
    train.times = times;
    train.cell_bytes = cell_bytes;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_length(train.bytes());
    return payload;
  }

  const Answer& send(tlm::tlm_command command, std::uint64_t address, const sim::TimeSequence& times,
                     std::uint32_t cell_bytes, const sim::Content& content, std::uint64_t epoch) {
    tlm::tlm_generic_payload& payload = make(command, address, times, cell_bytes);
    sim::train_of(payload).content = content;
    auto& axi = sim::extension<soc::AxiAttributes>(payload);
    axi.translation_epoch = epoch;
    axi.bulk = bulk_;
    pending_.push_back(&payload);
    const Answer& answer = answers_.emplace_back();
    sim::send_on(socket, payload);
    return answer;
  }

  template <typename Predicate>
  std::size_t index_of(Predicate is_it) const {
    std::size_t index = 0;
    while (!is_it(index)) ++index;
    sc_assert(index < pending_.size());
    return index;
  }
  static void keep_responses(Answer& answer, std::uint32_t kept) {
    if (answer.responses.size() <= kept) return;
    answer.responses.drop_back(answer.responses.size() - kept);
    answer.statuses.resize(kept);
  }

  tlm::tlm_sync_enum on_response(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time&) {
    Answer& answer = answers_[index_of([&](std::size_t i) { return pending_[i] == &payload; })];
    if (const auto* parted = std::get_if<sim::Parted>(&message)) {
      sc_assert(answer.responses.size() <= sim::train_of(payload).cells() && answer.rest == nullptr);
      pending_.push_back(&parted->rest);
      answer.rest = &answers_.emplace_back();
      return tlm::TLM_ACCEPTED;
    }
    const auto& answers = std::get<sim::Answers>(message);
    keep_responses(answer, answers.from);
    if (!answer.arrived) {
      answer.announced = context_.now();
      answer.content = answers.data;
      answer.status = answers.status;
      answer.arrived = true;
    }
    answer.responses.append(answers.instants);
    answer.statuses.resize(answer.responses.size(), answers.status);
    return tlm::TLM_ACCEPTED;  // what has been said may change until it happens: the payload stays ours
  }

  const sim::Context& context_;
  std::deque<tlm::tlm_generic_payload*> pending_;
  std::deque<Answer> answers_;
  bool bulk_ = false;
};

}  // namespace faultline::test
