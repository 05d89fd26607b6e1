// SPDX-License-Identifier: Apache-2.0
#include "workloads/flows/flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "models/rdma/completion/polled_word.hpp"

namespace faultline::workloads {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

// Counts are bare numbers in a file, and everything else is text.
sim::ParameterValue value_of(const sim::Parameter& parameter, std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (parameter.kind == sim::ParameterKind::count && whole) return number;
  return std::string(text);
}

std::string names(const sim::ParameterTable& table) {
  std::string all;
  for (const sim::Parameter& p : table.all()) all += (all.empty() ? "" : ", ") + p.name;
  return all;
}

Flow parse_flow(std::string_view text, std::size_t number) {
  Flow flow;
  sim::ParameterTable table;
  flow.declare(table);
  for (const std::string_view field : split(text, ',')) {
    const std::size_t equals = field.find('=');
    const std::string name(trimmed(field.substr(0, equals)));
    const sim::Parameter* parameter = table.find(name);
    if (parameter == nullptr || equals == std::string_view::npos) {
      throw BadFlows(
          fmt::format("flow {}: '{}' sets nothing that a flow has; allowed: {}", number, field, names(table)));
    }
    try {
      parameter->set(value_of(*parameter, trimmed(field.substr(equals + 1))));
    } catch (const sim::BadParameterValue& bad) {
      throw BadFlows(fmt::format("flow {}, {}: {}; allowed: {}", number, name, bad.what(), bad.allowed()));
    }
  }
  return flow;
}

}  // namespace

void Flow::declare(sim::ParameterTable& table) {
  table.add_count("from", from, {0u, 65535u}, {"node that posts the transfers", "", {}});
  table.add_count("to", to, {0u, 65535u}, {"node at the other end", "", {}});
  table.add_choice("kind", kind, {{"write", rdma::Operation::write}, {"read", rdma::Operation::read}},
                   {"whether the transfers are RDMA writes or reads", "", {}});
  table.add_bytes("size", size, {1, std::uint64_t{1} << 30}, {"bytes of one transfer", "", {}});
  table.add_bytes("source_offset", source_offset, {0, 4095}, {"offset of the source buffer in its first page", "", {}});
  table.add_bytes("destination_offset", destination_offset, {0, 4095},
                  {"offset of the destination buffer in its first page", "", {}});
  declare_cold(table);
  table.add_count("transfers", transfers, {1u, 10'000'000u}, {"transfers of the flow", "", {}});
  table.add_count("window", window, {1u, rdma::PolledWord::kWords}, {"transfers under way at a time", "", {}});
  table.add_time("start", start, {sim::Time{0}, 1000s},
                 {"when the first transfer is posted, from when all flows have prepared their buffers", "", {}});
  declare_arrivals(table);
}

std::vector<Flow> parse_flows(const std::string& text) {
  std::vector<Flow> flows;
  for (const std::string_view part : split(text, ';')) flows.push_back(parse_flow(part, flows.size() + 1));
  return flows;
}

std::vector<Flow> flows_of(const TransferConfig& w) {
  return w.flows.empty() ? std::vector<Flow>{} : parse_flows(w.flows);
}

std::string format_flows(const std::vector<Flow>& flows) {
  std::string text;
  for (const Flow& flow : flows) {
    Flow shown;  // declared with its defaults, which the table remembers
    sim::ParameterTable table;
    shown.declare(table);
    shown = flow;
    std::string fields;
    for (const sim::Parameter& p : table.all()) {
      const bool always = p.name == "from" || p.name == "to" || p.name == "size";
      if (always || p.get() != p.initial) fields += fmt::format("{}{}={}", fields.empty() ? "" : ", ", p.name, p.get());
    }
    text += (text.empty() ? "" : "; ") + fields;
  }
  return text;
}

}  // namespace faultline::workloads
