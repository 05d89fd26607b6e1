// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/toml_document.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace faultline::app {
namespace {

Place to_place(const toml::source_region& region, const std::string& file) {
  return {file, static_cast<unsigned>(region.begin.line), static_cast<unsigned>(region.begin.column)};
}

Node convert(const toml::node& source, const std::string& file) {
  Node node;
  node.place = to_place(source.source(), file);
  node.key_place = node.place;
  if (const auto* table = source.as_table()) {
    for (const auto& [key, value] : *table) {
      Node child = convert(value, file);
      child.key = std::string(key.str());
      child.key_place = to_place(key.source(), file);
      // A table that only dotted keys made has no place of its own.
      if (child.place.line == 0) child.place = child.key_place;
      node.children.push_back(std::move(child));
    }
    // The library sorts by name; people mean the order in which they wrote.
    std::stable_sort(node.children.begin(), node.children.end(), [](const Node& a, const Node& b) {
      return std::pair(a.key_place.line, a.key_place.column) < std::pair(b.key_place.line, b.key_place.column);
    });
  } else if (const auto* list = source.as_array()) {
    node.kind = Node::Kind::list;
    for (const auto& value : *list) node.children.push_back(convert(value, file));
  } else {
    node.kind = Node::Kind::value;
    if (const auto* text = source.as_string()) {
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

}  // namespace

const Node* Node::find(const std::string& name) const {
  if (kind != Kind::table) return nullptr;
  const auto it = std::find_if(children.begin(), children.end(), [&](const Node& c) { return c.key == name; });
  return it == children.end() ? nullptr : &*it;
}

Node parse_toml(const std::string& text, const std::string& shown_path) {
  try {
    const toml::table table = toml::parse(text, shown_path);
    Node node = convert(table, shown_path);
    node.place = {shown_path, 1, 1};
    return node;
  } catch (const toml::parse_error& error) {
    throw UserError(to_place(error.source(), shown_path).text() + ": not TOML: " + std::string(error.description()));
  }
}

Node read_toml(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) throw UserError(path.string() + ": is a folder, not a file");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError(path.string() + ": cannot be read: " + std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  return parse_toml(text.str(), path.string());
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

void refuse_unknown_keys(const Node& table, const std::vector<std::string>& allowed, const std::string& prefix,
                         Diagnostics& diagnostics) {
  for (const Node& child : table.children) {
    if (std::find(allowed.begin(), allowed.end(), child.key) != allowed.end()) continue;
    diagnostics.add(child.key_place, prefix + child.key,
                    fmt::format("no such key; allowed: {}{}", fmt::join(allowed, ", "),
                                did_you_mean(sim::nearest_name(child.key, allowed))));
  }
}

std::string optional_text(const Node& table, const std::string& name, Diagnostics& diagnostics) {
  const Node* node = table.find(name);
  if (node == nullptr) return {};
  if (node->is_text()) return node->text();
  diagnostics.add(node->place, name, describe(*node) + " is not text; allowed: text in quotes");
  return {};
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
  diagnostics.add(node->place, key,
                  fmt::format("{}; allowed: a whole number from {}{}", describe(*node), low,
                              high == INT64_MAX ? "" : fmt::format(" to {}", high)));
  return {};
}

std::vector<const Node*> optional_texts(const Node& table, const std::string& name, Diagnostics& diagnostics) {
  const Node* node = table.find(name);
  if (node == nullptr) return {};
  if (node->kind != Node::Kind::list) {
    diagnostics.add(node->place, name, describe(*node) + " is not a list; allowed: [\"...\", \"...\"]");
    return {};
  }
  std::vector<const Node*> texts;
  for (const Node& item : node->children) {
    if (item.is_text()) {
      texts.push_back(&item);
    } else {
      diagnostics.add(item.place, name, describe(item) + " is not text; allowed: text in quotes");
    }
  }
  return texts;
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

}  // namespace faultline::app
