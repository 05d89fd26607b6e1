// SPDX-License-Identifier: Apache-2.0
#include "models/nic/exanest/axi_writer.hpp"

#include <algorithm>
#include <utility>

#include "models/nic/exanest/run_payload.hpp"

namespace faultline::exanest {

WriteRequest WriteRequest::split(std::uint32_t first) {
  WriteRequest rest = *this;
  const std::uint32_t bytes = first * cell_bytes;
  rest.address += bytes;
  rest.ready = ready.suffix(first);
  ready.drop_back(ready.size() - first);
  if (!content.empty()) {
    rest.content = content.slice(bytes, content.size() - bytes);
    content = content.slice(0, bytes);
  }
  return rest;
}

std::uint32_t AxiWriter::Fate::answered() const {
  return replies.empty() ? 0 : replies.back().first + replies.back().responses.size();
}

AxiWriter::AxiWriter(unsigned outstanding, Forward& port, const sim::Context& context)
    : port_(port),
      context_(context),
      queue_({outstanding}, *this),
      settle_port_(context.loop.new_port()),
      wakeup_(context.loop, *this) {}

void AxiWriter::submit(WriteRequest request) {
  queue_.submit(std::move(request));
  wake();
}

// The head is judged at its turn, and again when it has a slot.
void AxiWriter::wake() {
  if (queue_.is_disturbed()) return wakeup_.now();
  wakeup_.at(queue_.doubtful_at());
  if (queue_.empty()) return;
  if (queue_.turn() > context_.now() || !judged_) return wakeup_.at(queue_.turn());
  if (queue_.next_slot() != sim::kNever) wakeup_.at(queue_.next_slot());
}

void AxiWriter::pump() {
  queue_.reconcile(context_.now());
  while (!queue_.empty() && queue_.turn() <= context_.now()) {
    const WriteRequest& head = queue_.head();
    if (!head.client->wanted(head.tag)) {
      drop();
      continue;
    }
    judged_ = true;
    if (queue_.next_slot() > context_.now()) break;
    send();
  }
  wake();
}

void AxiWriter::remember(Queue::Run& run) {
  judged_ = false;
  run.details.id = next_id_;
  next_id_ += run.issued.size();
  run.item.client->left_buffer(run.item.tag, run.issued);
}

void AxiWriter::drop() {
  Queue::Run& run = queue_.drop(context_.now());
  remember(run);
  settle_at(run.issued.back(), run.details.id);
}

void AxiWriter::send() {
  Queue::Run& run = queue_.issue(context_.now());
  remember(run);
  const WriteRequest& item = run.item;
  tlm::tlm_generic_payload& payload =
      make_access(run, tlm::TLM_WRITE_COMMAND, item.address, item.cell_bytes, item.master_id, context_);
  sim::train_of(payload).content = item.content;
  port_.begin_request(payload);
}

void AxiWriter::recall(const WriteClient& client, std::uint64_t tag, std::uint32_t cells) {
  queue_.recall(cells, [&](const WriteRequest& request) { return request.client == &client && request.tag == tag; });
  wakeup_.now();
}

void AxiWriter::verdicts_changed() {
  queue_.take_back_from(context_.now());
  wakeup_.now();
}

void AxiWriter::taken_back(Queue::Run& run, const WriteRequest& rest, const sim::TimeSequence&) {
  const std::uint32_t kept = run.issued.size();
  run.item.client->back_in_buffer(run.item.tag, rest.ready.size());
  Fate& fate = run.details;
  if (fate.payload == nullptr) {
    settle_at(run.issued.back(), fate.id);
    return;
  }
  while (fate.answered() > kept) {
    Reply& reply = fate.replies.back();
    const std::uint32_t standing = kept > reply.first ? kept - reply.first : 0;
    queue_.withdraw(reply.responses.suffix(standing));
    reply.responses.drop_back(reply.responses.size() - standing);
    if (standing == 0) fate.replies.pop_back();
  }
  if (!fate.replies.empty()) settle_at(fate.replies.back().responses.back(), fate.id);
  sim::Train& train = sim::train_of(*fate.payload);
  train.times.drop_back(rest.ready.size());
  train.content = run.item.content;
  port_.recall(*fate.payload);
  if (kept == 0) fate.payload->release();
}

void AxiWriter::response(tlm::tlm_generic_payload& payload) {
  const sim::TimeSequence& responses = sim::train_of(payload).responses;
  Queue::Run& run = run_of(queue_, payload);
  Fate& fate = run.details;
  const bool ok = payload.is_response_ok();
  const std::uint32_t first = fate.answered();
  fate.replies.push_back({first, ok, responses});
  if (!ok) settle_at(responses.front(), fate.id);
  settle_at(responses.back(), fate.id);
  queue_.give(responses, run.issued.at(first), context_.now());
  wake();
}

void AxiWriter::responses_recalled(tlm::tlm_generic_payload& payload) {
  Fate& fate = run_of(queue_, payload).details;
  for (std::uint32_t left = sim::train_of(payload).recalled; left > 0;) {
    Reply& reply = fate.replies.back();
    const std::uint32_t gone = std::min(left, reply.responses.size());
    left -= gone;
    const sim::TimeSequence recalled = reply.responses.suffix(reply.responses.size() - gone);
    reply.responses.drop_back(gone);
    if (reply.responses.empty()) fate.replies.pop_back();
    queue_.withdraw(recalled);
  }
  if (!fate.replies.empty()) settle_at(fate.replies.back().responses.back(), fate.id);
  wakeup_.now();
}

void AxiWriter::train_parted(tlm::tlm_generic_payload& payload) { part_run(queue_, payload); }

void AxiWriter::settle_at(Time when, std::uint64_t id) {
  context_.loop.at<&AxiWriter::settle>(std::max(when, context_.now()), settle_port_, *this, id);
}

// Tells the client what has happened by now. What was put off meanwhile has another event for it.
void AxiWriter::settle(std::uint64_t id) {
  Queue::Run* run = find_run(queue_, id);
  if (run == nullptr) return;
  const Time now = context_.now();
  Fate& fate = run->details;
  if (fate.payload == nullptr && run->issued.back() <= now) tell_dropped(*run);
  // The client may take back cells of this run's end, and their replies with them.
  for (std::size_t i = 0; i < fate.replies.size(); ++i) {
    Reply& reply = fate.replies[i];
    if (!reply.ok && !reply.error_told && reply.responses.front() <= now) {
      reply.error_told = true;
      run->item.client->write_error(run->item.tag,
                                    run->item.address + std::uint64_t{reply.first} * run->item.cell_bytes);
    }
    if (reply.responses.back() <= now) tell_answered(*run, reply);
  }
  forget();
}

void AxiWriter::settle_losses() {
  for (Queue::Run& run : queue_.runs()) {
    if (run.details.payload == nullptr) tell_dropped(run);
    for (Reply& reply : run.details.replies) {
      if (!reply.ok) tell_answered(run, reply);
    }
  }
}

void AxiWriter::tell_dropped(Queue::Run& run) {
  const std::uint32_t dropped = run.issued.count_by(context_.now());
  const std::uint32_t told = std::exchange(run.details.drops_told, dropped);
  if (dropped > told) run.item.client->dropped(run.item.tag, dropped - told);
}

void AxiWriter::tell_answered(Queue::Run& run, Reply& reply) {
  const std::uint32_t answered = reply.responses.count_by(context_.now());
  const std::uint32_t told = std::exchange(reply.told, answered);
  if (answered == told) return;
  WriteClient& client = *run.item.client;
  reply.ok ? client.written(run.item.tag, answered - told) : client.refused(run.item.tag, answered - told);
}

bool AxiWriter::is_over(const Queue::Run& run) {
  const Fate& fate = run.details;
  if (fate.payload == nullptr) return fate.drops_told == run.issued.size();
  return fate.answered() == run.issued.size() &&
         std::all_of(fate.replies.begin(), fate.replies.end(),
                     [](const Reply& r) { return r.told == r.responses.size(); });
}

void AxiWriter::forget() {
  auto& runs = queue_.runs();
  while (!runs.empty() && is_over(runs.front())) {
    if (runs.front().details.payload != nullptr) runs.front().details.payload->release();
    runs.pop_front();
  }
}

}  // namespace faultline::exanest
