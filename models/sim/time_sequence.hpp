// SPDX-License-Identifier: Apache-2.0
// The exact arithmetic of trains. A train is a run of equal cells that move back to back; its time
// sequence holds one instant a cell, as a few arithmetic progressions instead of a list, so that a
// page of 16 cells crosses a server in O(1) with every cell's time exact to the picosecond.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "models/sim/plain_vector.hpp"
#include "models/sim/time.hpp"

namespace faultline::sim {

// A non-decreasing sequence of instants, piecewise arithmetic.
class TimeSequence {
 public:
  // `count` instants first, first + gap, first + 2 gap, ... Requires count >= 1 and gap >= 0.
  struct Segment {
    Time first;
    Time gap;
    std::uint32_t count;
    Time at(std::uint32_t i) const { return first + gap * i; }
    Time last() const { return at(count - 1); }
    bool operator==(const Segment&) const = default;
  };

  TimeSequence() noexcept {}  // NOLINT(modernize-use-equals-default): see PlainVector
  static TimeSequence regular(Time first, Time gap, std::uint32_t count) {
    TimeSequence sequence;
    sequence.append(first, gap, count);
    return sequence;
  }
  static TimeSequence single(Time at) { return regular(at, Time{0}, 1); }
  // As `*this = single(at)`, in a few instructions.
  void become(Time at) {
    segments_.clear();
    segments_.push_back({at, Time{0}, 1});
    size_ = 1;
  }

  void clear() {
    segments_.clear();
    size_ = 0;
  }

  std::uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Time front() const { return segments_.front().first; }
  Time back() const { return segments_.back().last(); }
  Time at(std::uint32_t i) const { return segment_at(i).first; }
  // How many instants lie strictly before t (they are the first ones).
  std::uint32_t count_before(Time t) const;
  // How many lie at t or before it.
  std::uint32_t count_by(Time t) const { return count_before(t + Time{1}); }
  bool contains(Time t) const {
    const std::uint32_t before = count_before(t);
    return before < size_ && at(before) == t;
  }

  // Appends; a segment that continues the last one's progression is merged into it.
  // Requires segment.first >= back().
  void append(const Segment& segment) { append(segment.first, segment.gap, segment.count); }
  void append(Time first, Time gap, std::uint32_t count) {
    if (count == 0) return;
    assert(segments_.empty() || first >= back());
    size_ += count;
    if (!segments_.empty()) {
      Segment& last = segments_.back();
      const Time step = first - last.last();
      const bool fits_last = last.count == 1 || last.gap == step;
      const bool fits_next = count == 1 || gap == step;
      if (fits_last && fits_next) {
        last.gap = step;
        last.count += count;
        return;
      }
    }
    segments_.push_back({first, gap, count});
  }
  void append(Time at) { append(at, Time{0}, 1); }
  // Appends the other's instants from index `begin` on, each later by `by`.
  void append(const TimeSequence& other, std::uint32_t begin = 0, Time by = Time{0}) {
    assert(begin <= other.size_);
    if (begin == other.size_) return;
    auto [first, next] = other.place_of(begin);
    append(first.first + by, first.gap, first.count);
    for (; next != other.segments_.end(); ++next) append(next->first + by, next->gap, next->count);
  }

  TimeSequence shifted(Time by) const { return suffix(0, by); }
  // The instants with index from begin to begin + count - 1.
  TimeSequence slice(std::uint32_t begin, std::uint32_t count) const;
  TimeSequence prefix(std::uint32_t count) const { return slice(0, count); }
  TimeSequence suffix(std::uint32_t begin, Time by = Time{0}) const {
    TimeSequence part;
    part.append(*this, begin, by);
    return part;
  }
  // The progression from index i on.
  Segment segment_at(std::uint32_t i) const { return place_of(i).rest; }
  // Removes the first, or the last, `count` instants.
  void drop_front(std::uint32_t count);
  void drop_back(std::uint32_t count);
  // Where the two part: the number of instants that they have in common from the front on.
  std::uint32_t common_prefix(const TimeSequence& other) const;

  const auto& segments() const { return segments_; }
  // Compares the instants, not how they are cut into segments.
  bool operator==(const TimeSequence& other) const;

 private:
  // An instant with those behind it: in its own segment, and the next segment.
  struct Place {
    Segment rest;
    const Segment* next;
  };
  Place place_of(std::uint32_t i) const {
    assert(i < size_);
    const Segment* segment = segments_.end();
    std::uint32_t left = size_ - i;
    while ((--segment)->count < left) left -= segment->count;  // mostly it is the last one
    return {{segment->at(segment->count - left), segment->gap, left}, segment + 1};
  }

  std::uint32_t size_ = 0;
  PlainVector<Segment, 2> segments_;
};

// Departures from a first-come server that is free from `free` on and takes `service` a cell:
// d(i) = max(a(i), d(i-1)) + service. At most two segments for each segment of arrivals.
TimeSequence serve_in_order(const TimeSequence& arrivals, Time free, Time service);

// Of the work on these, how much such a server has left to do at `now`. Requires departures `service` apart or more.
Time work_left(const TimeSequence& departures, Time service, Time now);

// Element by element the later of two sequences of equal size: what must wait for both.
TimeSequence later_of(const TimeSequence& a, const TimeSequence& b);
// Element by element the later of a sequence and one instant.
TimeSequence not_before(const TimeSequence& a, Time t);

// All instants of both, in order.
TimeSequence merged(const TimeSequence& a, const TimeSequence& b);
// The instants of a but for those of b, each as often as b has it. Throws std::logic_error if a has not got them.
TimeSequence without(const TimeSequence& a, const TimeSequence& b);

// A first-come server that remembers until when it is busy.
class SerialServer {
 public:
  TimeSequence serve(const TimeSequence& arrivals, Time service) {
    TimeSequence departures = serve_in_order(arrivals, free_, service);
    if (!departures.empty()) free_ = departures.back();
    return departures;
  }
  Time serve(Time arrival, Time service) {
    free_ = std::max(arrival, free_) + service;
    return free_;
  }
  Time free() const { return free_; }

 private:
  Time free_{0};
};

}  // namespace faultline::sim
