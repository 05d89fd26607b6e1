// SPDX-License-Identifier: Apache-2.0
#include "tests/properties/case.hpp"

#include <fmt/format.h>

#include <istream>
#include <ostream>

namespace faultline::test {

using workloads::Flow;

namespace {

// What configuration() sets for every case, and for those without flows.
const Settings kGiven{{"workload.start_spread", "0 ns"}, {"workload.time_limit", "1 s"}, {"os.thp", "never"}};
const Settings kGivenWithoutFlows{{"workload.iterations", 1}, {"workload.warmup", 0}};

constexpr const char* kCellsPerTrain = "simulation.cells_per_train";

std::string toml(const sim::ParameterValue& value) {
  struct Writer {
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t n) const { return std::to_string(n); }
    std::string operator()(double d) const { return fmt::format("{:#}", d); }
    std::string operator()(const std::string& s) const { return '"' + s + '"'; }
  };
  return std::visit(Writer{}, value);
}

sim::ParameterValue value_of(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (text.starts_with('"')) return text.substr(1, text.size() - 2);
  if (text.find('.') != std::string::npos) return std::stod(text);
  return std::int64_t{std::stoll(text)};
}

}  // namespace

Settings Case::all_settings() const {
  Settings all = settings;
  if (flows.empty()) return all;
  all.push_back({"workload.kind", "flows"});
  all.push_back({"workload.flows", workloads::format_flows(flows)});
  return all;
}

std::string experiment_file(const Case& c) {
  std::map<std::string, std::string> values;  // a later setting wins
  const Settings given = c.flows.empty() ? kGiven + kGivenWithoutFlows : kGiven;
  for (const auto& [key, value] : given + c.all_settings()) values[key] = toml(value);
  const std::string trains = fmt::format("{}", c.configuration().machine.cells_per_train);
  values.erase(kCellsPerTrain);
  std::string text = fmt::format("question = \"Do trains keep every time?\"\nseed = {}\n\n[parameters]\n", c.seed);
  for (const auto& [key, value] : values) text += fmt::format("{} = {}\n", key, value);
  return text + fmt::format("\n[axes]\n{} = [{}, 1]\n", kCellsPerTrain, trains);
}

Case read_experiment_file(std::istream& in) {
  Case c;
  bool in_parameters = false;
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find_first_not_of(' ');  // rapidcheck and Catch2 indent what they print
    if (first == std::string::npos) continue;
    line.erase(0, first);
    const std::size_t equals = line.find(" = ");
    if (line.starts_with('[')) in_parameters = line == "[parameters]";
    if (equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals);
    const std::string value = line.substr(equals + 3);
    if (key == "seed") c.seed = std::stoull(value);
    if (key == kCellsPerTrain) c.settings.push_back({key, std::int64_t{std::stoi(value.substr(1))}});
    if (!in_parameters || value == "\"flows\"") continue;
    if (key == "workload.flows") {
      c.flows = workloads::parse_flows(value.substr(1, value.size() - 2));
    } else {
      c.settings.push_back({key, value_of(value)});
    }
  }
  return c;
}

void showValue(const Case& c, std::ostream& out) { out << '\n' << experiment_file(c); }

}  // namespace faultline::test
