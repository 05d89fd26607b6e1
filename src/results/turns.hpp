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

// {"of": 31, "turns": [{"parameter", "value", "default", "place", "first", "instead_of"}, ...]}: of so many parameters,
// those values at which none of the strategies is first any more that are first at the default. Null where nobody can
// be compared: one strategy, or a metric of which neither less nor more is better. A ratio to a baseline is compared
// with 1, the baseline's own.
nlohmann::ordered_json turns_of(const Sensitivity& sensitivity, const experiment::Experiment& experiment);
// As a sentence that names some of them; "" of null.
std::string turns_text(const nlohmann::ordered_json& turns);

// The sentences of the analyses of one of the metrics that know all points of a run: those in the run's folder, else
// those in the last EXPERIMENT-sensitivity-N beside it. Empty where there is none.
std::vector<std::string> assumptions(const runs::Folder& run, const runs::Manifest& manifest,
                                     const std::vector<std::string>& metrics);

}  // namespace faultline::results
