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
      : experiment(app::read_experiment(sandbox.write("mine.toml", text), {}, app::ConfigLibrary(test_configs()),
                                        kFakeSimulator)),
        points(app::expand(experiment, kFakeSimulator)),
        outcomes(points.size()) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      outcomes[i].status = app::PointStatus::complete;
      outcomes[i].result = app::configure(points[i], kFakeSimulator)->run(points[i].seed, {});
    }
  }
  // Into a run folder.
  void write(const std::string& folder = "o") const {
    auto there = app::RunFolder::open(folder, "", [](const app::RunFolder&) { return false; });
    there.write("manifest.json", app::to_text(app::manifest_of(experiment, points)));
    app::write_database(there, {experiment, points, outcomes}, kFakeSimulator);
    there.keep();
  }
  workloads::Metric& metric(std::size_t point, const std::string& name) {
    for (auto& metric : outcomes.at(point).result.metrics) {
      if (metric.name == name) return metric;
    }
    throw std::logic_error("no metric " + name);
  }

  app::Experiment experiment;
  std::vector<app::Point> points;
  std::vector<app::PointOutcome> outcomes;
};

}  // namespace faultline::test
