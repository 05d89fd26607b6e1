// SPDX-License-Identifier: Apache-2.0
// Counters of the models. Each has a name, a unit and a description; a node's counters live in one
// Statistics object, in order of registration.
#pragma once

#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace faultline::sim {

class Counter {
 public:
  struct About {
    std::string name;
    const char* unit;
    const char* description;
  };
  explicit Counter(const About& about) : about_(&about) {}
  Counter& operator++() { return *this += 1; }
  Counter& operator+=(std::uint64_t n) {
    value_ += n;
    return *this;
  }
  // For what was counted as it was announced, and is taken back.
  Counter& operator-=(std::uint64_t n) {
    value_ -= n;
    return *this;
  }
  // For levels (bytes pinned, records queued): the counter's value is the highest level seen.
  void raise_to(std::uint64_t level) {
    if (level > value_) value_ = level;
  }
  std::uint64_t value() const { return value_; }
  const std::string& name() const { return about_->name; }
  std::string_view unit() const { return about_->unit; }
  std::string_view description() const { return about_->description; }

 private:
  std::uint64_t value_ = 0;
  const About* about_;  // elsewhere, so that counters that go together lie together
};

class Statistics {
 public:
  // The reference stays valid. unit: "count", "B", "ps", ... Names: "smmu.faults". Units and descriptions are literals,
  // which all nodes share.
  Counter& counter(std::string name, const char* unit, const char* description) {
    return counters_.emplace_back(abouts_.emplace_back(Counter::About{std::move(name), unit, description}));
  }
  const std::deque<Counter>& all() const { return counters_; }
  // The counter of this name, the first of several. Throws std::logic_error when nobody registered it. Names are
  // compared one by one: who asks again and again keeps the counter.
  const Counter& find(std::string_view name) const {
    for (const Counter& c : counters_) {
      if (c.name() == name) return c;
    }
    throw std::logic_error("no such counter: " + std::string(name));
  }
  std::uint64_t value(std::string_view name) const { return find(name).value(); }

 private:
  std::deque<Counter::About> abouts_;
  std::deque<Counter> counters_;
};

// A counter that is a result: the sum over all nodes, while transfers are measured, times `scale`.
struct CounterMetric {
  const char* counter;
  const char* metric;  // "latency_mean"
  const char* unit;    // "us", "B"; "1" for a plain count
  double scale;
  const char* description;
};

}  // namespace faultline::sim
