// SPDX-License-Identifier: Apache-2.0
#include "models/nic/path/block_scheduler.hpp"

#include <algorithm>
#include <array>

#include "models/nic/path/registers.hpp"
#include "models/nic/path/steps.hpp"
#include "models/nic/path/tracks.hpp"

namespace faultline::nic {

namespace {

// Served reads whose outcome is remembered. One that is forgotten and asked for again is done again, which is harmless:
// its initiator has not been told that it was done.
constexpr std::size_t kFinishedReads = 256;

constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;

}  // namespace

BlockScheduler::BlockScheduler(Hardware hardware)
    : hw_(hardware),
      counters_(hw_.counters),
      context_(hw_.context),
      table_(hw_.config, context_.node),
      work_(context_.loop),
      config_(hw_.config) {
  hw_.send.connect(*this);
  hw_.receive.connect(*this);
  hw_.mailbox.connect(*this);
}

sim::Task<void> BlockScheduler::work() {
  for (;;) {
    if (hw_.mailbox.has_own_message()) {
      const Message message = hw_.mailbox.take_own_message();
      co_await handle(message);
      continue;
    }
    if (!to_report_.empty()) {
      const FinishedRead read = to_report_.front();
      to_report_.pop_front();
      co_await report_finished(read);
      continue;
    }
    const Transfer* sending = hw_.send.has_room() ? table_.next_with_block() : nullptr;
    if (sending != nullptr) {
      co_await schedule_block(sending->id);
      continue;
    }
    const Transfer* posted = table_.next_to_start();
    if (posted != nullptr) {
      co_await start(posted->id, posted->role);
      continue;
    }
    co_await work_;
  }
}

// Transfers may end while the loop is at work on them, so they are looked up again after each wait.
sim::Task<void> BlockScheduler::start(std::uint64_t id, Role role) {
  co_await run(config_.transfer_startup, "transfer set-up");
  Transfer* transfer = role == Role::serve ? table_.served(id) : table_.posted(id);
  if (transfer == nullptr || transfer->ended) co_return;
  transfer->started = true;
  context_.report(step::kTransferStarted, {id, 0, 0});
  if (role == Role::read) {
    request_read(*transfer);
  } else {
    const std::uint64_t blocks = (transfer->descriptor.length + config_.block_bytes - 1) / config_.block_bytes;
    transfer->blocks.resize(blocks);
  }
}

sim::Task<void> BlockScheduler::schedule_block(std::uint64_t id) {
  Transfer& chosen = *table_.sender(id);
  std::uint32_t number = chosen.next_untouched;
  if (chosen.again.empty()) {
    ++chosen.next_untouched;
    ++chosen.outstanding;
  } else {
    number = chosen.again.front();
    chosen.again.pop_front();
  }
  chosen.blocks[number].state = Block::State::scheduling;
  co_await run(config_.block_scheduling, "block scheduling");
  Transfer* transfer = table_.sender(id);
  if (transfer == nullptr || transfer->ended) co_return;
  if (transfer->blocks[number].state == Block::State::scheduling) hand_over(*transfer, number);
}

void BlockScheduler::hand_over(Transfer& transfer, std::uint32_t number) {
  Block& block = transfer.blocks[number];
  block.state = Block::State::handed;
  const std::uint64_t offset = number * config_.block_bytes;
  const Descriptor& d = transfer.descriptor;
  BlockCommand command;
  command.key = {transfer.id, number, block.attempt};
  command.source = d.source + offset;
  command.destination = d.destination + offset;
  command.bytes = transfer.block_bytes(number, config_.block_bytes);
  command.pdid = transfer.pdid;
  command.peer = d.peer;
  command.peer_pdid = d.peer_pdid;
  command.notice = table_.notice_of(transfer);
  ++counters_.blocks_sent;
  if (block.attempt > 0) ++counters_.retransmitted_blocks;
  context_.report(step::kBlockScheduled, command.key);
  hw_.timer.start(*this, kBlockDeadline, command.key);
  hw_.send.enqueue(command);
}

void BlockScheduler::requeue(Transfer& transfer, std::uint32_t number, sim::Step why) {
  Block& block = transfer.blocks[number];
  ++block.attempt;
  block.state = Block::State::queued;
  transfer.again.push_back(number);
  context_.report(why, {transfer.id, number, block.attempt});
  work_.notify_all();
}

bool BlockScheduler::well_formed(const Descriptor& d) {
  const bool known = d.command == reg::kCommandWrite || d.command == reg::kCommandRead;
  const bool fits = d.length >= 1 && d.length <= kMostBytes && d.source <= UINT64_MAX - d.length &&
                    d.destination <= UINT64_MAX - d.length;
  const bool notice = d.notice == NoticeKind::none || (d.command == reg::kCommandWrite && d.notice <= kLastNoticeKind);
  return known && fits && notice && d.notify % 8 == 0 && d.peer_pdid < reg::kPdids;
}

std::uint64_t BlockScheduler::post(unsigned channel, std::uint32_t pdid, const Descriptor& descriptor) {
  Transfer* transfer = well_formed(descriptor) ? table_.post(channel, pdid, descriptor) : nullptr;
  if (transfer == nullptr) {
    ++counters_.refused_posts;
    return 0;
  }
  ++counters_.transfers;
  begin_to_know(*transfer);
  work_.notify_all();
  return transfer->id;
}

void BlockScheduler::end_all(unsigned channel, std::uint32_t pdid) {
  for (Transfer* transfer : table_.of_process(channel, pdid)) {
    if (transfer->ended) continue;
    transfer->descriptor.notify = 0;  // nobody is there to be told
    finish(*transfer, reg::kNotifyError);
  }
}

bool BlockScheduler::still_wanted(const sim::PartKey& key) {
  const Transfer* transfer = table_.sender(key.transfer);
  if (transfer == nullptr || transfer->ended || key.part >= transfer->blocks.size()) return false;
  const Block& block = transfer->blocks[key.part];
  return block.state == Block::State::handed && block.attempt == key.attempt;
}

// Whatever attempt it was of: the receiver has the whole block in memory.
void BlockScheduler::acknowledge(const sim::PartKey& key) {
  Transfer* transfer = table_.sender(key.transfer);
  const bool known = transfer != nullptr && !transfer->ended && key.part < transfer->blocks.size();
  if (!known || transfer->blocks[key.part].state == Block::State::acknowledged) {
    ++counters_.late_acknowledgements;
    return;
  }
  ++counters_.acknowledgements;
  context_.report(step::kBlockAcknowledged, key);
  transfer->blocks[key.part].state = Block::State::acknowledged;
  --transfer->outstanding;
  if (++transfer->acknowledged == transfer->blocks.size()) finish(*transfer, reg::kNotifyDone);
  work_.notify_all();
}

void BlockScheduler::finish(Transfer& transfer, std::uint64_t status) {
  transfer.ended = true;
  if (status != reg::kNotifyDone) {
    ++counters_.failed_transfers;
    hw_.send.cancel(transfer.id);
  }
  if (transfer.notice_number != 0) work_.notify_all();  // another one may be within the window now
  if (transfer.role == Role::serve) {
    const FinishedRead read{transfer.id, status, transfer.descriptor.peer};
    to_report_.push_back(read);
    finished_.push_back(read);
    if (finished_.size() > kFinishedReads) finished_.pop_front();
    forget(transfer);
    work_.notify_all();
    return;
  }
  hw_.receive.transfer_ended(transfer.id);
  const Descriptor& d = transfer.descriptor;
  if (d.notify == 0) return forget(transfer);
  hw_.writer.write(d.notify, transfer.pdid, sim::Content::literal(d.cookie << 8 | status, 8), *this, transfer.id);
}

void BlockScheduler::control_written(std::uint64_t id, bool ok) {
  if (ok) {
    ++counters_.notifications;
    context_.report(step::kNotified, {id, 0, 0});
  } else {
    ++counters_.notifications_lost;
  }
  forget(*table_.posted(id));
}

void BlockScheduler::begin_to_know(Transfer& transfer) {
  transfer.known_since = context_.now();
  if (transfer.role != Role::serve) {
    context_.level(track::kChannel, table_.held_by(transfer.channel), transfer.channel);
  }
}

void BlockScheduler::forget(Transfer& transfer) {
  constexpr std::array<const char*, 3> kNames{"write", "read", "read for another node"};
  const sim::Track track{context_.node, transfer.role == Role::serve ? track::kServedReads : track::kChannel,
                         transfer.role == Role::serve ? 0 : transfer.channel};
  context_.slice(track.kind, track.number, transfer.known_since, context_.now(),
                 kNames[static_cast<std::size_t>(transfer.role)], "DMA", {transfer.id, 0, 0});
  table_.erase(transfer);
  if (track.kind == track::kChannel) context_.level(track.kind, table_.held_by(track.number), track.number);
}

bool BlockScheduler::deadline_matters(std::uint64_t what, const sim::PartKey& key) {
  if (what == kBlockDeadline) return still_wanted(key);
  const Transfer* transfer = table_.posted(key.transfer);
  return transfer != nullptr && !transfer->ended && transfer->requests == key.attempt;
}

void BlockScheduler::deadline_passed(std::uint64_t what, const sim::PartKey& key) {
  if (what == kBlockDeadline) {
    block_timed_out(key);
  } else {
    read_timed_out(*table_.posted(key.transfer));
  }
}

void BlockScheduler::block_timed_out(const sim::PartKey& key) {
  Transfer& transfer = *table_.sender(key.transfer);
  ++counters_.timeouts;
  context_.report(step::kTimedOut, key);
  const std::uint32_t timeouts = ++transfer.blocks[key.part].timeouts;
  if (config_.retry_limit != 0 && timeouts > config_.retry_limit) return finish(transfer, reg::kNotifyError);
  requeue(transfer, key.part);
}

}  // namespace faultline::nic
