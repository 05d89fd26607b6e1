// SPDX-License-Identifier: Apache-2.0
// The files that ship with the program: configs/{platforms,strategies,experiments}/NAME.toml. A name is
// the path below its folder without ".toml", so strategies may be grouped: "fault/touch-ahead".
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/experiment/diagnostics.hpp"
#include "src/experiment/settings.hpp"

namespace faultline::experiment {

enum class ConfigKind { platform, strategy, experiment };
std::string to_string(ConfigKind kind);

class ConfigLibrary {
 public:
  // The folder that holds the three: `chosen` (--configs) if not empty, else $FAULTLINE_CONFIGS, else the
  // installed or the source tree's beside the executable. Throws UserError when the chosen one is none.
  static ConfigLibrary find(const std::string& chosen);
  explicit ConfigLibrary(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }
  std::vector<std::string> names(ConfigKind kind) const;  // sorted
  std::filesystem::path path(ConfigKind kind, const std::string& name) const;

  // The file that a reference in `place` means: a path ending in ".toml" is relative to the folder of the
  // file that mentions it, anything else is a name. Empty with a diagnostic when there is none.
  std::filesystem::path resolve(ConfigKind kind, const std::string& reference, const Place& place,
                                const std::string& key, Diagnostics& diagnostics) const;

  // What the command line names: an existing file, or a shipped experiment. Throws UserError.
  std::filesystem::path resolve_experiment(const std::string& reference) const;

 private:
  std::filesystem::path folder_;
};

// A platform or strategy file.
struct Preset {
  std::string name;
  std::string description;
  Settings settings;
  // Platforms: the one whose numbers hold where this one gives none; empty without.
  std::string base;
  Place base_place;
};
// Never throws: what is wrong with the file, even that it is no TOML, becomes a diagnostic.
Preset read_preset(ConfigKind kind, const std::filesystem::path& path, const std::string& name,
                   Diagnostics& diagnostics);

}  // namespace faultline::experiment
