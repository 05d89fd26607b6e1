// SPDX-License-Identifier: Apache-2.0
#include "models/dma/send_unit.hpp"

#include <algorithm>

#include "models/dma/registers.hpp"
#include "models/memory/axi.hpp"

namespace faultline::dma {

namespace {

// Which block a read belongs to, and where in it.
struct ReadTag : tlm::tlm_extension<ReadTag> {
  std::uint64_t block = 0;
  std::uint32_t offset = 0;
  tlm::tlm_extension_base* clone() const override { return new ReadTag(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const ReadTag&>(other); }
};

}  // namespace

SendUnit::SendUnit(const DmaConfig& config, Forward& port, Injector& injector, Counters& counters,
                   const sim::Context& context)
    : config_(config),
      port_(port),
      injector_(injector),
      counters_(counters),
      context_(context),
      read_credits_(config.neighbours.outstanding_reads),
      buffer_(config.cell_buffer),
      contexts_(config.block_contexts),
      wakeup_(context.loop, *this),
      faults_(context.loop, *this) {
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
  if (blocks_.empty() || blocks_.back().command.key.transfer != transfer) return;
  blocks_.back().stop = std::min(blocks_.back().stop, context_.now());
  wakeup_.now();
}

bool SendUnit::issuing() const {
  if (blocks_.empty()) return false;
  const Block& block = blocks_.back();
  return block.issued < block.command.bytes && context_.now() < block.stop;
}

void SendUnit::pump() {
  for (;;) {
    if (staged_) {
      const Time goes = staged_->times.front();
      if (goes > context_.now() && goes < blocks_.back().stop) return wakeup_.at(goes);
      issue_staged();
      continue;
    }
    if (issuing()) {
      if (!stage()) return;
      continue;
    }
    retire();
    if (!start_next()) return;
  }
}

// Lets go of the contexts of blocks whose last departure is known, in order: that may be before it comes.
void SendUnit::retire() {
  while (!blocks_.empty()) {
    const Block& oldest = blocks_.front();
    if (oldest.pending > 0 || oldest.unsent > 0 || (blocks_.size() == 1 && issuing())) return;
    contexts_.give(sim::TimeSequence::single(oldest.done));
    blocks_.pop_front();
  }
}

// Loads the next command that is still wanted, once the last block's reads are issued. False when there is none, or no
// context for it yet.
bool SendUnit::start_next() {
  if (commands_.empty() || contexts_.known() == 0) return false;
  const Time free = std::max(contexts_.peek(1).front(), last_read_);
  if (context_.now() < free) {
    wakeup_.at(free);
    return false;
  }
  while (!commands_.empty()) {
    const BlockCommand command = commands_.front();
    commands_.pop_front();
    client_->command_taken();
    if (!client_->still_wanted(command.key)) continue;
    Block block;
    block.id = next_id_++;
    block.command = command;
    block.start = context_.now();
    block.done = block.start;
    contexts_.take(1);
    blocks_.push_back(block);
    return true;
  }
  return false;
}

// Reserves credits for the block's next reads. False: none is known to come free, or not before the block stops.
bool SendUnit::stage() {
  Block& block = blocks_.back();
  const BlockCommand& c = block.command;
  CellRun run = next_run(c.source, c.destination, block.issued, c.bytes, context_.cells_per_train);
  run.cells = std::min({run.cells, read_credits_.known(), buffer_.known()});
  if (run.cells == 0) return false;
  const Time first = std::max({read_credits_.peek(1).front(), buffer_.peek(1).front(), block.start});
  if (first >= block.stop) {
    wakeup_.at(block.stop);
    return false;
  }
  Staged staged{run, {}, read_credits_.take(run.cells), buffer_.take(run.cells)};
  staged.times = sim::not_before(sim::later_of(staged.read_credits, staged.buffer_credits), block.start);
  if (block.issued == 0) {
    context_.trace.report(first, context_.node, sim::Step::read_issued, c.key);
  }
  block.issued += run.bytes();
  staged_ = std::move(staged);
  return true;
}

void SendUnit::issue_staged() {
  Block& block = blocks_.back();
  Staged staged = std::move(*staged_);
  staged_.reset();
  const std::uint32_t cells = staged.times.count_before(block.stop);
  if (cells < staged.run.cells) {
    read_credits_.give_back(staged.read_credits.suffix(cells));
    buffer_.give_back(staged.buffer_credits.suffix(cells));
    block.issued -= (staged.run.cells - cells) * staged.run.cell_bytes;
    if (cells == 0) return;
  }
  block.pending += cells;
  tlm::tlm_generic_payload& payload = context_.payloads.acquire();
  sim::Train& train = sim::train_of(payload);
  train.times = staged.times.prefix(cells);
  last_read_ = train.times.back();
  train.cell_bytes = staged.run.cell_bytes;
  auto& axi = sim::extension<memory::AxiAttributes>(payload);
  axi = {};
  axi.master_id = hpc0_master_id(block.command.pdid);
  auto& tag = sim::extension<ReadTag>(payload);
  tag.block = block.id;
  tag.offset = staged.run.offset;
  payload.set_command(tlm::TLM_READ_COMMAND);
  payload.set_address(block.command.source + staged.run.offset);
  payload.set_data_length(train.bytes());
  payload.set_streaming_width(train.bytes());
  port_.begin_request(payload);
}

SendUnit::Block* SendUnit::find(std::uint64_t id) {
  const auto at = std::find_if(blocks_.begin(), blocks_.end(), [id](const Block& b) { return b.id == id; });
  return at == blocks_.end() ? nullptr : &*at;
}

void SendUnit::response(tlm::tlm_generic_payload& payload) {
  sim::Train& train = sim::train_of(payload);
  const auto& tag = sim::extension<ReadTag>(payload);
  Block& block = *find(tag.block);
  block.pending -= train.cells();
  block.done = std::max(block.done, train.responses.back());
  read_credits_.give(train.responses);
  const Time first = train.responses.front();
  if (!payload.is_response_ok()) stop_for_fault(block, payload.get_address(), first);
  if (first >= block.stop) {
    buffer_.give(train.responses);
  } else {
    Outgoing out;
    out.header.kind = interconnect::PacketKind::data;
    out.header.source = context_.node;
    out.header.destination = block.command.peer;
    out.header.pdid = block.command.peer_pdid;
    out.header.key = block.command.key;
    out.header.address = block.command.destination + tag.offset;
    out.header.block_offset = tag.offset;
    out.header.block_bytes = block.command.bytes;
    out.cell_bytes = train.cell_bytes;
    out.ready = train.responses.shifted(config_.clock.cycles(config_.send_pipeline));
    out.content = std::move(train.content);
    out.tag = block.id;
    block.unsent += train.cells();
    injector_.send_data(std::move(out));
  }
  payload.release();
  wakeup_.now();
}

void SendUnit::stop_for_fault(Block& block, std::uint64_t address, Time at) {
  block.stop = std::min(block.stop, at);
  if (block.fault_reported) return;
  block.fault_reported = true;
  context_.trace.report(at, context_.node, sim::Step::fault_detected, block.command.key);
  faults_.at(at, Fault{block.command, sim::page_begin(address)});
}

void SendUnit::report_fault(const Fault& fault) {
  ++counters_.source_faults;
  client_->source_fault(fault.command, fault.page);
}

void SendUnit::cells_sent(const Outgoing& cells) {
  if (cells.header.key.attempt > 0) {
    counters_.retransmitted_bytes += std::uint64_t{cells.ready.size()} * cells.cell_bytes;
  }
  if (cells.header.block_offset == 0) {
    context_.trace.report(cells.ready.front(), context_.node, sim::Step::cell_sent, cells.header.key);
  }
  Block& block = *find(cells.tag);
  block.unsent -= cells.ready.size();
  block.done = std::max(block.done, cells.ready.back());
  buffer_.give(cells.ready);
  wakeup_.now();
}

}  // namespace faultline::dma
