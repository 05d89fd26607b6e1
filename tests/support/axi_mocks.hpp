// SPDX-License-Identifier: Apache-2.0
// Stand-ins for the neighbours of a memory-mapped port: an initiator with a window of outstanding
// bursts and a memory of fixed latency.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "models/sim/context.hpp"
#include "tests/support/cell_pump.hpp"

namespace faultline::test {

// Cells to read or write from `address` on; they must not leave one page.
struct Burst {
  std::uint64_t address = 0;
  std::uint32_t cell_bytes = sim::kCellBytes;
  sim::TimeSequence ready;
};

struct AxiResponse {
  std::uint64_t address;
  sim::Time at;
  tlm::tlm_response_status status;
  bool operator==(const AxiResponse&) const = default;
};

class AxiInitiator : public sc_core::sc_module {
 public:
  AxiInitiator(sc_core::sc_module_name name, tlm::tlm_command command, std::uint32_t outstanding,
               const sim::Context& context)
      : sc_module(name),
        out("out"),
        command_(command),
        pump_(outstanding, context, [this](auto& payload, const Burst&) {
          payload.set_command(command_);
          tlm::tlm_phase phase = tlm::BEGIN_REQ;
          sc_core::sc_time delay;
          out->nb_transport_fw(payload, phase, delay);
        }) {
    out.register_nb_transport_bw(this, &AxiInitiator::on_response);
  }
  tlm_utils::simple_initiator_socket<AxiInitiator> out;
  std::vector<AxiResponse> responses;

  void post(const Burst& burst) { pump_.post(burst); }

 private:
  tlm::tlm_sync_enum on_response(tlm::tlm_generic_payload& payload, tlm::tlm_phase&, sc_core::sc_time&) {
    const sim::Train& train = sim::train_of(payload);
    for (std::uint32_t i = 0; i < train.cells(); ++i) {
      responses.push_back({payload.get_address() + std::uint64_t{i} * train.cell_bytes, train.responses.at(i),
                           payload.get_response_status()});
    }
    const sim::TimeSequence answered = train.responses;
    payload.release();
    pump_.slots_come_free(answered);
    return tlm::TLM_ACCEPTED;
  }

  tlm::tlm_command command_;
  CellPump<Burst> pump_;
};

// Answers each cell `latency` after it came, later in pages of `slow_pages`; trains into a page of `bad_pages`
// get an address error.
// `late`: the answer is announced only when the first cell's has come.
class LatencyMemory : public sc_core::sc_module {
 public:
  LatencyMemory(sc_core::sc_module_name name, sim::Time latency, bool late, const sim::Context& context)
      : sc_module(name), in("in"), context_(context), latency_(latency), late_(late), port_(context.loop.new_port()) {
    in.register_nb_transport_fw(this, &LatencyMemory::on_request);
  }
  tlm_utils::simple_target_socket<LatencyMemory> in;
  std::vector<sim::TimeSequence> requests;
  std::set<std::uint64_t> bad_pages;
  std::map<std::uint64_t, sim::Time> slow_pages;  // and how much later

 private:
  tlm::tlm_sync_enum on_request(tlm::tlm_generic_payload& payload, tlm::tlm_phase&, sc_core::sc_time&) {
    sim::Train& train = sim::train_of(payload);
    requests.push_back(train.times);
    const std::uint64_t page = payload.get_address() / sim::kPageBytes;
    const auto slow = slow_pages.find(page);
    train.responses = train.times.shifted(latency_ + (slow == slow_pages.end() ? sim::Time{0} : slow->second));
    const bool bad = bad_pages.contains(page);
    payload.set_response_status(bad ? tlm::TLM_ADDRESS_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE);
    answers_.push_back(&payload);
    if (late_) {
      context_.loop.at<&LatencyMemory::answer_oldest>(train.responses.front(), port_, *this);
    } else {
      answer_oldest();
    }
    return tlm::TLM_ACCEPTED;
  }
  void answer_oldest() {
    tlm::tlm_generic_payload& payload = *answers_.front();
    answers_.pop_front();
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay;
    in->nb_transport_bw(payload, phase, delay);
  }

  sim::Context context_;
  sim::Time latency_;
  bool late_;
  sim::Port port_;
  std::deque<tlm::tlm_generic_payload*> answers_;
};

}  // namespace faultline::test
