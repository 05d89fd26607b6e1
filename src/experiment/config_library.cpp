// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/config_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "faultline_build.hpp"
#include "src/experiment/input_limits.hpp"

namespace faultline::experiment {
namespace fs = std::filesystem;
namespace {

bool ends_with_toml(const std::string& text) { return text.size() > 5 && text.ends_with(".toml"); }

bool is_library(const fs::path& folder) { return fs::is_directory(folder / "experiments"); }

std::string folder_of(ConfigKind kind) { return kind == ConfigKind::strategy ? "strategies" : to_string(kind) + "s"; }

std::string list_of(const std::vector<std::string>& names, const fs::path& library) {
  if (!names.empty()) return fmt::format("{}", fmt::join(names, ", "));
  if (library.empty()) return "(no configs folder found: use --configs)";
  return fmt::format("(none in {}: is it a configs folder?)", library.string());
}

}  // namespace

std::string to_string(ConfigKind kind) {
  switch (kind) {
    case ConfigKind::platform: return "platform";
    case ConfigKind::strategy: return "strategy";
    case ConfigKind::experiment: return "experiment";
  }
  return "?";
}

ConfigLibrary ConfigLibrary::find(const std::string& chosen) {
  const char* variable = std::getenv("FAULTLINE_CONFIGS");
  const std::string named = !chosen.empty() ? chosen : variable != nullptr ? variable : "";
  if (!named.empty()) {
    if (fs::is_directory(named)) return ConfigLibrary(named);
    throw UserError("{} {}: no such folder", chosen.empty() ? "FAULTLINE_CONFIGS" : "--configs", named);
  }
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path installed = (executable.parent_path() / build::kConfigsFromProgram).lexically_normal();
    if (is_library(installed)) return ConfigLibrary(installed);
  }
  if (is_library(build::kSourceConfigs)) return ConfigLibrary(build::kSourceConfigs);
  // Experiments that name nothing shipped run without it.
  return ConfigLibrary(fs::path());
}

std::vector<std::string> ConfigLibrary::names(ConfigKind kind) const {
  std::vector<std::string> names;
  const fs::path folder = folder_ / folder_of(kind);
  if (folder_.empty() || !fs::is_directory(folder)) return names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".toml") continue;
    names.push_back(printable(entry.path().lexically_relative(folder).replace_extension().generic_string()));
  }
  std::ranges::sort(names);
  return names;
}

fs::path ConfigLibrary::path(ConfigKind kind, const std::string& name) const {
  return folder_ / folder_of(kind) / (name + ".toml");
}

fs::path ConfigLibrary::resolve(ConfigKind kind, const std::string& reference, const Place& place,
                                const std::string& key, Diagnostics& diagnostics) const {
  if (ends_with_toml(reference)) {
    fs::path file = (fs::path(place.file).parent_path() / reference).lexically_normal();
    const std::string why = why_no_input(file);
    if (why.empty()) return file;
    diagnostics.add(place, key, "{}: {}", why, file.string());
    return {};
  }
  const std::vector<std::string> known = names(kind);
  if (std::ranges::find(known, reference) != known.end()) return path(kind, reference);
  diagnostics.add(place, key, "no {} '{}'; allowed: {}, or a path ending in .toml{}", to_string(kind), reference,
                  list_of(known, folder_), diagnostics.hint(reference, known));
  return {};
}

fs::path ConfigLibrary::resolve_experiment(const std::string& reference) const {
  const std::string why = why_no_input(reference);
  if (why.empty()) return reference;
  const std::vector<std::string> known = names(ConfigKind::experiment);
  if (std::ranges::find(known, reference) != known.end()) return path(ConfigKind::experiment, reference);
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(reference, ignored)) || ends_with_toml(reference))
    throw UserError(reference + ": " + why);
  throw UserError("no experiment '{}'; allowed: a file, or one that ships: {}{}", reference, list_of(known, folder_),
                  did_you_mean(reference, known));
}

Preset read_preset(ConfigKind kind, const fs::path& path, const std::string& name, Diagnostics& diagnostics) {
  Preset preset{name, {}, {}};
  Node file;
  try {
    file = read_toml(path);
  } catch (const UserError& error) {
    diagnostics.add_text(path.string(), error.what());
    return preset;
  }
  refuse_unknown_keys(file, {"description", "based_on", "parameters"}, "", diagnostics);
  preset.description = optional_text(file, "description", diagnostics);
  read_based_on(file, preset, diagnostics);
  if (const Node* parameters = file.find("parameters")) {
    preset.settings =
        read_settings(*parameters, to_string(kind) + " " + name,
                      kind == ConfigKind::platform ? Provenance::required : Provenance::optional, diagnostics);
  }
  return preset;
}

void read_based_on(const Node& table, Preset& preset, Diagnostics& diagnostics) {
  const Node* node = table.find("based_on");
  if (node == nullptr) return;
  preset.based_on = optional_text(table, "based_on", diagnostics);
  preset.based_on_place = node->place;
  if (node->is_text() && preset.based_on.empty())
    diagnostics.add(node->place, "based_on", "is empty; allowed: a name, a path ending in .toml, or no such key");
}

Presets::Found Presets::find(const std::string& reference, const Place& place, const std::string& key,
                             bool among_own) const {
  const auto own = std::ranges::find(own_, reference, &Preset::name);
  if (among_own && own != own_.end()) return {*own, "own " + reference, true};
  const fs::path path = library_.resolve(kind_, reference, place, key, diagnostics_);
  if (path.empty()) return {{reference, {}, {}}, ""};
  Preset preset = read_preset(kind_, path, reference, diagnostics_);
  if (ends_with_toml(reference)) preset.name = path.stem().string();
  std::error_code ignored;
  return {std::move(preset), fs::weakly_canonical(path, ignored).string()};
}

Preset Presets::named(const std::string& reference, const Place& place, const std::string& key) const {
  Found found = find(reference, place, key, /*among_own=*/true);
  Preset whole = found.preset;
  std::vector<std::string> seen{found.id};
  std::vector<Place> links;  // where each of them says what it is based on
  while (!found.preset.based_on.empty()) {
    const Preset below = found.preset;
    links.push_back(below.based_on_place);
    found = find(below.based_on, below.based_on_place, "based_on", found.is_own);
    whole.bases.push_back(below.based_on);
    if (const auto first = std::ranges::find(seen, found.id); first != seen.end()) {
      // A circle has no wrong link: the one that is met first is told.
      diagnostics_.add(links[static_cast<std::size_t>(first - seen.begin())], "based_on",
                       "a {} that is based on itself: '{}' on '{}'", to_string(kind_), reference,
                       fmt::join(whole.bases, "' on '"));
      break;
    }
    if (seen.size() > kMostBases) {
      diagnostics_.add(below.based_on_place, "based_on", "'{}' is based on more than {} others, each on the next",
                       reference, kMostBases);
      break;
    }
    seen.push_back(found.id);
    whole.settings.insert(whole.settings.begin(), found.preset.settings.begin(), found.preset.settings.end());
  }
  return whole;
}

}  // namespace faultline::experiment
