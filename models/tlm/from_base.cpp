// SPDX-License-Identifier: Apache-2.0
#include "models/tlm/from_base.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "models/soc/axi.hpp"

namespace faultline::adapters {

using sim::kCellBytes;
using sim::Time;
using sim::Train;
using Payload = tlm::tlm_generic_payload;

namespace {

const sim::ProfiledPart kFromBase{"adapters::FromBase"};

constexpr std::uint32_t kMostMasters = 1024;
constexpr unsigned kMostOutstanding = 65536;

void check(const char* key, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value >= least && value <= most) return;
  throw std::invalid_argument("FromBaseConfig::" + std::string(key) + " is " + std::to_string(value) + "; " +
                              std::to_string(least) + " to " + std::to_string(most));
}

// Why the data path cannot do what the transaction asks for; TLM_OK_RESPONSE if it can.
tlm::tlm_response_status objection(const Payload& payload) {
  if (!payload.is_read() && !payload.is_write()) return tlm::TLM_COMMAND_ERROR_RESPONSE;
  if (payload.get_byte_enable_ptr() != nullptr) return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
  const unsigned length = payload.get_data_length();
  if (length == 0 || payload.get_data_ptr() == nullptr || payload.get_streaming_width() < length) {
    return tlm::TLM_BURST_ERROR_RESPONSE;
  }
  return payload.get_address() > UINT64_MAX - length ? tlm::TLM_ADDRESS_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE;
}

bool refuse(Payload& payload) {
  payload.set_dmi_allowed(false);
  const tlm::tlm_response_status status = objection(payload);
  if (status == tlm::TLM_OK_RESPONSE) return false;
  payload.set_response_status(status);
  return true;
}

}  // namespace

// What a thread that waits has on its stack. If it is killed, its transaction is gone.
struct FromBaseModule::Caller {
  FromBaseModule* adapter;  // none: it is gone before the thread
  Call& call;
  ~Caller();
};

struct FromBaseModule::Call {
  Payload* payload = nullptr;  // none: nobody waits any more
  std::uint64_t number = 0;
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  bool is_write = false;
  bool is_blocking = false;
  Due start;
  std::uint32_t gone = 0;             // bytes that have gone
  std::uint32_t answered = 0;         // bytes
  std::uint32_t failed = UINT32_MAX;  // first byte of the first burst that failed
  tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
  bool is_over = false;
  sc_core::sc_event over;  // of a blocking one
  Caller* caller = nullptr;

  bool overlaps(const Call& other) const {
    return address < other.address + other.length && other.address < address + length;
  }
};

struct FromBaseModule::Burst : tlm::tlm_extension<Burst> {
  Call* call = nullptr;
  std::uint32_t offset = 0;  // of its first byte, in the call's data
  std::uint32_t final = 0;   // cells whose answers have come
  sim::AnswerList<tlm::tlm_response_status> answers;
  sim::Content data;  // of a read, as far as it has been told
  Due next;           // when the next answer comes, if that is known

  tlm::tlm_extension_base* clone() const override { return new Burst(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Burst&>(other); }
};

FromBaseModule::FromBaseModule(sc_core::sc_module_name name, const FromBaseConfig& config, const sim::Context& context)
    : sc_module(name),
      config_(config),
      context_(context),
      read_{reads, config.outstanding_reads},
      write_{writes, config.outstanding_writes},
      starts_(context.loop, *this),
      answers_(context.loop, *this),
      resets_(context.loop, *this),
      retries_(context.loop, *this),
      speak_("to_speak") {
  check("master_id", config.master_id, 0, kMostMasters - 1);
  check("outstanding_reads", config.outstanding_reads, 1, kMostOutstanding);
  check("outstanding_writes", config.outstanding_writes, 1, kMostOutstanding);
  reads.register_nb_transport_bw(this, &FromBaseModule::on_message);
  writes.register_nb_transport_bw(this, &FromBaseModule::on_message);
  SC_HAS_PROCESS(FromBaseModule);
  SC_METHOD(speak);
  dont_initialize();
  sensitive << speak_;
}

FromBaseModule::Caller::~Caller() {
  if (adapter == nullptr) return;
  call.caller = nullptr;
  call.is_over ? adapter->close(call) : adapter->abandon(call);
}

// Of transactions that are open nothing is touched: their initiator may be gone.
FromBaseModule::~FromBaseModule() {
  for (const auto& [number, call] : calls_) {
    if (call->caller != nullptr) call->caller->adapter = nullptr;
  }
}

tlm::tlm_sync_enum FromBaseModule::on_forward(Payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase == tlm::BEGIN_REQ) {
    if (request_ != nullptr) complain("BEGIN_REQ before the END_REQ of the request before it");
    if (refuse(payload)) return tlm::TLM_COMPLETED;
    if (payload.has_mm()) payload.acquire();
    request_ = &open(payload, effective(delay));
  } else if (phase == tlm::END_RESP) {
    // Without an open response it is of a transaction from before a reset.
    if (response_ != nullptr && response_->payload == &payload) end_response(delay);
    return tlm::TLM_COMPLETED;
  } else if (phase == tlm::END_REQ || phase == tlm::BEGIN_RESP) {
    complain("an initiator sends BEGIN_REQ and END_RESP");
  }
  return tlm::TLM_ACCEPTED;
}

void FromBaseModule::on_blocking(Payload& payload, sc_core::sc_time& delay) {
  if (refuse(payload)) return;
  Call& call = open(payload, effective(delay));
  call.is_blocking = true;
  Caller caller{this, call};
  call.caller = &caller;
  while (!call.is_over) sc_core::wait(call.over);
  delay = sc_core::SC_ZERO_TIME;
}

unsigned FromBaseModule::on_debug(Payload& payload) { return channel_of(payload).socket->transport_dbg(payload); }

bool FromBaseModule::on_direct_memory(Payload&, tlm::tlm_dmi& region) {
  // Nowhere: the standard's form of a refusal once and for all.
  region.allow_none();
  region.set_start_address(0);
  region.set_end_address(UINT64_MAX);
  return false;
}

FromBaseModule::Call& FromBaseModule::open(Payload& payload, Time start) {
  if (idle_calls_.empty()) {
    all_calls_.push_back(std::make_unique<Call>());
    idle_calls_.push_back(all_calls_.back().get());
  }
  Call& call = *idle_calls_.back();
  idle_calls_.pop_back();
  call.payload = &payload;
  call.number = next_number_++;
  call.address = payload.get_address();
  call.length = payload.get_data_length();
  call.is_write = payload.is_write();
  call.is_blocking = call.is_over = false;
  call.gone = call.answered = 0;
  call.failed = UINT32_MAX;
  call.status = tlm::TLM_OK_RESPONSE;
  call.start = {std::max(start, context_.now()), 0, call.number};
  calls_[call.number] = &call;
  starts_.add(call.start, call);
  return call;
}

// It is done with, and so are its bursts.
void FromBaseModule::close(Call& call) {
  calls_.erase(call.number);
  Payload* payload = std::exchange(call.payload, nullptr);
  idle_calls_.push_back(&call);
  if (payload != nullptr && !call.is_blocking && payload->has_mm()) payload->release();
}

void FromBaseModule::start() {
  while (Call* call = starts_.next()) channel_of(*call->payload).waiting.push_back(call);
  pump_both();
}

void FromBaseModule::pump_both() {
  pump(read_);
  pump(write_);
}

void FromBaseModule::pump(Channel& channel) {
  while (!channel.waiting.empty() && channel.slots > 0 && !must_wait(*channel.waiting.front())) {
    Call& call = *channel.waiting.front();
    send_train(channel, call);
    if (call.gone < call.length) continue;
    channel.waiting.pop_front();
    if (&call != request_) continue;
    accepted_.push_back(&call);
    speak_at(context_.now());
  }
}

bool FromBaseModule::must_wait(const Call& call) const {
  for (const auto& [number, before] : calls_) {
    if (number >= call.number) return false;
    if (!before->is_over && before->is_write != call.is_write && before->overlaps(call)) return true;
  }
  return false;
}

void FromBaseModule::send_train(Channel& channel, Call& call) {
  const std::uint64_t address = call.address + call.gone;
  const std::uint32_t left = call.length - call.gone;
  const auto to_boundary = static_cast<std::uint32_t>(kCellBytes - address % kCellBytes);
  const std::uint32_t cell_bytes = std::min(left, to_boundary);
  std::uint32_t cells = 1;
  if (cell_bytes == kCellBytes) {
    const auto in_page = static_cast<std::uint32_t>((sim::kPageBytes - address % sim::kPageBytes) / kCellBytes);
    cells = std::min({left / kCellBytes, in_page, channel.slots, context_.cells_per_train});
  }
  Payload& payload = context_.payloads.acquire();
  Train& train = sim::train_of(payload);
  train.times = sim::TimeSequence::regular(context_.now(), Time{0}, cells);
  train.cell_bytes = cell_bytes;
  if (call.is_write) {
    train.content = sim::Content::spelt_out(call.payload->get_data_ptr() + call.gone, train.bytes());
  }
  auto& axi = sim::extension<soc::AxiAttributes>(payload);
  axi = {};
  axi.master_id = config_.master_id;
  payload.set_command(call.is_write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  payload.set_address(address);
  payload.set_data_length(train.bytes());
  payload.set_streaming_width(train.bytes());
  remember(payload, &call, call.gone);
  channel.slots -= cells;
  call.gone += train.bytes();
  sim::send_on(channel.socket, payload);
}

FromBaseModule::Burst& FromBaseModule::remember(Payload& train, Call* call, std::uint32_t offset) {
  Burst& burst = sim::extension<Burst>(train);
  burst.call = call;
  burst.offset = offset;
  burst.final = 0;
  burst.answers = {};
  burst.data = {};
  burst.next = {};
  bursts_[sim::train_of(train).number] = &train;
  return burst;
}

tlm::tlm_sync_enum FromBaseModule::on_message(Payload& train, sim::Message& message, sc_core::sc_time&) {
  const sim::ProfileScope turn(context_.loop.profile(), kFromBase);
  if (const auto* answers = std::get_if<sim::Answers>(&message)) {
    answered(train, *answers);
  } else {
    const Burst& burst = sim::extension<Burst>(train);
    remember(std::get<sim::Parted>(message).rest, burst.call, burst.offset + sim::train_of(train).bytes());
  }
  return tlm::TLM_ACCEPTED;
}

void FromBaseModule::answered(Payload& payload, const sim::Answers& answers) {
  const Train& train = sim::train_of(payload);
  Burst& burst = sim::extension<Burst>(payload);
  while (burst.answers.drop_last(answers.from)) {
  }
  if (!answers.instants.empty()) {
    auto& part = burst.answers.add(answers);
    part.details = answers.status;
    // What a cell brings is told once, even if the instant changes.
    const std::uint32_t known = burst.data.size() / train.cell_bytes;
    if (payload.is_read() && known < part.end()) {
      const std::uint32_t bytes = (part.end() - known) * train.cell_bytes;
      burst.data.append(answers.data.empty() ? sim::Content::zeros(bytes)
                                             : answers.data.slice((known - part.first) * train.cell_bytes, bytes));
    }
  }
  wait_for_answer(payload);
}

// Of the first cell whose answer has not come.
void FromBaseModule::wait_for_answer(Payload& train) {
  Burst& burst = sim::extension<Burst>(train);
  answers_.strike(burst.next);
  for (const auto& part : burst.answers) {
    if (burst.final >= part.end()) continue;
    burst.next = {part.instants.at(burst.final - part.first), 0, sim::train_of(train).number};
    return answers_.add(burst.next, train);
  }
}

void FromBaseModule::settle() {
  while (Payload* train = answers_.next()) settle_train(*train);
  pump_both();
}

// The answers that have come are final.
void FromBaseModule::settle_train(Payload& payload) {
  const Train& train = sim::train_of(payload);
  Burst& burst = sim::extension<Burst>(payload);
  for (const auto& part : burst.answers) {
    const std::uint32_t come = part.first + part.instants.count_by(context_.now());
    for (; burst.final < come && burst.final >= part.first; ++burst.final) {
      ++channel_of(payload).slots;
      Call* call = burst.call;
      if (call == nullptr) continue;
      const std::uint32_t before = burst.final * train.cell_bytes;
      const std::uint32_t at = burst.offset + before;
      if (part.details != tlm::TLM_OK_RESPONSE && at < call->failed) {
        call->failed = at;
        call->status = part.details;
      }
      if (!call->is_write && part.details == tlm::TLM_OK_RESPONSE) {
        burst.data.slice(before, train.cell_bytes).copy_to(call->payload->get_data_ptr() + at);
      }
      call->answered += train.cell_bytes;
      if (call->answered == call->length) complete(*call);
    }
  }
  if (burst.final < train.cells()) return wait_for_answer(payload);
  bursts_.erase(train.number);
  payload.release();
}

void FromBaseModule::complete(Call& call) {
  call.is_over = true;
  call.payload->set_response_status(call.status);
  if (call.is_blocking) return call.over.notify(until(context_.now()));
  responses_.push_back(&call);
  speak_at(context_.now());
}

// The initiator is called by a process of SystemC's, when its clock shows that instant.
void FromBaseModule::speak_at(Time when) { speak_.notify(until(when)); }

void FromBaseModule::speak() {
  while (!accepted_.empty()) {
    Call& call = *accepted_.front();
    accepted_.pop_front();
    request_ = nullptr;  // the initiator may send the next one from within
    tlm::tlm_phase phase = tlm::END_REQ;
    sc_core::sc_time delay;
    initiator().nb_transport_bw(*call.payload, phase, delay);
  }
  while (response_ == nullptr && !responses_.empty()) {
    if (response_free_ > sim::from_sc_time(sc_core::sc_time_stamp())) return speak_at(response_free_);
    Call& call = *responses_.front();
    responses_.pop_front();
    respond(call);
  }
}

// One response phase at a time: the initiator ends it, and so keeps the others back.
void FromBaseModule::respond(Call& call) {
  if (request_ == &call) request_ = nullptr;  // BEGIN_RESP says END_REQ, too
  response_ = &call;
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay;
  const tlm::tlm_sync_enum said = initiator().nb_transport_bw(*call.payload, phase, delay);
  const bool ended = said == tlm::TLM_COMPLETED || (said == tlm::TLM_UPDATED && phase == tlm::END_RESP);
  if (ended && response_ == &call) end_response(delay);
}

void FromBaseModule::end_response(const sc_core::sc_time& delay) {
  close(*std::exchange(response_, nullptr));
  response_free_ = std::max(effective(delay), context_.now());  // at a reset SystemC's clock may lag
  if (!responses_.empty()) speak_at(response_free_);
}

void FromBaseModule::abandon(Call& call) {
  starts_.strike(call.start);
  sim::erase_if(channel_of(*call.payload).waiting, [&call](const Call* other) { return other == &call; });
  for (const auto& [number, train] : bursts_) {
    Burst& burst = sim::extension<Burst>(*train);
    if (burst.call == &call) burst.call = nullptr;
  }
  close(call);
  retries_.now();
}

void FromBaseModule::abandon_all() {
  if (response_ != nullptr) end_response(sc_core::SC_ZERO_TIME);
  starts_.clear();
  read_.waiting.clear();
  write_.waiting.clear();
  for (const auto& [number, train] : bursts_) sim::extension<Burst>(*train).call = nullptr;
  for (const auto& [number, call] : calls_) {
    if (call->is_over) continue;
    call->status = tlm::TLM_GENERIC_ERROR_RESPONSE;
    complete(*call);
  }
}

// All modules are still there, and nobody will be called again.
void FromBaseModule::end_of_simulation() {
  for (const auto& [number, call] : calls_) {
    Payload* payload = call->is_blocking ? nullptr : std::exchange(call->payload, nullptr);
    if (payload != nullptr && payload->has_mm()) payload->release();
  }
}

}  // namespace faultline::adapters
