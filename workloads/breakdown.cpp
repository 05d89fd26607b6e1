// SPDX-License-Identifier: Apache-2.0
#include "workloads/breakdown.hpp"

#include <algorithm>

#include "models/platform/lives.hpp"
#include "models/trace/resend_text.hpp"
#include "workloads/chain.hpp"

namespace faultline::workloads {

using sim::Mark;
using sim::Scope;
using sim::StepRecord;

namespace {

const StepDoc kQueue{"wait for a buffer", "from the transfer's arrival until the program begins it",
                     "workload.arrivals, .interval, .burst, .window"};
const StepDoc kPrepare{"prepare",
                       "before the post: the program asks the other end to prepare, prepares its own, is told",
                       "os.*"};  // step_docs() adds those that a message's time is made of
const StepDoc kRelease{"release", "after the return: the program releases what it has prepared (unpins)", "os.*"};

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
    open_[record.key.transfer].push_back(record);
  }
}

void Breakdown::finish(std::uint64_t transfer, sim::Time arrived, sim::Time begin, sim::Time end) {
  const auto found = open_.find(transfer);
  if (found == open_.end()) return;
  const sim::Vector<StepRecord> chain = deciding_chain(found->second);
  open_.erase(found);
  program_ = chain.front().node == data_source_ ? End::source : End::destination;
  add_around(queue_, begin - arrived);
  add_around(prepare_, chain.front().at - begin);
  add_around(release_, end - chain.back().at);
  add(chain);
}

void Breakdown::add_around(Row& row, sim::Time time) {
  if (time == sim::Time{0}) return;
  row.total += time;
  ++row.samples;
}

void Breakdown::finish_message(bool measured) {
  std::stable_sort(message_.begin(), message_.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  if (measured) add(message_);
  message_.clear();
}

void Breakdown::add(const sim::Vector<StepRecord>& chain) {
  ++transfers_;
  for (std::size_t i = 1; i < chain.size(); ++i) {
    const End end = chain[i].node == data_source_ ? End::source : End::destination;
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
  rows.reserve(timed.size() + 3);
  append(queue_, kQueue, rows);
  append(prepare_, kPrepare, rows);
  for (auto& [began, row] : timed) rows.push_back(std::move(row));
  append(release_, kRelease, rows);
  return rows;
}

void Breakdown::append(const Row& row, const StepDoc& doc, std::vector<BreakdownRow>& rows) const {
  if (row.samples == 0) return;
  rows.push_back({doc.name, program_ == End::source ? "source" : "destination",
                  static_cast<double>(row.total.count()) / 1e6 / static_cast<double>(transfers_), row.samples,
                  doc.description});
}

std::vector<StepDoc> Breakdown::step_docs() {
  std::vector<StepDoc> docs;
  docs.push_back(kQueue);
  std::string of_messages;
  for (const sim::TransferLife& life : platform::kLives) of_messages += std::string(life.message_parameters) + ", ";
  docs.push_back({kPrepare.name, kPrepare.description, of_messages + kPrepare.parameters});
  for (const sim::TransferLife& life : platform::kLives) {
    for (const sim::Step step : life.steps) {
      const sim::Phase& phase = step->phase;
      if (phase.label.empty() || step->mark == Mark::for_timelines) continue;
      docs.push_back({std::string(phase.label), std::string(phase.description), std::string(phase.parameters)});
    }
  }
  docs.push_back(kRelease);
  return docs;
}

}  // namespace faultline::workloads
