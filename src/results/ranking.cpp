// SPDX-License-Identifier: Apache-2.0
#include "src/results/ranking.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include "src/results/statistics.hpp"

namespace faultline::results {

std::optional<Better> better_of(const std::string& metric) {
  constexpr std::array<std::string_view, 6> kCosts{"latency_",   "cpu_time", "background_access_m",
                                                   "setup_time", "queueing", "kernel_cost"};
  const std::string_view name = workloads::metric_in_program(metric);
  if (name.find("goodput") != std::string::npos) return Better::more;
  if (std::ranges::any_of(kCosts, [&](std::string_view cost) { return name.starts_with(cost); })) return Better::less;
  return {};
}

workloads::RegistrationRole role_of(const experiment::Point& point) {
  const std::string* text = point.find(std::string(workloads::kRegistrationParameter));
  return text == nullptr ? workloads::role_of_default_registration() : workloads::role_of_registration(*text);
}

std::string nic_of(const experiment::Point& point) {
  const std::string* text = point.find(std::string(workloads::kNicParameter));
  return text == nullptr ? workloads::default_nic() : *text;
}

double factor(const Value& a, const Value& b) {
  if (a.mean == b.mean) return 1;
  const double smaller = std::min(a.mean, b.mean);
  return smaller > 0 ? std::max(a.mean, b.mean) / smaller : std::numeric_limits<double>::infinity();
}

Relation relation(const Value& a, const Value& b) {
  if (factor(a, b) <= 1 + kAlike) return Relation::alike;
  const auto summary = [](const Value& v) { return summary_of_interval(v.mean, v.half_width, v.seeds); };
  return beyond_noise(summary(a), summary(b)) == BeyondNoise::no ? Relation::not_told_apart : Relation::apart;
}

bool is_better(const Value& a, const Value& b, Better better) {
  return better == Better::less ? a.mean < b.mean : b.mean < a.mean;
}

First first_of(const std::map<std::size_t, Value>& values, Better better) {
  const auto is_worse = [&](const auto& a, const auto& b) { return is_better(b.second, a.second, better); };
  First first;
  first.best = std::ranges::max_element(values, is_worse)->second;
  for (const auto& each : values) {
    if (relation(first.best, each.second) != Relation::apart) {
      first.strategies.insert(each);
    } else if (!first.next || is_worse(*first.next, each)) {
      first.next = each;
    }
  }
  return first;
}

namespace {

void add(Stretch& stretch, const First& first) {
  ++stretch.places;
  if (!first.absent.empty()) ++stretch.incomplete;
  stretch.absent.insert(first.absent.begin(), first.absent.end());
  double between = 1;  // the stretch's strategies
  for (const auto& [strategy, value] : first.strategies) {
    const double behind = factor(first.best, value);
    stretch.unclear = std::max(stretch.unclear, behind);
    if (std::ranges::find(stretch.strategies, strategy) == stretch.strategies.end()) {
      stretch.others.insert(strategy);
    } else {
      between = std::max(between, behind);
    }
  }
  if (first.strategies.size() > stretch.strategies.size()) {
    ++stretch.shared;
  } else if (first.next) {
    // What each of them is ahead by; of those that are alike the best. Seeds may leave one in doubt that is behind the
    // next one: then only of the best there is something to say.
    double lead = factor(first.best, first.next->second) / (between > 1 + kAlike ? between : 1);
    if (lead < 1) {
      stretch.is_best_alone = true;
      lead *= between;
    }
    stretch.least = stretch.next.empty() ? lead : std::min(stretch.least, lead);
    stretch.most = std::max(stretch.most, lead);
    stretch.next.insert(first.next->first);
  }
}

}  // namespace

std::vector<Stretch> stretches_of(const std::vector<std::pair<std::size_t, First>>& places) {
  std::vector<Stretch> stretches;
  auto begin = places.begin();
  while (begin != places.end()) {
    Stretch stretch;
    stretch.from = stretch.to = begin->first;
    for (const auto& [strategy, value] : begin->second.strategies) stretch.strategies.push_back(strategy);
    const auto is_first_at = [](const auto& place) {
      return [&](std::size_t strategy) { return place.second.strategies.contains(strategy); };
    };
    auto end = begin;
    while (++end != places.end() && end->first == stretch.to + 1 &&
           std::ranges::all_of(stretch.strategies, is_first_at(*end)))
      stretch.to = end->first;
    for (; begin != end; ++begin) add(stretch, begin->second);
    stretches.push_back(std::move(stretch));
  }
  return stretches;
}

bool are_same(const std::vector<Stretch>& a, const std::vector<Stretch>& b) {
  return std::ranges::equal(a, b, [](const Stretch& x, const Stretch& y) {
    return x.from == y.from && x.to == y.to && x.strategies == y.strategies && x.is_all_alike() == y.is_all_alike();
  });
}

void merge(std::vector<Stretch>& into, const std::vector<Stretch>& others) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    Stretch& stretch = into[i];
    const Stretch& other = others[i];
    stretch.places += other.places;
    stretch.shared += other.shared;
    stretch.incomplete += other.incomplete;
    stretch.unclear = std::max(stretch.unclear, other.unclear);
    if (!other.next.empty()) stretch.least = stretch.next.empty() ? other.least : std::min(stretch.least, other.least);
    stretch.most = std::max(stretch.most, other.most);
    stretch.is_best_alone = stretch.is_best_alone || other.is_best_alone;
    stretch.others.insert(other.others.begin(), other.others.end());
    stretch.absent.insert(other.absent.begin(), other.absent.end());
    stretch.next.insert(other.next.begin(), other.next.end());
  }
}

}  // namespace faultline::results
