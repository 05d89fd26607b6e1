// SPDX-License-Identifier: Apache-2.0
#include "models/tlm/to_base.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "models/soc/axi.hpp"

namespace faultline::adapters {

using sim::Time;
using sim::Train;
using Payload = tlm::tlm_generic_payload;

namespace {

const sim::ProfiledPart kToBase{"adapters::ToBase"};

constexpr unsigned kMostThreads = 1024;

// Bytes that a write leaves as they are.
unsigned char disabled_byte = TLM_BYTE_DISABLED;

tlm::tlm_response_status status_of(const Payload& access) {
  const tlm::tlm_response_status status = access.get_response_status();
  return status == tlm::TLM_INCOMPLETE_RESPONSE ? tlm::TLM_GENERIC_ERROR_RESPONSE : status;
}

}  // namespace

struct ToBaseModule::Passage : tlm::tlm_extension<Passage> {
  std::uint64_t train = 0;
  std::uint32_t inlet = 0;
  std::uint32_t arrived = 0;           // cells
  std::uint32_t answered = 0;          // cells
  Due next;                            // when the next cell arrives
  sim::SmallVector<Payload*, 2> open;  // accesses of the cells that have arrived and have not been answered, in order

  tlm::tlm_extension_base* clone() const override { return new Passage(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Passage&>(other); }
};

struct ToBaseModule::Access : tlm::tlm_extension<Access> {
  Payload* train = nullptr;  // none: nobody waits for the response any more
  std::uint64_t number = 0;
  bool responded = false;  // the response has been announced
  bool over = false;       // it has come
  std::array<unsigned char, sim::kCellBytes> bytes{};

  tlm::tlm_extension_base* clone() const override { return new Access(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Access&>(other); }
};

struct ToBaseModule::Worker {
  sc_core::sc_event wake;
  Payload* access = nullptr;
};

ToBaseModule::ToBaseModule(sc_core::sc_module_name name, const ToBaseConfig& config, const sim::Context& context)
    : sc_module(name),
      config_(config),
      context_(context),
      arrivals_(context.loop, *this),
      responses_(context.loop, *this),
      resets_(context.loop, *this),
      send_("to_send") {
  if (config.threads < 1 || config.threads > kMostThreads) {
    throw std::invalid_argument("ToBaseConfig::threads is " + std::to_string(config.threads) + "; 1 to 1024");
  }
  in.register_nb_transport_fw(this, &ToBaseModule::on_cells);
  in.register_b_transport(this, &ToBaseModule::on_word);
  in.register_transport_dbg(this, &ToBaseModule::on_debug);
  SC_HAS_PROCESS(ToBaseModule);
  SC_METHOD(send);
  dont_initialize();
  sensitive << send_;
  if (config.calls == ToBaseConfig::Calls::non_blocking) return;
  while (workers_.size() < config.threads) {
    Worker& worker = *workers_.emplace_back(std::make_unique<Worker>());
    idle_.push_back(&worker);
    sc_core::sc_spawn([this, &worker] { work(worker); }, sc_core::sc_gen_unique_name("worker"));
  }
}

// Transactions that are open belong to the pool, and their bytes to them: a memory may keep them for longer than this
// module lasts.
ToBaseModule::~ToBaseModule() = default;

tlm::tlm_sync_enum ToBaseModule::on_cells(int inlet, Payload& train, sim::Message& message, sc_core::sc_time&) {
  const sim::ProfileScope turn(context_.loop.profile(), kToBase);
  if (!std::holds_alternative<sim::Cells>(message)) throw std::logic_error("memory takes Cells");
  if (sim::is_new(sim::extension<Passage>(train), sim::train_of(train))) {
    announce(static_cast<std::uint32_t>(inlet), train);
  } else {
    cut(train);
  }
  return tlm::TLM_ACCEPTED;
}

void ToBaseModule::announce(std::uint32_t inlet, Payload& train) {
  if (config_.order == ToBaseConfig::Order::in_order) return expect(inlet, train);
  sim::SmallVector<Payload*, 16> parts;  // from the last one on
  while (sim::train_of(train).cells() > 1) parts.push_back(&part_last(train));
  expect(inlet, train);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) expect(inlet, **part);
}

void ToBaseModule::expect(std::uint32_t inlet, Payload& train) {
  Passage& passage = sim::extension<Passage>(train);
  passage.inlet = inlet;
  passage.arrived = passage.answered = 0;
  passage.open.clear();
  passage.next = {sim::train_of(train).times.front(), inlet, next_number_++};
  arrivals_.add(passage.next, train);
}

// The last cell is a train of its own, which nobody has heard of but its initiator.
Payload& ToBaseModule::part_last(Payload& payload) {
  Train& train = sim::train_of(payload);
  const std::uint32_t before = train.bytes() - train.cell_bytes;
  Payload& last = context_.payloads.acquire();
  Train& rest = sim::train_of(last);
  rest.times = train.times.suffix(train.cells() - 1);
  rest.cell_bytes = train.cell_bytes;
  if (payload.is_write() && !train.content.empty()) {
    rest.content = train.content.slice(before, rest.bytes());
    train.content = train.content.slice(0, before);
  }
  train.times.drop_back(1);
  last.set_command(payload.get_command());
  last.set_address(payload.get_address() + before);
  last.set_data_length(rest.bytes());
  last.set_streaming_width(rest.bytes());
  sim::extension<soc::AxiAttributes>(last) = sim::extension<soc::AxiAttributes>(payload);
  sim::is_new(sim::extension<Passage>(last), rest);
  sim::send_back(in[static_cast<int>(sim::extension<Passage>(payload).inlet)], payload, sim::Parted{last});
  return last;
}

// The cells that do not come have not arrived.
void ToBaseModule::cut(Payload& train) {
  Passage& passage = sim::extension<Passage>(train);
  if (passage.arrived >= sim::train_of(train).cells()) arrivals_.strike(passage.next);
}

void ToBaseModule::arrive() {
  while (Payload* train = arrivals_.next()) {
    Passage& passage = sim::extension<Passage>(*train);
    Payload& access = make_access(*train, passage.arrived++);
    passage.open.push_back(&access);
    ready_.push_back(&access);
    const sim::TimeSequence& times = sim::train_of(*train).times;
    if (passage.arrived == times.size()) continue;
    passage.next.when = times.at(passage.arrived);
    arrivals_.add(passage.next, *train);
  }
  // The memory is called by a process of SystemC's, when its clock shows this instant.
  if (!ready_.empty()) send_.notify(until(context_.now()));
}

Payload& ToBaseModule::make_access(Payload& payload, std::uint32_t cell) {
  const Train& train = sim::train_of(payload);
  Payload& access = context_.payloads.acquire();
  access.reset();  // extensions that another memory has left to this
  Access& notes = sim::extension<Access>(access);
  notes.train = &payload;
  notes.number = next_number_++;
  notes.responded = notes.over = false;
  const std::uint32_t before = cell * train.cell_bytes;
  if (payload.is_write() && train.content.empty()) {
    access.set_byte_enable_ptr(&disabled_byte);
    access.set_byte_enable_length(1);
  } else if (payload.is_write()) {
    train.content.slice(before, train.cell_bytes).copy_to(notes.bytes.data());
  }
  access.set_command(payload.get_command());
  access.set_address(payload.get_address() + before);
  access.set_data_ptr(notes.bytes.data());
  access.set_data_length(train.cell_bytes);
  access.set_streaming_width(train.cell_bytes);
  access.set_dmi_allowed(false);
  open_[notes.number] = &access;
  return access;
}

void ToBaseModule::send() {
  if (config_.calls == ToBaseConfig::Calls::non_blocking) return send_request();
  while (!ready_.empty() && !idle_.empty()) {
    Worker& worker = *idle_.back();
    idle_.pop_back();
    worker.access = ready_.front();
    ready_.pop_front();
    // At once, so that threads run in the order of the cells: SystemC promises none for those that a delta wakes.
    worker.wake.notify();
  }
}

void ToBaseModule::work(Worker& worker) {
  for (;;) {
    while (worker.access == nullptr) sc_core::wait(worker.wake);
    sc_core::sc_time delay;
    memory().b_transport(*worker.access, delay);
    if (delay > sc_core::SC_ZERO_TIME) sc_core::wait(delay);
    begin_response(*std::exchange(worker.access, nullptr), sc_core::SC_ZERO_TIME);
    idle_.push_back(&worker);
    if (!ready_.empty()) send_.notify(sc_core::SC_ZERO_TIME);
  }
}

// One request phase at a time: the memory ends it, and so keeps the others back.
void ToBaseModule::send_request() {
  while (!ready_.empty() && request_ == nullptr) {
    if (const sc_core::sc_time wait = until(request_free_); wait > sc_core::SC_ZERO_TIME) return send_.notify(wait);
    Payload& access = *ready_.front();
    ready_.pop_front();
    request_ = &access;
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay;
    const tlm::tlm_sync_enum said = memory().nb_transport_fw(access, phase, delay);
    if (said == tlm::TLM_UPDATED) heed(access, phase, delay);
    if (said == tlm::TLM_COMPLETED) heed(access, tlm::BEGIN_RESP, delay);
  }
}

tlm::tlm_sync_enum ToBaseModule::on_backward(Payload& access, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (access.get_extension<Access>() == nullptr) {
    complain("a response to a transaction that nobody has sent");
    return tlm::TLM_COMPLETED;
  }
  heed(access, phase, delay);
  // The initiator takes any response at once: END_RESP at its instant, by the return value.
  return phase == tlm::BEGIN_RESP ? tlm::TLM_COMPLETED : tlm::TLM_ACCEPTED;
}

void ToBaseModule::heed(Payload& access, const tlm::tlm_phase& phase, const sc_core::sc_time& delay) {
  if (phase == tlm::END_REQ) return end_request(access, delay);
  if (phase == tlm::BEGIN_RESP) {
    end_request(access, delay);  // without END_REQ, the response says that, too
    return begin_response(access, delay);
  }
  if (phase == tlm::BEGIN_REQ || phase == tlm::END_RESP) complain("a target sends END_REQ and BEGIN_RESP");
  // Others are extensions of the protocol, which may be ignored.
}

void ToBaseModule::end_request(const Payload& access, const sc_core::sc_time& delay) {
  if (request_ != &access) return;
  request_ = nullptr;
  request_free_ = effective(delay);
  if (!ready_.empty()) send_.notify(delay);
}

void ToBaseModule::begin_response(Payload& access, const sc_core::sc_time& delay) {
  Access& notes = sim::extension<Access>(access);
  if (std::exchange(notes.responded, true)) return complain("a second response to one transaction");
  responses_.add({effective(delay), 0, next_number_++}, access);
}

void ToBaseModule::respond() {
  while (Payload* access = responses_.next()) finish(*access);
}

// Answers it, and those behind it that have waited for it.
void ToBaseModule::finish(Payload& access) {
  Access& notes = sim::extension<Access>(access);
  notes.over = true;
  if (notes.train == nullptr) return access.release();
  Payload& train = *notes.train;
  Passage& passage = sim::extension<Passage>(train);
  while (!passage.open.empty()) {
    Payload& first = *passage.open.front();
    if (!sim::extension<Access>(first).over) return;
    passage.open.erase(passage.open.begin());
    answer(train, first);
  }
}

void ToBaseModule::answer(Payload& train, Payload& access) {
  const Access& notes = sim::extension<Access>(access);
  Passage& passage = sim::extension<Passage>(train);
  const tlm::tlm_response_status status = status_of(access);
  const bool has_data = access.is_read() && status == tlm::TLM_OK_RESPONSE;
  const sim::Content data =
      has_data ? sim::Content::spelt_out(notes.bytes.data(), access.get_data_length()) : sim::kNoContent;
  const sim::TimeSequence now = sim::TimeSequence::single(context_.now());
  open_.erase(notes.number);
  access.release();
  sim::send_back(in[static_cast<int>(passage.inlet)], train, sim::Answers{passage.answered++, now, status, data});
}

void ToBaseModule::abandon_all() {
  // Of those that the memory has, the transactions stay until it answers.
  const auto open = std::exchange(open_, {});
  const auto waiting = std::exchange(ready_, {});
  request_ = nullptr;
  request_free_ = context_.now();
  sim::SmallVector<Payload*, 16> trains;  // once for each cell
  for (const auto& [number, access] : open) {
    Access& notes = sim::extension<Access>(*access);
    trains.push_back(std::exchange(notes.train, nullptr));
    sim::extension<Passage>(*trains.back()).open.clear();
    if (notes.over) access->release();
  }
  for (Payload* access : waiting) access->release();
  const sim::TimeSequence now = sim::TimeSequence::single(context_.now());
  for (Payload* train : trains) {
    Passage& passage = sim::extension<Passage>(*train);
    const sim::Answers failed{passage.answered++, now, tlm::TLM_GENERIC_ERROR_RESPONSE};
    sim::send_back(in[static_cast<int>(passage.inlet)], *train, failed);
  }
}

// The data path's words have no time, as the page tables and rings that software looks at.
void ToBaseModule::on_word(int inlet, Payload& word, sc_core::sc_time&) {
  const bool all = on_debug(inlet, word) == word.get_data_length();
  word.set_response_status(all ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

unsigned ToBaseModule::on_debug(int, Payload& payload) { return memory().transport_dbg(payload); }

}  // namespace faultline::adapters
