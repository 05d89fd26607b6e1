// SPDX-License-Identifier: Apache-2.0
// Stand-ins for the neighbours of a memory-mapped port: an initiator with a window of outstanding
// bursts and a memory of fixed latency.
#pragma once

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
              answered_[&payload] = 0;
              sim::send_on(out, payload);
            },
            [this](auto& payload, std::uint32_t from) {
              trim(payload, from);
              sim::send_on(out, payload, {from});
            }) {
    out.register_nb_transport_bw(this, &AxiInitiator::on_response);
  }
  sim::InitiatorSocket<AxiInitiator> out;
  std::vector<AxiResponse> responses;

  void post(const Burst& burst) {
    if (burst.cell_bytes == sim::kCellBytes) return pump_.post(burst);
    for (std::uint32_t i = 0; i < burst.ready.size(); ++i) {
      pump_.post({burst.address + std::uint64_t{i} * burst.cell_bytes, burst.cell_bytes, burst.ready.slice(i, 1)});
    }
  }

 private:
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
  tlm::tlm_sync_enum on_response(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time&) {
    const sim::Train& train = sim::train_of(payload);
    const auto& answers = std::get<sim::Answers>(message);
    trim(payload, answers.from);
    std::uint32_t& answered = answered_[&payload];
    for (std::uint32_t i = 0; i < answers.instants.size(); ++i) {
      responses.push_back({payload.get_address() + std::uint64_t{answered++} * train.cell_bytes, answers.instants.at(i),
                           answers.status});
    }
    pump_.answered(payload, answers);
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
  sim::TargetSocket<LatencyMemory> in;
  std::vector<sim::TimeSequence> requests;
  std::vector<tlm::tlm_command> commands;  // of the requests
  std::set<std::uint64_t> bad_pages;
  std::map<std::uint64_t, sim::Time> slow_pages;  // and how much later

 private:
  // A train that came, and what becomes of it.
  struct Request {
    tlm::tlm_generic_payload* payload;
    std::uint64_t train;
    sim::TimeSequence responses;
    tlm::tlm_response_status status;
  };
  tlm::tlm_sync_enum on_request(tlm::tlm_generic_payload& payload, sim::Message&, sc_core::sc_time&) {
    const sim::Train& train = sim::train_of(payload);
    if (const auto known = request_of_.find(train.number); known != request_of_.end()) {
      requests[known->second] = train.times;
      return tlm::TLM_ACCEPTED;
    }
    request_of_[train.number] = requests.size();
    requests.push_back(train.times);
    commands.push_back(payload.get_command());
    const std::uint64_t page = payload.get_address() / sim::kPageBytes;
    const auto slow = slow_pages.find(page);
    const bool bad = bad_pages.contains(page);
    answers_.push_back({&payload, train.number,
                        train.times.shifted(latency_ + (slow == slow_pages.end() ? sim::Time{0} : slow->second)),
                        bad ? tlm::TLM_ADDRESS_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE});
    if (late_) {
      context_.loop.at<&LatencyMemory::answer_oldest>(answers_.back().responses.front(), port_, *this);
    } else {
      answer_oldest();
    }
    return tlm::TLM_ACCEPTED;
  }
  void answer_oldest() {
    Request request = answers_.front();
    answers_.pop_front();
    const std::uint32_t cells = requests[request_of_[request.train]].size();  // that were not taken back
    const sim::TimeSequence responses = request.responses.prefix(cells);
    sim::send_back(in, *request.payload, sim::Answers{0, responses, request.status});
  }

  sim::Context context_;
  sim::Time latency_;
  bool late_;
  sim::Port port_;
  std::deque<Request> answers_;
  std::map<std::uint64_t, std::size_t> request_of_;  // by the train's number
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
  sim::TargetSocket<PartingMemory> in;
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

  tlm::tlm_sync_enum on_request(tlm::tlm_generic_payload& payload, sim::Message&, sc_core::sc_time&) {
    if (!known_.insert(sim::train_of(payload).number).second) return tlm::TLM_ACCEPTED;
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
    sim::send_back(in, payload, sim::Answers{first});
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
    requests_.push_back(&rest);
    known_.insert(sim::train_of(rest).number);
    sim::send_back(in, payload, sim::Parted{rest});
    return rest;
  }
  void answer(tlm::tlm_generic_payload& payload, std::uint32_t first) {
    const sim::Train& train = sim::train_of(payload);
    const Fate& fate = fate_of(payload.get_address() + std::uint64_t{first} * train.cell_bytes);
    sim::send_back(in, payload, sim::Answers{first, train.times.suffix(first).shifted(fate.latency), fate.status});
  }

  const sim::Context& context_;
  sim::Port port_;
  std::vector<tlm::tlm_generic_payload*> requests_;
  std::set<std::uint64_t> known_;  // numbers of their trains
};

}  // namespace faultline::test
