// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "models/sim/random.hpp"
#include "src/experiment/input_limits.hpp"
#include "src/experiment/value_range.hpp"

namespace faultline::experiment {
namespace {

bool is_range(const Node& node) {
  const auto is_value = [&](const char* name) {
    const Node* child = node.find(name);
    return child != nullptr && child->kind == Node::Kind::value;
  };
  return node.kind == Node::Kind::table && (is_value("from") || is_value("to"));
}

// False: one more would be too many. A diagnostic says so of the first.
bool has_room(const std::vector<Axis>& axes, Diagnostics& diagnostics) {
  if (axes.size() < kMostAxes) return true;
  diagnostics.add(axes.front().key_place, "axes", "are more than {}", kMostAxes);
  return false;
}

// visit(node, key) on each list and range under a table, however its keys are nested.
template <typename Visit>
void for_each_axis(const Node& table, const std::string& prefix, Diagnostics& diagnostics, const Visit& visit) {
  for (const Node& child : table.children) {
    const std::string key = prefix + child.key;
    const bool is_list = child.kind == Node::Kind::list;
    const bool is_table = child.kind == Node::Kind::table;
    if ((is_list || is_table) && child.children.empty()) {
      diagnostics.add(child.place, key, "the axis is empty; allowed: at least one value");
    }
    if (is_list || is_range(child)) {
      visit(child, key);
    } else if (is_table) {
      for_each_axis(child, key + ".", diagnostics, visit);
    } else {
      diagnostics.add(child.place, key,
                      describe(child) + " is not a list; allowed: a list of values, a range " + kRangeForm +
                          ", or one value under [parameters]");
    }
  }
}

// Dotted keys of one group stand together in the tree, wherever they stand in the file.
template <typename Iterator>
void sort_by_place(Iterator begin, Iterator end) {
  std::stable_sort(begin, end, [](const Axis& a, const Axis& b) {
    return std::pair(a.key_place.line, a.key_place.column) < std::pair(b.key_place.line, b.key_place.column);
  });
}

// The label of { value = ..., label = "..." }.
std::string read_label(const Node& entry, const std::string& key, Diagnostics& diagnostics) {
  const Node* node = entry.find("label");
  if (node == nullptr) return {};
  const std::string label = node->is_text() ? node->text() : "";
  const auto is_first_byte = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  const auto characters = static_cast<std::size_t>(std::ranges::count_if(label, is_first_byte));
  std::string wrong;
  if (!node->is_text()) {
    wrong = describe(*node) + " is not text";
  } else if (label.empty()) {
    wrong = "is empty";
  } else if (printable(label, /*one_line=*/true) != label || label.find('\t') != std::string::npos) {
    wrong = fmt::format("'{}' has control characters", printable(label, /*one_line=*/true));
  } else if (label.front() == ' ' || label.back() == ' ') {
    wrong = fmt::format("'{}' begins or ends with a space", label);
  } else if (characters > kMostLabelCharacters) {
    wrong = fmt::format("'{}' has {} characters", label, characters);
  } else {
    return label;
  }
  diagnostics.add(node->place, key + ".label", "{}; allowed: one line of 1 to {} characters", wrong,
                  kMostLabelCharacters);
  return {};
}

// A value may have a label: { value = ..., label = "..." }. What is no value among them is refused with the others'
// values, when they are applied.
std::vector<Setting> listed(const Node& list, const std::string& key, const std::string& origin,
                            Diagnostics& diagnostics) {
  std::vector<Setting> values;
  for (const Node& entry : list.children) {
    const Node* inner = entry.find("value");
    if (entry.kind == Node::Kind::table && !entry.children.empty()) {
      refuse_unknown_keys(entry, {"value", "label"}, key + ".", diagnostics);
      if (inner == nullptr) {
        diagnostics.add(entry.place, key, "says no value; allowed: a value, or { value = ..., label = \"...\" }");
        continue;
      }
    }
    const Node& value = inner == nullptr ? entry : *inner;
    values.push_back({key, value.value, list.key_place, value.place, origin, "", "", value.kind,
                      read_label(entry, key, diagnostics)});
  }
  return values;
}

bool is_known(const std::vector<Axis>& axes, const Node& node, const std::string& key, Diagnostics& diagnostics) {
  const auto twin = std::ranges::find(axes, key, &Axis::key);
  if (twin == axes.end()) return false;
  diagnostics.add(node.key_place, key, "is an axis twice; first at " + twin->key_place.text());
  return true;
}

// Whatever the order in which a group names them.
void lead_by_first(std::vector<Axis>& axes, std::size_t leader) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].leader != leader) continue;
    first = first.value_or(i);
    axes[i].leader = *first;
  }
}

// A list's value at a share of the way.
const Setting& at_share(const std::vector<Setting>& values, double share) {
  const auto chosen = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return values[std::min(chosen, values.size() - 1)];
}

// What is drawn for one axis; empty where it is wrong.
std::vector<Setting> drawn_values(const Node& node, const std::string& key, const std::vector<double>& shares,
                                  sim::ParameterTable& parameters, Diagnostics& diagnostics) {
  if (node.kind != Node::Kind::list) return drawn_from_range(node, key, shares, parameters, diagnostics);
  const std::vector<Setting> list = listed(node, key, "sample", diagnostics);
  std::vector<Setting> values;
  if (list.empty()) return values;
  for (const double share : shares) values.push_back(at_share(list, share));
  return values;
}

// Numbers the different rows of a table that gets one more column; how many there are.
std::size_t refine(std::vector<std::size_t>& rows, const std::vector<std::string>& column) {
  std::map<std::pair<std::size_t, std::string>, std::size_t> numbers;
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = numbers.emplace(std::pair(rows[i], column[i]), numbers.size()).first->second;
  return numbers.size();
}

std::size_t different(const std::vector<std::string>& texts) {
  return std::set<std::string>(texts.begin(), texts.end()).size();
}

}  // namespace

std::vector<double> drawn_shares(std::uint64_t points, bool by_parts, sim::RandomStream random) {
  std::vector<std::uint64_t> part(points);
  std::iota(part.begin(), part.end(), std::uint64_t{0});
  for (std::uint64_t i = points; i > 1; --i) std::swap(part[i - 1], part[random.below(i)]);
  std::vector<double> shares(points);
  for (std::uint64_t i = 0; i < points; ++i) {
    const double inside = static_cast<double>(random.next() >> 11) * 0x1.0p-53;
    shares[i] = by_parts ? (static_cast<double>(part[i]) + inside) / static_cast<double>(points) : inside;
  }
  return shares;
}

std::vector<Axis> read_axes(const Node& table, const std::string& origin, sim::ParameterTable& parameters,
                            Diagnostics& diagnostics) {
  std::vector<Axis> axes;
  if (!is_table(table, "axes", "parameters with lists of values", diagnostics)) return axes;
  for_each_axis(table, "", diagnostics, [&](const Node& node, const std::string& key) {
    if (!has_room(axes, diagnostics) || is_known(axes, node, key, diagnostics)) return;
    Axis axis{key, node.key_place, {}, axes.size()};
    axis.values = node.kind == Node::Kind::list ? listed(node, key, origin, diagnostics)
                                                : range_values(node, key, origin, parameters, diagnostics);
    if (node.kind != Node::Kind::list && axis.values.empty()) return;
    axes.push_back(std::move(axis));
  });
  sort_by_place(axes.begin(), axes.end());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i].leader = i;
  return axes;
}

void read_zip(const Node& list, std::vector<Axis>& axes, Diagnostics& diagnostics) {
  const std::string form = "a list of lists of axes, [[\"a.b\", \"c.d\"]]";
  if (!is_list(list, "zip", form, diagnostics)) return;
  for (const Node& group : list.children) {
    if (group.kind != Node::Kind::list || group.children.size() < 2) {
      diagnostics.add(group.place, "zip", describe(group) + " is no group of axes; allowed: " + form);
      continue;
    }
    std::optional<std::size_t> leader;
    for (const Node& name : group.children) {
      const auto found =
          std::ranges::find_if(axes, [&](const Axis& axis) { return name.is_text() && axis.key == name.text(); });
      if (found == axes.end()) {
        std::vector<std::string> keys(axes.size());
        std::transform(axes.begin(), axes.end(), keys.begin(), [](const Axis& axis) { return axis.key; });
        diagnostics.add(name.place, "zip", "{} is no axis under [axes]; allowed: {}{}", describe(name),
                        fmt::join(keys, ", "), name.is_text() ? diagnostics.hint(name.text(), keys) : "");
        continue;
      }
      const auto number = static_cast<std::size_t>(found - axes.begin());
      if (!is_alone(axes, number) || leader == number) {
        diagnostics.add(name.place, "zip", "'{}' is in two groups, or twice in one", found->key);
      } else if (leader && axes[*leader].values.size() != found->values.size()) {
        diagnostics.add(name.place, "zip", "'{}' has {} values and '{}' has {}; allowed: as many", found->key,
                        found->values.size(), axes[*leader].key, axes[*leader].values.size());
      } else {
        found->leader = leader.value_or(number);
        leader = leader.value_or(number);
      }
    }
    if (leader) lead_by_first(axes, *leader);
  }
}

void read_sample(const Node& table, sim::ParameterTable& parameters, std::vector<Axis>& axes,
                 Diagnostics& diagnostics) {
  if (!is_table(table, "sample", "[sample]", diagnostics)) return;
  refuse_unknown_keys(table, {"count", "method", "seed", "axes"}, "sample.", diagnostics);
  const auto count = optional_whole(table, "count", 1, kMostValues, "sample.count", diagnostics);
  if (table.find("count") == nullptr) {
    diagnostics.add(table.place, "sample", "says no count; allowed: a whole number from 1 to {}", kMostValues);
  }
  const std::string method = optional_text(table, "method", diagnostics);
  const std::vector<std::string> methods{"latin-hypercube", "random"};
  if (table.find("method") != nullptr && std::ranges::find(methods, method) == methods.end()) {
    diagnostics.add(table.find("method")->place, "sample.method", "'{}'; {}", method,
                    diagnostics.allowed(method, methods));
  }
  const std::uint64_t seed = optional_whole(table, "seed", 0, kMostSeed, "sample.seed", diagnostics).value_or(1);
  const Node* drawn = table.find("axes");
  if (drawn == nullptr || drawn->kind != Node::Kind::table || drawn->children.empty()) {
    return diagnostics.add(table.place, "sample", "says no axes; allowed: [sample.axes], with lists or ranges");
  }
  const std::size_t leader = axes.size();
  for_each_axis(*drawn, "", diagnostics, [&](const Node& node, const std::string& key) {
    if (!has_room(axes, diagnostics) || is_known(axes, node, key, diagnostics)) return;
    // A stream for each, so that one axis more does not change the others.
    const auto shares = drawn_shares(count.value_or(1), method != "random", sim::RandomStream(seed, "sample " + key));
    Axis axis{key, node.key_place, drawn_values(node, key, shares, parameters, diagnostics), leader, true};
    if (!axis.values.empty()) axes.push_back(std::move(axis));
  });
  sort_by_place(axes.begin() + static_cast<std::ptrdiff_t>(leader), axes.end());
  if (axes.size() != leader + 1) return;
  // Of one axis alone a value that is drawn again would be the same point again.
  std::vector<Setting>& values = axes.back().values;
  std::set<sim::ParameterValue> seen;
  std::erase_if(values, [&](const Setting& value) { return !seen.insert(value.value).second; });
}

bool is_alone(const std::vector<Axis>& axes, std::size_t axis) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (i != axis && axes[i].leader == axes[axis].leader) return false;
  }
  return true;
}

std::vector<bool> leading_axes(const std::vector<Axis>& axes) {
  std::vector<std::size_t> order(axes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return different(axes[a].texts) > different(axes[b].texts); });
  std::vector<bool> leads(axes.size());
  std::map<std::size_t, std::vector<std::size_t>> rows;  // by group
  std::map<std::size_t, std::size_t> apart;
  for (const std::size_t axis : order) {
    const std::size_t group = axes[axis].leader;
    auto& own = rows.try_emplace(group, axes[axis].texts.size(), 0).first->second;
    const std::size_t now = refine(own, axes[axis].texts);
    leads[axis] = apart[group] == 0 || now > apart[group];
    apart[group] = now;
  }
  return leads;
}

std::size_t combinations_of(const std::vector<Axis>& axes) {
  std::size_t count = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].leader != i) continue;
    if (__builtin_mul_overflow(count, axes[i].values.size(), &count)) return SIZE_MAX;
  }
  return count;
}

std::vector<std::size_t> indices_in(const std::vector<Axis>& axes, std::size_t combination) {
  std::vector<std::size_t> indices(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (axes[i].leader != i) continue;
    indices[i] = combination % axes[i].values.size();
    combination /= axes[i].values.size();
  }
  for (std::size_t i = 0; i < axes.size(); ++i) indices[i] = indices[axes[i].leader];
  return indices;
}

}  // namespace faultline::experiment
