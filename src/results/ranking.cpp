// SPDX-License-Identifier: Apache-2.0
#include "src/results/ranking.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <variant>

#include "src/experiment/point.hpp"

namespace faultline::results {

std::optional<Better> better_of(const std::string& metric) {
  constexpr std::array<std::string_view, 6> kCosts{"latency_",   "cpu_time", "background_access_m",
                                                   "setup_time", "queueing", "kernel_cost"};
  if (metric.find("goodput") != std::string::npos) return Better::more;
  if (std::ranges::any_of(kCosts, [&](std::string_view cost) { return metric.starts_with(cost); })) return Better::less;
  return {};
}

bool is_bound(const experiment::Strategy& strategy) {
  const experiment::Setting* prepare = experiment::deciding(strategy.settings, "strategy.prepare");
  if (prepare == nullptr) return false;
  const auto* text = std::get_if<std::string>(&prepare->value);
  return text != nullptr && *text == "ideal";
}

double factor(const Value& a, const Value& b) {
  const double smaller = std::min(a.mean, b.mean);
  return smaller > 0 ? std::max(a.mean, b.mean) / smaller : std::numeric_limits<double>::infinity();
}

bool are_alike(const Value& a, const Value& b) {
  if (a.mean == b.mean) return true;
  return factor(a, b) <= 1 + kAlike || std::abs(a.mean - b.mean) <= a.half_width + b.half_width;
}

First first_of(const std::map<std::size_t, Value>& values, Better better) {
  const auto is_worse = [&](const auto& a, const auto& b) {
    return better == Better::less ? b.second.mean < a.second.mean : a.second.mean < b.second.mean;
  };
  const auto best = std::ranges::max_element(values, is_worse);
  First first{best->second, {}, {}, 1};
  for (auto each = values.begin(); each != values.end(); ++each) {
    if (are_alike(best->second, each->second)) {
      first.strategies.push_back(each->first);
    } else if (!first.next || is_worse(*values.find(*first.next), *each)) {
      first.next = each->first;
    }
  }
  if (first.next) first.lead = factor(best->second, values.at(*first.next));
  return first;
}

namespace {

// Where others are first as well, the stretch's strategies are ahead of nobody.
void add_lead(Stretch& stretch, const First& first) {
  const bool shared = first.strategies.size() > stretch.strategies.size();
  if (!shared && !first.next) return;
  const double lead = shared ? 1 : first.lead;
  const auto next = shared ? std::nullopt : first.next;
  stretch.least = stretch.alone ? lead : std::min(stretch.least, lead);
  stretch.most = stretch.alone ? lead : std::max(stretch.most, lead);
  if (stretch.alone) stretch.next = next;
  if (stretch.next != next) stretch.next.reset();
  stretch.alone = false;
}

}  // namespace

std::vector<Stretch> stretches_of(const std::vector<std::pair<std::size_t, First>>& places) {
  std::vector<Stretch> stretches;
  auto begin = places.begin();
  while (begin != places.end()) {
    Stretch stretch{begin->first, begin->first, begin->second.strategies, {}, true, 0, 0};
    auto end = begin + 1;
    for (; end != places.end(); ++end) {
      std::vector<std::size_t> common;
      std::ranges::set_intersection(stretch.strategies, end->second.strategies, std::back_inserter(common));
      if (common.empty()) break;
      stretch.strategies = std::move(common);
      stretch.to = end->first;
    }
    for (; begin != end; ++begin) add_lead(stretch, begin->second);
    stretches.push_back(std::move(stretch));
  }
  return stretches;
}

bool are_same(const std::vector<Stretch>& a, const std::vector<Stretch>& b) {
  return std::ranges::equal(a, b, [](const Stretch& x, const Stretch& y) {
    return x.from == y.from && x.to == y.to && x.strategies == y.strategies && x.alone == y.alone;
  });
}

void merge(std::vector<Stretch>& into, const std::vector<Stretch>& others) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    into[i].least = std::min(into[i].least, others[i].least);
    into[i].most = std::max(into[i].most, others[i].most);
    if (into[i].next != others[i].next) into[i].next.reset();
  }
}

}  // namespace faultline::results
