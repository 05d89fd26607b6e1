// SPDX-License-Identifier: Apache-2.0
// Cells that wait for their turn and for slots at the next stage, and those that were announced to it.
//
// Cells take their turn in the order in which they are ready; at one instant, in the order of submission. The n-th cell
// goes at
//   issue(n) = max(ready(n), slot(n), issue(n-1)),
// where slot(n) is when the n-th slot comes free: the latest, if slots of several kinds are needed.
//
// Runs of cells are announced when their first one goes. Its slot is known then. Those of the cells behind it often
// depend on the run itself (of two slots, the third cell has that of the first), so the run is not cut where they are
// not known: it is announced as if slots went on to come free as they did. As soon as they are known this is verified;
// cells whose slots are not known just before they go, or for which the guess was wrong, are taken back. So are those
// that have not gone when a cell is ready before them. At every instant what has gone is what an event for each cell
// would have sent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <utility>

#include "models/sim/recycling.hpp"
#include "models/sim/slot_ledger.hpp"

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
  // Cells that were announced together: with slots, or with none as they are dropped.
  struct Run {
    Item item;
    TimeSequence issued;
    Time announced{0};
    bool has_slots = true;
    Details details{};
  };

  // `slots`: how many there are of each kind that a cell needs.
  IssueQueue(std::initializer_list<std::uint32_t> slots, Owner& owner) : owner_(owner) {
    for (const std::uint32_t count : slots) kinds_.emplace_back(count);
  }

  bool empty() const { return waiting_.empty(); }
  Item& head() { return waiting_.front(); }
  // The head's turn; its slot may come later.
  Time turn() const {
    return runs_.empty() ? waiting_.front().ready.front()
                         : std::max(waiting_.front().ready.front(), runs_.back().issued.back());
  }
  // When the head has slots; kNever while that is not known.
  Time next_slot() const {
    Time next{0};
    for (const Kind& kind : kinds_) next = std::max(next, kind.slots.next());
    return next;
  }

  // Whether reconcile() has something to do now; and when it will have, if nothing comes before: kNever if nothing.
  bool is_disturbed() const { return disturbed_from_ != kNever || unverified_; }
  Time doubtful_at() const { return doubtful_at_; }
  // When there is something to do for the head or reconcile(), if all stays as it is.
  Time due(Time now) const {
    if (is_disturbed()) return now;
    const Time head = waiting_.empty() || next_slot() == kNever ? kNever : std::max({turn(), next_slot(), now});
    return std::min(head, doubtful_at_);
  }

  void submit(Item item) {
    item.number = next_number_++;
    overtake(item.ready.front());
    insert(std::move(item));
  }

  // Takes back what does not go as announced since others have come, or slots do not come free as was thought. To be
  // called in an event of the instant of the change, and at doubtful_at(), before anything else is announced.
  void reconcile(Time now) {
    const Time soonest = now + Time{1};
    if (disturbed_from_ != kNever) take_back_from(std::max(std::exchange(disturbed_from_, kNever), soonest));
    if (!unverified_ && now < doubtful_at_) return;
    for (Time from = verify(now); from != kNever; from = verify(now)) {
      // The next guess comes after twice as many runs.
      if (std::exchange(guessing_, false)) cautious_runs_ = caution_ = std::min(2 * caution_ + 1, kMostCaution);
      take_back_from(std::max(from, soonest));
    }
  }

  // Announces the head's next cells, from now on; the reference is valid until runs are taken back or forgotten.
  // Requires that turn and slots have come.
  Run& issue(Time now) {
    const std::uint32_t in_turn = cells_in_turn();
    std::uint32_t known = in_turn;
    for (const Kind& kind : kinds_) known = std::min(known, kind.slots.known());
    const bool guesses = known < in_turn && cautious_runs_ == 0;
    if (known < in_turn && !guesses) --cautious_runs_;
    const std::uint32_t cells = guesses ? in_turn : known;
    Run run{take_from_head(cells), {}, now};
    run.issued = not_before(run.item.ready.prefix(known), now);
    for (Kind& kind : kinds_) {
      if (kind.slots.by(now) == kind.count) kind.idle_until = now;
      kind.slots.take(known);
      run.issued = later_of(run.issued, kind.slots.taken(known));
    }
    if (guesses) {
      guess(run, now);
      doubtful_at_ = std::min(doubtful_at_, run.issued.at(known) - Time{1});
      guessing_ = true;
    }
    announced_ = now;
    return runs_.emplace_back(std::move(run));
  }
  Run& drop(Time now) {
    Run run{take_from_head(cells_in_turn()), {}, now, false};
    run.issued = not_before(run.item.ready, now);
    announced_ = now;
    return runs_.emplace_back(std::move(run));
  }

  // The run's cells from `first` on are a run of their own, behind it. References to runs are void afterwards.
  Run& part(Run& run, std::uint32_t first) {
    Run rest{run.item.split(first), run.issued.suffix(first), run.announced, run.has_slots};
    run.issued.drop_back(rest.issued.size());
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
      if (run.has_slots) {
        for (Kind& kind : kinds_) kind.slots.give_back(rest.ready.size());
      }
      owner_.taken_back(run, rest, instants);
      insert(std::move(rest));
      if (kept > 0) return;
      runs_.pop_back();
    }
  }

  // The last `cells` of the items of which is_of(item) is true do not come at all. Throws std::logic_error if one of
  // them has gone.
  template <typename Predicate>
  void recall(Time now, std::uint32_t cells, Predicate is_of) {
    const Time gone_by = std::max(announced_, now - Time{1});
    for (std::uint32_t queued = waiting_cells(is_of); queued < cells; queued = waiting_cells(is_of)) {
      const auto run = std::find_if(runs_.rbegin(), runs_.rend(), [&](const Run& r) { return is_of(r.item); });
      if (run == runs_.rend() || run->issued.back() <= gone_by)
        throw std::logic_error("a cell that had gone was taken back");
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

  // The items that wait of which is_of(item) is true do not come.
  template <typename Predicate>
  void remove(Predicate is_of) {
    erase_if(waiting_, is_of);
  }

  // Slots of a kind come free at these instants: those of cells of which the first went at `since`.
  void give(const TimeSequence& freed, Time since, Time now, std::size_t of_kind = 0) {
    Kind& kind = kinds_[of_kind];
    const bool was_idle = since == kind.idle_until;
    if (was_idle) kind.round_trip = freed.front() - since;
    if (freed.size() > 1) {
      kind.gap = freed.back() - freed.at(freed.size() - 2);
    } else if (const Time last = kind.slots.last(); !was_idle && last > Time{0} && freed.back() > last) {
      kind.gap = freed.back() - last;  // last is 0 where none is kept: that is no gap
    }
    // Where all slots are known, those that come free after them change nothing.
    const bool matters = doubtful_at_ != kNever || freed.front() < kind.slots.last_taken();
    kind.slots.free(freed, now);
    if (matters && !runs_.empty() && runs_.back().issued.back() > now) {
      unverified_ = unverified_ || verify(now) != kNever;
    }
  }
  // They do not, after all.
  void withdraw(const TimeSequence& freed, std::size_t of_kind = 0) {
    if (freed.empty()) return;
    kinds_[of_kind].slots.hold(freed);
    unverified_ = true;
  }

  // Announced runs, in order of issue.
  Deque<Run>& runs() { return runs_; }

 private:
  // Slots that a cell needs one of, and what a guess rests on.
  struct Kind {
    explicit Kind(std::uint32_t slots_of_kind) : slots(slots_of_kind), count(slots_of_kind) {}
    SlotLedger slots;
    std::uint32_t count;
    Time gap{0};          // between the last slots that were said to come free
    Time guessed{0};      // the last slot, as far as was guessed
    Time idle_until{-1};  // when a cell went while all slots were free, and how long after that its slot came free
    Time round_trip{0};
  };

  // A cell comes that is ready then: those that were announced and are ready after it go behind it. Runs go in the
  // order in which their cells are ready, but for cells that had gone when others came.
  void overtake(Time ready) {
    for (auto run = runs_.rbegin(); run != runs_.rend() && run->item.ready.back() > ready; ++run) {
      disturbed_from_ = std::min(disturbed_from_, run->issued.at(run->item.ready.count_by(ready)));
    }
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

  // When the run's other cells go if slots come free as far apart as the last ones, and not sooner after the cell that
  // has the slot now than after an idle while. None goes now: whether it may has to be known before it goes.
  void guess(Run& run, Time now) {
    for (Kind& kind : kinds_) kind.guessed = kind.slots.last();
    for (std::uint32_t cell = run.issued.size(); cell < run.item.ready.size(); cell = run.issued.size()) {
      Time goes = std::max({run.item.ready.at(cell), run.issued.back(), now + Time{1}});
      for (Kind& kind : kinds_) {
        Time slot = kind.slots.next();
        if (slot == kNever) {
          slot = kind.guessed =
              std::max(kind.guessed + kind.gap, went(run, std::int64_t{cell} - kind.count) + kind.round_trip);
        }
        kind.slots.take(1);
        goes = std::max(goes, slot);
      }
      run.issued.append(goes);
      guess_steadily(run, cell);
    }
  }
  // Guesses the cells that become ready in step with this one at once, where the last cells went in equal steps:
  // nothing that a cell waits for comes more than a step after what the cell before it waited for, and one thing comes
  // exactly then. The cell that had the slot before went as many steps earlier as the kind has slots, if it is one of
  // the last.
  void guess_steadily(Run& run, std::uint32_t cell) {
    const TimeSequence::Segment last = run.issued.segments().back();
    const Time goes = last.last();
    const Time step = last.gap;
    const TimeSequence::Segment ready = run.item.ready.segment_at(cell);
    const std::uint32_t cells = ready.count - 1;
    if (cells == 0 || last.count == 1 || ready.gap > step) return;
    const auto has_slots = [&](const Kind& kind) { return kind.slots.by(goes) >= cells; };
    bool is_steady = ready.first == goes && ready.gap == step;
    for (const Kind& kind : kinds_) {
      if (has_slots(kind)) continue;
      const bool may_be_later = kind.gap > step || kind.round_trip > step * std::min(last.count, kind.count);
      if (may_be_later || kind.slots.known() > 0) return;
      is_steady |= kind.guessed == goes && kind.gap == step;
    }
    if (!is_steady) return;
    run.issued.append({goes + step, step, cells});
    for (Kind& kind : kinds_) {
      if (!has_slots(kind)) {
        const Time before = went(run, std::int64_t{cell} + cells - kind.count);
        kind.guessed = std::max(kind.guessed + kind.gap * cells, before + kind.round_trip);
      }
      kind.slots.take(cells);
    }
  }
  // When a cell went; before the run's first one are those of the runs before it.
  Time went(const Run& run, std::int64_t cell) const {
    if (cell >= 0) return run.issued.at(static_cast<std::uint32_t>(cell));
    for (auto before = runs_.rbegin(); before != runs_.rend(); ++before) {
      if (!before->has_slots) continue;
      cell += before->issued.size();
      if (cell >= 0) return before->issued.at(static_cast<std::uint32_t>(cell));
    }
    return Time{0};
  }

  // The instant from which cells that were announced must be taken back now; kNever: none, and doubtful_at_ is set.
  Time verify(Time now) {
    unverified_ = false;
    doubtful_at_ = kNever;
    std::uint32_t taken = 0;  // slots, by runs that have not gone
    auto run = runs_.rbegin();
    for (; run != runs_.rend() && run->issued.back() > now; ++run) taken += run->has_slots ? run->issued.size() : 0;
    while (run != runs_.rbegin()) {
      --run;
      if (!run->has_slots) continue;
      const std::uint32_t gone = run->issued.count_by(now);
      const std::uint32_t left = run->issued.size() - gone;
      TimeSequence expected = not_before(run->item.ready.suffix(gone), run->announced);
      for (const Kind& kind : kinds_) {
        const TimeSequence known = kind.slots.taken(taken - gone);
        const std::uint32_t both = std::min(expected.size(), known.size());
        expected = later_of(expected.prefix(both), known.prefix(both));
      }
      taken -= run->issued.size();
      const std::uint32_t same = expected.common_prefix(run->issued.suffix(gone));
      if (same == left) continue;
      const Time doubtful = run->issued.at(gone + same);
      if (same < expected.size()) return std::min(doubtful, expected.at(same));
      if (doubtful <= now + Time{1}) return doubtful;
      doubtful_at_ = doubtful - Time{1};
      return kNever;
    }
    if (std::exchange(guessing_, false)) caution_ = 0;
    return kNever;
  }

  static constexpr std::uint32_t kMostCaution = 63;

  SmallVector<Kind, 2> kinds_;
  Owner& owner_;
  Deque<Item> waiting_;  // by first ready instant, then number
  Deque<Run> runs_;
  std::uint64_t next_number_ = 0;
  Time disturbed_from_ = kNever;
  Time announced_{-1};  // when something was announced last
  bool unverified_ = false;
  Time doubtful_at_ = kNever;        // just before the first cell goes whose slot is not known
  bool guessing_ = false;            // since the last time that all slots were known
  std::uint32_t caution_ = 0;        // grows with wrong guesses
  std::uint32_t cautious_runs_ = 0;  // that many are still cut where slots are not known
};

}  // namespace faultline::sim
