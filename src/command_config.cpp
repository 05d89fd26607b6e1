// SPDX-License-Identifier: Apache-2.0
// faultline config
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "src/application.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/experiment/effective.hpp"
#include "src/results/results_writer.hpp"

namespace faultline::app {

using Json = nlohmann::ordered_json;

int config_command(const Call& call) {
  const experiment::Experiment experiment = named_experiment(call);
  std::vector<experiment::Point> points = expand(experiment, call);
  const std::size_t count = points.size();
  if (!call.options.all) points.resize(1);

  switch (call.options.format) {
    case Format::json: {
      Json list = Json::array();
      for (const experiment::Point& point : points) {
        list.push_back({{"strategy", point.strategy},
                        {"based_on", experiment.strategy_named(point.strategy).bases},
                        {"parameters", effective_point_json(point, call.simulator, call.options.changed)}});
      }
      call.console.out << results::json_text(list);
      break;
    }
    case Format::csv:
      call.console.out << "point,strategy,name,value,default,set_by\n";
      for (std::size_t i = 0; i < points.size(); ++i) {
        for (const Json& p : effective_point_json(points[i], call.simulator, call.options.changed)) {
          call.console.out << results::csv_line(
              {i + 1, points[i].strategy, p.at("name"), p.at("value"), p.at("default"), p.at("set_by")});
        }
      }
      break;
    case Format::table:
      for (std::size_t i = 0; i < points.size(); ++i) {
        call.console.out << fmt::format("{}# point {} of {}: {}\n", i == 0 ? "" : "\n", i + 1, count, points[i].label())
                         << origins(experiment, points[i].strategy)
                         << effective_point(points[i], call.simulator, call.options.changed);
      }
      if (!call.options.all && count > 1 && !call.options.quiet) {
        call.console.err << fmt::format("the first of {} points; --all prints every one\n", count);
      }
      break;
  }
  return kFine;
}

}  // namespace faultline::app
