// SPDX-License-Identifier: Apache-2.0
#include "models/nic/path/send_unit.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

#include "models/nic/path/registers.hpp"
#include "models/nic/path/run_payload.hpp"
#include "models/nic/path/steps.hpp"
#include "models/nic/path/tracks.hpp"

namespace faultline::nic {

SendUnit::ReadRequest SendUnit::ReadRequest::split(std::uint32_t first) {
  ReadRequest rest = *this;
  rest.run.offset += first * run.cell_bytes;
  rest.run.cells -= first;
  rest.ready = ready.suffix(first);
  run.cells = first;
  ready.drop_back(rest.run.cells);
  return rest;
}

SendUnit::SendUnit(const PathConfig& config, Forward& port, Injector& injector, Counters& counters,
                   const sim::Context& context)
    : config_(config),
      port_(port),
      injector_(injector),
      counters_(counters),
      context_(context),
      queue_({config.neighbours.outstanding_reads, config.cell_buffer}, *this),
      error_port_(context.loop.new_port()),
      wakeup_(context.loop, *this) {
  injector.listen(*this);
}

void SendUnit::enqueue(const BlockCommand& command) {
  // An earlier attempt that has not begun is not worth its cells any more.
  sim::erase_if(commands_, [&](const BlockCommand& waiting) {
    return waiting.key.transfer == command.key.transfer && waiting.key.part == command.key.part;
  });
  commands_.push_back(command);
  context_.level(track::kSendQueue, commands_.size());
  wakeup_.now();
}

void SendUnit::cancel(std::uint64_t transfer) {
  if (blocks_.empty() || blocks_.back().command.key.transfer != transfer) return;
  stop(first_block_ + blocks_.size() - 1);
}

std::uint64_t SendUnit::cut_short(const sim::PartKey& key) {
  const auto found = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.command.key == key; });
  if (found == blocks_.end() || found->stopped) return 0;
  const std::uint64_t block = first_block_ + static_cast<std::uint64_t>(found - blocks_.begin());
  std::uint64_t unsent = found->command.bytes;
  stop(block);
  for (Queue::Run& run : queue_.runs()) {
    if (run.item.block != block) continue;
    const std::uint32_t sent = run.details.left.count_by(injector_.settled());
    unsent -= std::uint64_t{sent} * run.item.run.cell_bytes;
    auto& replies = run.details.replies;
    for (auto reply = replies.rbegin(); reply != replies.rend(); ++reply) {
      hold_back(run, *reply, sent);
    }
  }
  return unsent;
}

void SendUnit::pump() {
  queue_.reconcile(context_.now());
  for (;;) {
    while (!queue_.empty() && std::max(queue_.turn(), queue_.next_slot()) <= context_.now()) issue();
    if (!queue_.empty()) break;
    retire();
    if (!start_next()) break;
  }
  wakeup_.at(queue_.due(context_.now()));
}

void SendUnit::wake() { wakeup_.at(queue_.empty() ? context_.now() : queue_.due(context_.now())); }

// Lets go of the contexts of blocks that are done, in order.
void SendUnit::retire() {
  while (!blocks_.empty()) {
    const Time at = done(first_block_);
    if (at > context_.now()) {
      if (at != sim::kNever) wakeup_.at(at);
      return;
    }
    auto& runs = queue_.runs();
    while (!runs.empty() && runs.front().item.block == first_block_) {
      count_resent(runs.front());
      runs.front().details.payload->release();
      runs.pop_front();
    }
    const Block& block = blocks_.front();
    context_.slice(track::kSendUnit, 0, block.start, at, "block", "DMA", block.command.key);
    blocks_.pop_front();
    context_.level(track::kSendBlocks, blocks_.size());
    ++first_block_;
  }
}

Time SendUnit::done(std::uint64_t block) {
  const Block& of = blocks_[static_cast<std::size_t>(block - first_block_)];
  Time last = of.start;
  for (const Queue::Run& run : queue_.runs()) {
    const Read& read = run.details;
    if (run.item.block != block) continue;
    if (read.replies.cells() < run.issued.size()) return sim::kNever;
    std::uint32_t to_leave = 0;
    for (const Replies::Part& reply : read.replies) {
      if (!reply.ok() && !of.fault_reported) return sim::kNever;
      to_leave += passed_on(reply);
      last = std::max(last, reply.instants.back());
    }
    if (read.left.size() < to_leave) return sim::kNever;
    if (to_leave > 0) last = std::max(last, read.left.back());
  }
  return last;
}

// Loads the next command that is still wanted, once the last block's reads are issued. False when there is none, or no
// context for it yet.
bool SendUnit::start_next() {
  if (commands_.empty() || blocks_.size() == config_.block_contexts) return false;
  if (!queue_.runs().empty() && queue_.runs().back().issued.back() > context_.now()) {
    wakeup_.at(queue_.runs().back().issued.back());
    return false;
  }
  while (!commands_.empty()) {
    const BlockCommand c = commands_.front();
    commands_.pop_front();
    context_.level(track::kSendQueue, commands_.size());
    client_->command_taken();
    if (!client_->still_wanted(c.key)) continue;
    blocks_.push_back({c, context_.now()});
    context_.level(track::kSendBlocks, blocks_.size());
    for (std::uint32_t offset = 0; offset < c.bytes;) {
      const CellRun run = next_run(c.source, c.destination, offset, c.bytes, context_.cells_per_train);
      const auto ready = sim::TimeSequence::regular(context_.now(), Time{0}, run.cells);
      queue_.submit({first_block_ + blocks_.size() - 1, run, ready});
      offset += run.bytes();
    }
    return true;
  }
  return false;
}

void SendUnit::issue() {
  Queue::Run& run = queue_.issue(context_.now());
  const BlockCommand& c = block_of(run).command;
  const CellRun& cells = run.item.run;
  run.details.id = next_id_;
  next_id_ += cells.cells;
  if (cells.offset == 0) context_.report(step::kReadIssued, c.key);
  tlm::tlm_generic_payload& payload = make_access(run, tlm::TLM_READ_COMMAND, c.source + cells.offset, cells.cell_bytes,
                                                  hpc0_master_id(c.pdid), context_);
  port_.tell(payload, {});
}

void SendUnit::answered(tlm::tlm_generic_payload& payload, const sim::Answers& answers) {
  Queue::Run& run = run_of(queue_, payload);
  Read& read = run.details;
  if (void_replies(read, answers.from)) wakeup_.now();
  if (answers.instants.empty()) return;
  Replies::Part& reply = read.replies.add(answers);
  // Data whose response was recalled and comes at another instant is the same.
  const std::uint32_t cell_bytes = run.item.run.cell_bytes;
  const std::uint32_t known = read.content.size() / cell_bytes;
  if (known < reply.end()) {
    const std::uint32_t bytes = (reply.end() - known) * cell_bytes;
    read.content.append(reply.ok() ? answers.data.slice((known - reply.first) * cell_bytes, bytes)
                                   : sim::Content::zeros(bytes));
  }
  const Time issued = run.issued.at(answers.from);
  if (reply.ok() && !block_of(run).stopped) {
    pass_on(run, reply);
  } else {
    queue_.give(answers.instants, issued, context_.now(), kBuffer);
  }
  if (answers.status != tlm::TLM_OK_RESPONSE) {
    const Time error = std::max(answers.instants.front(), context_.now());
    context_.loop.at<&SendUnit::read_error>(error, error_port_, *this, read.id);
  }
  queue_.give(answers.instants, issued, context_.now(), kPort);
  wake();
}

std::uint32_t SendUnit::passed_on(const Replies::Part& reply) {
  return std::clamp(reply.details.to, reply.first, reply.end()) - reply.first;
}

void SendUnit::pass_on(const Queue::Run& run, Replies::Part& reply) {
  const BlockCommand& c = block_of(run).command;
  const CellRun& cells = run.item.run;
  const std::uint32_t offset = cells.offset + reply.first * cells.cell_bytes;
  Outgoing out;
  out.header.kind = network::PacketKind::data;
  out.header.source = context_.node;
  out.header.destination = c.peer;
  out.header.pdid = c.peer_pdid;
  out.header.key = c.key;
  out.header.address = c.destination + offset;
  out.header.block_offset = offset;
  out.header.block_bytes = c.bytes;
  if (c.notice) std::tie(out.header.words[0], out.header.words[1]) = pack(c.notice);
  out.cell_bytes = cells.cell_bytes;
  out.ready = reply.instants.shifted(config_.clock.cycles(config_.send_pipeline));
  reply.details.to = reply.end();
  out.content = run.details.content.slice(reply.first * cells.cell_bytes, reply.instants.size() * cells.cell_bytes);
  out.tag = run.details.id;
  injector_.send_data(std::move(out));
}

void SendUnit::parted(tlm::tlm_generic_payload& payload, tlm::tlm_generic_payload& rest) {
  const std::uint32_t bytes = sim::train_of(payload).bytes();
  sim::Content& content = run_of(queue_, payload).details.content;
  if (content.size() > bytes) content = content.slice(0, bytes);
  part_run(queue_, payload, rest);
}

bool SendUnit::void_replies(Read& read, std::uint32_t from) {
  if (read.replies.cells() <= from) return false;
  // Forgotten first: reads that were to go with these slots may be of this train, too.
  while (const auto gone = read.replies.drop_last(from)) {
    const std::uint32_t sent = passed_on(*gone);
    if (sent > 0) injector_.recall_data(read.id, sent);
    queue_.withdraw(gone->instants.suffix(sent), kBuffer);
    queue_.withdraw(gone->instants, kPort);
  }
  return true;
}

void SendUnit::hold_back(const Queue::Run& run, Replies::Part& reply, std::uint32_t from) {
  from = std::max(from, reply.first);
  const std::uint32_t to = reply.first + passed_on(reply);
  if (to <= from) return;
  injector_.recall_data(run.details.id, to - from);
  const sim::TimeSequence free = not_before(reply.instants.slice(from - reply.first, to - from), context_.now());
  queue_.give(free, run.issued.at(from), context_.now(), kBuffer);
  reply.details.to = from;
}

void SendUnit::stop(std::uint64_t block) {
  if (std::exchange(blocks_[static_cast<std::size_t>(block - first_block_)].stopped, true)) return;
  queue_.take_back_from(context_.now());
  queue_.remove([block](const ReadRequest& request) { return request.block == block; });
  for (Queue::Run& run : queue_.runs()) {
    if (run.item.block != block) continue;
    auto& replies = run.details.replies;
    std::uint32_t passed = 0;  // cells, by the replies before this one
    for (const Replies::Part& reply : replies) passed += passed_on(reply);
    const std::uint32_t sent = run.details.left.count_by(injector_.settled());
    for (auto reply = replies.rbegin(); reply != replies.rend(); ++reply) {
      passed -= passed_on(*reply);
      // Without a pipeline what comes at this instant may have left at once.
      const std::uint32_t of_reply = std::max(sent, passed) - passed;
      hold_back(run, *reply, reply->first + std::max(of_reply, reply->instants.count_before(context_.now())));
    }
  }
  wakeup_.now();
}

void SendUnit::taken_back(Queue::Run& run, const ReadRequest& rest, const sim::TimeSequence&) {
  const std::uint32_t kept = run.issued.size();
  tlm::tlm_generic_payload& payload = *run.details.payload;
  void_replies(run.details, kept);
  sim::train_of(payload).times.drop_back(rest.run.cells);
  port_.tell(payload, {kept});
  if (kept == 0) payload.release();
  wakeup_.now();
}

void SendUnit::read_error(std::uint64_t id) {
  const Queue::Run* run = find_run(queue_, id);
  if (run == nullptr) return;
  const auto& replies = run->details.replies;
  const auto bad = std::find_if(replies.begin(), replies.end(), [](const Replies::Part& r) { return !r.ok(); });
  if (bad == replies.end() || bad->instants.front() > context_.now()) return;
  Block& block = block_of(*run);
  if (std::exchange(block.fault_reported, true)) return;
  wakeup_.now();
  const CellRun& cells = run->item.run;
  const std::uint64_t address = block.command.source + cells.offset + std::uint64_t{bad->first} * cells.cell_bytes;
  stop(run->item.block);
  context_.report(step::kFaultDetected, block.command.key);
  ++counters_.source_faults;
  const BlockCommand command = block.command;
  client_->source_fault(command, sim::page_begin(address));
}

void SendUnit::cells_leave(std::uint64_t id, const sim::TimeSequence& instants) {
  Queue::Run& run = *find_run(queue_, id);
  const CellRun& cells = run.item.run;
  const sim::PartKey& key = block_of(run).command.key;
  if (cells.offset == 0 && run.details.left.empty()) context_.report(step::kCellSent, key);
  const Time issued = run.issued.at(run.details.left.size());
  run.details.left.append(instants);
  queue_.give(instants, issued, context_.now(), kBuffer);
  wake();
}

void SendUnit::cells_stay(std::uint64_t id, const sim::TimeSequence& instants) {
  Queue::Run& run = *find_run(queue_, id);
  run.details.left.drop_back(instants.size());
  queue_.withdraw(instants, kBuffer);
  wakeup_.now();
}

void SendUnit::settle_resent() {
  for (Queue::Run& run : queue_.runs()) count_resent(run);
}

void SendUnit::count_resent(Queue::Run& run) {
  if (block_of(run).command.key.attempt == 0) return;
  const std::uint32_t sent = run.details.left.count_by(context_.now());
  const std::uint32_t counted = std::exchange(run.details.counted, sent);
  assert(sent >= counted);  // what has left does not stay
  counters_.retransmitted_bytes += std::uint64_t{sent - counted} * run.item.run.cell_bytes;
}

}  // namespace faultline::nic
