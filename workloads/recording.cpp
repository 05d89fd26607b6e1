// SPDX-License-Identifier: Apache-2.0
#include "workloads/recording.hpp"

#include <fmt/format.h>

#include <map>

#include "models/network/tracks.hpp"
#include "models/platform/instruments.hpp"
#include "models/sim/units.hpp"
#include "workloads/experiment_point.hpp"
#include "workloads/node_memory.hpp"

namespace faultline::workloads {

using trace::PerfettoTimeline;

namespace {

// Where each link leads, for the names of tracks.
PerfettoTimeline::LinkName link_names(const network::Topology& topology) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> names;
  const auto name = [&](std::uint32_t router) {
    return fmt::format("{} {}", router < topology.nodes() ? "node" : "router", router);
  };
  for (const network::Link& link : topology.links()) {
    names[{link.a, link.a_port}] = name(link.b);
    names[{link.b, link.b_port}] = name(link.a);
  }
  return [names = std::move(names)](std::uint32_t router, std::uint32_t port) { return names.at({router, port}); };
}

void add_gauges(PerfettoTimeline& timeline, platform::Cluster& cluster) {
  for (unsigned id = 0; id < cluster.size(); ++id) {
    const platform::Node& node = cluster.node(id);
    timeline.add_gauge(id, "memory: free", trace::Unit::bytes, [&node] { return free_bytes(node); });
    timeline.add_gauge(id, "memory: pinned", trace::Unit::bytes, [&node] { return pinned_bytes(node); });
  }
}

void add_link_signal(trace::VcdSignals& signals, const network::Topology& topology, std::uint32_t router,
                     std::uint32_t port, std::uint32_t to) {
  const auto kind = [&](std::uint32_t id) { return id < topology.nodes() ? "node" : "router"; };
  signals.add({router, network::track::kLink, port},
              fmt::format("{}{}.link_to_{}{}_busy", kind(router), router, kind(to), to));
}

std::string summary_text(const trace::TraceRequest& request, const PerfettoTimeline::Summary& made) {
  std::string text = fmt::format("{}: {} slices of {} transfers, {}", request.perfetto, made.slices, made.transfers,
                                 sim::format_bytes(made.bytes));
  if (made.cut >= sim::Time{0}) {
    text += fmt::format(
        "; it reached its limit of {} after {} of simulated time, and from there on {} slices are left "
        "out (--trace-limit, --trace-time, --trace-transfers, --trace-nodes)",
        sim::format_bytes(request.filter.limit), sim::format_time(made.cut), made.left_out);
  }
  return text;
}

}  // namespace

Recording::Recording(const trace::TraceRequest& request, const platform::Machine& machine, platform::Cluster& cluster)
    : request_(request), cluster_(cluster) {
  if (!request_.perfetto.empty()) begin_timeline();
  if (!request_.vcd.empty()) begin_signals(machine);
}

Recording::~Recording() { cluster_.steps().stop_recording(); }

void Recording::begin_timeline() {
  file_ = std::make_unique<trace::PerfettoFile>(request_.perfetto);
  timeline_ = std::make_unique<PerfettoTimeline>(*file_, request_.filter, cluster_.loop, cluster_.life(),
                                                 cluster_.size(), link_names(cluster_.topology()));
  add_gauges(*timeline_, cluster_);
  cluster_.steps().record(*timeline_);
}

void Recording::begin_signals(const platform::Machine& machine) {
  signals_ = std::make_unique<trace::VcdSignals>("vcd", request_.vcd, request_.filter, cluster_.loop);
  for (unsigned id = 0; id < cluster_.size(); ++id) {
    for (const platform::Signal& each : platform::signals_of(machine, id)) signals_->add(each.track, each.name);
  }
  for (const network::Link& link : cluster_.topology().links()) {
    add_link_signal(*signals_, cluster_.topology(), link.a, link.a_port, link.b);
    add_link_signal(*signals_, cluster_.topology(), link.b, link.b_port, link.a);
  }
  cluster_.steps().record(*signals_);
}

std::string Recording::finish() {
  cluster_.steps().stop_recording();
  std::string text = timeline_ ? finish_timeline() : "";
  if (signals_) text += (text.empty() ? "" : "; ") + finish_signals();
  return (failed_ ? kTraceFailed : "") + text + what_is_not_there();
}

// A filter that names nothing of this run is a slip that an empty trace would hide.
std::string Recording::what_is_not_there() const {
  const trace::TraceFilter& filter = request_.filter;
  const auto& topology = cluster_.topology();
  std::string text;
  for (const trace::NumberRange& range : filter.nodes) {
    if (range.last < topology.routers()) continue;
    text += fmt::format("; --trace-nodes: there is no {}, nodes are 0 to {}{}", range.last, topology.nodes() - 1,
                        topology.routers() > topology.nodes() ? fmt::format(" and routers of their own {} to {}",
                                                                            topology.nodes(), topology.routers() - 1)
                                                              : "");
  }
  if (filter.from > cluster_.loop.now())
    text += fmt::format("; --trace-time: the run has ended before, at {}", sim::format_time(cluster_.loop.now()));
  if (timeline_ && !filter.transfers.empty() && timeline_->summary().transfers == 0)
    text += "; --trace-transfers: there are none of these numbers";
  return text;
}

bool Recording::is_whole() const {
  return (!timeline_ || timeline_->summary().cut < sim::Time{0}) && (!signals_ || signals_->cut() < sim::Time{0});
}

std::string Recording::finish_timeline() {
  timeline_->finish();
  file_->flush();
  if (!file_->failure().empty()) return not_written(request_.perfetto, file_->failure());
  return summary_text(request_, timeline_->summary());
}

std::string Recording::not_written(const std::string& file, const std::string& why) {
  failed_ = true;
  return fmt::format("{}: cannot be written: {}; it ends early", file, why);
}

std::string Recording::finish_signals() {
  if (const std::string why = signals_->finish(); !why.empty()) return not_written(request_.vcd, why);
  std::string text =
      fmt::format("{}: {} changes of {} signals", request_.vcd, signals_->changes(), signals_->signals());
  if (signals_->cut() < sim::Time{0}) return text;
  return text + fmt::format(
                    "; it reached its limit of {} after {} of simulated time, and signals stand still from "
                    "there on (--trace-limit, --trace-time, --trace-nodes)",
                    sim::format_bytes(request_.filter.limit), sim::format_time(signals_->cut()));
}

}  // namespace faultline::workloads
