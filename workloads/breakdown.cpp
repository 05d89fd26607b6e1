// SPDX-License-Identifier: Apache-2.0
#include "workloads/breakdown.hpp"

#include <algorithm>

namespace faultline::workloads {

using sim::Step;
using sim::StepRecord;

namespace {

struct Text {
  const char* step;
  const char* description;
};

// What happened between the previous step and this one.
Text text_of(Step step) {
  switch (step) {
    case Step::post_begin: return {"start", "the program calls the library"};
    case Step::posted: return {"user post", "library code and the descriptor's register writes"};
    case Step::transfer_started: return {"R5 start", "firmware sets the transfer up"};
    case Step::block_scheduled: return {"R5 block scheduling", "firmware hands the block to the send unit"};
    case Step::read_issued: return {"send unit start", "send unit takes the block command"};
    case Step::cell_sent: return {"source read, first cell", "AXI read of the first cell, translation included"};
    case Step::cell_arrived: return {"network", "links and routers, first cell"};
    case Step::fault_detected: return {"walk and fault", "translation, walk, error response of the first bad burst"};
    case Step::fault_logged: return {"fault record", "record enters the fault FIFO"};
    case Step::handler_entered: return {"interrupt to handler", "GIC and kernel entry up to the handler"};
    case Step::handler_done: return {"handler", "reads the context banks, clears the record"};
    case Step::tasklet_run: return {"tasklet dispatch", "end of interrupt up to the tasklet"};
    case Step::message_sent: return {"tasklet", "drains the fault FIFO, builds the netlink message"};
    case Step::library_woken: return {"netlink and wake-up", "wake-up, context switch, recvmsg() of the fault thread"};
    case Step::resolve_begin: return {"library parse", "fault thread decodes the message"};
    case Step::resolve_end: return {"resolve", "touch or get_user_pages: fault, zeroing, mapping"};
    case Step::retry_requested: return {"retry request", "fault thread writes the RAPF or local retry"};
    case Step::retry_received: return {"request transport", "mailboxes and, for RAPF, the network"};
    case Step::block_requeued: return {"R5 retry processing", "firmware puts the block back on its queue"};
    case Step::block_acknowledged:
      return {"data and acknowledgement", "rest of the block, its writes, the acknowledgement"};
    case Step::notified: return {"notification", "completion word written to the user's memory"};
    case Step::completed: return {"poll", "polling load and library code up to the return"};
    case Step::timed_out: return {"timeout", "wait until the block's timeout"};
  }
  return {"?", ""};
}

}  // namespace

void Breakdown::on_step(const StepRecord& record) {
  if (record.key.transfer != 0) open_[record.key.transfer].push_back(record);
}

void Breakdown::finish(std::uint64_t transfer, bool measured) {
  const auto found = open_.find(transfer);
  if (found == open_.end()) return;
  std::vector<StepRecord> records = std::move(found->second);
  open_.erase(found);
  if (!measured) return;
  ++transfers_;
  sim::Time start = sim::kNever;
  for (const StepRecord& record : records) start = std::min(start, record.at);
  // Blocks live side by side: each has a chain of its own.
  std::stable_sort(records.begin(), records.end(), [](const StepRecord& a, const StepRecord& b) {
    if (a.key.block != b.key.block) return a.key.block < b.key.block;
    return a.at < b.at;
  });
  for (std::size_t i = 1; i < records.size(); ++i) {
    const StepRecord& before = records[i - 1];
    const StepRecord& now = records[i];
    if (before.key.block != now.key.block) continue;
    const End end = now.node == data_source_ ? End::source : End::destination;
    Row& row = rows_[{now.step, end, now.key.attempt > 0}];
    row.total += now.at - before.at;
    row.began += before.at - start;
    ++row.samples;
  }
}

std::vector<BreakdownRow> Breakdown::rows() const {
  std::vector<std::pair<sim::Time, BreakdownRow>> timed;
  for (const auto& [key, row] : rows_) {
    const Text text = text_of(key.step);
    const double mean_us = static_cast<double>(row.total.count()) / 1e6 / static_cast<double>(transfers_);
    timed.emplace_back(
        row.began / static_cast<std::int64_t>(row.samples),
        BreakdownRow{std::string(text.step) + (key.resend ? " (resend)" : ""),
                     key.end == End::source ? "source" : "destination", mean_us, row.samples, text.description});
  }
  std::stable_sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<BreakdownRow> rows;
  for (auto& [began, row] : timed) rows.push_back(std::move(row));
  return rows;
}

}  // namespace faultline::workloads
