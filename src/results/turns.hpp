// SPDX-License-Identifier: Apache-2.0
// Which assumption could turn an answer: where a sensitivity analysis has other strategies first.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/experiment/experiment.hpp"
#include "src/results/sensitivity.hpp"
#include "src/runs/manifest.hpp"

namespace faultline::results {

// {"points": [ID, ...], "of": 31, "turns": [{"parameter", "value", "default", "place", "point", "ahead", "overtaken",
//  "was_first"}, ...]}
// Of so many parameters, the values at which a strategy is ahead of another one that is ahead of it at the default: the
// best one that is overtaken there, with its point's id, and all that overtake it. `points`: of the experiment. Null
// where nobody can be compared: one strategy, or a metric of which neither less nor more is better. A ratio to a
// baseline is compared with 1, the baseline's own.
nlohmann::ordered_json turns_of(const Sensitivity& sensitivity, const experiment::Experiment& experiment,
                                const std::vector<experiment::Point>& points);
// As a sentence that names some of them; "" of null, and where nothing could be compared. `file`: has all of them.
std::string turns_text(const nlohmann::ordered_json& turns, const std::string& file = "sensitivity.json");

// The sentences of the analyses, of these metrics and in their order, that have varied the parameters at all points of
// a run: those in the run's folder, else those in the latest other folder beside it. Empty where there is none. Of
// what turns at other points than the run's nothing is said.
std::vector<std::string> assumptions(const runs::Folder& run, const runs::Manifest& manifest,
                                     const std::vector<std::string>& metrics);

}  // namespace faultline::results
