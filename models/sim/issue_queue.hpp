// SPDX-License-Identifier: Apache-2.0
// Cells that wait for their turn and for a slot at the next stage, and those that were announced to it.
//
// Cells take their turn in the order in which they are ready; at one instant, in the order of submission. Cell i
// goes at
//   issue(i) = max(ready(i), credit(i), issue(i-1)).
// Runs of cells are announced when their first one goes, as far as slots are known. What comes between, a cell that is
// ready earlier or a slot that comes free at another time, takes back the cells that have not gone yet. So at every
// instant what has gone is what an event for each cell would have sent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

#include "models/sim/credit_pool.hpp"

namespace faultline::sim {

// Item has the members
//   TimeSequence ready;      of its cells
//   std::uint64_t number;    the queue's
//   Item split(first);       keeps the cells before `first` and returns the others
// Details is what the owner keeps with a run. The owner has
//   void taken_back(Run& run, const Item& rest, const TimeSequence& instants);
// which is called when only the cells that are left in the run go as announced. The rest, which was to go at these
// instants, is back in the queue afterwards.
template <typename Item, typename Details, typename Owner>
class IssueQueue {
 public:
  // Cells that were announced together: with a slot each, or with none as they are dropped.
  struct Run {
    Item item;
    TimeSequence issued;
    TimeSequence credits;
    Details details{};
  };

  IssueQueue(std::uint32_t slots, Owner& owner) : credits_(slots), owner_(owner) {}

  bool empty() const { return waiting_.empty(); }
  Item& head() { return waiting_.front(); }
  // The head's turn; its slot may come later.
  Time turn() const {
    return runs_.empty() ? waiting_.front().ready.front()
                         : std::max(waiting_.front().ready.front(), runs_.back().issued.back());
  }
  // When the next slot comes free; kNever while that is not known.
  Time next_slot() const { return credits_.next(); }

  // Whether reconcile() has something to do.
  bool is_disturbed() const { return disturbed_from_ != kNever || credits_.owed() != kNever; }
  // When the head's turn and its slot have come, if all stays as it is; now when it is disturbed.
  Time due(Time now) const {
    if (is_disturbed()) return now;
    return waiting_.empty() || next_slot() == kNever ? kNever : std::max({turn(), next_slot(), now});
  }

  void submit(Item item) {
    item.number = next_number_++;
    if (!runs_.empty()) disturb(item.ready.front(), runs_.back().issued.back());
    insert(std::move(item));
  }

  // Takes back what does not go as announced since others have come, or slots do not come free as they were said to. To
  // be called in an event of the instant of the change, before anything else is announced.
  void reconcile(Time now) {
    const Time soonest = now + Time{1};
    if (disturbed_from_ != kNever) take_back_from(std::max(std::exchange(disturbed_from_, kNever), soonest));
    while (credits_.owed() != kNever) take_back_from(std::max(credits_.owed(), soonest));
  }

  // Announces the head's next cells, from now on; the reference is valid until runs are taken back or forgotten.
  // Requires that turn and slot have come.
  Run& issue(Time now) {
    const std::uint32_t cells = std::min(cells_in_turn(), credits_.known());
    Run run{take_from_head(cells), {}, credits_.take(cells)};
    run.issued = not_before(later_of(run.item.ready, run.credits), now);
    announced_ = now;
    return runs_.emplace_back(std::move(run));
  }
  Run& drop(Time now) {
    Run run{take_from_head(cells_in_turn()), {}, {}};
    run.issued = not_before(run.item.ready, now);
    announced_ = now;
    return runs_.emplace_back(std::move(run));
  }

  // The run's cells from `first` on are a run of their own, behind it. References to runs are void afterwards.
  Run& part(Run& run, std::uint32_t first) {
    Run rest{run.item.split(first), run.issued.suffix(first), run.credits.suffix(first)};
    run.issued.drop_back(rest.issued.size());
    run.credits.drop_back(rest.credits.size());
    const auto at = std::find_if(runs_.begin(), runs_.end(), [&run](const Run& r) { return &r == &run; });
    return *runs_.insert(std::next(at), std::move(rest));
  }

  // Takes back all cells that would go at `from` or later, but for those that went when they were announced.
  void take_back_from(Time from) {
    from = std::max(from, announced_ + Time{1});
    while (!runs_.empty() && runs_.back().issued.back() >= from) {
      Run& run = runs_.back();
      const std::uint32_t kept = run.issued.count_before(from);
      Item rest = run.item.split(kept);
      const TimeSequence instants = run.issued.suffix(kept);
      run.issued.drop_back(rest.ready.size());
      if (!run.credits.empty()) {
        credits_.give_back(run.credits.suffix(kept));
        run.credits.drop_back(rest.ready.size());
      }
      owner_.taken_back(run, rest, instants);
      insert(std::move(rest));
      if (kept > 0) return;
      runs_.pop_back();
    }
  }

  // The last `cells` of the items of which is_of(item) is true do not come at all.
  template <typename Predicate>
  void recall(std::uint32_t cells, Predicate is_of) {
    for (std::uint32_t queued = waiting_cells(is_of); queued < cells; queued = waiting_cells(is_of)) {
      const auto run = std::find_if(runs_.rbegin(), runs_.rend(), [&](const Run& r) { return is_of(r.item); });
      const std::uint32_t in_run = run->issued.size();
      take_back_from(run->issued.at(in_run - std::min(cells - queued, in_run)));
    }
    for (auto at = waiting_.end(); cells > 0;) {
      --at;
      if (!is_of(*at)) continue;
      const std::uint32_t gone = std::min(cells, at->ready.size());
      cells -= gone;
      if (gone == at->ready.size()) {
        at = waiting_.erase(at);
      } else {
        at->split(at->ready.size() - gone);
      }
    }
  }

  // Slots come free at these instants. One that comes before those that cells wait for is theirs.
  void give(const TimeSequence& freed) {
    if (!runs_.empty() && !runs_.back().credits.empty()) disturb(freed.front(), runs_.back().credits.back());
    credits_.give(freed);
  }
  // They do not, after all.
  void withdraw(const TimeSequence& freed) { credits_.withdraw(freed); }

  // Announced runs, in order of issue.
  std::deque<Run>& runs() { return runs_; }

 private:
  // What comes from an instant on may concern cells that go, or have a slot, up to another one.
  void disturb(Time from, Time last) {
    if (from <= last) disturbed_from_ = std::min(disturbed_from_, from);
  }
  static bool goes_before(const Item& a, const Item& b) {
    return std::pair(a.ready.front(), a.number) < std::pair(b.ready.front(), b.number);
  }
  // What was split from an item comes back before those of its cells that still wait.
  void insert(Item item) {
    waiting_.insert(std::lower_bound(waiting_.begin(), waiting_.end(), item, goes_before), std::move(item));
  }
  // Cells of the head whose turn comes before that of all others.
  std::uint32_t cells_in_turn() const {
    const Item& head = waiting_.front();
    if (waiting_.size() == 1) return head.ready.size();
    const Item& next = waiting_[1];
    const Time tie = head.number < next.number ? Time{1} : Time{0};
    return std::max(head.ready.count_before(next.ready.front() + tie), 1U);
  }
  Item take_from_head(std::uint32_t cells) {
    Item part = std::move(waiting_.front());
    waiting_.pop_front();
    if (cells < part.ready.size()) insert(part.split(cells));
    return part;
  }
  template <typename Predicate>
  std::uint32_t waiting_cells(Predicate is_of) const {
    std::uint32_t cells = 0;
    for (const Item& item : waiting_) cells += is_of(item) ? item.ready.size() : 0;
    return cells;
  }

  CreditPool credits_;
  Owner& owner_;
  std::deque<Item> waiting_;  // by first ready instant, then number
  std::deque<Run> runs_;
  std::uint64_t next_number_ = 0;
  Time disturbed_from_ = kNever;
  Time announced_{-1};  // when something was announced last
};

}  // namespace faultline::sim
