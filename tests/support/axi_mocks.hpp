// SPDX-License-Identifier: Apache-2.0
// Stand-ins for the neighbours of a memory-mapped port: an initiator with a window of outstanding
// bursts and a memory of fixed latency.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "models/sim/context.hpp"
#include "models/sim/transport.hpp"
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
        pump_(
            outstanding, context,
            [this](auto& payload, const Burst&) {
              payload.set_command(command_);
              call(payload, tlm::BEGIN_REQ);
            },
            [this](auto& payload) { call(payload, sim::CELLS_RECALLED); }) {
    out.register_nb_transport_bw(this, &AxiInitiator::on_response);
  }
  tlm_utils::simple_initiator_socket<AxiInitiator> out;
  std::vector<AxiResponse> responses;

  void post(const Burst& burst) {
    if (burst.cell_bytes == sim::kCellBytes) return pump_.post(burst);
    for (std::uint32_t i = 0; i < burst.ready.size(); ++i) {
      pump_.post({burst.address + std::uint64_t{i} * burst.cell_bytes, burst.cell_bytes, burst.ready.slice(i, 1)});
    }
  }

 private:
  void call(tlm::tlm_generic_payload& payload, tlm::tlm_phase phase) {
    if (phase == tlm::BEGIN_REQ) answered_[&payload] = 0;
    if (phase == sim::CELLS_RECALLED) trim(payload, sim::train_of(payload).cells());
    sc_core::sc_time delay;
    out->nb_transport_fw(payload, phase, delay);
  }
  // Only the payload's first `kept` responses stand.
  void trim(tlm::tlm_generic_payload& payload, std::uint32_t kept) {
    const sim::Train& train = sim::train_of(payload);
    for (std::uint32_t& answered = answered_[&payload]; answered > kept; --answered) {
      const std::uint64_t address = payload.get_address() + std::uint64_t{answered - 1} * train.cell_bytes;
      const auto last = std::find_if(responses.rbegin(), responses.rend(),
                                     [address](const AxiResponse& r) { return r.address == address; });
      responses.erase(std::next(last).base());
    }
  }
  tlm::tlm_sync_enum on_response(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time&) {
    const sim::Train& train = sim::train_of(payload);
    std::uint32_t& answered = answered_[&payload];
    if (phase == sim::RESPONSES_RECALLED) {
      pump_.slots_recalled(payload, train.recalled);
      trim(payload, answered - train.recalled);
      return tlm::TLM_ACCEPTED;
    }
    for (std::uint32_t i = 0; i < train.responses.size(); ++i) {
      responses.push_back({payload.get_address() + std::uint64_t{answered++} * train.cell_bytes, train.responses.at(i),
                           payload.get_response_status()});
    }
    pump_.slots_come_free(payload, train.responses);
    return tlm::TLM_ACCEPTED;
  }

  tlm::tlm_command command_;
  CellPump<Burst> pump_;
  std::map<tlm::tlm_generic_payload*, std::uint32_t> answered_;
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
  tlm::tlm_sync_enum on_request(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time&) {
    sim::Train& train = sim::train_of(payload);
    if (phase == sim::CELLS_RECALLED) {
      requests[request_of_[&payload]] = train.times;
      if (train.responses.size() > train.cells()) train.responses.drop_back(train.responses.size() - train.cells());
      return tlm::TLM_ACCEPTED;
    }
    request_of_[&payload] = requests.size();
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
  std::map<tlm::tlm_generic_payload*, std::size_t> request_of_;
};

// Answers each cell a while after it came: how, depends on its address. Cells with different fates part.
class PartingMemory : public sc_core::sc_module {
 public:
  struct Fate {
    sim::Time latency{0};
    tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
  };
  PartingMemory(sc_core::sc_module_name name, const sim::Context& context)
      : sc_module(name), in("in"), context_(context), port_(context.loop.new_port()) {
    in.register_nb_transport_fw(this, &PartingMemory::on_request);
  }
  tlm_utils::simple_target_socket<PartingMemory> in;
  std::map<std::uint64_t, Fate> fates;  // of what lies from this address on
  // Trains part when the last cell before the others has come, and have all been answered as that one until then; else
  // they part at once.
  bool parts_late = false;

  // Another fate for what lies from this address on and up to the next one in `fates`, though it has been answered.
  // Cells of a train that all have come, or that have parted, may have several.
  void change(std::uint64_t from, Fate fate) {
    fates[from] = fate;
    const auto next = fates.upper_bound(from);
    for (tlm::tlm_generic_payload* payload : requests_) {
      const sim::Train& train = sim::train_of(*payload);
      const std::uint64_t begin = std::max<std::uint64_t>(from, payload->get_address());
      const std::uint64_t end = payload->get_address() + train.bytes();
      if (begin >= end || (next != fates.end() && begin >= next->first)) continue;
      const auto first = static_cast<std::uint32_t>((begin - payload->get_address()) / train.cell_bytes);
      recall_answer(*payload, train.cells() - first);
      answer(*payload, first);
    }
  }

 private:
  const Fate& fate_of(std::uint64_t address) const { return std::prev(fates.upper_bound(address))->second; }
  // The train's first cells that have one fate.
  std::uint32_t together(const tlm::tlm_generic_payload& payload) const {
    const sim::Train& train = *payload.get_extension<sim::Train>();
    const auto next = fates.upper_bound(payload.get_address());
    if (next == fates.end()) return train.cells();
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>((next->first - payload.get_address()) / train.cell_bytes, train.cells()));
  }

  tlm::tlm_sync_enum on_request(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time&) {
    if (phase == sim::CELLS_RECALLED) return tlm::TLM_ACCEPTED;
    requests_.push_back(&payload);
    const sim::Train& train = sim::train_of(payload);
    const std::uint32_t first = together(payload);
    if (first < train.cells() && parts_late) {
      context_.loop.at<&PartingMemory::part_late>(train.times.at(first - 1), port_, *this,
                                                  reinterpret_cast<std::uint64_t>(&payload));
    } else if (first < train.cells()) {
      answer(part(payload, first), 0);
    }
    answer(payload, 0);
    return tlm::TLM_ACCEPTED;
  }
  void part_late(std::uint64_t request) {
    auto& payload = *reinterpret_cast<tlm::tlm_generic_payload*>(request);
    const std::uint32_t first = together(payload);
    const std::uint32_t cells = sim::train_of(payload).cells();
    if (first == cells) return;  // the others were recalled
    recall_answer(payload, cells - first);
    answer(part(payload, first), 0);
  }
  tlm::tlm_generic_payload& part(tlm::tlm_generic_payload& payload, std::uint32_t first) {
    tlm::tlm_generic_payload& rest = context_.payloads.acquire();
    sim::Train& train = sim::train_of(payload);
    sim::train_of(rest).times = train.times.suffix(first);
    sim::train_of(rest).cell_bytes = train.cell_bytes;
    train.times.drop_back(train.cells() - first);
    rest.set_command(payload.get_command());
    rest.set_address(payload.get_address() + train.bytes());
    train.rest = &rest;
    requests_.push_back(&rest);
    sim::send_back(in, payload, sim::TRAIN_PARTED);
    return rest;
  }
  void recall_answer(tlm::tlm_generic_payload& payload, std::uint32_t cells) {
    sim::train_of(payload).recalled = cells;
    sim::send_back(in, payload, sim::RESPONSES_RECALLED);
  }
  void answer(tlm::tlm_generic_payload& payload, std::uint32_t first) {
    sim::Train& train = sim::train_of(payload);
    const Fate& fate = fate_of(payload.get_address() + std::uint64_t{first} * train.cell_bytes);
    train.responses = train.times.suffix(first).shifted(fate.latency);
    payload.set_response_status(fate.status);
    sim::send_back(in, payload, tlm::BEGIN_RESP);
  }

  const sim::Context& context_;
  sim::Port port_;
  std::vector<tlm::tlm_generic_payload*> requests_;
};

}  // namespace faultline::test
