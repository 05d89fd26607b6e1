// SPDX-License-Identifier: Apache-2.0
// What the published figures say was fitted to them is what the declarations and the platforms call fitted.
#include <catch2/catch.hpp>

#include <filesystem>
#include <set>

#include "src/experiment/config_library.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/experiment/expansion.hpp"
#include "src/experiment/toml_document.hpp"
#include "tests/support/source_tree.hpp"
#include "workloads/configuration.hpp"

using namespace faultline;
using namespace faultline::experiment;

TEST_CASE("the parameters that figures name as fitted are those that are declared so, and no others") {
  const std::filesystem::path configs = test::source_tree() / "configs";
  Diagnostics diagnostics;

  std::set<std::string> named;
  std::set<std::string> platforms{"exanest-qfdb"};
  const Node figures = read_toml(configs / "validation/published.toml");
  REQUIRE(figures.find("figure") != nullptr);
  for (const Node& figure : figures.find("figure")->children) {
    for (const Node* key : optional_texts(figure, "fitted", diagnostics)) named.insert(key->text());
    if (figure.find("platform") != nullptr) platforms.insert(optional_text(figure, "platform", diagnostics));
  }

  workloads::Configuration configuration;
  sim::ParameterTable table;
  configuration.declare(table);
  std::set<std::string> declared;
  for (const std::string& name : platforms) {
    const bool is_own = name.ends_with(".toml");  // beside the figures
    const std::filesystem::path file = is_own ? "validation/" + name : "platforms/" + name + ".toml";
    const Preset platform = read_preset(ConfigKind::platform, configs / file, name, diagnostics);
    for (const sim::Parameter& parameter : table.all()) {
      const Setting* by_platform = deciding(platform.settings, parameter.name);
      // What a platform does not say is exanest-qfdb's, on which the others are based, or the default.
      if (by_platform == nullptr && name != "exanest-qfdb") continue;
      const std::string standing =
          by_platform != nullptr ? by_platform->standing : std::string(sim::to_string(parameter.doc.standing));
      if (standing == "fitted") declared.insert(parameter.name);
    }
  }
  CHECK(diagnostics.text() == "");
  CHECK(named == declared);
}
