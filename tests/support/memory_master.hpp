// SPDX-License-Identifier: Apache-2.0
// An initiator that sends trains to a memory-mapped target and keeps the answers.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <algorithm>
#include <deque>
#include <systemc>

#include "models/memory/axi.hpp"
#include "models/sim/context.hpp"

namespace faultline::test {

class MemoryMaster : public sc_core::sc_module {
 public:
  struct Answer {
    sim::Time announced{0};
    sim::TimeSequence responses;
    sim::Content content;
    tlm::tlm_response_status status = tlm::TLM_INCOMPLETE_RESPONSE;
    bool arrived = false;
  };

  tlm_utils::simple_initiator_socket<MemoryMaster> socket{"socket"};

  MemoryMaster(sc_core::sc_module_name name, const sim::Context& context) : sc_module(name), context_(context) {
    socket.register_nb_transport_bw(this, &MemoryMaster::on_response);
  }

  // Each announces the train now; the reference holds the answer once it has come.
  const Answer& read(std::uint64_t address, const sim::TimeSequence& times, std::uint32_t cell_bytes,
                     std::uint64_t epoch = memory::AxiAttributes::kUntranslated) {
    return send(tlm::TLM_READ_COMMAND, address, times, cell_bytes, {}, epoch);
  }
  const Answer& write(std::uint64_t address, const sim::TimeSequence& times, std::uint32_t cell_bytes,
                      const sim::Content& content, std::uint64_t epoch = memory::AxiAttributes::kUntranslated) {
    return send(tlm::TLM_WRITE_COMMAND, address, times, cell_bytes, content, epoch);
  }

  // A train of a core's bulk traffic.
  const Answer& bulk(std::uint64_t address, const sim::TimeSequence& times, std::uint32_t cell_bytes) {
    bulk_ = true;
    const Answer& answer =
        send(tlm::TLM_WRITE_COMMAND, address, times, cell_bytes, {}, memory::AxiAttributes::kUntranslated);
    bulk_ = false;
    return answer;
  }

  // b_transport of up to 8 bytes.
  tlm::tlm_response_status word(tlm::tlm_command command, std::uint64_t address, std::uint64_t& value,
                                unsigned length = 8) {
    tlm::tlm_generic_payload& payload = make(command, address, {}, 0);
    payload.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
    payload.set_data_length(length);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    socket->b_transport(payload, delay);
    const tlm::tlm_response_status status = payload.get_response_status();
    payload.release();
    return status;
  }

 private:
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
    auto& axi = sim::extension<memory::AxiAttributes>(payload);
    axi.translation_epoch = epoch;
    axi.bulk = bulk_;
    pending_.push_back(&payload);
    answers_.emplace_back();
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    socket->nb_transport_fw(payload, phase, delay);
    return answers_.back();
  }

  tlm::tlm_sync_enum on_response(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time&) {
    const auto found = std::find(pending_.begin(), pending_.end(), &payload);
    sc_assert(found != pending_.end());
    Answer& answer = answers_[static_cast<std::size_t>(found - pending_.begin())];
    const sim::Train& train = sim::train_of(payload);
    if (phase == sim::RESPONSES_RECALLED) {
      answer.responses.drop_back(train.recalled);
      return tlm::TLM_ACCEPTED;
    }
    if (!answer.arrived) answer = {context_.now(), {}, train.content, payload.get_response_status(), true};
    answer.responses.append(train.responses);
    return tlm::TLM_ACCEPTED;  // what has been said may change until it happens: the payload stays ours
  }

  const sim::Context& context_;
  std::deque<tlm::tlm_generic_payload*> pending_;
  std::deque<Answer> answers_;
  bool bulk_ = false;
};

}  // namespace faultline::test
