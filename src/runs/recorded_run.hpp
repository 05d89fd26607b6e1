// SPDX-License-Identifier: Apache-2.0
// The experiment of a run folder, as whoever made the folder has written it down.
#pragma once

#include <vector>

#include "src/experiment/expansion.hpp"
#include "src/runs/manifest.hpp"

namespace faultline::runs {

// From its effective.toml, under the name that its manifest has. Throws UserError when that file is missing or wrong.
experiment::Experiment experiment_in(const Folder& folder, const Manifest& manifest,
                                     const std::vector<std::string>& overrides,
                                     const experiment::ConfigLibrary& library, const experiment::Simulator& simulator);

// Throws UserError unless these are the points that the folder's `manifest` lists: another build of the program gives
// points other ids, and its results would not go together with those that are there.
void check_manifest(const Folder& folder, const Manifest& manifest, const std::vector<experiment::Point>& points);
// Whether this very program has made the folder.
bool is_of_this_program(const Manifest& manifest);

}  // namespace faultline::runs
