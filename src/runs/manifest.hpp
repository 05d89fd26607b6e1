// SPDX-License-Identifier: Apache-2.0
// manifest.json of a run folder: whose run it is, and the list of its points; with effective.toml, its experiment.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/experiment/expansion.hpp"
#include "src/runs/folder.hpp"

namespace faultline::runs {

struct Manifest {
  struct Entry {
    std::string id;
    std::string label;
    double work = 1;  // as of experiment::Point
  };
  std::string version;  // of the program that has made it, as are `commit` and `build`
  std::string commit;
  std::string build;            // its program_id()
  std::string command = "run";  // whose points these are
  std::string experiment;
  std::string platform;                       // empty: the defaults
  std::set<std::string> platform_parameters;  // that the platform sets, and nothing else that is for every point
  unsigned repetitions = 1;                   // of each combination, which follow each other among the points
  std::vector<Entry> points;
};

inline constexpr const char* kEffective = "effective.toml";  // of a run folder: the whole configuration

// Of a run that this program makes.
Manifest manifest_of(const experiment::Experiment& experiment, const std::vector<experiment::Point>& points);
// As the file has it.
std::string to_text(const Manifest& manifest);

// Throws UserError, with what to do, where the folder holds no run, one of another format, or its list is damaged.
Manifest read_manifest(const Folder& folder);
// Nothing where there is none, or it is damaged.
std::optional<Manifest> find_manifest(const Folder& folder);
// The command whose points the folder has: of a damaged manifest by the tables that are there. Nothing where neither
// says it.
std::optional<std::string> command_of(const Folder& folder);

// The experiment of a run folder: from its effective.toml, under the name that its manifest has. Throws UserError when
// that file is missing or wrong.
experiment::Experiment experiment_in(const Folder& folder, const Manifest& manifest,
                                     const std::vector<std::string>& overrides,
                                     const experiment::ConfigLibrary& library, const experiment::Simulator& simulator);

// Throws UserError unless these are the points that the folder's `manifest` lists: another build of the program gives
// points other ids, and its results would not go together with those that are there.
void check_manifest(const Folder& folder, const Manifest& manifest, const std::vector<experiment::Point>& points);
// Whether this very program has made the folder.
bool is_of_this_program(const Manifest& manifest);

// Throws UserError where a file that this program has written, effective.toml of a run folder or a copy of it, is not
// as it was written: it ends with another checksum, or has none beside a manifest.
void check_own_toml(const std::filesystem::path& file);

}  // namespace faultline::runs
