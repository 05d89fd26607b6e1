// SPDX-License-Identifier: Apache-2.0
#include "workloads/breakdown.hpp"

#include <algorithm>

#include "models/platform/nics.hpp"
#include "models/trace/resend_text.hpp"
#include "workloads/chain.hpp"

namespace faultline::workloads {

using sim::Mark;
using sim::Scope;
using sim::StepRecord;

namespace {

const StepDoc kQueueStep{"wait for a buffer", "from the transfer's arrival until the program begins it",
                         "workload.arrivals, .interval, .burst, .window"};
const StepDoc kPrepareStep{"prepare",
                           "before the post: the program asks the other end to prepare, prepares its own, is told",
                           "os.*"};  // step_docs() adds those that a message's time is made of
const StepDoc kLearnStep{
    "learned",
    "from the notice until the program at the target goes on: it polls, or is woken; "
    "workload.notify says how",
    "cpu.poll_latency, cpu.mmio_read, cpu.irq_to_handler, cpu.context_switch, exanest_driver.event_*, "
    "exanest_library.completion, .signal, .scan_word"};
const StepDoc kReleaseStep{"release", "after the return: the program releases what it has prepared (unpins)", "os.*"};

}  // namespace

void Breakdown::on_step(const StepRecord& record) {
  const Scope scope = record.step->scope;
  const Mark mark = record.step->mark;
  if (mark == Mark::message_kept) return;  // the program has the message before
  if (scope == Scope::sender || scope == Scope::receiver) {
    // A later message's sender may begin only when this one was received.
    if (mark == Mark::message_begins) message_.clear();
    message_.push_back(record);
  } else if (record.key.transfer != 0) {
    if (to_targets_) return follow(record);
    open_[record.key.transfer].push_back(record);
  }
}

void Breakdown::on_over(std::uint64_t transfer) {
  open_.erase(transfer);
  const auto found = followed_.find(transfer);
  if (found == followed_.end()) return;
  found->second.is_over = true;
  if (found->second.is_done) followed_.erase(found);
}

void Breakdown::finish(std::uint64_t transfer, sim::Time arrived, sim::Time begin, sim::Time end) {
  const auto found = open_.find(transfer);
  if (found == open_.end()) return;
  const sim::Vector<StepRecord> chain = deciding_chain(found->second).steps;
  open_.erase(found);
  program_ = chain.front().node == data_source_ ? End::source : End::destination;
  add_around(queue_, begin - arrived);
  add_around(prepare_, chain.front().at - begin);
  add_around(release_, end - chain.back().at);
  add(chain, data_source_);
}

void Breakdown::follow(const StepRecord& record) {
  Followed& write = followed_[record.key.transfer];
  if (write.is_done) return;
  write.steps.push_back(record);
  if (record.step->mark != Mark::target_notified) return;
  write.notified = record.at;
  settle(record.key.transfer, write);
}

void Breakdown::finish_at_target(std::uint64_t transfer, sim::Time begin, sim::Time end, bool measured) {
  if (!to_targets_ || transfer == 0) return;
  Followed& write = followed_[transfer];
  write.begin = begin;
  write.end = end;
  write.is_told = true;
  write.is_measured = measured;
  settle(transfer, write);
}

// A program that polls may see a word before the NIC knows that it is in memory.
void Breakdown::settle(std::uint64_t transfer, Followed& write) {
  if (!write.is_told || (write.is_measured && write.notified == sim::kNever)) return;
  if (write.is_measured) {
    std::erase_if(write.steps, [&](const StepRecord& step) { return step.at > write.notified; });
    sim::Vector<StepRecord> chain = deciding_chain(write.steps, Mark::part_placed).steps;
    chain.back().at = std::min(chain.back().at, write.end);
    program_ = End::source;
    add_around(prepare_, chain.front().at - write.begin);
    add_around(learn_, write.end - chain.back().at);
    add(chain, chain.front().node);
  }
  write.is_done = true;
  write.steps.clear();
  if (write.is_over) followed_.erase(transfer);
}

void Breakdown::add_around(Row& row, sim::Time time) {
  if (time == sim::Time{0}) return;
  row.total += time;
  ++row.samples;
}

void Breakdown::finish_message(bool measured) {
  std::stable_sort(message_.begin(), message_.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  if (measured) add(message_, data_source_);
  message_.clear();
}

void Breakdown::add(const sim::Vector<StepRecord>& chain, sim::NodeId data_source) {
  ++transfers_;
  for (std::size_t i = 1; i < chain.size(); ++i) {
    const End end = chain[i].node == data_source ? End::source : End::destination;
    const sim::Step step = chain[i].step;
    Row& row = rows_[{step->mark == Mark::part_lost, life_.position(step), end, chain[i].key.attempt}];
    row.total += chain[i].at - chain[i - 1].at;
    row.began += chain[i - 1].at - chain.front().at;
    ++row.samples;
  }
}

std::vector<BreakdownRow> Breakdown::rows() const {
  std::vector<std::pair<sim::Time, BreakdownRow>> timed;
  for (const auto& [key, row] : rows_) {
    const sim::Phase& phase = life_.steps[key.position]->phase;
    if (phase.label.empty()) continue;
    const double mean_us = static_cast<double>(row.total.count()) / 1e6 / static_cast<double>(transfers_);
    timed.emplace_back(row.began / static_cast<std::int64_t>(row.samples),
                       BreakdownRow{std::string(phase.label) + trace::resend_text(key.attempt),
                                    key.end == End::source ? "source" : "destination", mean_us, row.samples,
                                    std::string(phase.description)});
  }
  std::stable_sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<BreakdownRow> rows;
  rows.reserve(timed.size() + 4);
  append(queue_, kQueueStep, program_, rows);
  append(prepare_, kPrepareStep, program_, rows);
  for (auto& [began, row] : timed) rows.push_back(std::move(row));
  append(release_, kReleaseStep, program_, rows);
  append(learn_, kLearnStep, End::destination, rows);
  return rows;
}

void Breakdown::append(const Row& row, const StepDoc& doc, End at, std::vector<BreakdownRow>& rows) const {
  if (row.samples == 0) return;
  rows.push_back({doc.name, at == End::source ? "source" : "destination",
                  static_cast<double>(row.total.count()) / 1e6 / static_cast<double>(transfers_), row.samples,
                  doc.description});
}

std::vector<StepDoc> Breakdown::step_docs() {
  std::vector<StepDoc> docs;
  docs.push_back(kQueueStep);
  std::string of_messages;
  const auto kinds = platform::nic_kinds();
  for (const auto& kind : kinds) of_messages += std::string(kind->life().message_parameters) + ", ";
  docs.push_back({kPrepareStep.name, kPrepareStep.description, of_messages + kPrepareStep.parameters});
  for (const auto& kind : kinds) {
    const sim::TransferLife& life = kind->life();
    for (const sim::Step step : life.steps) {
      const sim::Phase& phase = step->phase;
      if (phase.label.empty() || step->mark == Mark::for_timelines) continue;
      docs.push_back({std::string(phase.label), std::string(phase.description), life.parameters(phase)});
    }
  }
  docs.push_back(kLearnStep);
  docs.push_back(kReleaseStep);
  return docs;
}

}  // namespace faultline::workloads
