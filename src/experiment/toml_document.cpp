// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/toml_document.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

#include "models/sim/units.hpp"
#include "src/experiment/input_limits.hpp"

namespace faultline::experiment {
namespace {

std::string too_much() {
  return fmt::format("has more than {}, too much for a file of this kind", sim::format_bytes(kMostInputBytes));
}

Place to_place(const toml::source_region& region, const std::string& file) {
  return {file, static_cast<unsigned>(region.begin.line), static_cast<unsigned>(region.begin.column)};
}

[[noreturn]] void refuse(const Place& place, const std::string& why) {
  throw UserError(shortened(place.text() + ": " + why));
}

// The end of the text in quotes that begins at `at`: behind its last quote, or the end of its line or file.
std::size_t end_of_quoted(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const bool is_long = text.substr(at, 3) == std::string(3, quote);
  for (at += is_long ? 3 : 1; at < text.size() && (is_long || text[at] != '\n'); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text[at] == quote && !is_long) {
      return at + 1;
    } else if (is_long && text.substr(at, 3) == std::string(3, quote)) {
      return std::min(text.find_first_not_of(quote, at), text.size());  // the text may end with quotes of its own
    }
  }
  return std::min(at, text.size());
}

// The library makes a table of each part of a key, and of tables in tables it recurses.
void refuse_long_keys(std::string_view text, const std::string& file) {
  std::size_t parts = 1;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_quoted(text, at);
      continue;
    }
    if (c == '#') at = std::min(text.find('\n', at), text.size() - 1);
    if (c == '.') ++parts;
    if (std::string_view("#=,[]{}\n").find(c) != std::string_view::npos) parts = 1;
    if (parts > kMostKeyParts) {
      const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      const std::size_t begin = text.rfind('\n', at) + 1;
      refuse({file, static_cast<unsigned>(line), static_cast<unsigned>(at - begin + 1)},
             fmt::format("a key has more than {} parts; allowed: as many", kMostKeyParts));
    }
    ++at;
  }
}

void check_text(const std::string& text, const Place& place, bool one_line) {
  std::string plain = text;
  if (!one_line) std::erase(plain, '\r');  // of lines that end as on Windows
  if (const std::string shown = printable(plain, one_line); shown != plain) {
    refuse(place, fmt::format("'{}' has control characters; allowed: text without them", shown));
  }
}

// `depth`: of the tables and lists that it is in.
Node convert(const toml::node& source, const std::string& file, std::size_t depth = 0) {
  Node node;
  node.place = to_place(source.source(), file);
  node.key_place = node.place;
  if (depth > kMostNesting) refuse(node.place, fmt::format("is nested more than {} deep", kMostNesting));
  if (const auto* table = source.as_table()) {
    for (const auto& [key, value] : *table) {
      const Place key_place = to_place(key.source(), file);
      check_text(std::string(key.str()), key_place, /*one_line=*/true);
      Node child = convert(value, file, depth + 1);
      child.key = std::string(key.str());
      child.key_place = key_place;
      // A table that only dotted keys made has no place of its own.
      if (child.place.line == 0) child.place = child.key_place;
      node.children.push_back(std::move(child));
    }
    // The library sorts by name; people mean the order in which they wrote.
    std::ranges::stable_sort(node.children, [](const Node& a, const Node& b) {
      return std::pair(a.key_place.line, a.key_place.column) < std::pair(b.key_place.line, b.key_place.column);
    });
  } else if (const auto* list = source.as_array()) {
    node.kind = Node::Kind::list;
    if (list->size() > kMostValues) refuse(node.place, fmt::format("has more than {} values", kMostValues));
    for (const auto& value : *list) node.children.push_back(convert(value, file, depth + 1));
  } else {
    node.kind = Node::Kind::value;
    if (const auto* text = source.as_string()) {
      check_text(text->get(), node.place, /*one_line=*/false);
      node.value = text->get();
    } else if (const auto* whole = source.as_integer()) {
      node.value = whole->get();
    } else if (const auto* number = source.as_floating_point()) {
      node.value = number->get();
    } else if (const auto* flag = source.as_boolean()) {
      node.value = flag->get();
    } else {
      node.kind = Node::Kind::unsupported;
    }
  }
  return node;
}

bool is_so(bool is_it, const Node& node, const char* what, const std::string& key, const std::string& allowed,
           Diagnostics& diagnostics) {
  if (!is_it) diagnostics.add(node.place, key, "{} is not {}; allowed: {}", describe(node), what, allowed);
  return is_it;
}

}  // namespace

const Node* Node::find(const std::string& name) const {
  if (kind != Kind::table) return nullptr;
  const auto it = std::ranges::find(children, name, &Node::key);
  return it == children.end() ? nullptr : &*it;
}

Node parse_toml(const std::string& text, const std::string& shown_path) {
  refuse_long_keys(text, shown_path);
  try {
    const toml::table table = toml::parse(text, shown_path);
    Node node = convert(table, shown_path);
    node.place = {shown_path, 1, 1};
    return node;
  } catch (const toml::parse_error& error) {
    refuse(to_place(error.source(), shown_path), "not TOML: " + std::string(error.description()));
  }
}

std::string why_no_input(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return "no such file";
  if (error) return "cannot be read: " + error.message();
  if (std::filesystem::is_directory(status)) return "is a folder, not a file";
  if (!std::filesystem::is_regular_file(status)) return "is no regular file";  // a pipe would be waited for
  if (std::filesystem::file_size(path, error) > kMostInputBytes && !error) return too_much();
  return "";
}

Node read_toml(const std::filesystem::path& path) {
  if (const std::string why = why_no_input(path); !why.empty()) throw UserError(path.string() + ": " + why);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError(path.string() + ": cannot be read: " + std::strerror(errno));
  std::string text;
  std::array<char, 1 << 16> part{};
  // What a kernel makes up while it is read has no size, and no end perhaps.
  while (text.size() <= kMostInputBytes && (file.read(part.data(), part.size()), file.gcount() > 0))
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMostInputBytes) throw UserError(path.string() + ": " + too_much());
  return parse_toml(text, path.string());
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::list: return "a list";
    case Node::Kind::table: return "a table";
    case Node::Kind::unsupported: return "a date or time";
    case Node::Kind::value: break;
  }
  if (const auto* text = std::get_if<std::string>(&node.value)) return "the text '" + *text + "'";
  if (const auto* flag = std::get_if<bool>(&node.value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&node.value)) return std::to_string(*whole);
  return fmt::format("{}", std::get<double>(node.value));
}

bool is_table(const Node& node, const std::string& key, const std::string& allowed, Diagnostics& diagnostics) {
  return is_so(node.kind == Node::Kind::table, node, "a table", key, allowed, diagnostics);
}

bool is_list(const Node& node, const std::string& key, const std::string& allowed, Diagnostics& diagnostics) {
  return is_so(node.kind == Node::Kind::list, node, "a list", key, allowed, diagnostics);
}

bool is_text(const Node& node, const std::string& key, Diagnostics& diagnostics) {
  return is_so(node.is_text(), node, "text", key, "text in quotes", diagnostics);
}

void refuse_unknown_keys(const Node& table, const std::vector<std::string>& allowed, const std::string& prefix,
                         Diagnostics& diagnostics) {
  for (const Node& child : table.children) {
    if (std::ranges::find(allowed, child.key) != allowed.end()) continue;
    diagnostics.add(child.key_place, prefix + child.key, "no such key; " + diagnostics.allowed(child.key, allowed));
  }
}

std::string optional_text(const Node& table, const std::string& name, Diagnostics& diagnostics) {
  const Node* node = table.find(name);
  return node != nullptr && is_text(*node, name, diagnostics) ? node->text() : "";
}

std::optional<std::uint64_t> optional_whole(const Node& table, const std::string& name, std::uint64_t low,
                                            std::uint64_t high, const std::string& key, Diagnostics& diagnostics) {
  const Node* node = table.find(name);
  if (node == nullptr) return {};
  const auto* number = node->kind == Node::Kind::value ? std::get_if<std::int64_t>(&node->value) : nullptr;
  if (number != nullptr && *number >= 0) {
    const auto value = static_cast<std::uint64_t>(*number);
    if (value >= low && value <= high) return value;
  }
  diagnostics.add(node->place, key, "{}; allowed: a whole number from {} to {}", describe(*node), low, high);
  return {};
}

std::vector<const Node*> optional_texts(const Node& table, const std::string& name, Diagnostics& diagnostics) {
  const Node* node = table.find(name);
  std::vector<const Node*> texts;
  if (node == nullptr || !is_list(*node, name, "[\"...\", \"...\"]", diagnostics)) return texts;
  for (const Node& item : node->children) {
    if (is_text(item, name, diagnostics)) texts.push_back(&item);
  }
  return texts;
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string_view::npos ? "" : std::string(text.substr(begin, text.find_last_not_of(' ') + 1 - begin));
}

std::string quote_toml(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace faultline::experiment
