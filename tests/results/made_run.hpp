// SPDX-License-Identifier: Apache-2.0
// A run of an experiment's text on the fake machine, without its processes: outcomes are computed here.
#pragma once

#include <string>
#include <vector>

#include "src/experiment/expansion.hpp"
#include "src/results/database.hpp"
#include "src/runs/manifest.hpp"
#include "tests/support/fake_simulator.hpp"

namespace faultline::test {

inline const FakeSimulator kFakeSimulator;

struct MadeRun {
  MadeRun(const Sandbox& sandbox, const std::string& text)
      : experiment(experiment::read_experiment(sandbox.write("mine.toml", text), {},
                                               experiment::ConfigLibrary(test_configs()), kFakeSimulator)),
        points(experiment::expand(experiment, kFakeSimulator)),
        outcomes(points.size()) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      outcomes[i].status = runs::PointStatus::complete;
      outcomes[i].result = experiment::configure(points[i], kFakeSimulator)->run(points[i].seed, {});
    }
  }
  // Into a run folder.
  void write(const std::string& folder = "o") const {
    auto there = runs::Folder::open(folder, "", [](const runs::Folder&) { return false; });
    there.write("manifest.json", runs::to_text(runs::manifest_of(experiment, points)));
    results::write_database(there, {experiment, points, outcomes}, kFakeSimulator);
    there.keep();
  }
  workloads::Metric& metric(std::size_t point, const std::string& name) {
    for (auto& metric : outcomes.at(point).result.metrics) {
      if (metric.name == name) return metric;
    }
    throw std::logic_error("no metric " + name);
  }

  experiment::Experiment experiment;
  std::vector<experiment::Point> points;
  std::vector<runs::PointOutcome> outcomes;
};

}  // namespace faultline::test
