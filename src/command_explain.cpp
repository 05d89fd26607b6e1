// SPDX-License-Identifier: Apache-2.0
// faultline explain
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "src/application.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/explain/explanation.hpp"
#include "src/explain/story_text.hpp"
#include "src/results/html_report.hpp"

namespace faultline::app {
namespace {

namespace fs = std::filesystem;
using explain::Json;

// A strategy of the experiment, or else of the library.
experiment::Strategy strategy_named(const std::string& name, const std::string& option,
                                    const experiment::Experiment& experiment, const Call& call) {
  const auto own = std::ranges::find(experiment.strategies, name, &experiment::Strategy::name);
  if (own != experiment.strategies.end()) return *own;
  auto names = call.library.names(experiment::ConfigKind::strategy);
  if (std::ranges::find(names, name) == names.end()) {
    for (const experiment::Strategy& each : experiment.strategies) names.push_back(each.name);
    throw UserError("{}: no strategy '{}'; 'faultline list strategies' shows all{}", option, name,
                    experiment::did_you_mean(name, names));
  }
  experiment::Diagnostics diagnostics;
  experiment::Preset found =
      experiment::Presets(experiment::ConfigKind::strategy, call.library, diagnostics).named(name, {}, "strategies");
  if (!diagnostics.empty()) throw UserError("{}", diagnostics.text());
  return found;
}

// The strategies that the command line names; none: the experiment's.
const std::vector<std::string>& chosen_strategies(const Options& options) {
  if (options.strategies.size() > 1)
    throw UserError("--strategy: given {} times; allowed: once (--compare S1 S2 tells of two)",
                    options.strategies.size());
  return options.compare.empty() ? options.strategies : options.compare;
}

// The same point under both strategies of --compare.
std::vector<experiment::Point> both_points(const std::vector<experiment::Point>& points, const Call& call) {
  const Options& options = call.options;
  std::vector<experiment::Point> first;
  std::ranges::copy_if(points, std::back_inserter(first),
                       [&](const experiment::Point& p) { return p.strategy == options.compare[0]; });
  const auto other_of = [&](const experiment::Point& point) {
    return std::ranges::find_if(points, [&](const experiment::Point& p) {
      return p.strategy == options.compare[1] && differ_by_strategy(p, point);
    });
  };
  std::erase_if(first, [&](const experiment::Point& point) { return other_of(point) == points.end(); });
  if (first.empty())
    throw UserError("--compare: skip leaves no combination of '{}' and '{}'", options.compare[0], options.compare[1]);
  const std::size_t place = options.point.empty() ? 0 : named_point("point", options.point, first);
  if (options.point.empty() && first.size() > 1 && !options.quiet) {
    call.console.err << fmt::format("the first of {} combinations is told: {}; --point and --set choose another one\n",
                                    first.size(), first.front().label());
  }
  return {first[place], *other_of(first[place])};
}

// The point to tell of, or both points of --compare: the one that --point names, or else the first.
std::vector<experiment::Point> chosen_points(experiment::Experiment& experiment, const Call& call) {
  const Options& options = call.options;
  const std::vector<std::string>& chosen = chosen_strategies(options);
  if (!chosen.empty()) {
    std::vector<experiment::Strategy> kept;
    for (const std::string& name : chosen)
      kept.push_back(strategy_named(name, options.compare.empty() ? "--strategy" : "--compare", experiment, call));
    experiment.strategies = std::move(kept);
    experiment::forget_other_strategies(experiment.skips, chosen);
  }
  const std::vector<experiment::Point> points = expand(experiment, call);
  if (options.compare.empty()) {
    if (!options.point.empty()) return {points[named_point("point", options.point, points)]};
    if (points.size() > 1 && !options.quiet) {
      call.console.err << fmt::format(
          "the first of {} points is told: {}; --point, --strategy and --set choose another one\n", points.size(),
          points.front().label());
    }
    return {points.front()};
  }
  return both_points(points, call);
}

// Throws UserError where there is no transfer to tell of.
Json story_of(const experiment::Point& point, const runs::PointOutcome& outcome, std::uint64_t wanted) {
  const std::string& story = outcome.result.story;
  if (outcome.status == runs::PointStatus::bug)
    throw std::runtime_error(fmt::format("{}: {}", point.label(), outcome.error));
  if (story.empty()) throw UserError("{}: {}", point.label(), outcome.error);
  Json json = Json::parse(story);
  if (json["outcome"] != "not begun") return json;
  const auto begun = json["begun"].get<std::uint64_t>();
  const std::string why = json["why"] != "" ? json["why"].get<std::string>() : outcome.error;
  if (!why.empty()) throw UserError("{}: the run ended before the transfer began: {}", point.label(), why);
  if (begun == 0)
    throw UserError(
        "{}: no transfer of a program began: this kind of workload has none, or workload.time_limit came before. What "
        "goes through sockets (messages.way) is the kernels': 'faultline run EXPERIMENT --trace FILE' shows it",
        point.label());
  if (wanted == 0)
    throw UserError(
        "{}: the run ended before the first measured transfer began; --transfer 1 to {} tells of another one",
        point.label(), begun);
  throw UserError("--transfer: {}; allowed: 1 to {}, as many as the programs of {} begin", wanted, begun,
                  point.label());
}

void print_text(const Json& document, const Call& call) {
  const explain::TextStyle style{call.console.width, call.options.all, call.options.verbose};
  const bool two = document["stories"].size() > 1;
  call.console.out << (two ? comparison_text(document, style) : story_text(document, style));
  if (call.options.terms) call.console.out << "\n" << terms_text(document, style);
}

void write_page(const Json& document, const Call& call) {
  const fs::path file = call.options.html;
  runs::Folder place = runs::Folder::look_at(file.has_parent_path() ? file.parent_path() : fs::path("."));
  place.write(file.filename().string(),
              results::html_page(results::kExplainPage, document["title"].get<std::string>(), document.dump()),
              runs::Folder::Sync::no);
  call.console.out << file.string() << "\n";
}

void check_page(const Options& options) {
  if (options.html.empty()) return;
  const fs::path folder = fs::path(options.html).parent_path();
  if (!folder.empty() && !fs::is_directory(folder))
    throw UserError("--html: {}: there is no folder {}", options.html, folder.string());
  if (results::kExplainPage.head.empty()) {
    throw UserError(
        "--html: this faultline was built without reports; configure it with -DFAULTLINE_REPORTS=ON, which needs the "
        "Debian packages nodejs and npm, and build it again");
  }
  check_output("--html", options.html, "page",
               [](std::string_view first) { return first.starts_with("<!doctype html>"); });
}

}  // namespace

int explain_command(const Call& call) {
  check_page(call.options);
  experiment::Experiment experiment = named_experiment(call);
  const std::vector<experiment::Point> points = chosen_points(experiment, call);
  const workloads::StoryRequest request{call.options.transfer};
  const std::vector<runs::PointOutcome> outcomes = simulate_points(points, call, request);
  for (const runs::PointOutcome& outcome : outcomes) {
    if (outcome.status != runs::PointStatus::not_run) continue;
    call.console.err << "interrupted: nothing is told\n";
    return kInterrupted;
  }
  std::vector<explain::ToldPoint> told;
  for (std::size_t i = 0; i < points.size(); ++i)
    told.push_back({points[i], story_of(points[i], outcomes[i], request.transfer)});
  const Json document = explain::explanation_json(experiment, told, call.simulator);
  if (!call.options.html.empty()) {
    write_page(document, call);
  } else if (call.options.format == Format::json) {
    call.console.out << document.dump(1) << "\n";
  } else {
    print_text(document, call);
  }
  return kFine;
}

}  // namespace faultline::app
