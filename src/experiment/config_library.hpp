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

// A platform or strategy, as a file or an experiment writes it down.
struct Preset {
  std::string name;
  std::string description;
  Settings settings;                    // once resolved: its own after those of what it is based on
  std::vector<std::string> bases = {};  // once resolved: what it is based on, what that is based on, ...
  std::string based_on = {};            // as it is written; empty without
  Place based_on_place = {};
};
// Never throws: what is wrong with the file, even that it is no TOML, becomes a diagnostic.
Preset read_preset(ConfigKind kind, const std::filesystem::path& path, const std::string& name,
                   Diagnostics& diagnostics);
// Reads based_on = "..." of a preset's table.
void read_based_on(const Node& table, Preset& preset, Diagnostics& diagnostics);

// Presets of one kind by the names that files give them.
class Presets {
 public:
  // `own`: an experiment's, which other files do not know.
  Presets(ConfigKind kind, const ConfigLibrary& library, Diagnostics& diagnostics, std::vector<Preset> own = {})
      : kind_(kind), library_(library), diagnostics_(diagnostics), own_(std::move(own)) {}
  // With all settings of those that it is based on before its own: the later wins. What is wrong is a diagnostic.
  Preset named(const std::string& reference, const Place& place, const std::string& key) const;

 private:
  struct Found {
    Preset preset;
    std::string id;  // the same for the same preset, whatever it is called
    bool is_own = false;
  };
  Found find(const std::string& reference, const Place& place, const std::string& key, bool among_own) const;

  ConfigKind kind_;
  const ConfigLibrary& library_;
  Diagnostics& diagnostics_;
  std::vector<Preset> own_;
};

}  // namespace faultline::experiment
