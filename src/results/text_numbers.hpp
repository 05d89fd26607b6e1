// SPDX-License-Identifier: Apache-2.0
// Texts by number, in the order of first appearance.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace faultline::results {

class TextNumbers {
 public:
  // From 0; a text that is new has the next one. (As columns of numbers have it.)
  double number_of(const std::string& text) {
    const auto [entry, is_new] = numbers_.emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return static_cast<double>(entry->second);
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::size_t> numbers_;
};

}  // namespace faultline::results
