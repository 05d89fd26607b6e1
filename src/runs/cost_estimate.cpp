// SPDX-License-Identifier: Apache-2.0
#include "src/runs/cost_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "models/sim/random.hpp"

namespace faultline::runs {
namespace {

// Orders of magnitude. Half and double of each of the first four moved the mean error of recorded sweeps by 2 %.
constexpr double kShrinkage = 2;      // samples' worth of "this part of the label makes no difference"
constexpr double kPriorDoubt = 0.25;  // mean square of logarithms that a fit of nothing is off by
constexpr double kDoubt = 0.3;        // what a point tells of itself early is off by, as a logarithm
constexpr double kAmounts = 4;        // of work, to a power of two
constexpr double kPriorSamples = 2;   // what kPriorDoubt is worth
constexpr double kOverdue = 0.5;      // a point that runs for longer than expected needs so much of that again
// Against waste.
constexpr int kRounds = 15;                 // of fitting one kind of factor after the other
constexpr std::size_t kMostSamples = 2000;  // the latest; early points were spread over all
constexpr double kBetweenFits = 100;        // a fit with each hundredth more of samples
constexpr std::size_t kFew = 100;           // points a place, whose ends are looked at one by one
constexpr double kLeastSeconds = 1e-4;

// Of points that begin whenever one of the places is free.
double time_of(const std::vector<double>& points, std::size_t places) {
  if (points.size() > kFew * places)
    return std::accumulate(points.begin(), points.end(), 0.0) / static_cast<double>(places);
  std::vector<double> ends(places);
  for (const double seconds : points) *std::ranges::min_element(ends) += seconds;
  return std::ranges::max(ends);
}

int amount_of(double work) { return static_cast<int>(std::lround(kAmounts * std::log2(std::max(work, 1.0)))); }
double work_of(int amount) { return std::exp2(amount / kAmounts); }

}  // namespace

std::vector<PlannedPoint> planned(const std::vector<experiment::Point>& points) {
  std::vector<PlannedPoint> all;
  all.reserve(points.size());
  for (const experiment::Point& point : points) all.push_back({point.label(), point.work, point.repetition});
  return all;
}

std::vector<std::size_t> telling_order(const std::vector<PlannedPoint>& points, std::vector<std::size_t> indices,
                                       std::uint64_t seed) {
  sim::RandomStream random(seed, "order of points");
  for (std::size_t i = indices.size(); i > 1; --i) std::swap(indices[i - 1], indices[random.below(i)]);
  std::map<int, std::vector<std::size_t>> by_amount;
  for (const std::size_t index : indices) {
    if (points[index].repetition == 0) by_amount[amount_of(points[index].work)].push_back(index);
  }
  using Place = std::tuple<unsigned, double, int, std::size_t>;  // of the repetition, in the amount, of the amount
  std::vector<Place> places;
  for (const auto& [amount, members] : by_amount) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(members.size());
      places.emplace_back(0, share, i == 0 ? amount : -amount, members[i]);
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
    : done_(points.size()), own_(points.size(), -1), cost_(points.size()), doubt_of_fit_(kPriorDoubt) {
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

// In what a running point tells of its cost, beside the fit: by what either may be wrong, as logarithms.
double CostEstimate::trust(const RunningPoint& point) const {
  if (point.in_all <= 0) return 0;
  const double share = std::clamp(point.seconds / point.in_all, 1e-3, 1.0);
  const double doubt = kDoubt * (1 - share) / std::sqrt(share);
  return doubt_of_fit_ / (doubt_of_fit_ + doubt * doubt);
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
  if (above == work_factors_.end()) return log_less + std::log(work_of(amount) / work_of(less));
  const double share = (work_of(amount) - work_of(less)) / (work_of(above->first) - work_of(less));
  return std::log(std::exp(log_less) + share * (std::exp(above->second) - std::exp(log_less)));
}

void CostEstimate::fit(std::vector<Sample> samples) {
  std::ranges::fill(factors_, 0);
  std::size_t most_parts = 0;
  for (const Sample& sample : samples) most_parts = std::max(most_parts, parts_[sample.index].size());
  for (int round = 0; round < kRounds; ++round) {
    std::map<int, std::pair<double, double>> of_work;  // sum, weight
    for (const Sample& sample : samples) {
      auto& [sum, weight] = of_work[amounts_[sample.index]];
      sum += sample.weight * (sample.log_cost - log_of_parts(sample.index));
      weight += sample.weight;
    }
    work_factors_.clear();
    for (const auto& [amount, mean] : of_work) work_factors_.emplace_back(amount, mean.first / mean.second);
    for (std::size_t place = 0; place < most_parts; ++place) {
      std::unordered_map<std::size_t, std::pair<double, double>> of_part;
      for (const Sample& sample : samples) {
        if (place >= parts_[sample.index].size()) continue;
        const std::size_t part = parts_[sample.index][place];
        auto& [sum, weight] = of_part[part];
        const double others = log_of_work(amounts_[sample.index]) + log_of_parts(sample.index) - factors_[part];
        sum += sample.weight * (sample.log_cost - others);
        weight += sample.weight;
      }
      for (const auto& [part, mean] : of_part) factors_[part] = mean.first / (mean.second + kShrinkage);
    }
  }
  const auto fitted = [&](std::size_t i) { return std::exp(log_of_work(amounts_[i]) + log_of_parts(i)); };
  double measured = 0, expected = 0;  // so that the sum is right, not the mean of logarithms
  double squares = kPriorSamples * kPriorDoubt, weights = kPriorSamples;
  for (const Sample& sample : samples) {
    squares += sample.weight * std::pow(sample.log_cost - std::log(fitted(sample.index)), 2);
    weights += sample.weight;
    measured += sample.weight * std::exp(sample.log_cost);
    expected += sample.weight * fitted(sample.index);
  }
  doubt_of_fit_ = squares / weights;
  const double draws = firsts_ == 0 ? 1 : static_cast<double>(firsts_draw_) / static_cast<double>(firsts_);
  for (std::size_t i = 0; i < cost_.size(); ++i) {
    if (done_[i]) continue;
    const double own = own_[i - repetitions_[i]];
    const double share = repetitions_[i] == 0 ? 1 : draws;
    cost_[i] = own > 0 ? own : share * fitted(i) * measured / expected;
  }
}

std::optional<double> CostEstimate::seconds_left(const std::vector<RunningPoint>& running, double jobs) {
  const auto begin = samples_.end() - static_cast<std::ptrdiff_t>(std::min(samples_.size(), kMostSamples));
  std::vector<Sample> samples(begin, samples_.end());
  double known = static_cast<double>(samples_.size());
  for (const RunningPoint& point : running) {
    if (point.in_all <= 0) continue;
    samples.push_back({point.index, std::log(std::max(point.in_all, kLeastSeconds)), trust(point)});
    known += samples.back().weight;
  }
  if (samples.empty()) return {};
  if (fitted_ == 0 || known - fitted_ > fitted_ / kBetweenFits) {
    fit(samples);
    fitted_ = known;
  }
  std::vector<double> left;  // of those that run, then of the others
  std::vector<bool> is_counted = done_;
  for (const RunningPoint& point : running) {
    if (is_counted[point.index]) continue;
    is_counted[point.index] = true;
    const double own = trust(point);
    const double fitted = std::max(cost_[point.index], point.seconds);  // that has passed
    const double cost = own > 0 ? std::pow(point.in_all, own) * std::pow(fitted, 1 - own) : fitted;
    const double unknown = point.seconds < point.in_all ? 1 - own : 1;
    left.push_back(std::max(cost - point.seconds, kOverdue * unknown * point.seconds));
  }
  for (std::size_t i = 0; i < cost_.size(); ++i) {
    if (!is_counted[i]) left.push_back(cost_[i]);
  }
  return time_of(left, static_cast<std::size_t>(std::max(jobs, 1.0)));
}

}  // namespace faultline::runs
