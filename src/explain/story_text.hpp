// SPDX-License-Identifier: Apache-2.0
// A transfer's story as text for people: sentences with times, and the time by cause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace faultline::explain {

struct TextStyle {
  std::size_t width = 160;  // of a line
  bool all = false;         // also what repeats itself
  bool costs = false;       // with the parameters that times are made of
};

// Picoseconds as microseconds: "12.345".
std::string us_text(std::int64_t ps);
// One of a story's buffers: "source: 64 B at 0x1000 of 'initiator' on node 0, 1 page, ..."
std::string buffer_text(const nlohmann::ordered_json& buffer);

// `document`: as explanation_json() makes it, with one story.
std::string story_text(const nlohmann::ordered_json& document, const TextStyle& style);
// With two: side by side, on one clock that begins at the post.
std::string comparison_text(const nlohmann::ordered_json& document, const TextStyle& style);
// The terms of the glossary that the document's stories use.
std::string terms_text(const nlohmann::ordered_json& document, const TextStyle& style);

}  // namespace faultline::explain
