// SPDX-License-Identifier: Apache-2.0
#include "models/nic/path/receive_unit.hpp"

#include <algorithm>

#include "models/nic/path/registers.hpp"
#include "models/nic/path/steps.hpp"
#include "models/nic/path/tracks.hpp"

namespace faultline::nic {

namespace {

// A block's key: of an acknowledgement, or of a stop.
constexpr std::uint32_t kKeyBytes = 16;

// Which of the trains that have arrived a payload is.
struct ArrivalTag : tlm::tlm_extension<ArrivalTag> {
  std::uint64_t tag = 0;
  tlm::tlm_extension_base* clone() const override { return new ArrivalTag(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const ArrivalTag&>(other); }
};

}  // namespace

ReceiveUnit::ReceiveUnit(const PathConfig& config, SlotReturn& slots, AxiWriter& writer, Injector& injector,
                         FaultFifo& faults, EventUnit& events, Counters& counters, const sim::Context& context)
    : config_(config),
      slots_(slots),
      writer_(writer),
      injector_(injector),
      faults_(faults),
      events_(events),
      counters_(counters),
      context_(context),
      notices_(config.remembers_notices),
      reassembly_(config.completed_transfers, notices_, counters.evicted_records) {}

void ReceiveUnit::receive(tlm::tlm_generic_payload& payload) {
  const sim::Train& train = sim::train_of(payload);
  const auto& header = sim::extension<network::PacketHeader>(payload);
  if (header.pdid >= reg::kPdids) return drop_foreign(payload);
  const std::uint64_t tag = first_tag_ + arrived_.size();
  sim::extension<ArrivalTag>(payload).tag = tag;
  arrived_.push_back({&payload, header.source, header.key, header.pdid, header.block_offset, header.block_bytes,
                      train.cell_bytes, train.cells(), train.cells()});
  if (const Notice notice = unpack_notice(header.words[0], header.words[1])) {
    arrived_.back().notice = notice;
    arrived_.back().last_arrival = train.times.back();
  }
  context_.level(track::kReceiveQueue, arrived_.size());
  if (header.block_offset == 0) {
    context_.trace.report(train.times.front(), context_.node, step::kCellArrived, header.key);
  }
  WriteRequest request;
  request.address = header.address;
  request.master_id = hpc0_master_id(header.pdid);
  request.cell_bytes = train.cell_bytes;
  request.ready = train.times.shifted(config_.clock.cycles(config_.receive_pipeline));
  request.content = train.content;
  request.client = this;
  request.tag = tag;
  writer_.submit(std::move(request));
}

void ReceiveUnit::recall(tlm::tlm_generic_payload& payload) {
  const sim::Train& train = sim::train_of(payload);
  if (sim::extension<network::PacketHeader>(payload).pdid >= reg::kPdids) {
    return;  // drop_foreign() has kept nothing of it
  }
  const std::uint64_t tag = sim::extension<ArrivalTag>(payload).tag;
  if (tag < first_tag_) return;  // all of them are written
  Arrived& a = arrived(tag);
  const std::uint32_t gone = a.cells - train.cells();
  if (gone == 0) return;
  a.cells -= gone;
  if (a.notice && train.cells() > 0) a.last_arrival = train.times.back();
  writer_.recall(*this, tag, gone);
  finish_cells(tag, gone);
}

// The AXI ID has no room for the PDID: cut short it would name another process.
void ReceiveUnit::drop_foreign(tlm::tlm_generic_payload& payload) {
  sim::Train& train = sim::train_of(payload);
  counters_.foreign_cells += train.cells();
  counters_.dropped_bytes += train.bytes();
  slots_.tell(payload, {0, train.times});
}

bool ReceiveUnit::wanted(std::uint64_t tag) {
  Arrived& a = arrived(tag);
  if (a.notice) notices_.hear(a.source, a.notice);  // those before it in the queue have been handled
  if (is_on_its_way(a)) {
    a.verdict = Reassembly::Verdict::duplicate;
    return false;
  }
  a.verdict = reassembly_.judge(a.source, a.key, a.notice);
  if (a.verdict == Reassembly::Verdict::duplicate && a.block_offset == 0 && !a.begun) {
    // Once for each copy of the block: its acknowledgement was lost or late, or there was none, for want of a notice.
    ++counters_.duplicate_blocks;
    if (notify_if_whole(a)) acknowledge(a.source, a.key);
  }
  if (a.verdict == Reassembly::Verdict::write && is_over(a)) {
    a.verdict = Reassembly::Verdict::late;
    if (a.block_offset == 0 && !a.begun) stop(a, reg::kNoProcess);
  }
  return a.verdict == Reassembly::Verdict::write;
}

// The peer serves a read until it knows better. Its program may use the memory for something else as soon as it is told
// that the read has failed.
bool ReceiveUnit::is_over(const Arrived& cells) const {
  return config_.refuses_ended_reads && own_->has_ended(cells.key.transfer);
}

void ReceiveUnit::transfer_ended(std::uint64_t transfer) {
  const auto is_its = [transfer](const Arrived& a) { return a.key.transfer == transfer; };
  if (std::any_of(arrived_.begin(), arrived_.end(), is_its)) writer_.verdicts_changed();
}

// Whether all of the block has gone to memory in an older attempt, so that its last responses complete it: copies that
// come without a pause would else start it afresh for ever.
bool ReceiveUnit::is_on_its_way(const Arrived& newer) const {
  const auto rest = reassembly_.rest_of_older_attempt(newer.source, newer.key, newer.block_bytes);
  if (!rest) return false;
  std::uint32_t bytes = 0;
  for (const Arrived& a : arrived_) {
    if (&a == &newer) break;
    if (a.is_of_block(newer) && a.key.attempt == rest->attempt && a.verdict == Reassembly::Verdict::write) {
      bytes += a.unfinished * a.cell_bytes;
    }
  }
  return bytes == rest->bytes;
}

// Whether cells of an older attempt are being dropped.
bool ReceiveUnit::has_stale_copy(const Arrived& newer) const {
  return std::any_of(arrived_.begin(), arrived_.end(), [&](const Arrived& a) {
    return a.verdict == Reassembly::Verdict::stale && a.unfinished > 0 && a.is_of_block(newer);
  });
}

void ReceiveUnit::left_buffer(std::uint64_t tag, const sim::TimeSequence& freed) {
  Arrived& a = arrived(tag);
  a.begun = true;
  slots_.tell(*a.payload, {std::exchange(a.left, a.left + freed.size()), freed});
}

void ReceiveUnit::back_in_buffer(std::uint64_t tag, std::uint32_t cells) {
  Arrived& a = arrived(tag);
  a.left -= cells;
  slots_.tell(*a.payload, {a.left});
}

void ReceiveUnit::dropped(std::uint64_t tag, std::uint32_t cells) {
  const Arrived& a = arrived(tag);
  counters_.dropped_bytes += std::uint64_t{cells} * a.cell_bytes;
  switch (a.verdict) {
    case Reassembly::Verdict::stale: counters_.stale_cells += cells; break;
    case Reassembly::Verdict::faulted: counters_.faulted_cells += cells; break;
    case Reassembly::Verdict::late: counters_.late_cells += cells; break;
    case Reassembly::Verdict::write:  // never dropped
    case Reassembly::Verdict::duplicate: counters_.duplicate_cells += cells; break;
  }
  finish_cells(tag, cells);
}

void ReceiveUnit::written(std::uint64_t tag, std::uint32_t cells) {
  const Arrived a = arrived(tag);
  finish_cells(tag, cells);
  const auto accepted = reassembly_.written(a.source, a.key, cells * a.cell_bytes, a.block_bytes, a.last_arrival);
  if (!accepted) return;
  if (has_stale_copy(a)) writer_.verdicts_changed();  // what is left of it is a duplicate
  if (a.notice) {
    context_.trace.report(*accepted, context_.node, step::kBlockAccepted, a.key);
    context_.report(step::kBlockPlaced, a.key);
  } else {
    context_.report(step::kBlockWritten, a.key);
  }
  if (notify_if_whole(a)) acknowledge(a.source, a.key);
}

bool ReceiveUnit::notify_if_whole(const Arrived& a) {
  if (!a.notice || notices_.state(a.source, a.notice) != NoticeRecord::State::open ||
      !reassembly_.is_whole(a.source, a.key.transfer, a.notice.blocks)) {
    return true;
  }
  if (!events_.give(a.pdid, a.notice, a.key.transfer)) return false;
  notices_.give(a.source, a.notice);
  return true;
}

void ReceiveUnit::refused(std::uint64_t tag, std::uint32_t cells) {
  counters_.dropped_bytes += std::uint64_t{cells} * arrived(tag).cell_bytes;
  finish_cells(tag, cells);
}

void ReceiveUnit::write_error(std::uint64_t tag, std::uint64_t address) {
  const Arrived a = arrived(tag);
  if (!reassembly_.failed(a.source, a.key)) return;
  writer_.verdicts_changed();
  context_.report(step::kFaultDetected, a.key);
  ++counters_.destination_faults;
  faults_.log({sim::page_begin(address), false, a.pdid, a.source, a.key});
  stop(a, events_.knows(a.pdid) ? reg::kRefused : reg::kNoProcess);
}

void ReceiveUnit::stop(const Arrived& block, std::uint64_t why) {
  if (!config_.stop_after_fault) return;
  ++counters_.stops_sent;
  tell(block.source, network::PacketKind::stop, block.key, why);
}

void ReceiveUnit::finish_cells(std::uint64_t tag, std::uint32_t cells) {
  arrived(tag).unfinished -= cells;
  while (!arrived_.empty() && arrived_.front().unfinished == 0) {
    arrived_.pop_front();
    ++first_tag_;
    context_.level(track::kReceiveQueue, arrived_.size());
  }
}

void ReceiveUnit::acknowledge(sim::NodeId source, const sim::PartKey& key) {
  ++counters_.acknowledgements_sent;
  tell(source, network::PacketKind::acknowledge, key);
}

void ReceiveUnit::tell(sim::NodeId source, network::PacketKind what, const sim::PartKey& key, std::uint64_t word) {
  Outgoing cell;
  cell.header.kind = what;
  cell.header.source = context_.node;
  cell.header.destination = source;
  cell.header.key = key;
  cell.header.words[0] = word;
  cell.cell_bytes = kKeyBytes;
  cell.ready = sim::TimeSequence::single(context_.now() + config_.clock.cycles(config_.send_pipeline));
  injector_.send_control(std::move(cell));
}

}  // namespace faultline::nic
