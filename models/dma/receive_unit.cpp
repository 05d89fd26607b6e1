// SPDX-License-Identifier: Apache-2.0
#include "models/dma/receive_unit.hpp"

#include "models/dma/registers.hpp"

namespace faultline::dma {

namespace {

// The acknowledgement's block key.
constexpr std::uint32_t kAcknowledgeBytes = 16;

}  // namespace

ReceiveUnit::ReceiveUnit(const DmaConfig& config, Forward& freed, AxiWriter& writer, Injector& injector,
                         FaultFifo& faults, Counters& counters, const sim::Context& context)
    : config_(config),
      freed_(freed),
      writer_(writer),
      injector_(injector),
      faults_(faults),
      counters_(counters),
      context_(context),
      due_(context.loop, *this),
      reassembly_(config.completed_transfers, counters.evicted_records) {}

void ReceiveUnit::receive(tlm::tlm_generic_payload& payload) {
  const sim::Train& train = sim::train_of(payload);
  const auto& header = sim::extension<interconnect::PacketHeader>(payload);
  if (header.pdid >= reg::kPdids) return drop_foreign(payload);
  if (idle_arrived_.empty()) {
    idle_arrived_.push_back(arrived_.size());
    arrived_.emplace_back();
  }
  const std::uint64_t tag = idle_arrived_.back();
  idle_arrived_.pop_back();
  Arrived& a = arrived_[tag];
  a = {&payload,           header.source,    header.key,    header.pdid,   header.block_offset,
       header.block_bytes, train.cell_bytes, train.cells(), train.cells(), Reassembly::Verdict::write};
  if (header.block_offset == 0) {
    context_.trace.report(train.times.front(), context_.node, sim::Step::cell_arrived, header.key);
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

// The AXI ID has no room for the PDID: cut short it would name another process.
void ReceiveUnit::drop_foreign(tlm::tlm_generic_payload& payload) {
  sim::Train& train = sim::train_of(payload);
  counters_.foreign_cells += train.cells();
  counters_.dropped_bytes += train.bytes();
  train.freed = train.times;
  freed_.begin_request(payload);
}

std::uint32_t ReceiveUnit::wanted(std::uint64_t tag, const sim::TimeSequence& at) {
  Arrived& a = arrived_[tag];
  a.verdict = reassembly_.judge(a.source, a.key, at.front());
  if (a.verdict != Reassembly::Verdict::write) return 0;
  const std::uint32_t cells = at.count_before(reassembly_.faulted_from(a.source, a.key));
  if (cells < at.size()) a.verdict = Reassembly::Verdict::faulted;  // what is dropped of them
  return cells;
}

void ReceiveUnit::write_dropped(std::uint64_t tag, std::uint32_t cells) {
  const Arrived a = arrived_[tag];  // a copy: the slot may be taken anew below
  counters_.dropped_bytes += std::uint64_t{cells} * a.cell_bytes;
  switch (a.verdict) {
    case Reassembly::Verdict::stale: counters_.stale_cells += cells; break;
    case Reassembly::Verdict::faulted: counters_.faulted_cells += cells; break;
    case Reassembly::Verdict::completing: counters_.duplicate_cells += cells; break;
    case Reassembly::Verdict::write:  // never dropped
    case Reassembly::Verdict::duplicate:
      counters_.duplicate_cells += cells;
      // Once for each copy of the block: its acknowledgement was lost or late.
      if (a.block_offset == 0) {
        ++counters_.duplicate_blocks;
        acknowledge(a.source, a.key, context_.now());
      }
      break;
  }
  finish_cells(tag, cells);
}

void ReceiveUnit::left_buffer(std::uint64_t tag, const sim::TimeSequence& freed) {
  Arrived& a = arrived_[tag];
  tlm::tlm_generic_payload& payload = *a.payload;
  a.in_buffer -= freed.size();
  if (a.in_buffer == 0) a.payload = nullptr;
  sim::train_of(payload).freed = freed;
  freed_.begin_request(payload);
}

void ReceiveUnit::written(std::uint64_t tag, std::uint64_t address, const sim::Train& train, bool ok) {
  const Arrived a = arrived_[tag];
  finish_cells(tag, train.cells());
  if (ok) {
    const auto progress = reassembly_.written(a.source, a.key, train.bytes(), a.block_bytes, train.responses.back());
    if (progress.completes) due_.at(progress.at, Due{a.source, a.key, a.pdid, 0, false});
    return;
  }
  counters_.dropped_bytes += train.bytes();
  const auto progress = reassembly_.failed(a.source, a.key, train.responses.front());
  if (!progress.first_fault) return;
  context_.trace.report(progress.at, context_.node, sim::Step::fault_detected, a.key);
  due_.at(progress.at, Due{a.source, a.key, a.pdid, sim::page_begin(address), true});
}

void ReceiveUnit::finish_cells(std::uint64_t tag, std::uint32_t cells) {
  Arrived& a = arrived_[tag];
  a.unfinished -= cells;
  if (a.unfinished == 0) idle_arrived_.push_back(tag);
}

void ReceiveUnit::come_due(const Due& due) {
  if (!due.fault) {
    reassembly_.complete(due.source, due.key);
    return acknowledge(due.source, due.key, context_.now());
  }
  ++counters_.destination_faults;
  faults_.log({due.page, false, due.pdid, due.source, due.key});
}

void ReceiveUnit::acknowledge(sim::NodeId source, const sim::BlockKey& key, Time at) {
  ++counters_.acknowledgements_sent;
  Outgoing ack;
  ack.header.kind = interconnect::PacketKind::acknowledge;
  ack.header.source = context_.node;
  ack.header.destination = source;
  ack.header.key = key;
  ack.cell_bytes = kAcknowledgeBytes;
  ack.ready = sim::TimeSequence::single(at + config_.clock.cycles(config_.send_pipeline));
  injector_.send_control(std::move(ack));
}

}  // namespace faultline::dma
