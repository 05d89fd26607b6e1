// SPDX-License-Identifier: Apache-2.0
#include "models/nic/path/axi_writer.hpp"

#include <algorithm>
#include <utility>

#include "models/nic/path/run_payload.hpp"

namespace faultline::nic {

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

AxiWriter::AxiWriter(unsigned outstanding, Forward& port, const sim::Context& context)
    : port_(port),
      context_(context),
      queue_({outstanding}, *this),
      settle_port_(context.loop.new_port()),
      turn_(context.loop.new_port()),
      wakeup_(context.loop, *this, turn_) {}

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
  port_.tell(payload, {});
}

void AxiWriter::recall(const WriteClient& client, std::uint64_t tag, std::uint32_t cells) {
  queue_.recall(context_.now(), cells,
                [&](const WriteRequest& request) { return request.client == &client && request.tag == tag; });
  wakeup_.now();
}

void AxiWriter::verdicts_changed() {
  queue_.take_back_from(context_.loop.settled(turn_) + Time{1});
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
  void_replies(fate, kept);
  sim::Train& train = sim::train_of(*fate.payload);
  train.times.drop_back(rest.ready.size());
  train.content = run.item.content;
  port_.tell(*fate.payload, {kept});
  if (kept == 0) fate.payload->release();
}

void AxiWriter::answered(tlm::tlm_generic_payload& payload, const sim::Answers& answers) {
  Queue::Run& run = run_of(queue_, payload);
  Fate& fate = run.details;
  if (void_replies(fate, answers.from)) wakeup_.now();
  if (answers.instants.empty()) return;
  if (!fate.replies.add(answers).ok()) settle_at(answers.instants.front(), fate.id);
  settle_at(answers.instants.back(), fate.id);
  queue_.give(answers.instants, run.issued.at(answers.from), context_.now());
  wake();
}

bool AxiWriter::void_replies(Fate& fate, std::uint32_t from) {
  if (fate.replies.cells() <= from) return false;
  while (const auto gone = fate.replies.drop_last(from)) queue_.withdraw(gone->instants);
  if (!fate.replies.empty()) settle_at(fate.replies.last().instants.back(), fate.id);
  return true;
}

void AxiWriter::parted(tlm::tlm_generic_payload& payload, tlm::tlm_generic_payload& rest) {
  part_run(queue_, payload, rest);
}

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
  for (std::size_t i = 0; i < fate.replies.parts(); ++i) {
    Replies::Part& reply = fate.replies.part(i);
    if (!reply.ok() && !reply.details.error && reply.instants.front() <= now) {
      reply.details.error = true;
      run->item.client->write_error(run->item.tag,
                                    run->item.address + std::uint64_t{reply.first} * run->item.cell_bytes);
    }
    if (reply.instants.back() <= now) tell_answered(*run, reply);
  }
  forget();
}

void AxiWriter::settle_losses() {
  for (Queue::Run& run : queue_.runs()) {
    if (run.details.payload == nullptr) tell_dropped(run);
    for (Replies::Part& reply : run.details.replies) {
      if (!reply.ok()) tell_answered(run, reply);
    }
  }
}

void AxiWriter::tell_dropped(Queue::Run& run) {
  const std::uint32_t dropped = run.issued.count_by(context_.now());
  const std::uint32_t told = std::exchange(run.details.drops_told, dropped);
  if (dropped > told) run.item.client->dropped(run.item.tag, dropped - told);
}

void AxiWriter::tell_answered(Queue::Run& run, Replies::Part& reply) {
  const std::uint32_t answered = reply.instants.count_by(context_.now());
  const std::uint32_t told = std::exchange(reply.details.cells, answered);
  if (answered == told) return;
  WriteClient& client = *run.item.client;
  reply.ok() ? client.written(run.item.tag, answered - told) : client.refused(run.item.tag, answered - told);
}

bool AxiWriter::is_over(const Queue::Run& run) {
  const Fate& fate = run.details;
  if (fate.payload == nullptr) return fate.drops_told == run.issued.size();
  return fate.replies.cells() == run.issued.size() &&
         std::all_of(fate.replies.begin(), fate.replies.end(),
                     [](const Replies::Part& r) { return r.details.cells == r.instants.size(); });
}

void AxiWriter::forget() {
  auto& runs = queue_.runs();
  while (!runs.empty() && is_over(runs.front())) {
    if (runs.front().details.payload != nullptr) runs.front().details.payload->release();
    runs.pop_front();
  }
}

}  // namespace faultline::nic
