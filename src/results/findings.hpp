// SPDX-License-Identifier: Apache-2.0
// What a reader would write down from a run's tables, in sentences: which strategy is first where and by how much,
// where they cross, what could not be compared. Silent of what the results do not say.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/experiment/expansion.hpp"
#include "src/results/ranking.hpp"
#include "src/results/report.hpp"
#include "src/runs/manifest.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::results {

class Findings {
 public:
  Findings(const experiment::Experiment& experiment, const experiment::Simulator& simulator);
  // A point, the mean of its repetitions, of how many seeds that is, and what is not in the mean.
  void add(const experiment::Point& point, const runs::PointOutcome& mean, std::size_t seeds, const Failures& failures);
  // After the last point. None where there are no two strategies to compare.
  std::vector<std::string> sentences() const;
  // And what a sensitivity analysis of the `run` says of them.
  std::vector<std::string> sentences(const runs::Folder& run, const runs::Manifest& manifest) const;

 private:
  using Numbers = std::vector<std::size_t>;
  using Place = Numbers;  // of each shown axis's value there
  struct Axis {
    std::size_t number = 0;  // in the experiment
    bool ordered = false;    // its values are numbers and rise
  };
  struct Strategy {
    bool bound = true;      // at all of its points
    bool prepares = false;  // as its points say
    std::string nic = {};   // nic.kind, at its last point
    double setup = 0;       // the longest time before the first transfer [us]
  };
  struct Unranked {
    std::size_t places = 0;
    Failures most;  // at the place where most transfers failed
  };
  // Places that agree on who is first along an axis, and the values of the other axes that they have.
  struct Agreeing {
    std::vector<Place> others;
    std::vector<Stretch> stretches;
  };

  const std::string& key_of(std::size_t axis) const { return experiment_.axes[axes_[axis].number].key; }
  std::string text_of(std::size_t axis, std::size_t value) const;
  Numbers strategies_that(bool (Findings::*are)(std::size_t strategy) const) const;
  bool is_rival(std::size_t strategy) const { return !strategies_[strategy].bound; }
  bool prepares(std::size_t strategy) const;          // for longer than those that ask for nothing
  bool is_rival_at_once(std::size_t strategy) const;  // and does not prepare
  // Of the places at which so many of the strategies are ranked, all of which have run.
  std::map<Place, First> firsts(std::size_t metric, const Numbers& strategies, std::size_t at_least) const;
  std::vector<Agreeing> agreeing(const std::map<Place, First>& firsts) const;

  // Of the other axes one whose value says which of them holds.
  std::optional<std::size_t> deciding_axis(const std::vector<Agreeing>& all) const;

  std::vector<std::string> winners(std::size_t metric, const std::map<Place, First>& firsts) const;
  std::string counts(const std::map<Place, First>& firsts, const std::string& best) const;
  std::string along(const std::vector<Stretch>& stretches, const std::string& best) const;
  std::string where(const std::vector<Stretch>& stretches, std::size_t number) const;
  std::string beside(const Stretch& stretch) const;  // who else is there, and who is not
  std::string against_bounds(std::size_t metric, const std::map<Place, First>& firsts) const;
  // Nothing where all have the same NIC.
  std::string hardware() const;
  std::string preparation(const std::set<std::size_t>& first) const;
  std::string unranked() const;
  std::string how_sure() const;
  template <typename Strategies>
  std::string names(const Strategies& strategies, const char* last = "and") const;

  const experiment::Experiment& experiment_;
  std::vector<Axis> axes_;  // those that are shown
  std::size_t along_ = 0;   // of these: the longest that is ordered; their number where none is
  // That are compared: those of the experiment's matrices of which less or more is better, else the mean latency.
  std::vector<std::string> metrics_;
  std::map<Place, std::vector<std::map<std::size_t, Value>>> places_;  // by metric, then strategy
  std::set<Place> not_run_;                                            // at which some strategy has not run yet
  std::vector<Strategy> strategies_;
  bool draws_ = false;                                                // some point that is ranked
  std::map<std::pair<std::string, std::size_t>, Unranked> unranked_;  // by reason, then strategy
};

// Of a run whose points are all at hand; `results` lives as long.
Findings findings_of(const Results& results, const experiment::Simulator& simulator);
// Its sentences, and what a sensitivity analysis of it says, as a list, at most
// `width` columns wide; "" when there are none.
std::string findings_text(const Results& results, const experiment::Simulator& simulator, const runs::Folder& run,
                          std::size_t width);

}  // namespace faultline::results
