// SPDX-License-Identifier: Apache-2.0
// The way of trains through a TBU: how they part, what is sent on for each, and what is taken back. By which
// rules they pass or wait is in tbu.cpp.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "models/smmu/tbu.hpp"
#include "models/soc/axi.hpp"
#include "models/soc/axi_train.hpp"

namespace faultline::smmu {

using sim::Time;
using sim::Train;
using soc::AxiAttributes;

namespace {

using Payload = tlm::tlm_generic_payload;

// Whose a train is, or a request to memory.
struct TransitOf : tlm::tlm_extension<TransitOf> {
  std::uint64_t train = 0;
  Transit* transit = nullptr;

  tlm::tlm_extension_base* clone() const override { return new TransitOf(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const TransitOf&>(other); }
};

}  // namespace

Transit& Tbu::new_transit(Payload& payload) {
  const Train& train = sim::train_of(payload);
  if (idle_.empty()) idle_.push_back(&transits_.emplace_back());
  Transit& transit = *idle_.back();
  idle_.pop_back();
  transit = {};
  transit.tbu = index_;
  transit.train = &payload;
  transit.arrivals = train.times;
  transit.write = payload.is_write();
  transit.stream = stream_id(index_, sim::extension<AxiAttributes>(payload).master_id);
  transit.beats = (train.cell_bytes + state_.config.beat_bytes - 1) / state_.config.beat_bytes;
  transit.va = payload.get_address();
  payload.acquire();  // whoever it belongs to may be done with it before the TBU forgets it
  auto& of = sim::extension<TransitOf>(payload);
  of.train = train.number;
  of.transit = &transit;
  return transit;
}

void Tbu::give_up(Transit& transit) {
  transit.train->release();
  idle_.push_back(&transit);
}

void Tbu::await(Transit& transit, bool parted) {
  const unsigned channel = transit.write ? 1 : 0;
  auto& coming = channels_[channel].coming;
  const Time first = transit.arrivals.front();
  const auto is_before = [first, parted](const Transit* other) {
    return !other->arrivals.empty() &&
           (other->arrivals.front() < first || (!parted && other->arrivals.front() == first));
  };
  coming.insert(std::find_if(coming.rbegin(), coming.rend(), is_before).base(), &transit);
  state_.context.loop.at<&Tbu::trains_arrive>(std::max(state_.context.now(), first), arrival_ports_[channel], *this,
                                              channel);
}

void Tbu::accept(Payload& payload) {
  const Train& train = sim::train_of(payload);
  if (auto& of = sim::extension<TransitOf>(payload); !sim::is_new(of, train)) {
    return cut(*of.transit, of.transit->cells() - train.cells());
  }
  forget();
  if (train.bytes() == 0) throw std::logic_error("a train at the SMMU without cells");
  const std::uint64_t first = payload.get_address();
  // A divisor of the page's size is a power of two.
  const bool aligned = sim::kPageBytes % train.cell_bytes == 0 && (first & (train.cell_bytes - 1)) == 0;
  if (!aligned && !same_page(first, first + train.bytes() - 1)) {
    throw std::logic_error("a train at the SMMU that goes over pages must have cells that divide them");
  }
  await(new_transit(payload), false);
}

void Tbu::cut(Transit& transit, std::uint32_t cells) {
  if (cells == 0) return;
  const std::uint32_t kept = transit.cells() - cells;
  transit.arrivals.drop_back(cells);
  if (transit.responses.size() > kept) transit.responses.drop_back(transit.responses.size() - kept);
  if (transit.state == Transit::State::missed && transit.write) held_beats_ -= std::uint64_t{cells} * transit.beats;
  if (transit.held_off) state_.counters.held_off -= cells;
  if (transit.state == Transit::State::terminated) state_.counters.terminated -= cells;
  if (transit.state != Transit::State::passed) return;
  (transit.translated ? state_.counters.translations : state_.counters.bypassed) -= cells;
  if (transit.translated) state_.counters.micro_tlb_hits -= cells;
  soc::shorten_train(*transit.request, kept);
  state_.ports.recall(*transit.request, kept);
  if (transit.translated)
    drain_.answered(transit.drain_number, transit.answered() ? transit.responses.back() : sim::kNever);
}

// Those of this instant come after the TBU's own events of the instant, and before software's.
std::uint32_t Tbu::arrived(const Transit& transit) const {
  return transit.arrivals.count_by(state_.context.loop.settled());
}

void Tbu::split_off_future(Transit& transit) {
  split_off(transit, std::max(arrived(transit), 1U));  // one may arrive in this event
}

void Tbu::keep_within(Transit& transit, std::uint64_t span) {
  const auto left = static_cast<std::int64_t>(span - (transit.va & (span - 1)));
  const std::int64_t cells = sim::divide(left, sim::train_of(*transit.train).cell_bytes);
  split_off(transit, static_cast<std::uint32_t>(std::min<std::int64_t>(cells, UINT32_MAX)));
}

void Tbu::split_off(Transit& transit, std::uint32_t kept) {
  if (kept >= transit.cells()) return;
  if (transit.responses.size() > kept) respond(transit, {kept});
  Transit& rest = new_transit(part_train(transit, kept));
  cut(transit, transit.cells() - kept);
  await(rest, true);
}

Payload& Tbu::part_train(Transit& transit, std::uint32_t first) {
  Payload& payload_of_rest = soc::part_train(*transit.train, first, state_.context.payloads);
  state_.ports.tell(index_, *transit.train, sim::Parted{payload_of_rest});
  return payload_of_rest;
}

void Tbu::forward(Transit& transit, std::uint64_t address, std::uint64_t epoch, Time not_before) {
  transit.state = Transit::State::passed;
  under_way_.push_back(&transit);
  Payload& request = state_.context.payloads.acquire();
  transit.request = &request;
  soc::translate_train(
      request, *transit.train, address,
      sim::not_before(transit.arrivals.shifted(state_.latency.hit), std::max(not_before, state_.context.now())), epoch);
  sim::extension<TransitOf>(request).transit = &transit;
  state_.ports.forward(request);
}

void Tbu::terminate(Transit& transit, tlm::tlm_response_status status, bool report) {
  transit.state = Transit::State::terminated;
  under_way_.push_back(&transit);
  state_.counters.terminated += transit.cells();
  // If it is not reported: read as zero, write ignored.
  const bool zeros = !report && !transit.write;
  const sim::TimeSequence responses =
      sim::not_before(transit.arrivals.shifted(state_.latency.hit), state_.context.now())
          .shifted(state_.latency.termination);
  const std::uint32_t bytes = transit.cells() * sim::train_of(*transit.train).cell_bytes;
  respond(transit,
          {0, responses, report ? status : tlm::TLM_OK_RESPONSE, zeros ? sim::Content::zeros(bytes) : sim::kNoContent});
}

unsigned Tbu::index_of(const Payload& request) { return request.get_extension<TransitOf>()->transit->tbu; }

void Tbu::answer(Payload& request, const sim::Answers& answers) {
  respond(*sim::extension<TransitOf>(request).transit, answers);
}

void Tbu::respond(Transit& transit, const sim::Answers& answers) {
  if (transit.responses.size() > answers.from) transit.responses.drop_back(transit.responses.size() - answers.from);
  transit.responses.append(answers.instants);
  if (transit.translated) {
    drain_.answered(transit.drain_number, transit.answered() ? transit.responses.back() : sim::kNever);
  }
  state_.ports.tell(index_, *transit.train, answers);
}

void Tbu::forget() {
  const Time now = state_.context.now();
  const auto is_over = [now](const Transit* transit) {
    return transit->answered() && transit->responses.back() <= now;
  };
  if (std::none_of(under_way_.begin(), under_way_.end(), is_over)) return;
  use_entries();
  std::erase_if(under_way_, [&](Transit* transit) {
    if (!is_over(transit)) return false;
    if (transit->request != nullptr) transit->request->release();
    give_up(*transit);
    return true;
  });
}

}  // namespace faultline::smmu
