// SPDX-License-Identifier: Apache-2.0
// A TOML file as a tree that keeps the order and the place of everything. The only part of the program
// that knows the TOML library.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/sim/parameters.hpp"
#include "src/experiment/diagnostics.hpp"

namespace faultline::experiment {

struct Node {
  enum class Kind { value, list, table, unsupported };  // unsupported: TOML's dates and times

  Kind kind = Kind::table;
  std::string key;             // in its table; empty in a list
  Place key_place;             // of the key; in a list, of the value
  Place place;                 // of the value
  sim::ParameterValue value;   // when kind is value
  std::vector<Node> children;  // of a list or a table, in the order of the file

  bool is_text() const { return kind == Kind::value && std::holds_alternative<std::string>(value); }
  const std::string& text() const { return std::get<std::string>(value); }
  // The entry of a table; nullptr without it.
  const Node* find(const std::string& name) const;
};

// Why a path cannot be read as a file of a sensible size (kMostInputBytes); empty: it can.
std::string why_no_input(const std::filesystem::path& path);
// Throws UserError when the file cannot be read (why_no_input()), is not TOML, is nested more deeply than
// input_limits.hpp says, or has control characters in keys or texts. `path` is shown as given.
Node read_toml(const std::filesystem::path& path);
Node parse_toml(const std::string& text, const std::string& shown_path);

// What a node is, for messages: "a list", "the text 'abc'", "7".
std::string describe(const Node& node);
// Whether it is that; else a diagnostic about `key` that says what would be allowed.
bool is_table(const Node& node, const std::string& key, const std::string& allowed, Diagnostics& diagnostics);
bool is_list(const Node& node, const std::string& key, const std::string& allowed, Diagnostics& diagnostics);
bool is_text(const Node& node, const std::string& key, Diagnostics& diagnostics);

// Refuses keys of a table that are not in `allowed`, with the nearest one.
void refuse_unknown_keys(const Node& table, const std::vector<std::string>& allowed, const std::string& prefix,
                         Diagnostics& diagnostics);

// The text under a key; empty when absent. A value of another type is a diagnostic.
std::string optional_text(const Node& table, const std::string& name, Diagnostics& diagnostics);
// A whole number; empty when absent or, with a diagnostic about `key`, wrong.
std::optional<std::uint64_t> optional_whole(const Node& table, const std::string& name, std::uint64_t low,
                                            std::uint64_t high, const std::string& key, Diagnostics& diagnostics);
// Likewise for a list of texts.
std::vector<const Node*> optional_texts(const Node& table, const std::string& name, Diagnostics& diagnostics);

// Without the spaces around it.
std::string trimmed(std::string_view text);

// Text as a TOML string, quoted and escaped.
std::string quote_toml(const std::string& text);

}  // namespace faultline::experiment
