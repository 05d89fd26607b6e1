// SPDX-License-Identifier: Apache-2.0
// Every platform, strategy and file of figures that docs/ shows is read as the program would read it.
#include <catch2/catch.hpp>

#include <filesystem>
#include <map>

#include "src/experiment/expansion.hpp"
#include "src/validation.hpp"
#include "tests/support/fake_simulator.hpp"

using namespace faultline;
using namespace faultline::app;
using namespace faultline::experiment;
using namespace faultline::test;

TEST_CASE("the examples of docs/ are read without a complaint") {
  std::string docs;
  for (const auto& page : std::filesystem::directory_iterator(source_tree() / "docs")) {
    if (page.path().extension() == ".md" && page.path().stem() != "extending") {  // extending.sh tests that one
      docs += read_text(page.path());
    }
  }
  const Sandbox sandbox;
  const ConfigLibrary library(test_configs());
  const FakeSimulator simulator;
  std::map<std::string, int> seen;
  for (std::size_t at = 0; (at = docs.find("```toml", at)) != std::string::npos;) {
    const std::size_t line_end = docs.find('\n', at);
    const std::size_t end = docs.find("\n```", line_end);
    const std::string kind = docs.substr(at + 7, line_end - at - 7);
    const std::string text = docs.substr(line_end + 1, end - line_end);
    at = end + 4;
    ++seen[kind];
    INFO(text);
    const std::string path = sandbox.write("example.toml", text);
    if (kind == " platform" || kind == " strategy") {
      Diagnostics diagnostics;
      const auto what = kind == " platform" ? ConfigKind::platform : ConfigKind::strategy;
      const Preset preset = read_preset(what, path, "example", diagnostics);
      apply(preset.settings, simulator.machine()->parameters(), diagnostics);
      CHECK(diagnostics.text() == "");
      CHECK_FALSE(preset.settings.empty());
    } else if (kind == " validation") {
      CHECK(read_figures(path, {}, library, simulator).size() == 2);
    } else {
      CHECK(kind == "");  // an experiment: tests/scripts/documents.sh runs it
    }
  }
  CHECK(seen == std::map<std::string, int>{{"", 20}, {" platform", 1}, {" strategy", 1}, {" validation", 1}});
}
