// SPDX-License-Identifier: Apache-2.0
// faultline plot: hands over to the Python package that draws.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>

#include "faultline_build.hpp"
#include "src/application.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/results/database.hpp"
#include "src/results/run.hpp"
#include "src/runs/other_program.hpp"

namespace faultline::app {
namespace fs = std::filesystem;
namespace {

// Debian's, for which its packages are: another one in the user's PATH may lack them.
constexpr const char* kPython = "/usr/bin/python3";
constexpr std::size_t kLongestArgument = 100'000;  // Linux allows 128 KiB

// Where Debian has modules, under the prefix that the program is installed under; or in the source tree.
fs::path python_folder() {
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed = executable.parent_path() / "../lib/python3/dist-packages";
  for (const fs::path& each : {installed, fs::path(build::kSourceConfigs) / "../python"}) {
    const fs::path folder = each.lexically_normal();
    if (fs::is_regular_file(folder / "faultline" / "plot.py")) return folder;
  }
  throw UserError("the Python files that draw are neither installed beside the program nor in its source tree");
}

// What is drawn is a mean over all seeds of a combination, which leaves out those without results.
void refuse_parts_of_combinations(const std::vector<std::string>& where) {
  for (const std::string& condition : where) {
    const std::string key = results::Where::parse(condition).key;
    if (key == "seed" || key == "status") {
      throw UserError(
          "--where: {}: a figure has means over all seeds that have results; allowed here: a parameter or "
          "strategy; 'faultline query' takes {}, too",
          condition, key);
    }
  }
}

// The conditions are those of 'faultline query'; what draws hears which combinations are left, as "1-3,7".
std::string combinations_where(const std::string& run_folder, const std::vector<std::string>& where) {
  refuse_parts_of_combinations(where);
  results::Run run(run_folder);
  std::set<std::size_t> left;
  for (const std::size_t point : run.points_where(where)) left.insert(run.combination(point));
  std::string ranges;
  for (auto it = left.begin(); it != left.end();) {
    const std::size_t first = *it;
    std::size_t last = first;
    while (++it != left.end() && *it == last + 1) last = *it;
    ranges += fmt::format("{}{}-{}", ranges.empty() ? "" : ",", first, last);
  }
  if (ranges.size() > kLongestArgument)
    throw UserError("--where: leaves {} combinations, too many for a figure", left.size());
  return ranges;
}

// By its path, for the package asks for pandas as soon as it is imported, and the script says better what is missing;
// -P, because modules beside it are the package's.
std::vector<std::string> words_for(const Options& options, const fs::path& folder) {
  std::vector<std::string> words{kPython, "-B", "-P", (folder / "faultline" / "plot.py").string()};
  words.insert(words.end(), {options.arguments.front(), "--figure", options.figure});
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--out", options.out);
  add("--metric", options.metric);
  add("--x", options.x_axis);
  for (const std::string& axis : options.by) add("--by", axis);
  if (!options.where.empty()) add("--combinations", combinations_where(options.arguments.front(), options.where));
  return words;
}

// Ours, with the package first where Python looks for modules.
std::vector<std::string> environment_with(const fs::path& folder) {
  std::vector<std::string> environment;
  std::string path = "PYTHONPATH=" + folder.string();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.starts_with("PYTHONPATH="))
      path += ":" + text.substr(std::strlen("PYTHONPATH="));
    else
      environment.push_back(text);
  }
  environment.push_back(path);
  return environment;
}

}  // namespace

int plot_command(const Call& call) {
  if (call.options.figure.empty())
    throw UserError("'faultline plot' needs --figure NAME: latency, bandwidth, breakdown, heatmap or tornado");
  const fs::path folder = python_folder();
  call.console.out.flush();
  const auto code = runs::run_attached(words_for(call.options, folder), environment_with(folder));
  if (!code)
    throw UserError("{}: no such file: 'faultline plot' needs Debian's python3-matplotlib and python3-pandas", kPython);
  if (*code == kInterrupted) return kInterrupted;
  // 1 is Python's word for an exception that nobody expected.
  return *code == 1 || *code > 128 ? kBug : *code;
}

}  // namespace faultline::app
