// SPDX-License-Identifier: Apache-2.0
// Experiments, platforms and strategies that are nearly right: they are taken, or refused with the file and the line.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>

#include "src/application.hpp"
#include "src/cluster_simulator.hpp"
#include "tests/fuzz/cases.hpp"
#include "tests/fuzz/mutation.hpp"
#include "tests/support/sandbox.hpp"
#include "tests/support/source_tree.hpp"

using namespace faultline;
using namespace faultline::test;
namespace fs = std::filesystem;

namespace {

const fs::path kConfigs = source_tree() / "configs";

std::vector<fs::path> toml_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> texts_of(const std::vector<fs::path>& files) {
  std::vector<std::string> texts;
  for (const fs::path& file : files) texts.push_back(read_text(file));
  return texts;
}

// What is wrong with what the program says of a file that may be wrong; nothing, if all is well. `role`: what the file
// is called where two files decide together, and the error begins with the other one.
std::string complaint_about(const std::vector<std::string>& arguments, const std::string& file,
                            const std::string& role) {
  std::ostringstream out, err;
  const int code = app::run_application(arguments, app::ClusterSimulator{}, app::Console{out, err, false, 160});
  const auto wrong = [&](const char* what) {
    return fmt::format("{}\nexit code {}\n{}\n{}", what, code, printable(err.str()),
                       printable(out.str().substr(0, 2000)));
  };
  if (code != 0 && code != 2) return wrong("an exit code that is neither 0 nor 2");
  if (!is_clean(out.str()) || !is_clean(err.str())) return wrong("control characters, or no UTF-8");
  if (code == 0) return {};
  const auto has = [&](const std::string& words) { return err.str().find(words) != std::string::npos; };
  if (!has(file + ":") && !has("(" + role)) return wrong("an error without the file's name");
  return {};
}

std::string complaint_about_experiment(const std::string& text) {
  std::ofstream("mine.toml", std::ios::binary) << text;
  const std::string wrong =
      complaint_about({"config", "mine.toml", "--configs", kConfigs.string()}, "mine.toml", "experiment, line");
  return wrong.empty() ? wrong : wrong + "\nof mine.toml:\n" + printable(text);
}

}  // namespace

TEST_CASE("fuzz: experiments that are nearly right are taken, or refused with their line") {
  const Sandbox sandbox;
  const auto texts = texts_of(toml_files(kConfigs / "experiments"));
  const auto others = texts_of(toml_files(kConfigs));
  try_cases(
      "fuzz: experiments that are nearly right are taken, or refused with their line", 400,
      [&](Dice& dice, std::uint64_t) { return complaint_about_experiment(mutated(dice.one_of(texts), others, dice)); });
}

TEST_CASE("fuzz: platforms and strategies that are nearly right are taken, or refused with their line") {
  const Sandbox sandbox;
  fs::copy(kConfigs, "configs", fs::copy_options::recursive);
  std::ofstream("mine.toml") << "strategies = [\"resident\", \"fault/touch-ahead\", \"pin-once\"]\n";
  std::vector<fs::path> files = toml_files("configs/platforms");
  for (const char* name : {"resident", "fault/touch-ahead", "pin-once"})
    files.push_back(fs::path("configs/strategies") / (std::string(name) + ".toml"));
  const auto others = texts_of(toml_files("configs"));
  try_cases("fuzz: platforms and strategies that are nearly right are taken, or refused with their line", 200,
            [&](Dice& dice, std::uint64_t) {
              const fs::path& file = dice.one_of(files);
              const std::string whole = read_text(file);
              const std::string text = mutated(whole, others, dice);
              sandbox.write(file, text);
              const bool is_platform = file.parent_path().filename() == "platforms";
              const std::string platform = is_platform ? file.stem() : "exanest-qfdb";
              std::ofstream("mine.toml") << "platform = \"" << platform
                                         << "\"\nstrategies = [\"resident\", \"fault/touch-ahead\", \"pin-once\"]\n";
              const std::string wrong =
                  complaint_about({"config", "mine.toml", "--configs", "configs"}, file.filename().string(),
                                  is_platform ? "platform " : "strategy ");
              sandbox.write(file, whole);
              return wrong.empty() ? wrong : wrong + "\nof " + file.string() + ":\n" + printable(text);
            });
}

TEST_CASE("fuzz: experiments that were found once") {
  const Sandbox sandbox;
  for (const fs::path& file : toml_files(source_tree() / "tests/fuzz/found")) {
    INFO(file);
    CHECK(complaint_about_experiment(read_text(file)) == "");
  }
}
