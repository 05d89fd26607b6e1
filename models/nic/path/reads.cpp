// SPDX-License-Identifier: Apache-2.0
// BlockScheduler: the messages that NICs send to each other, for reads of remote memory.
#include <algorithm>

#include "models/nic/path/block_scheduler.hpp"
#include "models/nic/path/registers.hpp"
#include "models/nic/path/steps.hpp"

namespace faultline::nic {

sim::Task<void> BlockScheduler::handle(Message message) {
  const bool own = co_await handle_own(message);
  if (own) co_return;
  co_await run(config_.message_processing, "message");
  switch (message.words[0]) {
    case reg::kReadRequest: handle_read_request(message); break;
    case reg::kReadDone: handle_read_done(message); break;
    case reg::kAbort: abort(message.words[1]); break;
    default: break;  // any user may send words to a NIC
  }
}

sim::Task<bool> BlockScheduler::handle_own(Message) { co_return false; }

void BlockScheduler::handle_read_request(const Message& message) {
  const std::uint64_t id = message.words[1];
  const auto initiator = static_cast<sim::NodeId>(message.words[5]);
  if (const FinishedRead* before = finished(id)) {
    return send_to_nic(initiator, 3, reg::kReadDone, id, before->status);
  }
  if (table_.served(id) != nullptr) return send_to_nic(initiator, 3, reg::kReadDone, id, reg::kReadRunning);
  Descriptor d;
  d.source = message.words[2];
  d.destination = message.words[3];
  d.length = message.words[4];
  d.peer = initiator;
  d.peer_pdid = static_cast<std::uint32_t>(message.words[5] >> 32) & 0xffff;
  d.command = reg::kCommandRead;
  const auto pdid = static_cast<std::uint32_t>(message.words[5] >> 48);
  Transfer* transfer = well_formed(d) && pdid < reg::kPdids ? table_.serve(id, pdid, d) : nullptr;
  if (transfer == nullptr) {
    ++counters_.refused_reads;
  } else {
    begin_to_know(*transfer);
  }
}

void BlockScheduler::handle_read_done(const Message& message) {
  Transfer* transfer = table_.posted(message.words[1]);
  if (transfer == nullptr || transfer->ended || transfer->role != Role::read) return;
  if (message.words[2] == reg::kReadRunning) {
    transfer->silent = 0;
  } else {
    finish(*transfer, message.words[2]);
  }
}

void BlockScheduler::abort(std::uint64_t id) {
  Transfer* transfer = table_.served(id);
  if (transfer == nullptr) transfer = table_.posted(id);
  if (transfer != nullptr && !transfer->ended) finish(*transfer, reg::kNotifyError);
}

const BlockScheduler::FinishedRead* BlockScheduler::finished(std::uint64_t id) const {
  const auto found = std::find_if(finished_.begin(), finished_.end(), [id](const auto& r) { return r.id == id; });
  return found == finished_.end() ? nullptr : &*found;
}

sim::Task<void> BlockScheduler::report_finished(FinishedRead read) {
  co_await run(config_.message_processing, "end of a read");
  send_to_nic(read.initiator, 3, reg::kReadDone, read.id, read.status);
}

void BlockScheduler::request_read(Transfer& transfer) {
  const Descriptor& d = transfer.descriptor;
  Message message;
  message.destination = d.peer;
  message.to_nic = true;
  message.count = 6;
  message.words = {
      reg::kReadRequest,
      transfer.id,
      d.source,
      d.destination,
      d.length,
      std::uint64_t{context_.node} | std::uint64_t{transfer.pdid} << 32 | std::uint64_t{d.peer_pdid} << 48};
  hw_.mailbox.send(message);
  hw_.timer.start(*this, kReadDeadline, {transfer.id, 0, ++transfer.requests});
}

void BlockScheduler::read_timed_out(Transfer& transfer) {
  ++counters_.read_request_timeouts;
  context_.report(step::kTimedOut, {transfer.id, 0, 0});
  ++transfer.silent;
  if (config_.retry_limit != 0 && transfer.silent > config_.retry_limit) return finish(transfer, reg::kNotifyError);
  request_read(transfer);
}

void BlockScheduler::send_to_nic(sim::NodeId node, unsigned count, std::uint64_t operation, std::uint64_t a,
                                 std::uint64_t b) {
  Message message;
  message.destination = node;
  message.to_nic = true;
  message.count = count;
  message.words = {operation, a, b};
  hw_.mailbox.send(message);
}

}  // namespace faultline::nic
