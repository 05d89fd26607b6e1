// SPDX-License-Identifier: Apache-2.0
// The strategies that ship, read without the application: one parameter a line.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>

#include "tests/support/source_tree.hpp"

namespace faultline::test {

using PresetTexts = std::map<std::string, std::string>;  // by parameter

// What the strategy sets, itself or by what it is based on.
inline PresetTexts preset_texts(const std::filesystem::path& folder, const std::string& name) {
  std::ifstream file(folder / (name + ".toml"));
  if (!file) throw std::runtime_error("no strategy " + name);
  PresetTexts own, below;
  for (std::string line; std::getline(file, line);) {
    const std::string key = line.substr(0, line.find(' '));
    const bool is_base = key == "based_on";
    if (!is_base && key.find('.') == std::string::npos) continue;
    std::string value = line.substr(line.find("= ") + 2);
    std::erase(value, '"');
    if (is_base) {
      below = preset_texts(folder, value);
    } else {
      own[key] = value;
    }
  }
  own.merge(below);  // keeps its own
  return own;
}

inline std::map<std::string, PresetTexts> all_preset_texts() {
  const std::filesystem::path folder = source_tree() / "configs/strategies";
  std::map<std::string, PresetTexts> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".toml") continue;
    const std::string name = entry.path().lexically_relative(folder).replace_extension().generic_string();
    all[name] = preset_texts(folder, name);
  }
  return all;
}

}  // namespace faultline::test
