// SPDX-License-Identifier: Apache-2.0
// The life of transfers and faults as a stream of steps, and what each part does meanwhile. Models report; whoever
// wants to know (the fault breakdown, a trace file) listens. With no listener a report costs one comparison.
//
// Which steps and tracks there are is for their owners to say: each room describes its own in a steps.hpp and a
// tracks.hpp, and reports refer to these descriptions. Listeners know of a machine what descriptions say and no more.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/sim/time.hpp"

namespace faultline::sim {

using NodeId = std::uint32_t;

// One attempt to move one part of one transfer. Transfer ids are unique in the cluster.
struct PartKey {
  std::uint64_t transfer = 0;
  std::uint32_t part = 0;
  std::uint32_t attempt = 0;
  auto operator<=>(const PartKey&) const = default;
};

// Refers to a description that lives as long as the program does: an `inline constexpr` one. Two that refer to
// descriptions of one identity are equal: identity() of a step or a worker is its name, of a kind of tracks its rank
// and name. A copy of a description is therefore the same step. Addresses decide nothing: the order of steps is that of
// a list of steps, the order of tracks that of ranks and names.
template <typename Info>
class Described {
 public:
  constexpr Described() = default;  // nothing yet
  constexpr Described(const Info& info) : info_(&info) {}
  Described(const Info&&) = delete;
  constexpr const Info* operator->() const { return info_; }
  // The addresses are compared first, because most equal ones refer to the very same description.
  constexpr bool operator==(const Described& other) const {
    if (info_ == other.info_) return true;
    return info_ != nullptr && other.info_ != nullptr && info_->identity() == other.info_->identity();
  }
  // Whether both refer to the very same description. For short cuts alone: of a copy it is false, though equal.
  constexpr bool has_same_address(const Described& other) const { return info_ == other.info_; }

 private:
  const Info* info_ = nullptr;
};

// Who is at work, as people call it: a lane of a timeline.
struct WorkerInfo {
  std::string_view name;   // one lane for all workers of one name
  std::uint32_t rank = 0;  // of the lanes of a node, from top to bottom
  constexpr std::string_view identity() const { return name; }
};
using Worker = Described<WorkerInfo>;

// What goes on from the step before up to a step: a row of the fault breakdown, a slice of a timeline.
struct Phase {
  Worker worker{};
  std::string_view label{};  // empty: the step begins a chain, or belongs to none
  std::string_view description{};
  std::string_view parameters{};  // that the time is made of; NIC stands for TransferLife::nic
  std::string_view rest{};        // the label in timelines, if the step before has Mark::for_timelines
};

// What a step is a step of.
enum class Scope : std::uint8_t {
  transfer,  // a whole one: part and attempt of the key are 0
  part,      // one part of a transfer
  node,      // whichever transfer it is about: the key is empty
  sender,    // of a small message between programs, which has no parts: the key is empty
  receiver,  // likewise
};

// What listeners must know of a few steps.
enum class Mark : std::uint8_t {
  none,
  transfer_over,    // for the program: what comes later leads nowhere
  part_begins,      // the NIC has turned to the part
  part_over,        // the initiator knows that all of it has arrived
  part_placed,      // all of it is in the target's memory
  target_notified,  // the target's process is told of the transfer
  part_faulted,     // an attempt has met a fault: what follows of it answers the fault
  fault_taken,      // of an attempt, by its node's driver: until it is answered, what the part does elsewhere, or as a
                    // later attempt, decides nothing
  fault_answered,
  part_lost,       // an attempt was given up; its row is shown behind others that begin at the same time
  message_begins,  // a later one begins only when the one before was received
  message_kept,    // by the program, which had all of it before
  told_as_fault,   // on_fault() says more of it
  stall_over,      // accesses that waited since their faults go on, or are ended
  for_timelines,   // nobody else is told
};

struct StepInfo {
  std::string_view name;
  Scope scope = Scope::part;
  Mark mark = Mark::none;
  Phase phase{};
  std::string_view told{};  // for people: what has been done when the step is reported, and why; a sentence or two
  constexpr std::string_view identity() const { return name; }
};
using Step = Described<StepInfo>;

// Whether no two of a list are equal. Each list of steps or of tracks asserts it at compile time: by identity() alone,
// because to g++ 12 a comparison of addresses is no constant where its undefined-behaviour sanitizer watches.
template <typename List>
constexpr bool all_differ(const List& list) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (list[i]->identity() == list[j]->identity()) return false;
    }
  }
  return true;
}

// What a NIC and its software tell of transfers.
struct TransferLife {
  std::string_view part;        // what the NIC calls a part of a transfer: "block"
  std::span<const Step> steps;  // all of them, in the order in which a transfer meets them; a message's in one piece
  std::string_view nic = "";    // the group of the NIC's parameters: what NIC stands for in Phase::parameters
  // The parameters of which the time of a message between programs is made: "exanest_library.message_*".
  std::string_view message_parameters = "";

  // Throws std::logic_error when the list lacks the step.
  std::size_t position(Step step) const;
  // The step as this NIC describes it: parts that several NICs have in common report their own descriptions.
  Step own(Step step) const;
  // Phase::parameters of this NIC.
  std::string parameters(const Phase& phase) const;
};

struct StepRecord {
  Time at;
  NodeId node;
  Step step;
  PartKey key;
};

class StepListener {
 public:
  virtual ~StepListener() = default;
  virtual void on_step(const StepRecord& record) = 0;
  // Its program has done with a transfer: no more steps that anybody waits for.
  virtual void on_over(std::uint64_t /*transfer*/) {}
};

// What a track shows.
enum class Shape : std::uint8_t {
  slices,  // what may also lie side by side
  thread,  // slices; those of one name that follow without a gap are one
  level,   // how many at a time
  wire,    // high or low: slices while it is high
  link,    // of a router's port, its number: slices while it is busy; `name` is for where it leads
};

// A kind of tracks: of parts that do one thing after the other, or of levels.
struct TrackInfo {
  std::string_view name;  // {} stands for the track's number
  std::uint32_t rank;     // of a node's tracks from top to bottom, below 99; levels stand under all others
  Shape shape = Shape::slices;
  std::string_view level = "";  // of slices that have a level, too: what is put behind the name
  constexpr std::pair<std::uint32_t, std::string_view> identity() const { return {rank, name}; }
};
using TrackKind = Described<TrackInfo>;

struct Track {
  NodeId node = 0;  // or a router's id
  TrackKind kind{};
  std::uint32_t number = 0;
  bool operator==(const Track&) const = default;
  // By node, from top to bottom, by number.
  bool operator<(const Track& other) const;
};

// Told when its end is known: mostly then, by some parts ahead. Slices of one core, walk slot or line do not overlap
// and come in order of time; those of other tracks may.
struct Slice {
  Track track;
  Time begin;
  Time end;
  std::string_view name;      // valid during the call
  std::string_view category;  // likewise
  PartKey key;                // what it was for; transfer 0: nobody's
};

// An access by a device that faulted, and why.
struct PageFault {
  Time at;
  NodeId node = 0;
  Step step;  // which has told of it before
  std::uint32_t process = 0;
  std::uint64_t address = 0;
  bool write = false;
  std::string_view cause;  // valid during the call, as are the others
  std::string_view state;  // of the page
  std::string_view by;     // what took the page, or the right
  bool injected = false;
};

// A transfer as its program sees it, or with no addresses a small message.
struct TransferBegin {
  struct End {
    NodeId node = 0;
    std::uint32_t process = 0;  // on that node
    std::uint64_t address = 0;  // of the buffer
  };
  Time arrived{0};  // of an open loop; else as `at`
  Time at{0};       // the program begins to prepare it
  End initiator;
  End target;
  bool reads = false;
  bool bystander = false;  // never measured: it is there to be disturbed
  std::uint64_t bytes = 0;
};

// Wants to know everything.
class Timeline : public StepListener {
 public:
  // Programs tell of their transfers, by numbers from 1 on in the order in which programs begin them.
  virtual void on_begin(std::uint64_t /*number*/, const TransferBegin&) {}
  virtual void on_posted(std::uint64_t /*number*/, std::uint64_t /*transfer*/) {}  // 0: refused
  virtual void on_end(std::uint64_t /*number*/, Time /*at*/, bool /*done*/) {}
  virtual void on_slice(const Slice& slice) = 0;
  virtual void on_level(Time at, const Track& track, std::uint64_t level) = 0;
  // Cells of a train are going to leave by a link from `begin` to `end`, as far as is known. What was said of this
  // train before is void, but for what has passed by then. None are when both are the same.
  virtual void on_link(const Slice& plan, const void* train) = 0;
  virtual void on_fault(const PageFault&) {}
};

class Trace {
 public:
  void listen(StepListener& listener) { listeners_.push_back(&listener); }
  void record(Timeline& timeline) { timelines_.push_back(&timeline); }
  // From here on no timeline is told anything.
  void stop_recording() { timelines_.clear(); }
  // Whether anybody wants more than steps; asked before a slice is made up.
  bool records() const { return !timelines_.empty(); }
  void report(Time at, NodeId node, Step step, const PartKey& key) const {
    for (StepListener* listener : listeners_) {
      if (step->mark != Mark::for_timelines) listener->on_step({at, node, step, key});
    }
    for (Timeline* timeline : timelines_) timeline->on_step({at, node, step, key});
  }
  void slice(const Slice& slice) const {
    for (Timeline* timeline : timelines_) timeline->on_slice(slice);
  }
  void level(Time at, const Track& track, std::uint64_t level) const {
    for (Timeline* timeline : timelines_) timeline->on_level(at, track, level);
  }
  void fault(const PageFault& fault) const {
    for (Timeline* timeline : timelines_) timeline->on_fault(fault);
  }
  void link(const Slice& plan, const void* train) const {
    for (Timeline* timeline : timelines_) timeline->on_link(plan, train);
  }
  // The transfer's number.
  std::uint64_t begins(const TransferBegin& begin) {
    ++begun_;
    for (Timeline* timeline : timelines_) timeline->on_begin(begun_, begin);
    return begun_;
  }
  void posted(std::uint64_t number, std::uint64_t transfer) const {
    for (Timeline* timeline : timelines_) timeline->on_posted(number, transfer);
  }
  // `transfer`: its id; 0: none.
  void ends(std::uint64_t number, std::uint64_t transfer, Time at, bool done) const {
    for (StepListener* listener : listeners_) listener->on_over(transfer);
    for (Timeline* timeline : timelines_) timeline->on_end(number, at, done);
  }

 private:
  std::vector<StepListener*> listeners_;
  std::vector<Timeline*> timelines_;
  std::uint64_t begun_ = 0;  // transfers
};

}  // namespace faultline::sim
