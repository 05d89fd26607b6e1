// SPDX-License-Identifier: Apache-2.0
#include "workloads/breakdown.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace faultline::workloads {

using sim::Step;
using sim::StepRecord;

namespace {

// What happened between the previous step and this one.
struct Text {
  Step step;
  const char* name;
  const char* description;
  const char* parameters;  // that the time is made of, where it is made of parameters
};
constexpr std::array kTexts{
    Text{Step::posted, "user post", "library code and the descriptor's register writes",
         "library.post, 7 cpu.mmio_write"},
    Text{Step::transfer_started, "R5 start", "firmware sets the transfer up", "dma.transfer_startup"},
    Text{Step::block_scheduled, "R5 block scheduling",
         "firmware hands the block to the send unit; in a transfer of several blocks, after those before it",
         "dma.block_scheduling"},
    Text{Step::read_issued, "send unit start", "send unit takes the block command", "dma.send_pipeline"},
    Text{Step::cell_sent, "source read, first cell", "AXI read of the first cell, translation included",
         "axi.*, smmu.*, ddr.*"},
    Text{Step::cell_arrived, "network", "links and routers, first cell", "network.*"},
    Text{Step::fault_detected, "walk and fault",
         "cells before the bad burst; its translation, the walk, the error response", "axi.*, smmu.*, ddr.*"},
    Text{Step::fault_logged, "fault record", "record enters the fault FIFO", "dma.fault_logging"},
    Text{Step::handler_entered, "interrupt to handler", "interrupt controller and kernel entry up to the handler",
         "cpu.irq_to_handler"},
    Text{Step::handler_done, "handler", "reads the context bank, clears the record",
         "kernel.handler_body, 4 cpu.mmio_read, cpu.mmio_write"},
    Text{Step::tasklet_run, "tasklet dispatch", "end of interrupt up to the tasklet", "cpu.tasklet_delay"},
    Text{Step::message_sent, "tasklet", "drains the fault FIFO, builds the netlink message",
         "kernel.netlink_send, 6 cpu.mmio_read, cpu.mmio_write"},
    Text{Step::library_woken, "netlink and wake-up", "wake-up of the fault thread, context switch, recvmsg()",
         "cpu.context_switch, kernel.netlink_receive"},
    Text{Step::resolve_begin, "library parse", "fault thread decodes the message", "library.parse_fault"},
    Text{Step::resolve_end, "resolve", "touch or get_user_pages: fault, zeroing, mapping",
         "os.anon_minor_fault, os.zero_bandwidth, os.syscall, os.gup_per_page"},
    Text{Step::retry_requested, "retry request", "fault thread writes the RAPF or local retry",
         "library.post_retry, 4 cpu.mmio_write"},
    Text{Step::retry_received, "request transport", "mailboxes and, for RAPF, the network",
         "dma.message_pipeline, network.*"},
    Text{Step::block_requeued, "R5 retry processing", "firmware puts the block back on its queue",
         "dma.retransmit_processing"},
    Text{Step::timed_out, "timeout", "wait until the block's timeout", "dma.block_timeout"},
    Text{Step::block_acknowledged, "data and acknowledgement",
         "rest of the block, its writes (stalled ones wait in here), the acknowledgement", "axi.*, smmu.*, network.*"},
    Text{Step::notified, "notification", "completion word written to the user's memory", "axi.*, ddr.*"},
    Text{Step::completed, "poll", "polling load and library code up to the return",
         "cpu.poll_latency, library.completion"},
    Text{Step::message_composed, "library send", "user code of the sender", "library.message_send"},
    Text{Step::message_posted, "register writes", "the message's words, then the command", "cpu.mmio_write"},
    Text{Step::message_injected, "packetizer", "network interface, sending", "dma.message_pipeline"},
    Text{Step::message_arrived, "message network", "links and routers", "network.*"},
    Text{Step::message_delivered, "mailbox", "network interface, receiving", "dma.message_pipeline"},
    Text{Step::message_seen, "slot write and poll", "write of the mailbox slot, the load that sees it",
         "axi.*, ddr.*, cpu.poll_latency"},
    Text{Step::message_received, "library receive", "user code of the receiver", "library.message_receive"},
    Text{Step::message_returned, "slot release", "the mailbox slot is given back", "cpu.mmio_write"}};

// Steps that begin a chain or that no chain should hold have no text.
const Text* text_of(Step step) {
  const auto found = std::find_if(kTexts.begin(), kTexts.end(), [&](const Text& t) { return t.step == step; });
  return found == kTexts.end() ? nullptr : found;
}

std::string resend_text(std::uint32_t attempt) {
  if (attempt == 0) return "";
  return attempt == 1 ? " (resend)" : fmt::format(" (resend {})", attempt);
}

bool of_the_whole_transfer(Step step) {
  return step == Step::post_begin || step == Step::posted || step == Step::transfer_started || step == Step::notified ||
         step == Step::completed;
}

bool of_a_message(Step step) { return step >= Step::message_begin; }

}  // namespace

void Breakdown::on_step(const StepRecord& record) {
  if (of_a_message(record.step)) {
    // A later message's sender may begin only when this one was received.
    if (record.step == Step::message_begin) message_.clear();
    message_.push_back(record);
  } else if (record.key.transfer != 0) {
    open_[record.key.transfer].push_back(record);
  }
}

void Breakdown::finish(std::uint64_t transfer, bool measured) {
  const auto found = open_.find(transfer);
  if (found == open_.end()) return;
  const sim::Vector<StepRecord> records = std::move(found->second);
  open_.erase(found);
  if (!measured) return;
  const StepRecord* last = nullptr;
  for (const StepRecord& record : records) {
    if (record.step == Step::block_acknowledged && (last == nullptr || record.at >= last->at)) last = &record;
  }
  sim::Vector<StepRecord> chain;
  for (const StepRecord& record : records) {
    const bool of_last = last != nullptr && record.key.block == last->key.block;
    if (of_last || of_the_whole_transfer(record.step)) chain.push_back(record);
  }
  add(std::move(chain));
}

void Breakdown::finish_message(bool measured) {
  if (measured) add(std::move(message_));
  message_.clear();
}

void Breakdown::add(sim::Vector<StepRecord> chain) {
  std::stable_sort(chain.begin(), chain.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  ++transfers_;
  for (std::size_t i = 1; i < chain.size(); ++i) {
    const End end = chain[i].node == data_source_ ? End::source : End::destination;
    Row& row = rows_[{chain[i].step, end, chain[i].key.attempt}];
    row.total += chain[i].at - chain[i - 1].at;
    row.began += chain[i - 1].at - chain.front().at;
    ++row.samples;
  }
}

std::vector<BreakdownRow> Breakdown::rows() const {
  std::vector<std::pair<sim::Time, BreakdownRow>> timed;
  for (const auto& [key, row] : rows_) {
    const Text* text = text_of(key.step);
    if (text == nullptr) continue;
    const double mean_us = static_cast<double>(row.total.count()) / 1e6 / static_cast<double>(transfers_);
    timed.emplace_back(
        row.began / static_cast<std::int64_t>(row.samples),
        BreakdownRow{text->name + resend_text(key.attempt), key.end == End::source ? "source" : "destination", mean_us,
                     row.samples, text->description});
  }
  std::stable_sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<BreakdownRow> rows;
  rows.reserve(timed.size());
  for (auto& [began, row] : timed) rows.push_back(std::move(row));
  return rows;
}

std::vector<StepDoc> Breakdown::step_docs() {
  std::vector<StepDoc> docs;
  docs.reserve(kTexts.size());
  for (const Text& text : kTexts) docs.push_back({text.name, text.description, text.parameters});
  return docs;
}

}  // namespace faultline::workloads
