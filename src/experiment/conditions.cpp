// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/conditions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "src/experiment/quantity.hpp"

namespace faultline::experiment {
namespace {

// In the order of the relations. Longer ones first: "<=" begins as "<" does.
constexpr std::array<const char*, 6> kSigns{"<=", ">=", "!=", "<", ">", "="};
constexpr const char* kForm = "allowed: { \"an.axis\" = \"< 4 KiB\", strategy = \"mlock\" }";

class SkipReader {
 public:
  SkipReader(const std::vector<Axis>& axes, const std::vector<std::string>& strategies, sim::ParameterTable& parameters,
             Diagnostics& diagnostics)
      : strategies_(strategies), parameters_(parameters), diagnostics_(diagnostics) {
    for (const Axis& axis : axes) keys_.push_back(axis.key);
    keys_.emplace_back("strategy");
  }

  Skip read(const Node& table) {
    Skip skip;
    if (table.kind != Node::Kind::table || table.children.empty()) {
      diagnostics_.add(table.place, "skip", describe(table) + " is no condition; " + kForm);
      return skip;
    }
    if (!collect(table, "", skip)) {
      diagnostics_.add(table.place, "skip", std::string("a table without a value is no condition; ") + kForm);
    }
    return skip;
  }

 private:
  // False: there is a table with nothing in it.
  bool collect(const Node& table, const std::string& prefix, Skip& skip) {
    bool whole = !table.children.empty();
    for (const Node& child : table.children) {
      if (child.kind == Node::Kind::table) {
        whole = collect(child, prefix + child.key + ".", skip) && whole;
      } else {
        add(child, prefix + child.key, skip);
      }
    }
    return whole;
  }

  void add(const Node& node, const std::string& key, Skip& skip) {
    if (std::ranges::find(keys_, key) == keys_.end()) {
      diagnostics_.add(node.key_place, "skip", "'{}' is no axis; {}", key, diagnostics_.allowed(key, keys_));
      return;
    }
    if (node.kind != Node::Kind::value) {
      diagnostics_.add(node.place, "skip", describe(node) + " is not a value; " + kForm);
      return;
    }
    Condition condition{key, Relation::equal, "", 0, false};
    sim::ParameterValue value = node.value;
    if (auto* text = std::get_if<std::string>(&value)) {
      // A value alone is what is equal.
      if (const auto relation = relation_at(*text); relation && relation != Relation::equal) {
        condition.relation = *relation;
        text->erase(0, std::string_view(sign_of(*relation)).size());
        text->erase(0, std::min(text->find_first_not_of(' '), text->size()));
      }
    }
    if (key == "strategy" ? complete_strategy(node, value, condition) : complete(node, std::move(value), condition))
      skip.push_back(std::move(condition));
  }

  bool complete_strategy(const Node& node, const sim::ParameterValue& value, Condition& condition) {
    const auto* name = std::get_if<std::string>(&value);
    const bool known = name != nullptr && std::ranges::find(strategies_, *name) != strategies_.end();
    if (!known) {
      diagnostics_.add(node.place, "skip", "strategy = {}; allowed: {}{}", describe(node), fmt::join(strategies_, ", "),
                       name == nullptr ? "" : diagnostics_.hint(*name, strategies_));
      return false;
    }
    condition.text = *name;
    return has_order(node, condition);
  }

  bool complete(const Node& node, sim::ParameterValue value, Condition& condition) {
    if (!apply({condition.key, std::move(value), node.key_place, node.place, "skip", "", ""}, parameters_,
               diagnostics_)) {
      return false;
    }
    const sim::Parameter& parameter = *parameters_.find(condition.key);
    condition.text = parameter.get();
    condition.is_number = is_number(parameter.kind);
    if (condition.is_number) condition.number = number_of(parameter.kind, condition.text);
    return has_order(node, condition);
  }

  bool has_order(const Node& node, const Condition& condition) {
    const bool plain = condition.relation == Relation::equal || condition.relation == Relation::unequal;
    if (plain || condition.is_number) return true;
    diagnostics_.add(node.place, "skip", "'{}' has no order; allowed: a value, or \"!= VALUE\"", condition.key);
    return false;
  }

  const std::vector<std::string>& strategies_;
  sim::ParameterTable& parameters_;
  Diagnostics& diagnostics_;
  std::vector<std::string> keys_;
};

}  // namespace

const char* sign_of(Relation relation) { return kSigns.at(static_cast<std::size_t>(relation)); }

std::optional<Relation> relation_at(std::string_view text) {
  const auto* sign = std::ranges::find_if(kSigns, [&](const char* s) { return text.starts_with(s); });
  if (sign == kSigns.end()) return {};
  return static_cast<Relation>(sign - kSigns.begin());
}

std::vector<Skip> read_skips(const Node& list, const std::vector<Axis>& axes,
                             const std::vector<std::string>& strategies, sim::ParameterTable& parameters,
                             Diagnostics& diagnostics) {
  std::vector<Skip> skips;
  if (!is_list(list, "skip", "[[skip]], or a list of conditions", diagnostics)) return skips;
  SkipReader reader(axes, strategies, parameters, diagnostics);
  for (const Node& table : list.children) skips.push_back(reader.read(table));
  return skips;
}

bool applies(const Condition& condition, const std::string& text, const sim::ParameterTable& parameters) {
  if (!condition.is_number) return holds(condition.relation, text, condition.text);
  return holds(condition.relation, number_of(parameters.find(condition.key)->kind, text), condition.number);
}

std::string to_toml(const Skip& skip) {
  std::string text;
  for (const Condition& condition : skip) {
    const std::string sign =
        condition.relation == Relation::equal ? "" : std::string(sign_of(condition.relation)) + " ";
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", quote_toml(condition.key),
                        quote_toml(sign + condition.text));
  }
  return "{ " + text + " }";
}

void forget_other_strategies(std::vector<Skip>& skips, const std::vector<std::string>& kept) {
  const auto is_of_another = [&](const Condition& condition, Relation relation) {
    return condition.key == "strategy" && condition.relation == relation &&
           std::ranges::find(kept, condition.text) == kept.end();
  };
  std::erase_if(skips, [&](const Skip& skip) {
    return std::ranges::any_of(skip, [&](const Condition& c) { return is_of_another(c, Relation::equal); });
  });
  for (Skip& skip : skips) std::erase_if(skip, [&](const Condition& c) { return is_of_another(c, Relation::unequal); });
}

}  // namespace faultline::experiment
