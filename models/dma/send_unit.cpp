// SPDX-License-Identifier: Apache-2.0
#include "models/dma/send_unit.hpp"

#include <algorithm>
#include <utility>

#include "models/dma/registers.hpp"
#include "models/memory/axi.hpp"

namespace faultline::dma {

namespace {

struct ReadTag : tlm::tlm_extension<ReadTag> {
  std::uint64_t id = 0;
  tlm::tlm_extension_base* clone() const override { return new ReadTag(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const ReadTag&>(other); }
};

}  // namespace

std::uint32_t SendUnit::Read::answered() const {
  return replies.empty() ? 0 : replies.back().first + replies.back().responses.size();
}

SendUnit::SendUnit(const DmaConfig& config, Forward& port, Injector& injector, Counters& counters,
                   const sim::Context& context)
    : config_(config),
      port_(port),
      injector_(injector),
      counters_(counters),
      context_(context),
      read_credits_(config.neighbours.outstanding_reads),
      buffer_(config.cell_buffer),
      error_port_(context.loop.new_port()),
      wakeup_(context.loop, *this) {
  injector.listen(*this);
}

void SendUnit::enqueue(const BlockCommand& command) {
  // An earlier attempt that has not begun is not worth its cells any more.
  std::erase_if(commands_, [&](const BlockCommand& waiting) {
    return waiting.key.transfer == command.key.transfer && waiting.key.block == command.key.block;
  });
  commands_.push_back(command);
  wakeup_.now();
}

void SendUnit::cancel(std::uint64_t transfer) {
  if (!blocks_.empty() && blocks_.back().command.key.transfer == transfer) stop(blocks_.back());
}

void SendUnit::pump() {
  reconcile();
  for (;;) {
    if (issuing()) {
      if (!issue()) return;
      continue;
    }
    retire();
    if (!start_next()) return;
  }
}

// Lets go of the contexts of blocks that are done, in order.
void SendUnit::retire() {
  while (!blocks_.empty() && !issuing()) {
    const Time at = done(first_block_);
    if (at > context_.now()) {
      if (at != sim::kNever) wakeup_.at(at);
      return;
    }
    while (!reads_.empty() && reads_.front().block == first_block_) {
      reads_.front().payload->release();
      reads_.pop_front();
    }
    blocks_.pop_front();
    ++first_block_;
  }
}

Time SendUnit::done(std::uint64_t block) const {
  Time last = blocks_[static_cast<std::size_t>(block - first_block_)].start;
  for (const Read& read : reads_) {
    if (read.block != block) continue;
    if (read.answered() < read.issued.size()) return sim::kNever;
    std::uint32_t passed_on = 0;
    for (const Reply& reply : read.replies) {
      if (!reply.ok && !blocks_[static_cast<std::size_t>(block - first_block_)].fault_reported) return sim::kNever;
      passed_on += reply.passed_on;
      last = std::max(last, reply.responses.back());
    }
    if (read.left.size() < passed_on) return sim::kNever;
    if (passed_on > 0) last = std::max(last, read.left.back());
  }
  return last;
}

// Loads the next command that is still wanted, once the last block's reads are issued. False when there is none, or no
// context for it yet.
bool SendUnit::start_next() {
  if (commands_.empty() || blocks_.size() == config_.block_contexts) return false;
  if (!reads_.empty() && reads_.back().issued.back() > context_.now()) {
    wakeup_.at(reads_.back().issued.back());
    return false;
  }
  while (!commands_.empty()) {
    const BlockCommand command = commands_.front();
    commands_.pop_front();
    client_->command_taken();
    if (!client_->still_wanted(command.key)) continue;
    blocks_.push_back({command, context_.now()});
    return true;
  }
  return false;
}

Time SendUnit::next_issue() const {
  const Time before = reads_.empty() ? Time{0} : reads_.back().issued.back();
  return std::max({read_credits_.next(), buffer_.next(), before});
}

void SendUnit::wake() {
  const bool disturbed =
      disturbed_from_ != sim::kNever || read_credits_.owed() != sim::kNever || buffer_.owed() != sim::kNever;
  if (disturbed || !issuing()) return wakeup_.now();
  if (next_issue() != sim::kNever) wakeup_.at(next_issue());
}

// Announces the block's next reads if the first of them goes now. False: it must wait.
bool SendUnit::issue() {
  Block& block = blocks_.back();
  const BlockCommand& c = block.command;
  CellRun run = next_run(c.source, c.destination, block.issued, c.bytes, context_.cells_per_train);
  run.cells = std::min({run.cells, read_credits_.known(), buffer_.known()});
  if (run.cells == 0) return false;
  if (next_issue() > context_.now()) {
    wakeup_.at(next_issue());
    return false;
  }
  Read read{next_id_,
            first_block_ + blocks_.size() - 1,
            run,
            {},
            read_credits_.take(run.cells),
            buffer_.take(run.cells),
            &context_.payloads.acquire(),
            {},
            {},
            {}};
  read.issued = sim::not_before(sim::later_of(read.read_credits, read.buffer_credits), context_.now());
  next_id_ += run.cells;
  announced_ = context_.now();
  if (block.issued == 0) context_.report(sim::Step::read_issued, c.key);
  block.issued += run.bytes();

  tlm::tlm_generic_payload& payload = *read.payload;
  sim::Train& train = sim::train_of(payload);
  train.times = read.issued;
  train.cell_bytes = run.cell_bytes;
  auto& axi = sim::extension<memory::AxiAttributes>(payload);
  axi = {};
  axi.master_id = hpc0_master_id(c.pdid);
  sim::extension<ReadTag>(payload).id = read.id;
  payload.set_command(tlm::TLM_READ_COMMAND);
  payload.set_address(c.source + run.offset);
  payload.set_data_length(train.bytes());
  payload.set_streaming_width(train.bytes());
  reads_.push_back(std::move(read));
  port_.begin_request(payload);
  return true;
}

SendUnit::Read* SendUnit::find(std::uint64_t id) {
  const auto at = std::lower_bound(reads_.begin(), reads_.end(), id,
                                   [](const Read& read, std::uint64_t wanted) { return read.id < wanted; });
  return at == reads_.end() || at->id != id ? nullptr : &*at;
}

void SendUnit::response(tlm::tlm_generic_payload& payload) {
  sim::Train& train = sim::train_of(payload);
  Read& read = *find(sim::extension<ReadTag>(payload).id);
  const bool ok = payload.is_response_ok();
  const std::uint32_t first = read.answered();
  read.replies.push_back({first, ok, train.responses, 0});
  // Data whose response was recalled and comes at another instant is the same.
  const std::uint32_t known = read.content.size() / train.cell_bytes;
  if (known < read.answered()) {
    const std::uint32_t bytes = (read.answered() - known) * train.cell_bytes;
    read.content.append(ok ? train.content.slice((known - first) * train.cell_bytes, bytes)
                           : sim::Content::zeros(bytes));
  }
  if (ok && !block_of(read).stopped) {
    pass_on(read, read.replies.back());
  } else {
    give(buffer_, &Read::buffer_credits, train.responses);
  }
  if (!ok) {
    const Time error = std::max(train.responses.front(), context_.now());
    context_.loop.at<&SendUnit::read_error>(error, error_port_, *this, read.id);
  }
  give(read_credits_, &Read::read_credits, train.responses);
  wake();
}

void SendUnit::pass_on(const Read& read, Reply& reply) {
  const BlockCommand& c = block_of(read).command;
  const std::uint32_t offset = read.run.offset + reply.first * read.run.cell_bytes;
  Outgoing out;
  out.header.kind = interconnect::PacketKind::data;
  out.header.source = context_.node;
  out.header.destination = c.peer;
  out.header.pdid = c.peer_pdid;
  out.header.key = c.key;
  out.header.address = c.destination + offset;
  out.header.block_offset = offset;
  out.header.block_bytes = c.bytes;
  out.cell_bytes = read.run.cell_bytes;
  out.ready = reply.responses.shifted(config_.clock.cycles(config_.send_pipeline));
  reply.passed_on = reply.responses.size();
  out.content = read.content.slice(reply.first * read.run.cell_bytes, reply.passed_on * read.run.cell_bytes);
  out.tag = read.id;
  injector_.send_data(std::move(out));
}

void SendUnit::responses_recalled(tlm::tlm_generic_payload& payload) {
  void_replies(*find(sim::extension<ReadTag>(payload).id), sim::train_of(payload).recalled);
  wakeup_.now();
}

void SendUnit::train_parted(tlm::tlm_generic_payload& payload) {
  Read& read = *find(sim::extension<ReadTag>(payload).id);
  const std::uint32_t kept = sim::train_of(payload).cells();
  const std::uint32_t gone = read.issued.size() - kept;
  tlm::tlm_generic_payload* payload_of_rest = sim::train_of(payload).rest;
  Read rest{read.id + kept,
            read.block,
            {read.run.offset + kept * read.run.cell_bytes, read.run.cell_bytes, gone},
            read.issued.suffix(kept),
            read.read_credits.suffix(kept),
            read.buffer_credits.suffix(kept),
            payload_of_rest,
            {},
            {},
            {}};
  sim::extension<ReadTag>(*payload_of_rest).id = rest.id;
  read.run.cells = kept;
  read.issued.drop_back(gone);
  read.read_credits.drop_back(gone);
  read.buffer_credits.drop_back(gone);
  if (read.content.size() > kept * read.run.cell_bytes) {
    read.content = read.content.slice(0, kept * read.run.cell_bytes);
  }
  const auto at = std::find_if(reads_.begin(), reads_.end(), [&read](const Read& r) { return &r == &read; });
  reads_.insert(std::next(at), std::move(rest));
}

// The last announced responses do not come when they were said to.
void SendUnit::void_replies(Read& read, std::uint32_t cells) {
  while (cells > 0) {
    Reply& reply = read.replies.back();
    const std::uint32_t kept = reply.responses.size() - std::min(cells, reply.responses.size());
    const sim::TimeSequence gone = reply.responses.suffix(kept);
    const std::uint32_t passed_on = reply.passed_on > kept ? reply.passed_on - kept : 0;
    cells -= gone.size();
    // Forgotten first: reads that were to go with these slots may be of this train, too.
    reply.passed_on -= passed_on;
    reply.responses.drop_back(gone.size());
    if (kept == 0) read.replies.pop_back();
    if (passed_on > 0) injector_.recall_data(read.id, passed_on);
    buffer_.withdraw(gone.suffix(passed_on));
    read_credits_.withdraw(gone);
  }
}

void SendUnit::hold_back(const Read& read, Reply& reply, std::uint32_t kept) {
  if (reply.passed_on <= kept) return;
  injector_.recall_data(read.id, reply.passed_on - kept);
  give(buffer_, &Read::buffer_credits, reply.responses.slice(kept, reply.passed_on - kept));
  reply.passed_on = kept;
}

void SendUnit::stop(Block& block) {
  if (std::exchange(block.stopped, true)) return;
  take_back_from(context_.now());
  const std::uint64_t id = first_block_ + static_cast<std::uint64_t>(&block - &blocks_.front());
  for (Read& read : reads_) {
    if (read.block != id) continue;
    for (auto reply = read.replies.rbegin(); reply != read.replies.rend(); ++reply) {
      hold_back(read, *reply, reply->responses.count_before(context_.now()));
    }
  }
  wakeup_.now();
}

void SendUnit::take_back_from(Time from) {
  from = std::max(from, announced_ + Time{1});
  while (!reads_.empty() && reads_.back().issued.back() >= from) {
    Read& read = reads_.back();
    const std::uint32_t kept = read.issued.count_before(from);
    const std::uint32_t gone = read.issued.size() - kept;
    read_credits_.give_back(read.read_credits.suffix(kept));
    buffer_.give_back(read.buffer_credits.suffix(kept));
    read.issued.drop_back(gone);
    read.read_credits.drop_back(gone);
    read.buffer_credits.drop_back(gone);
    read.run.cells = kept;
    block_of(read).issued -= gone * read.run.cell_bytes;
    if (read.answered() > kept) void_replies(read, read.answered() - kept);
    sim::train_of(*read.payload).times.drop_back(gone);
    port_.recall(*read.payload);
    if (kept > 0) continue;
    read.payload->release();
    reads_.pop_back();
  }
  wakeup_.now();
}

// A slot that comes free before those that reads wait for is theirs.
void SendUnit::give(sim::CreditPool& pool, sim::TimeSequence Read::*taken, const sim::TimeSequence& freed) {
  if (!reads_.empty() && freed.front() < (reads_.back().*taken).back()) {
    disturbed_from_ = std::min(disturbed_from_, freed.front());
  }
  pool.give(freed);
}

void SendUnit::reconcile() {
  const Time soonest = context_.now() + Time{1};
  const Time from = std::exchange(disturbed_from_, sim::kNever);
  if (from != sim::kNever) take_back_from(std::max(from, soonest));
  for (const sim::CreditPool* pool : {&read_credits_, &buffer_}) {
    while (pool->owed() != sim::kNever) take_back_from(std::max(pool->owed(), soonest));
  }
}

void SendUnit::read_error(std::uint64_t id) {
  Read* read = find(id);
  if (read == nullptr) return;
  const auto bad = std::find_if(read->replies.begin(), read->replies.end(), [](const Reply& r) { return !r.ok; });
  if (bad == read->replies.end() || bad->responses.front() > context_.now()) return;
  Block& block = block_of(*read);
  if (std::exchange(block.fault_reported, true)) return;
  wakeup_.now();
  const std::uint64_t address =
      block.command.source + read->run.offset + std::uint64_t{bad->first} * read->run.cell_bytes;
  stop(block);
  context_.report(sim::Step::fault_detected, block.command.key);
  ++counters_.source_faults;
  const BlockCommand command = block.command;
  client_->source_fault(command, sim::page_begin(address));
}

void SendUnit::cells_leave(std::uint64_t id, const sim::TimeSequence& instants) {
  Read& read = *find(id);
  const BlockCommand& c = block_of(read).command;
  if (c.key.attempt > 0) counters_.retransmitted_bytes += std::uint64_t{instants.size()} * read.run.cell_bytes;
  if (read.run.offset == 0 && read.left.empty()) context_.report(sim::Step::cell_sent, c.key);
  read.left.append(instants);
  give(buffer_, &Read::buffer_credits, instants);
  wake();
}

void SendUnit::cells_stay(std::uint64_t id, const sim::TimeSequence& instants) {
  Read& read = *find(id);
  if (block_of(read).command.key.attempt > 0) {
    counters_.retransmitted_bytes -= std::uint64_t{instants.size()} * read.run.cell_bytes;
  }
  read.left.drop_back(instants.size());
  buffer_.withdraw(instants);
  wakeup_.now();
}

}  // namespace faultline::dma
