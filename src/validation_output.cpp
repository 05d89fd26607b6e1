// SPDX-License-Identifier: Apache-2.0
// Checks of published figures for people and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/results/results_writer.hpp"
#include "src/results/text_table.hpp"
#include "src/validation.hpp"

namespace faultline::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWidth = 120;

bool is_ordering(const Figure& figure) {
  return figure.compare == Comparison::less || figure.compare == Comparison::greater;
}

std::string tolerance_text(const Figure& figure) {
  if (!figure.published.value) return "";
  const Tolerance& tolerance = figure.published.tolerance;
  return fmt::format("{:g} {}", tolerance.amount, tolerance.relative ? "%" : figure.unit);
}

std::string measure_unit(const Figure& figure) { return is_ordering(figure) ? "%" : figure.unit; }

std::string verdict(const Check& check) {
  if (!counts(check)) return check.passed ? "agrees" : "differs";
  if (!check.passed) return "FAIL";
  if (!check.figure->known_off.empty()) return "off";
  return check.figure->use == Use::construction ? "holds" : "pass";
}

Json band_json(const Check& check) {
  const Band& band = *check.band;
  const auto number = [&](double value) { return band.samples == 0 ? Json() : Json(value); };
  return {{"samples", band.samples},        {"passed", band.passed}, {"unit", measure_unit(*check.figure)},
          {"lowest", number(band.lowest)},  {"p5", number(band.p5)}, {"p95", number(band.p95)},
          {"highest", number(band.highest)}};
}

}  // namespace

std::string use_text(Use use) {
  switch (use) {
    case Use::predicted: return "predicted";
    case Use::fit: return "fit";
    case Use::construction: return "by construction";
    case Use::reading: return "other reading";
  }
  return "";
}

std::string measure_text(const Check& check, double measure) {
  if (is_ordering(*check.figure)) return fmt::format("{:+.1f} %", measure);
  return fmt::format("{:.4g}{}", measure, check.figure->unit.empty() ? "" : " " + check.figure->unit);
}

std::string checks_table(const std::vector<Check>& checks) {
  results::TextTable table({results::left(""), results::left("quantity"), results::left("at"), results::left("use"),
                            results::right("published"), results::right("simulated"), results::right("error"),
                            results::right("allowed"), results::left("")});
  for (const Check& check : checks) {
    const Figure& figure = *check.figure;
    table.add({figure.name, figure.quantity, check.where, use_text(figure.use), check.published,
               check.trouble.empty() ? check.simulated : "none", check.error, tolerance_text(figure), verdict(check)});
  }
  return table.text();
}

std::string figures_text(const std::vector<Check>& checks) {
  std::string text;
  const Figure* last = nullptr;
  for (const Check& check : checks) {
    if (!check.trouble.empty()) text += fmt::format("{}: {}\n", check.figure->name, check.trouble);
    if (check.figure == last) continue;
    last = check.figure;
    text += results::wrap(fmt::format("{}: {}", last->name, last->source), kWidth, 4) + "\n";
    const auto add = [&](const std::string& line) { text += "    " + results::wrap(line, kWidth - 4, 4) + "\n"; };
    if (!last->fitted.empty()) add(fmt::format("fitted: {}", fmt::join(last->fitted, ", ")));
    if (!last->fails_if.empty()) add("fails if " + last->fails_if);
    if (!last->known_off.empty()) add("known to be off: " + last->known_off);
    if (!last->note.empty()) add(last->note);
  }
  return text;
}

std::string checks_json(const std::vector<Check>& checks) {
  Json list = Json::array();
  for (const Check& check : checks) {
    const Figure& figure = *check.figure;
    list.push_back({{"name", figure.name},
                    {"quantity", figure.quantity},
                    {"at", check.where},
                    {"use", use_text(figure.use)},
                    {"published", check.published},
                    {"simulated", check.simulated},
                    {"value", check.trouble.empty() ? Json(check.value) : Json()},
                    {"unit", figure.unit},
                    {"error", check.error},
                    {"allowed", tolerance_text(figure)},
                    {"counts", counts(check)},
                    {"passed", check.passed},
                    {"known_off", figure.known_off},
                    {"trouble", check.trouble},
                    {"source", figure.source},
                    {"fitted", figure.fitted},
                    {"fails_if", figure.fails_if},
                    {"note", figure.note}});
    if (check.band) list.back()["band"] = band_json(check);
  }
  return results::json_text(list);
}

std::string checks_csv(const std::vector<Check>& checks) {
  const bool has_bands = std::ranges::any_of(checks, [](const Check& check) { return check.band.has_value(); });
  std::string csv =
      "name,quantity,at,use,published,simulated,error,allowed,counts,passed,trouble,source,fails_if,known_off,note";
  csv += has_bands ? ",band_unit,band_lowest,band_p5,band_p95,band_highest,band_passed,band_samples\n" : "\n";
  for (const Check& check : checks) {
    const Figure& figure = *check.figure;
    std::vector<Json> fields{figure.name,     figure.quantity,  check.where,   use_text(figure.use),
                             check.published, check.simulated,  check.error,   tolerance_text(figure),
                             counts(check),   check.passed,     check.trouble, figure.source,
                             figure.fails_if, figure.known_off, figure.note};
    if (const auto& band = check.band) {
      fields.push_back(measure_unit(figure));
      for (const double value : {band->lowest, band->p5, band->p95, band->highest})
        fields.push_back(band->samples == 0 ? "" : fmt::format("{:.6g}", value));
      fields.push_back(band->passed);
      fields.push_back(band->samples);
    } else if (has_bands) {
      fields.resize(fields.size() + 7);
    }
    csv += results::csv_line(fields);
  }
  return csv;
}

}  // namespace faultline::app
