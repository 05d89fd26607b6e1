// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/report_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/experiment/point.hpp"

namespace faultline::experiment {
namespace {

struct ViewKeys {
  View view;
  std::string name;
  std::vector<std::string> keys;
};
const std::array<ViewKeys, 4> kViews{
    ViewKeys{View::points, "points", {"view", "columns"}},
    ViewKeys{View::matrix, "matrix", {"view", "metric", "rows", "columns", "baseline"}},
    ViewKeys{View::verdict, "verdict", {"view", "rows", "columns", "only"}},
    ViewKeys{View::breakdown, "breakdown", {"view"}}};

// The text that points have for a value, however it is written; what is no legal value stays as it is.
std::string canonical(const sim::Parameter& parameter, const std::string& text) {
  try {
    parameter.set(text);
    return parameter.get();
  } catch (const sim::BadParameterValue&) {
    return text;
  }
}

std::vector<std::string> values_of(const Experiment& experiment, const std::string& axis) {
  std::vector<std::string> values;
  for (const Strategy& strategy : experiment.strategies) {
    if (axis == "strategy") values.push_back(strategy.name);
  }
  for (const Axis& each : experiment.axes) {
    if (each.key == axis) values = each.texts;
  }
  return values;
}

class ReportReader {
 public:
  ReportReader(const std::vector<Axis>& axes, const std::vector<Strategy>& strategies,
               const std::vector<workloads::MetricDoc>& metrics, Diagnostics& diagnostics)
      : diagnostics_(diagnostics) {
    for (const Axis& axis : axes) axes_.push_back(axis.key);
    for (const Strategy& strategy : strategies) strategies_.push_back(strategy.name);
    for (const auto& metric : metrics) metrics_.push_back(metric.name);
  }

  ReportSpec read(const Node& node) {
    ReportSpec spec;
    // Of several programs the first one's.
    const auto is_default = [&](const std::string& name) { return workloads::metric_in_program(name) == spec.metric; };
    if (const auto found = std::ranges::find_if(metrics_, is_default); found != metrics_.end()) spec.metric = *found;
    if (node.is_text()) {
      spec.view = view_of(node).view;
      if (spec.view == View::matrix || spec.view == View::verdict) need_axis(node.place);
      if (spec.view == View::verdict) need_one_program(node.place);
      return spec;
    }
    if (node.kind != Node::Kind::table) {
      diagnostics_.add(node.place, "report",
                       describe(node) + " is no report; allowed: a view's name, a table, a list of those");
      return spec;
    }
    const Node* view = node.find("view");
    if (view == nullptr || !view->is_text()) {
      diagnostics_.add(node.place, "report.view", "is missing; allowed: points, matrix, verdict, breakdown");
      return spec;
    }
    const ViewKeys& kind = view_of(*view);
    spec.view = kind.view;
    refuse_unknown_keys(node, kind.keys, "report.", diagnostics_);
    if (spec.view == View::points) {
      for (const Node* column : optional_texts(node, "columns", diagnostics_)) {
        if (is_known(*column, "report.columns", "metric", metrics_)) spec.columns.push_back(column->text());
      }
    } else if (spec.view == View::matrix || spec.view == View::verdict) {
      read_matrix(node, spec);
    }
    if (spec.view == View::verdict) need_one_program(view->place);
    return spec;
  }

 private:
  const ViewKeys& view_of(const Node& node) {
    std::vector<std::string> names;
    for (const ViewKeys& view : kViews) {
      if (view.name == node.text()) return view;
      names.push_back(view.name);
    }
    diagnostics_.add(node.place, "report.view", "no view '{}'; {}", node.text(),
                     diagnostics_.allowed(node.text(), names));
    return kViews[0];
  }

  bool is_known(const Node& node, const std::string& key, const std::string& what,
                const std::vector<std::string>& known) {
    if (std::ranges::find(known, node.text()) != known.end()) return true;
    diagnostics_.add(node.place, key, "no {} '{}'; {}", what, node.text(), diagnostics_.allowed(node.text(), known));
    return false;
  }

  void need_one_program(const Place& place) {
    const auto has_name = [](const std::string& name) { return workloads::metric_in_program(name) != name; };
    if (std::ranges::any_of(metrics_, has_name))
      diagnostics_.add(place, "report",
                       "a verdict is of one program, and [[program]] gives them names; allowed: a matrix");
  }

  void need_axis(const Place& place) {
    if (axes_.empty())
      diagnostics_.add(place, "report",
                       "a matrix of points needs an axis for its rows; allowed: give one under [axes]");
  }

  void read_matrix(const Node& node, ReportSpec& spec) {
    need_axis(node.place);
    const auto take = [&](const char* name, const std::string& what, const std::vector<std::string>& known,
                          std::string& into) {
      const Node* value = node.find(name);
      if (value == nullptr) return;
      const std::string key = std::string("report.") + name;
      if (is_text(*value, key, diagnostics_) && is_known(*value, key, what, known)) into = value->text();
    };
    take("metric", "metric", metrics_, spec.metric);
    std::vector<std::string> both = axes_;
    both.insert(both.begin(), "strategy");
    take("rows", "axis", both, spec.rows);
    take("columns", "axis", both, spec.columns_axis);
    take("baseline", "strategy", strategies_, spec.baseline);
    if (const Node* only = node.find("only"); only != nullptr && spec.view == View::verdict)
      read_only(*only, spec, both);
    if (!spec.baseline.empty() && spec.columns_axis != "strategy")
      diagnostics_.add(node.place, "report.baseline", "is a strategy, so the columns must be the strategies");
    if (!spec.rows.empty() && spec.rows == spec.columns_axis)
      diagnostics_.add(node.place, "report", "rows and columns are the same axis '{}'", spec.rows);
  }

  // "os.kernel = 4.9"; whether the axis has the value is known when its values have been written.
  void read_only(const Node& node, ReportSpec& spec, const std::vector<std::string>& axes) {
    const std::string text = node.is_text() ? node.text() : "";
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      diagnostics_.add(node.place, "report.only",
                       describe(node) + " is no condition; allowed: \"AXIS = VALUE\", or \"strategy = NAME\"");
      return;
    }
    spec.only_axis = trimmed(text.substr(0, equals));
    spec.only_value = trimmed(text.substr(equals + 1));
    spec.only_place = node.place;
    if (std::ranges::find(axes, spec.only_axis) != axes.end()) return;
    diagnostics_.add(node.place, "report.only", "no axis '{}'; {}", spec.only_axis,
                     diagnostics_.allowed(spec.only_axis, axes));
  }

  Diagnostics& diagnostics_;
  std::vector<std::string> axes_;
  std::vector<std::string> strategies_;
  std::vector<std::string> metrics_;
};

}  // namespace

std::vector<ReportSpec> read_reports(const Node& file, const std::vector<Axis>& axes,
                                     const std::vector<Strategy>& strategies,
                                     const std::vector<workloads::MetricDoc>& metrics, Diagnostics& diagnostics) {
  const Node* report = file.find("report");
  if (report == nullptr) return {ReportSpec{}};
  ReportReader reader(axes, strategies, metrics, diagnostics);
  if (report->kind != Node::Kind::list) return {reader.read(*report)};
  std::vector<ReportSpec> specs;
  for (const Node& item : report->children) specs.push_back(reader.read(item));
  return specs;
}

void resolve_shown_values(Experiment& experiment, const Simulator& simulator, Diagnostics& diagnostics) {
  const auto machine = simulator.machine();
  for (ReportSpec& spec : experiment.reports) {
    if (spec.only_axis.empty()) continue;
    const std::string as_written = spec.only_value;
    if (const sim::Parameter* parameter = machine->parameters().find(spec.only_axis))
      spec.only_value = canonical(*parameter, as_written);
    // Of an axis that is set the other values are gone: the tables say so.
    if (deciding(experiment.overrides, spec.only_axis) != nullptr || has_points(spec, experiment)) continue;
    diagnostics.add(spec.only_place, "report.only", "{} has no value '{}'; allowed: {}", spec.only_axis, as_written,
                    fmt::join(values_of(experiment, spec.only_axis), ", "));
  }
}

bool has_points(const ReportSpec& spec, const Experiment& experiment) {
  const std::vector<std::string> values = values_of(experiment, spec.only_axis);
  return spec.only_axis.empty() || std::ranges::find(values, spec.only_value) != values.end();
}

std::string to_string(View view) { return std::ranges::find(kViews, view, &ViewKeys::view)->name; }

std::string to_toml(const ReportSpec& spec) {
  std::string text = "[[report]]\nview = " + quote_toml(to_string(spec.view)) + "\n";
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) text += fmt::format("{} = {}\n", key, quote_toml(value));
  };
  const bool is_matrix = spec.view == View::matrix;
  if (spec.view == View::points) {
    std::string list;
    for (const std::string& column : spec.columns) list += (list.empty() ? "" : ", ") + quote_toml(column);
    if (!list.empty()) text += "columns = [" + list + "]\n";
  } else if (is_matrix || spec.view == View::verdict) {
    if (is_matrix) add("metric", spec.metric);
    add("rows", spec.rows);
    add("columns", spec.columns_axis);
    if (is_matrix) add("baseline", spec.baseline);
    if (!spec.only_axis.empty()) add("only", spec.only_axis + " = " + spec.only_value);
  }
  return text;
}

}  // namespace faultline::experiment
