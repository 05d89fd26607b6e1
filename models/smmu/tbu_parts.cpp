// SPDX-License-Identifier: Apache-2.0
// The way of cells through a TBU: how trains come in parts, what is sent on for each, and what is taken back. By which
// rules they pass or wait is in tbu.cpp.
#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <functional>
#include <stdexcept>
#include <utility>

#include "models/memory/axi.hpp"
#include "models/smmu/tbu.hpp"

namespace faultline::smmu {

using memory::AxiAttributes;
using sim::Time;
using sim::Train;

namespace {

using Payload = tlm::tlm_generic_payload;

// The parts of a train, in the order of their cells, and how many responses its initiator has been told.
struct Transit : tlm::tlm_extension<Transit> {
  boost::container::small_vector<Part*, 2> parts;
  std::uint32_t told = 0;

  tlm::tlm_extension_base* clone() const override { return new Transit(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Transit&>(other); }
};

// Whose a request to memory is.
struct RequestOf : tlm::tlm_extension<RequestOf> {
  Part* part = nullptr;

  tlm::tlm_extension_base* clone() const override { return new RequestOf(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const RequestOf&>(other); }
};

}  // namespace

Part& Tbu::new_part(Payload& train) {
  if (idle_parts_.empty()) idle_parts_.push_back(&parts_.emplace_back());
  Part& part = *idle_parts_.back();
  idle_parts_.pop_back();
  part = {};
  part.tbu = index_;
  part.train = &train;
  train.acquire();  // whoever it belongs to may be done with it before its parts are forgotten
  return part;
}

void Tbu::give_up(Part& part) {
  part.train->release();
  idle_parts_.push_back(&part);
}

void Tbu::await(Part& part) {
  state_.context.loop.at<&Tbu::part_arrives>(std::max(state_.context.now(), part.arrivals.front()),
                                             arrival_ports_[part.write ? 1 : 0], *this,
                                             reinterpret_cast<std::uint64_t>(&part));
}

void Tbu::accept(Payload& payload) {
  forget();
  const Train& train = sim::train_of(payload);
  if (train.times.empty() || !same_page(payload.get_address(), payload.get_address() + train.bytes() - 1)) {
    throw std::logic_error("a train at the SMMU must lie within one page");
  }
  Part& part = new_part(payload);
  part.arrivals = train.times;
  part.write = payload.is_write();
  part.stream = stream_id(index_, sim::extension<AxiAttributes>(payload).master_id);
  part.beats = (train.cell_bytes + state_.config.beat_bytes - 1) / state_.config.beat_bytes;
  part.va = payload.get_address();
  Transit& transit = sim::extension<Transit>(payload);
  transit.parts.clear();
  transit.parts.push_back(&part);
  transit.told = 0;
  await(part);
}

void Tbu::recall(Payload& payload) {
  Transit& transit = sim::extension<Transit>(payload);
  const std::uint32_t cells = sim::train_of(payload).cells();
  while (transit.parts.back()->first >= cells) {
    Part& part = *transit.parts.back();
    cut(part, part.cells());  // it is coming still
    transit.parts.pop_back();
  }
  Part& last = *transit.parts.back();
  if (last.first + last.cells() > cells) cut(last, last.first + last.cells() - cells);
  transit.told = std::min(transit.told, cells);
}

void Tbu::cut(Part& part, std::uint32_t cells) {
  const std::uint32_t kept = part.cells() - cells;
  part.arrivals.drop_back(cells);
  if (part.responses.size() > kept) part.responses.drop_back(part.responses.size() - kept);
  if (part.state == Part::State::missed && part.write) held_beats_ -= std::uint64_t{cells} * part.beats;
  if (part.held_off) state_.counters.held_off -= cells;
  if (part.state == Part::State::terminated) state_.counters.terminated -= cells;
  if (part.state != Part::State::passed) return;
  (part.translated ? state_.counters.translations : state_.counters.bypassed) -= cells;
  if (part.translated) state_.counters.micro_tlb_hits -= cells;
  Train& train = sim::train_of(*part.request);
  train.times.drop_back(cells);
  if (part.write && !train.content.empty()) train.content = train.content.slice(0, train.bytes());
  state_.ports.recall(*part.request);
  if (part.translated) drain_.answered(part.drain_number, part.answered() ? part.responses.back() : sim::kNever);
}

// Those of this instant come after the TBU's own events of the instant, and before software's.
std::uint32_t Tbu::arrived(const Part& part) const {
  return part.arrivals.count_before(state_.context.now() + Time{state_.context.loop.software_runs() ? 1 : 0});
}

void Tbu::split_off_future(Part& part) {
  const std::uint32_t kept = std::max(arrived(part), 1U);  // one may arrive in this event
  if (kept >= part.cells()) return;
  Part& rest = new_part(*part.train);
  rest.first = part.first + kept;
  rest.arrivals = part.arrivals.suffix(kept);
  rest.write = part.write;
  rest.stream = part.stream;
  rest.beats = part.beats;
  rest.va = part.va + std::uint64_t{kept} * sim::train_of(*part.train).cell_bytes;
  Transit& transit = sim::extension<Transit>(*part.train);
  if (part.responses.size() > kept) recall_responses(part, part.responses.size() - kept);
  cut(part, part.cells() - kept);
  transit.parts.insert(std::find(transit.parts.begin(), transit.parts.end(), &part) + 1, &rest);
  await(rest);
}

void Tbu::forward(Part& part, std::uint64_t address, std::uint64_t epoch, Time not_before) {
  part.state = Part::State::passed;
  under_way_.push_back(&part);
  const Train& from = sim::train_of(*part.train);
  Payload& request = state_.context.payloads.acquire();
  part.request = &request;
  Train& train = sim::train_of(request);
  train.times = sim::not_before(part.arrivals.shifted(state_.latency.hit), std::max(not_before, state_.context.now()));
  train.cell_bytes = from.cell_bytes;
  if (part.write && !from.content.empty()) {
    train.content = from.content.slice(part.first * from.cell_bytes, part.cells() * from.cell_bytes);
  }
  sim::extension<RequestOf>(request).part = &part;
  AxiAttributes& attributes = sim::extension<AxiAttributes>(request);
  attributes = {};
  attributes.master_id = sim::extension<AxiAttributes>(*part.train).master_id;
  attributes.translation_epoch = epoch;
  request.set_command(part.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  request.set_address(address);
  request.set_data_length(train.bytes());
  request.set_streaming_width(train.bytes());
  state_.ports.forward(request);
}

void Tbu::terminate(Part& part, tlm::tlm_response_status status, bool report) {
  part.state = Part::State::terminated;
  under_way_.push_back(&part);
  state_.counters.terminated += part.cells();
  part.status = report ? status : tlm::TLM_OK_RESPONSE;
  // If it is not reported: read as zero, write ignored.
  const bool zeros = !report && !part.write;
  const sim::TimeSequence responses = sim::not_before(part.arrivals.shifted(state_.latency.hit), state_.context.now())
                                          .shifted(state_.latency.termination);
  respond(part, responses,
          zeros ? sim::Content::zeros(part.cells() * sim::train_of(*part.train).cell_bytes) : sim::Content());
}

unsigned Tbu::index_of(const Payload& request) { return request.get_extension<RequestOf>()->part->tbu; }

void Tbu::answer(Payload& request, bool recalled) {
  Part& part = *sim::extension<RequestOf>(request).part;
  Train& train = sim::train_of(request);
  if (recalled) return recall_responses(part, train.recalled);
  part.status = request.get_response_status();
  respond(part, train.responses, part.write ? sim::Content() : train.content);
}

// The initiator is told in the order of its cells; what comes early waits for the part before.
void Tbu::respond(Part& part, const sim::TimeSequence& responses, const sim::Content& content) {
  part.responses.append(responses);
  part.content.append(content);
  if (part.translated) {
    drain_.answered(part.drain_number, part.answered() ? part.responses.back() : sim::kNever);
  }
  Train& train = sim::train_of(*part.train);
  Transit& transit = sim::extension<Transit>(*part.train);
  for (Part* next : transit.parts) {
    if (transit.told >= next->first + next->cells()) continue;
    if (transit.told < next->first || next->responses.size() <= transit.told - next->first) return;
    const std::uint32_t from = transit.told - next->first;
    train.responses = next->responses.suffix(from);
    if (!next->write) train.content = std::exchange(next->content, {});
    part.train->set_response_status(next->status);
    transit.told += train.responses.size();
    state_.ports.respond(index_, *part.train, tlm::BEGIN_RESP);
  }
}

void Tbu::recall_responses(Part& part, std::uint32_t cells) {
  part.responses.drop_back(cells);
  if (part.translated) drain_.answered(part.drain_number, sim::kNever);
  Transit& transit = sim::extension<Transit>(*part.train);
  const std::uint32_t standing = part.first + part.responses.size();
  if (transit.told <= standing) {
    const std::uint32_t untold = standing - std::max(transit.told, part.first);
    if (!part.content.empty()) part.content = part.content.slice(0, untold * sim::train_of(*part.train).cell_bytes);
    return;
  }
  part.content = {};
  sim::train_of(*part.train).recalled = transit.told - standing;
  transit.told = standing;
  state_.ports.respond(index_, *part.train, sim::RESPONSES_RECALLED);
}

// Trains are over as a whole: a later part finds the ones before it.
void Tbu::forget() {
  const Time now = state_.context.now();
  const auto is_over = [now](const Part* part) {
    const auto& parts = part->train->get_extension<Transit>()->parts;
    return std::all_of(parts.begin(), parts.end(), [](const Part* p) { return p->answered(); }) &&
           parts.back()->responses.back() <= now;
  };
  if (std::none_of(under_way_.begin(), under_way_.end(), is_over)) return;
  use_entries();
  const auto over = std::stable_partition(under_way_.begin(), under_way_.end(), std::not_fn(is_over));
  for (auto part = over; part != under_way_.end(); ++part) {
    if ((*part)->request != nullptr) (*part)->request->release();
    give_up(**part);
  }
  under_way_.erase(over, under_way_.end());
}

}  // namespace faultline::smmu
