// SPDX-License-Identifier: Apache-2.0
// What the values of axes are called in tables and figures, where that is not how files write them.
#pragma once

#include <map>
#include <string>

namespace faultline::experiment {

using Labels = std::map<std::string, std::map<std::string, std::string>>;  // by axis, by the text of the value

// nullptr: the value has none.
inline const std::string* find_label(const Labels& labels, const std::string& axis, const std::string& text) {
  const auto of_axis = labels.find(axis);
  if (of_axis == labels.end()) return nullptr;
  const auto label = of_axis->second.find(text);
  return label == of_axis->second.end() ? nullptr : &label->second;
}

// The text itself where it has none.
inline const std::string& label_of(const Labels& labels, const std::string& axis, const std::string& text) {
  const std::string* label = find_label(labels, axis, text);
  return label == nullptr ? text : *label;
}

}  // namespace faultline::experiment
