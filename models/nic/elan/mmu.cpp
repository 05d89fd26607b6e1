// SPDX-License-Identifier: Apache-2.0
#include "models/nic/elan/mmu.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "models/nic/elan/registers.hpp"
#include "models/soc/axi.hpp"
#include "models/soc/axi_train.hpp"

namespace faultline::elan {

using Payload = tlm::tlm_generic_payload;
using sim::Train;

namespace {

const sim::ProfiledPart kMmu{"elan::Mmu"};
constexpr unsigned kReads = 0;
constexpr unsigned kWrites = 1;
constexpr unsigned kDrainUser = 0;
constexpr std::uint64_t kBlockBytes = std::uint64_t{2} << 20;

constexpr std::uint64_t begin_of(std::uint64_t va, bool block) {
  return block ? va / kBlockBytes * kBlockBytes : sim::page_begin(va);
}

}  // namespace

// Whose a train is, or a request to memory.
struct Mmu::TransitOf : tlm::tlm_extension<TransitOf> {
  std::uint64_t train = 0;
  Transit* transit = nullptr;
  tlm::tlm_extension_base* clone() const override { return new TransitOf(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const TransitOf&>(other); }
};

Mmu::Mmu(sc_core::sc_module_name name, const ElanConfig& config, const sim::Context& context)
    : sc_module(name),
      reads("reads"),
      writes("writes"),
      reads_out("reads_out"),
      writes_out("writes_out"),
      config_(config),
      context_(context),
      arrival_ports_{context.loop.new_port(), context.loop.new_port()},
      drain_(1),
      translations_(context.statistics.counter("elan.translations", "count", "bursts that had an entry")),
      refusals_(context.statistics.counter("elan.refusals", "count", "bursts that had none, or must not write")),
      loads_(context.statistics.counter("elan.loads", "count", "entries put into the NIC's table")),
      invalidations_(context.statistics.counter("elan.invalidations", "count", "entries taken out of it")),
      drains_(context.statistics.counter("elan.drains", "count", "waits for accesses under way")) {
  reads.register_nb_transport_fw(this, &Mmu::read_comes);
  writes.register_nb_transport_fw(this, &Mmu::write_comes);
  reads_out.register_nb_transport_bw(this, &Mmu::answer_comes);
  writes_out.register_nb_transport_bw(this, &Mmu::answer_comes);
}

std::uint64_t Mmu::key(std::uint32_t pdid, std::uint64_t va, bool block) {
  return reg::address_of(pdid, begin_of(va, block)) | (block ? 1 : 0);
}

std::uint64_t Mmu::Entry::physical(std::uint64_t va) const { return frame + (va - begin_of(va, block)); }

std::optional<Mmu::Entry> Mmu::find(std::uint32_t pdid, std::uint64_t va) const {
  if (!reg::is_address(va)) return std::nullopt;
  for (const bool block : {false, true}) {
    if (const auto found = table_.find(key(pdid, va, block)); found != table_.end()) return found->second;
  }
  return std::nullopt;
}

bool Mmu::load(std::uint32_t pdid, std::uint64_t va, const Entry& entry) {
  const std::uint64_t place = key(pdid, va, entry.block);
  if (table_.size() >= config_.table_entries && !table_.contains(place)) return false;
  table_[place] = entry;
  ++loads_;
  entry_changed(pdid, begin_of(va, entry.block),
                begin_of(va, entry.block) + (entry.block ? kBlockBytes : sim::kPageBytes));
  return true;
}

void Mmu::invalidate(std::uint32_t pdid, std::uint64_t va) {
  for (const bool block : {false, true}) {
    if (table_.erase(key(pdid, va, block)) == 0) continue;
    ++invalidations_;
    const std::uint64_t begin = begin_of(va, block);
    entry_changed(pdid, begin, begin + (block ? kBlockBytes : sim::kPageBytes));
  }
}

void Mmu::invalidate_all(std::uint32_t pdid) {
  const auto is_of = [pdid](const auto& entry) { return reg::pdid_of(entry.first) == pdid; };
  invalidations_ += static_cast<std::uint64_t>(std::count_if(table_.begin(), table_.end(), is_of));
  std::erase_if(table_, is_of);
  entry_changed(pdid, 0, UINT64_MAX);
}

void Mmu::drain() {
  ++drains_;
  forget();
  for (std::size_t i = 0; i < under_way_.size(); ++i)
    split_off_future(*under_way_[i]);  // those have not been translated
  if (config_.waits_for_accesses) drain_.start(kDrainUser, context_.now());
}

bool Mmu::drained() const { return !drain_.active(kDrainUser, context_.now()); }

void Mmu::entry_changed(std::uint32_t pdid, std::uint64_t begin, std::uint64_t end) {
  forget();
  for (std::size_t i = 0; i < under_way_.size(); ++i) {
    Transit& transit = *under_way_[i];
    if (transit.pdid == pdid && begin <= transit.va && transit.va < end) split_off_future(transit);
  }
}

tlm::tlm_sync_enum Mmu::read_comes(Payload& payload, sim::Message&, sc_core::sc_time&) {
  accept(kReads, payload);
  return tlm::TLM_ACCEPTED;
}

tlm::tlm_sync_enum Mmu::write_comes(Payload& payload, sim::Message&, sc_core::sc_time&) {
  accept(kWrites, payload);
  return tlm::TLM_ACCEPTED;
}

void Mmu::accept(unsigned channel, Payload& payload) {
  const sim::ProfileScope turn(context_.loop.profile(), kMmu);
  const Train& train = sim::train_of(payload);
  if (auto& of = sim::extension<TransitOf>(payload); !sim::is_new(of, train)) {
    return cut(*of.transit, of.transit->cells() - train.cells());
  }
  forget();
  const std::uint64_t first = payload.get_address();
  if (train.bytes() == 0 || sim::page_begin(first) != sim::page_begin(first + train.bytes() - 1)) {
    throw std::logic_error("a train at the NIC's MMU that lies not within one page");
  }
  await(new_transit(channel, payload), false);
}

Mmu::Transit& Mmu::new_transit(unsigned channel, Payload& payload) {
  const Train& train = sim::train_of(payload);
  if (idle_.empty()) idle_.push_back(&transits_.emplace_back());
  Transit& transit = *idle_.back();
  idle_.pop_back();
  transit = {};
  transit.train = &payload;
  transit.channel = channel;
  transit.arrivals = train.times;
  transit.pdid = sim::extension<soc::AxiAttributes>(payload).master_id % reg::kPdids;
  transit.va = payload.get_address();
  payload.acquire();  // whoever it belongs to may be done with it before the MMU forgets it
  auto& of = sim::extension<TransitOf>(payload);
  of.train = train.number;
  of.transit = &transit;
  return transit;
}

// What has parted from a train comes before what is behind that, also at the same instant.
void Mmu::await(Transit& transit, bool parted) {
  auto& coming = coming_[transit.channel];
  const Time first = transit.arrivals.front();
  const auto is_before = [first, parted](const Transit* other) {
    return !other->arrivals.empty() &&
           (other->arrivals.front() < first || (!parted && other->arrivals.front() == first));
  };
  coming.insert(std::find_if(coming.rbegin(), coming.rend(), is_before).base(), &transit);
  context_.loop.at<&Mmu::trains_arrive>(std::max(context_.now(), first), arrival_ports_[transit.channel], *this,
                                        transit.channel);
}

void Mmu::trains_arrive(std::uint64_t channel) {
  auto& coming = coming_[channel];
  while (!coming.empty()) {
    Transit& transit = *coming.front();
    const bool recalled = transit.arrivals.empty();  // all of it
    if (!recalled && transit.arrivals.front() > context_.now()) return;
    coming.erase(coming.begin());
    if (recalled) {
      transit.train->release();
      idle_.push_back(&transit);
    } else {
      arrive(transit);
    }
  }
}

void Mmu::arrive(Transit& transit) {
  transit.has_arrived = true;
  under_way_.push_back(&transit);
  const auto entry = find(transit.pdid, transit.va);
  if (entry && (transit.channel == kReads || entry->writable)) {
    forward(transit, *entry);
  } else {
    refuse(transit);
  }
}

void Mmu::forward(Transit& transit, const Entry& entry) {
  translations_ += transit.cells();
  transit.drain_number = drain_.open(context_.now());
  transit.request = &context_.payloads.acquire();
  soc::translate_train(*transit.request, *transit.train, entry.physical(transit.va),
                       transit.arrivals.shifted(config_.clock.cycles(config_.mmu_lookup)), entry.epoch);
  sim::extension<TransitOf>(*transit.request).transit = &transit;
  send(transit, 0);
}

void Mmu::refuse(Transit& transit) {
  refusals_ += transit.cells();
  // One for those that are refused together, however long trains are.
  const bool is_first = std::none_of(under_way_.begin(), under_way_.end(), [&](const Transit* other) {
    return other != &transit && other->request == nullptr && other->channel == transit.channel &&
           other->pdid == transit.pdid && sim::page_begin(other->va) == sim::page_begin(transit.va) &&
           last_response(*other) > context_.now();
  });
  if (is_first && on_refusal) on_refusal({transit.pdid, transit.va, transit.channel == kWrites});
  const Time delay = config_.clock.cycles(config_.mmu_lookup + config_.mmu_refusal);
  respond(transit, {0, transit.arrivals.shifted(delay), tlm::TLM_ADDRESS_ERROR_RESPONSE});
}

void Mmu::cut(Transit& transit, std::uint32_t cells) {
  if (cells == 0) return;
  const std::uint32_t kept = transit.cells() - cells;
  transit.arrivals.drop_back(cells);
  if (transit.responses.size() > kept) transit.responses.drop_back(transit.responses.size() - kept);
  if (!transit.has_arrived) return;
  if (transit.request == nullptr) {
    refusals_ -= cells;
    return;
  }
  translations_ -= cells;
  soc::shorten_train(*transit.request, kept);
  send(transit, kept);
  drain_.answered(transit.drain_number, last_response(transit));
}

// When the train is over; kNever while that is not known.
Time Mmu::last_response(const Transit& transit) const {
  if (!transit.is_answered()) return sim::kNever;
  return transit.responses.empty() ? context_.now() : transit.responses.back();
}

// Those of this instant come after the MMU's own events of the instant, and before software's.
void Mmu::split_off_future(Transit& transit) {
  const std::uint32_t kept = std::max(transit.arrivals.count_by(context_.loop.settled()), 1U);
  if (kept >= transit.cells()) return;
  if (transit.responses.size() > kept) respond(transit, {kept});
  Payload& payload_of_rest = soc::part_train(*transit.train, kept, context_.payloads);
  tell(transit, sim::Parted{payload_of_rest});
  Transit& rest = new_transit(transit.channel, payload_of_rest);
  cut(transit, transit.cells() - kept);
  await(rest, true);
}

tlm::tlm_sync_enum Mmu::answer_comes(Payload& request, sim::Message& message, sc_core::sc_time&) {
  const sim::ProfileScope turn(context_.loop.profile(), kMmu);
  respond(*sim::extension<TransitOf>(request).transit, std::get<sim::Answers>(message));
  return tlm::TLM_ACCEPTED;
}

void Mmu::respond(Transit& transit, const sim::Answers& answers) {
  if (transit.responses.size() > answers.from) transit.responses.drop_back(transit.responses.size() - answers.from);
  transit.responses.append(answers.instants);
  if (transit.request != nullptr) {
    drain_.answered(transit.drain_number, last_response(transit));
  }
  tell(transit, answers);
}

void Mmu::tell(const Transit& transit, const sim::Message& message) {
  sim::send_back(transit.channel == kReads ? reads : writes, *transit.train, message);
}

void Mmu::send(const Transit& transit, std::uint32_t from) {
  sim::send_on(transit.channel == kReads ? reads_out : writes_out, *transit.request, {from});
}

void Mmu::forget() {
  const Time now = context_.now();
  std::erase_if(under_way_, [&](Transit* transit) {
    if (last_response(*transit) > now) return false;
    if (transit->request != nullptr) transit->request->release();
    transit->train->release();
    idle_.push_back(transit);
    return true;
  });
}

}  // namespace faultline::elan
