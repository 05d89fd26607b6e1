// SPDX-License-Identifier: Apache-2.0
#include "src/runs/cost_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <tuple>
#include <unordered_map>

#include "models/sim/random.hpp"

namespace faultline::runs {
namespace {

constexpr double kAffordable = 0.1;         // of all work, for one point of the first ones
constexpr double kShrinkage = 2;            // samples' worth of "this part of the label makes no difference"
constexpr int kRounds = 15;                 // of fitting one kind of factor after the other
constexpr std::size_t kMostSamples = 2000;  // the latest; early points were spread over all
constexpr std::size_t kBetweenFits = 50;    // a fit with each fiftieth more samples
constexpr double kLeastSeconds = 1e-4;
constexpr double kOverdue = 0.1;  // a point that runs for longer than expected is taken to need so much of that again

int amount_of(double work) { return static_cast<int>(std::lround(std::log2(std::max(work, 1.0)))); }

}  // namespace

std::vector<PlannedPoint> planned(const std::vector<experiment::Point>& points) {
  std::vector<PlannedPoint> all;
  all.reserve(points.size());
  for (const experiment::Point& point : points) all.push_back({point.label(), point.work, point.repetition});
  return all;
}

std::vector<std::size_t> telling_order(const std::vector<PlannedPoint>& points, std::vector<std::size_t> indices) {
  sim::RandomStream random(4, "order of points");
  for (std::size_t i = indices.size(); i > 1; --i) std::swap(indices[i - 1], indices[random.below(i)]);
  double all_work = 0;
  for (const std::size_t index : indices) all_work += points[index].work;
  std::map<int, std::vector<std::size_t>> by_amount;
  for (const std::size_t index : indices) {
    if (points[index].repetition == 0) by_amount[amount_of(points[index].work)].push_back(index);
  }
  using Place = std::tuple<unsigned, double, int, std::size_t>;  // of the repetition, in the amount, of the amount
  std::vector<Place> places;
  for (const auto& [amount, members] : by_amount) {
    const bool is_least = amount == by_amount.begin()->first;
    const bool is_affordable = std::exp2(amount) <= kAffordable * all_work;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(members.size());
      if (i > 0) {
        places.emplace_back(0, share, -amount, members[i]);
      } else if (is_least) {
        places.emplace_back(0, -3, 0, members[i]);
      } else {
        places.emplace_back(0, is_affordable ? -2 : -1, is_affordable ? -amount : amount, members[i]);
      }
    }
  }
  for (const std::size_t index : indices) {
    if (points[index].repetition > 0) places.emplace_back(points[index].repetition, 0, 0, index);
  }
  std::ranges::sort(places);
  std::ranges::transform(places, indices.begin(), [](const Place& place) { return std::get<std::size_t>(place); });
  return indices;
}

CostEstimate::CostEstimate(const std::vector<PlannedPoint>& points)
    : done_(points.size()), own_(points.size(), -1), cost_(points.size()) {
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < points.size(); ++i) {
    amounts_.push_back(amount_of(points[i].work));
    repetitions_.push_back(points[i].repetition);
    std::vector<std::size_t>& parts = parts_.emplace_back();
    for (const std::string& text : experiment::split_list(points[i].label)) {
      if (!text.starts_with("seed ")) parts.push_back(known.emplace(text, known.size()).first->second);
    }
  }
  factors_.resize(known.size());
}

void CostEstimate::finish(std::size_t index) {
  if (done_[index]) return;
  done_[index] = true;
  ++count_;
}

void CostEstimate::ended(std::size_t index, double seconds, bool stands_for_all) {
  if (done_[index]) return;
  finish(index);
  const std::size_t first = index - repetitions_[index];
  own_[first] = std::max(seconds, kLeastSeconds);
  samples_.push_back({index, std::log(own_[first])});
  const std::size_t begin = index + 1;
  const auto is_repetition = [&](std::size_t i) { return i < done_.size() && repetitions_[i] > 0; };
  if (first != index || !is_repetition(begin)) return;
  ++firsts_;
  if (!stands_for_all) ++firsts_draw_;
  for (std::size_t i = begin; stands_for_all && is_repetition(i); ++i) {
    if (done_[i]) continue;
    finish(i);
    ++shared_;
  }
}

double CostEstimate::log_of_parts(std::size_t index) const {
  double sum = 0;
  for (const std::size_t part : parts_[index]) sum += factors_[part];
  return sum;
}

// Between two amounts that have ended on the line through both; below all the least one's, above all in proportion.
double CostEstimate::log_of_work(int amount) const {
  const auto above = std::ranges::lower_bound(work_factors_, amount, {}, &std::pair<int, double>::first);
  if (above != work_factors_.end() && (above->first == amount || above == work_factors_.begin())) return above->second;
  const auto& [less, log_less] = *std::prev(above);
  if (above == work_factors_.end()) return log_less + (amount - less) * std::numbers::ln2;
  const double share = (std::exp2(amount) - std::exp2(less)) / (std::exp2(above->first) - std::exp2(less));
  return std::log(std::exp(log_less) + share * (std::exp(above->second) - std::exp(log_less)));
}

void CostEstimate::fit() {
  fitted_ = samples_.size();
  const auto begin = samples_.end() - static_cast<std::ptrdiff_t>(std::min(samples_.size(), kMostSamples));
  const std::vector<Sample> samples(begin, samples_.end());
  std::ranges::fill(factors_, 0);
  std::size_t most_parts = 0;
  for (const Sample& sample : samples) most_parts = std::max(most_parts, parts_[sample.index].size());
  for (int round = 0; round < kRounds; ++round) {
    std::map<int, std::pair<double, double>> of_work;  // sum, count
    for (const Sample& sample : samples) {
      auto& [sum, count] = of_work[amounts_[sample.index]];
      sum += sample.log_cost - log_of_parts(sample.index);
      ++count;
    }
    work_factors_.clear();
    for (const auto& [amount, mean] : of_work) work_factors_.emplace_back(amount, mean.first / mean.second);
    for (std::size_t place = 0; place < most_parts; ++place) {
      std::unordered_map<std::size_t, std::pair<double, double>> of_part;
      for (const Sample& sample : samples) {
        if (place >= parts_[sample.index].size()) continue;
        const std::size_t part = parts_[sample.index][place];
        auto& [sum, count] = of_part[part];
        sum += sample.log_cost - log_of_work(amounts_[sample.index]) - log_of_parts(sample.index) + factors_[part];
        ++count;
      }
      for (const auto& [part, mean] : of_part) factors_[part] = mean.first / (mean.second + kShrinkage);
    }
  }
  const auto fitted = [&](std::size_t i) { return std::exp(log_of_work(amounts_[i]) + log_of_parts(i)); };
  double measured = 0, expected = 0;  // so that the sum is right, not the mean of logarithms
  for (const Sample& sample : samples) {
    measured += std::exp(sample.log_cost);
    expected += fitted(sample.index);
  }
  const double draws = firsts_ == 0 ? 1 : static_cast<double>(firsts_draw_) / static_cast<double>(firsts_);
  for (std::size_t i = 0; i < cost_.size(); ++i) {
    if (done_[i]) continue;
    const double own = own_[i - repetitions_[i]];
    const double share = repetitions_[i] == 0 ? 1 : draws;
    cost_[i] = own > 0 ? own : share * fitted(i) * measured / expected;
  }
}

std::optional<double> CostEstimate::seconds_left(const std::vector<std::pair<std::size_t, double>>& running,
                                                 double jobs) {
  if (samples_.empty()) return {};
  if (fitted_ == 0 || samples_.size() - fitted_ > fitted_ / kBetweenFits) fit();
  std::vector<double> left(cost_);
  for (const auto& [index, seconds] : running) left[index] = std::max(cost_[index] - seconds, kOverdue * seconds);
  double sum = 0, longest = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (done_[i]) continue;
    sum += left[i];
    longest = std::max(longest, left[i]);
  }
  return std::max(sum / std::max(jobs, 1.0), longest);
}

}  // namespace faultline::runs
