// SPDX-License-Identifier: Apache-2.0
#include "src/results/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "src/experiment/quantity.hpp"
#include "src/results/repetitions.hpp"
#include "src/results/text_table.hpp"
#include "src/results/turns.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::results {
namespace {

constexpr std::size_t kMostAgreeing = 4;  // more are counted, not told one by one
constexpr std::size_t kMostCounted = 4;
constexpr std::size_t kWidest = 120;  // of a line that one reads
constexpr const char* kSetup = "setup_time";

std::string listed(const std::vector<std::string>& texts, const char* last) {
  if (texts.size() < 2) return texts.empty() ? "" : texts.front();
  const std::vector<std::string> all_but_last(texts.begin(), texts.end() - 1);
  return fmt::format("{} {} {}", fmt::join(all_but_last, ", "), last, texts.back());
}

std::string factor_text(double factor) {
  return fmt::format("{:.{}f}", factor, factor < 10 ? 2 : factor < 100 ? 1 : 0);
}

std::string range_text(double least, double most) {
  const std::string from = factor_text(least), to = factor_text(most);
  return from == to ? from : from + " to " + to;
}

std::string places_text(std::size_t some, std::size_t all) {
  return fmt::format("at {} of {} place{}", some, all, all == 1 ? "" : "s");
}

// What makes a value no candidate; empty: it is one.
std::string why_unranked(const runs::PointOutcome& outcome, const Failures& failures) {
  const auto is_some = [&](const char* metric) {
    const auto* found = find_metric(outcome, metric);
    return found != nullptr && found->value > 0;
  };
  const std::string status = runs::status_text(outcome);
  if (status != runs::to_string(runs::PointStatus::complete)) return status;
  if (is_some("data_errors") || is_some("other_data_errors")) return "wrong data";
  if (failures.failed > 0) return "transfers failed";
  return failures.unfinished > 0 ? "seeds without a result" : "";
}

// Those of the experiment's matrices, for these are what it asks.
std::vector<std::string> compared_metrics(const experiment::Experiment& experiment,
                                          const experiment::Simulator& simulator) {
  std::vector<std::string> metrics;
  for (const experiment::ReportSpec& spec : experiment.reports) {
    const bool is_new = std::ranges::find(metrics, spec.metric) == metrics.end();
    if (spec.view == experiment::View::matrix && better_of(spec.metric) && is_new) metrics.push_back(spec.metric);
  }
  // What is paid before the first transfer is said beside the others.
  const auto is_setup = [](const std::string& name) { return workloads::metric_in_program(name) == kSetup; };
  if (metrics.size() > 1) std::erase_if(metrics, is_setup);
  if (metrics.empty()) metrics.push_back(experiment.metric_or_first("latency_mean", simulator));
  return metrics;
}

bool rises(const experiment::Axis& axis, sim::ParameterKind kind) {
  if (axis.drawn || !experiment::is_number(kind)) return false;
  const auto is_below = [&](const std::string& a, const std::string& b) {
    return experiment::number_of(kind, a) < experiment::number_of(kind, b);
  };
  const auto not_below = [&](const std::string& a, const std::string& b) { return !is_below(a, b); };
  return std::ranges::adjacent_find(axis.texts, not_below) == axis.texts.end();
}

}  // namespace

Findings::Findings(const experiment::Experiment& experiment, const experiment::Simulator& simulator)
    : experiment_(experiment), metrics_(compared_metrics(experiment, simulator)) {
  strategies_.resize(experiment.strategies.size());
  const auto machine = simulator.machine();
  const std::vector<bool> leads = experiment::leading_axes(experiment.axes);
  for (std::size_t i = 0; i < experiment.axes.size(); ++i) {
    const experiment::Axis& axis = experiment.axes[i];
    if (leads[i]) axes_.push_back({i, rises(axis, machine->parameters().find(axis.key)->kind)});
  }
  along_ = axes_.size();
  std::size_t most = 1;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const std::size_t values = experiment.axes[axes_[i].number].texts.size();
    if (!axes_[i].ordered || values <= most) continue;
    most = values;
    along_ = i;
  }
}

void Findings::add(const experiment::Point& point, const runs::PointOutcome& mean, std::size_t seeds,
                   const Failures& failures) {
  const std::size_t number = experiment_.place_of_strategy(point.strategy);
  Strategy& strategy = strategies_[number];
  const workloads::RegistrationRole role = role_of(point);
  // Beside other programs a strategy that never waits asks more of what they share: it bounds nobody.
  strategy.bound = strategy.bound && role.is_bound && experiment_.programs().empty();
  strategy.prepares = strategy.prepares || role.prepares;
  strategy.nic = nic_of(point);
  Place place;
  for (const Axis& axis : axes_) {
    const std::vector<std::string>& texts = experiment_.axes[axis.number].texts;
    const auto value = std::ranges::find(texts, point.axes[axis.number].text);
    place.push_back(static_cast<std::size_t>(value - texts.begin()));
  }
  std::vector<std::map<std::size_t, Value>>& there = places_[place];
  there.resize(metrics_.size());
  if (const auto* setup = find_metric(mean, kSetup)) strategy.setup = std::max(strategy.setup, setup->value);
  if (mean.status == runs::PointStatus::not_run) not_run_.insert(place);
  if (const std::string why = why_unranked(mean, failures); !why.empty()) {
    Unranked& unranked = unranked_[{why, number}];
    ++unranked.places;
    if (failures.failed > unranked.most.failed) unranked.most = failures;
    return;
  }
  draws_ = draws_ || mean.result.draws;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    const auto* metric = find_metric(mean, metrics_[i]);
    if (metric != nullptr && std::isfinite(metric->value))
      there[i][number] = {metric->value, metric->half_width, seeds};
  }
}

std::string Findings::text_of(std::size_t axis, std::size_t value) const {
  return shown_value(experiment_, key_of(axis), experiment_.axes[axes_[axis].number].texts[value]);
}

// What all do that ask for nothing (madvise) is nobody's preparation.
bool Findings::prepares(std::size_t strategy) const {
  double least = INFINITY;
  for (const Strategy& other : strategies_) {
    if (!other.bound && !other.prepares) least = std::min(least, other.setup);
  }
  return strategies_[strategy].setup > (std::isfinite(least) ? (1 + kAlike) * least : 0);
}

bool Findings::is_rival_at_once(std::size_t strategy) const { return is_rival(strategy) && !prepares(strategy); }

Findings::Numbers Findings::strategies_that(bool (Findings::*are)(std::size_t strategy) const) const {
  Numbers numbers;
  for (std::size_t i = 0; i < experiment_.strategies.size(); ++i) {
    if ((this->*are)(i)) numbers.push_back(i);
  }
  return numbers;
}

std::map<Findings::Place, First> Findings::firsts(std::size_t metric, const Numbers& strategies,
                                                  std::size_t at_least) const {
  std::map<Place, First> all;
  for (const auto& [place, values] : places_) {
    std::map<std::size_t, Value> ranked;
    Numbers absent;
    for (const std::size_t strategy : strategies) {
      const auto value = values[metric].find(strategy);
      if (value != values[metric].end()) {
        ranked.insert(*value);
      } else {
        absent.push_back(strategy);
      }
    }
    if (ranked.size() < at_least || not_run_.contains(place)) continue;
    all.emplace(place, first_of(ranked, *better_of(metrics_[metric]))).first->second.absent = std::move(absent);
  }
  return all;
}

std::vector<Findings::Agreeing> Findings::agreeing(const std::map<Place, First>& firsts) const {
  std::map<Place, std::vector<std::pair<std::size_t, First>>> rows;  // by the other axes
  for (const auto& [place, first] : firsts) {
    Place others = place;
    std::size_t value = 0;
    if (along_ < axes_.size()) std::swap(value, others[along_]);
    rows[others].emplace_back(value, first);
  }
  std::vector<Agreeing> all;
  for (const auto& [others, row] : rows) {
    std::vector<Stretch> stretches = stretches_of(row);
    const auto known = std::ranges::find_if(all, [&](const Agreeing& a) { return are_same(a.stretches, stretches); });
    if (known == all.end()) {
      all.push_back({{others}, std::move(stretches)});
    } else {
      known->others.push_back(others);
      merge(known->stretches, stretches);
    }
  }
  return all;
}

template <typename Strategies>
std::string Findings::names(const Strategies& strategies, const char* last) const {
  std::vector<std::string> texts;
  for (const std::size_t strategy : strategies) texts.push_back(experiment_.strategies[strategy].name);
  return listed(texts, last);
}

std::string Findings::where(const std::vector<Stretch>& stretches, std::size_t number) const {
  if (along_ == axes_.size()) return "";
  const Stretch& stretch = stretches[number];
  const std::string key = number == 0 ? key_of(along_) + " = " : "";
  const std::string from = text_of(along_, stretch.from), to = text_of(along_, stretch.to);
  const bool is_begin = stretch.from == 0;
  const bool is_end = stretch.to + 1 == experiment_.axes[axes_[along_].number].texts.size();
  if (stretch.from == stretch.to) return " at " + key + from;
  if (is_begin && is_end) return fmt::format(" at every {} ({} to {})", key_of(along_), from, to);
  if (is_begin && stretches.size() > 1) return " up to " + key + to;
  return is_end && number > 0 ? fmt::format(" from {} on", from) : fmt::format(" from {}{} to {}", key, from, to);
}

std::string Findings::beside(const Stretch& stretch) const {
  std::vector<std::string> texts;
  if (!stretch.others.empty()) {
    texts.push_back(fmt::format("{} {} not behind {}", names(stretch.others, "or"),
                                stretch.others.size() > 1 ? "are" : "is", places_text(stretch.shared, stretch.places)));
  }
  if (stretch.unclear > 1 + kAlike) {
    texts.push_back(
        fmt::format("the seeds do not tell apart what differs by a factor of up to {}", factor_text(stretch.unclear)));
  }
  if (!stretch.absent.empty()) {
    texts.push_back(
        fmt::format("without {} {}", names(stretch.absent, "or"), places_text(stretch.incomplete, stretch.places)));
  }
  return texts.empty() ? "" : fmt::format(" ({})", fmt::join(texts, "; "));
}

std::string Findings::along(const std::vector<Stretch>& stretches, const std::string& best) const {
  std::string text;
  bool has_verb = false;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const Stretch& stretch = stretches[i];
    text += (i == 0 ? "" : "; ") + names(stretch.strategies);
    if (stretch.is_all_alike()) {
      text += stretch.unclear > 1 + kAlike ? " are not told apart" : " are alike";
    } else if (!has_verb) {
      text += (stretch.strategies.size() > 1 ? " are " : " is ") + best;
      has_verb = true;
    }
    text += where(stretches, i);
    if (!stretch.next.empty() && std::isfinite(stretch.most)) {
      text += fmt::format(", {}by a factor of {} ahead of {}", stretch.is_best_alone ? "the best of them " : "",
                          range_text(stretch.least, stretch.most),
                          stretch.next.size() == 1 ? names(stretch.next) : "the next");
    }
    text += beside(stretch);
  }
  return text;
}

std::string Findings::counts(const std::map<Place, First>& firsts, const std::string& best) const {
  std::map<std::size_t, std::size_t> places;  // by strategy
  for (const auto& [place, first] : firsts) {
    for (const auto& [strategy, value] : first.strategies) ++places[strategy];
  }
  std::vector<std::pair<std::size_t, std::size_t>> most(places.begin(), places.end());
  std::ranges::stable_sort(most, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (std::size_t i = 0; i < std::min(most.size(), kMostCounted); ++i) {
    text += i == 0 ? fmt::format("{} is {} at {} of {} places", names(Numbers{most[i].first}), best, most[i].second,
                                 firsts.size())
                   : fmt::format(", {} at {}", names(Numbers{most[i].first}), most[i].second);
  }
  if (most.size() > kMostCounted) text += fmt::format(", {} more at fewer", most.size() - kMostCounted);
  return text + " (alone, or with others that are alike or that the seeds do not tell apart)";
}

std::optional<std::size_t> Findings::deciding_axis(const std::vector<Agreeing>& all) const {
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    std::map<std::size_t, std::size_t> agreeing_at;  // by the axis's value
    bool decides = axis != along_;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const Place& place : all[i].others)
        decides = decides && agreeing_at.emplace(place[axis], i).first->second == i;
    }
    if (decides) return axis;
  }
  return {};
}

std::vector<std::string> Findings::winners(std::size_t metric, const std::map<Place, First>& firsts) const {
  const std::string best = better_of(metrics_[metric]) == Better::less ? "lowest" : "highest";
  const std::vector<Agreeing> all = agreeing(firsts);
  if (all.empty()) return {};
  if (all.size() == 1) return {along(all.front().stretches, best)};
  const auto axis = all.size() > kMostAgreeing ? std::nullopt : deciding_axis(all);
  if (!axis) return {counts(firsts, best)};
  std::vector<std::string> texts;
  for (const Agreeing& each : all) {
    std::set<std::size_t> values;
    for (const Place& place : each.others) values.insert(place[*axis]);
    std::vector<std::string> words;
    for (const std::size_t value : values) words.push_back(in_list(text_of(*axis, value)));
    texts.push_back(fmt::format("with {} = {}, {}", key_of(*axis), listed(words, "or"), along(each.stretches, best)));
  }
  return texts;
}

std::string Findings::against_bounds(std::size_t metric, const std::map<Place, First>& firsts) const {
  double least = INFINITY, most = 0;
  std::set<std::size_t> bounds, best;
  for (const auto& [place, first] : firsts) {
    for (const auto& [strategy, value] : places_.at(place)[metric]) {
      if (is_rival(strategy) || value.mean <= 0) continue;
      // A bound is one of strategies on the same hardware.
      std::optional<double> bounded;
      for (const auto& [candidate, its] : first.strategies) {
        if (strategies_[candidate].nic != strategies_[strategy].nic) continue;
        best.insert(candidate);
        if (!bounded || its.mean == first.best.mean) bounded = its.mean;
      }
      if (!bounded) continue;
      bounds.insert(strategy);
      least = std::min(least, *bounded / value.mean);
      most = std::max(most, *bounded / value.mean);
    }
  }
  if (bounds.empty()) return "";
  const std::string who = best.size() == 1 ? names(best) : "the best";
  const std::string bound = names(bounds);
  if (least >= 1 - kAlike && most <= 1 + kAlike) return fmt::format("{} is as good as the bound, {}", who, bound);
  const std::string from = factor_text(least), to = factor_text(most);
  return fmt::format("{} is {}{} times the bound, {}", who, from, from == to ? "" : " to " + to, bound);
}

std::string Findings::hardware() const {
  std::map<std::string, std::set<std::size_t>> by_nic;
  for (std::size_t i = 0; i < strategies_.size(); ++i) {
    if (!strategies_[i].nic.empty()) by_nic[strategies_[i].nic].insert(i);
  }
  if (by_nic.size() < 2) return "";
  const auto most = std::ranges::max_element(by_nic, {}, [](const auto& each) { return each.second.size(); });
  std::vector<std::string> words;
  for (const auto& [nic, strategies] : by_nic) {
    if (nic != most->first) words.push_back(fmt::format("{} for {}", nic, names(strategies)));
  }
  words.push_back(fmt::format("{} for the others", most->first));
  return fmt::format("the strategies are for different hardware (nic.kind = {}), which tells them apart, too",
                     listed(words, "and"));
}

std::string Findings::preparation(const std::set<std::size_t>& first) const {
  Numbers prepared;
  double most = 0;
  for (const std::size_t strategy : first) {
    if (!prepares(strategy)) continue;
    prepared.push_back(strategy);
    most = std::max(most, strategies_[strategy].setup);
  }
  if (prepared.empty()) return "";
  return fmt::format("{} prepare{} before the first transfer, for up to {} us (setup_time), which is in {}",
                     names(prepared), prepared.size() == 1 ? "s" : "", fixed(most, 2),
                     metrics_.size() == 1 ? "no " + metrics_.front() : "none of these");
}

std::string Findings::unranked() const {
  std::vector<std::string> reasons;
  for (auto each = unranked_.begin(); each != unranked_.end();) {
    const std::string& reason = each->first.first;
    std::vector<std::string> texts;
    for (; each != unranked_.end() && each->first.first == reason; ++each) {
      const Unranked& unranked = each->second;
      texts.push_back(names(Numbers{each->first.second}) + " " + places_text(unranked.places, places_.size()));
      if (unranked.most.failed > 0)
        texts.back() += fmt::format(" (up to {} of {})", unranked.most.failed, unranked.most.transfers);
    }
    reasons.push_back(fmt::format("{}: {}", reason, listed(texts, "and")));
  }
  return reasons.empty() ? "" : fmt::format("Not ranked, because of what happened there; {}", fmt::join(reasons, "; "));
}

std::string Findings::how_sure() const {
  const std::string alike = fmt::format("Values within {:.0f} % of each other count as alike", 100 * kAlike);
  if (!draws_) return alike + "; no run drew a random number, so every seed gives the same";
  if (experiment_.repetitions > 1) {
    return fmt::format(
        "{}; what differs by more, and is told apart, is beyond noise (Welch's t test over {} seeds; of "
        "20 that differ by chance alone it takes one for more)",
        alike, experiment_.repetitions);
  }
  return alike +
         "; points that drew random numbers ran once, so nobody knows how far another seed would move them "
         "(--repetitions)";
}

std::vector<std::string> Findings::sentences() const {
  std::vector<std::string> texts;
  std::set<std::size_t> first;  // somewhere, by any of the metrics but the time that preparation takes
  bool compared = false;
  const Numbers rivals = strategies_that(&Findings::is_rival);
  const Numbers at_once = strategies_that(&Findings::is_rival_at_once);
  for (std::size_t metric = 0; metric < metrics_.size(); ++metric) {
    const auto say = [&](const std::string& beginning, const std::string& text) {
      if (!text.empty()) texts.push_back(fmt::format("{}: {}{}", metrics_[metric], beginning, text));
    };
    const std::map<Place, First> all = firsts(metric, rivals, 2);
    compared = compared || !all.empty();
    const std::vector<std::string> overall = winners(metric, all);
    for (const std::string& text : overall) say("", text);
    if (!all.empty() && all.size() < places_.size())
      say("", fmt::format("fewer than two strategies are ranked {}",
                          places_text(places_.size() - all.size(), places_.size())));
    if (metrics_[metric] != kSetup && at_once.size() < rivals.size()) {
      for (const auto& [place, there] : all) {
        for (const auto& [strategy, value] : there.strategies) first.insert(strategy);
      }
      const std::vector<std::string> others = winners(metric, firsts(metric, at_once, 2));
      for (const std::string& text : others) {
        if (others != overall) say("of those that prepare nothing before the first transfer, ", text);
      }
    }
    say("", against_bounds(metric, firsts(metric, rivals, 1)));
  }
  if (const std::string text = preparation(first); !text.empty()) texts.push_back(text);
  if (texts.empty() && experiment_.strategies.size() < 2) return {};
  if (const std::string text = unranked(); !text.empty()) texts.push_back(text);
  if (compared) texts.push_back(how_sure());
  if (const std::string text = hardware(); compared && !text.empty()) texts.push_back(text);
  return texts;
}

std::vector<std::string> Findings::sentences(const runs::Folder& run, const runs::Manifest& manifest) const {
  const bool is_run = manifest.command == "run";
  std::vector<std::string> texts = is_run ? sentences() : std::vector<std::string>();
  if (is_run && texts.empty()) return texts;
  for (const std::string& text : assumptions(run, manifest, metrics_)) texts.push_back(text);
  return texts;
}

Findings findings_of(const Results& results, const experiment::Simulator& simulator) {
  Findings findings(results.experiment, simulator);
  const Merged merged = merge_repetitions(results);
  for (std::size_t i = 0; i < merged.points.size(); ++i)
    findings.add(merged.points[i], merged.outcomes[i], merged.seeds[i], merged.failures[i]);
  return findings;
}

std::string findings_text(const Results& results, const experiment::Simulator& simulator, const runs::Folder& run,
                          std::size_t width) {
  const Findings findings = findings_of(results, simulator);
  std::string text;
  for (const std::string& sentence : findings.sentences(run, runs::manifest_of(results.experiment, results.points)))
    text += wrap("* " + sentence, std::min(width, kWidest), 2) + "\n";
  return text.empty() ? "" : text + "\n";
}

}  // namespace faultline::results
