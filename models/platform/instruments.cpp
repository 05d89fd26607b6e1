// SPDX-License-Identifier: Apache-2.0
#include "models/platform/instruments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "models/cpu/instruments.hpp"
#include "models/cpu/tracks.hpp"
#include "models/drivers/library/instruments.hpp"
#include "models/network/instruments.hpp"
#include "models/os/instruments.hpp"
#include "models/smmu/instruments.hpp"
#include "models/soc/instruments.hpp"

namespace faultline::platform {
namespace {

// The numbers of the first of busy_parts(), in its order; those of NICs follow. Several kinds may show the same part.
enum Part : std::size_t { link, network_interface, axi_reads, axi_writes, ddr, core, of_nics };
constexpr std::array kParts{network::kLinkBusy,  network::kInterfaceBusy, soc::kAxiReadsBusy,
                            soc::kAxiWritesBusy, soc::kDdrBusy,           cpu::kCoreBusy};
static_assert(kParts.size() == of_nics);

std::size_t number_in(const std::vector<sim::BusyPart>& all, const sim::BusyPart& part) {
  const auto found = std::ranges::find(all, std::string_view(part.metric), &sim::BusyPart::metric);
  return static_cast<std::size_t>(found - all.begin());
}

const std::vector<sim::BusyPart>& all_parts() {
  static const std::vector<sim::BusyPart> all = [] {
    std::vector<sim::BusyPart> found(kParts.begin(), kParts.end());
    for (const auto& kind : nic_kinds()) {
      for (const sim::BusyPart* part : kind->busy_parts()) {
        if (number_in(found, *part) == found.size()) found.push_back(*part);
      }
    }
    return found;
  }();
  return all;
}

void add_links(std::vector<BusyTime>& all, network::RouterId id, const network::Router& router) {
  for (unsigned port = network::kLocalPort + 1; port < router.ports(); ++port) {
    all.push_back({id, link, port, router.busy(port)});
  }
}

void add_node(std::vector<BusyTime>& all, Node& node) {
  const auto add = [&](Part part, std::uint32_t number, sim::Time busy) {
    all.push_back({node.id(), part, number, busy});
  };
  add_links(all, node.id(), *node.router);
  add(network_interface, 0, node.router->busy(network::kLocalPort));
  add(axi_reads, 0, node.hpc.reads_busy());
  add(axi_writes, 0, node.hpc.writes_busy());
  add(ddr, 0, node.ddr.busy());
  for (unsigned number = 0; number < node.cpu.config().cores; ++number) add(core, number, node.cpu.busy(number));
  for (const rdma::Nic::Busy& one : node.nic->busy()) {
    all.push_back({node.id(), number_in(all_parts(), *one.part), one.number, one.busy});
  }
}

}  // namespace

const std::vector<sim::CounterMetric>& counter_metrics() {
  static const std::vector<sim::CounterMetric> all = [] {
    std::vector<sim::CounterMetric> found;
    for (const std::span<const sim::CounterMetric> room : std::initializer_list<std::span<const sim::CounterMetric>>{
             library::kDriverMetrics, os::kMetrics, nic::kMetrics, cpu::kMetrics, smmu::kMetrics, network::kMetrics}) {
      found.insert(found.end(), room.begin(), room.end());
    }
    return found;
  }();
  return all;
}

std::span<const sim::BusyPart> busy_parts() { return all_parts(); }

std::vector<BusyTime> busy_times(Cluster& cluster) {
  std::vector<BusyTime> all;
  for (unsigned id = 0; id < cluster.size(); ++id) add_node(all, cluster.node(id));
  for (network::RouterId id = cluster.size(); id < cluster.topology().routers(); ++id) {
    add_links(all, id, cluster.router(id));
  }
  std::ranges::sort(all, {}, [](const BusyTime& one) { return std::tuple(one.router, one.part, one.number); });
  return all;
}

std::array<std::uint64_t, kQueues.size()> queue_depths(const Node& node) {
  const rdma::Nic::Depths depths = node.nic->depths();
  return {depths.transfers, depths.fault_records};
}

std::vector<Signal> signals_of(const Machine& machine, sim::NodeId node) {
  std::vector<Signal> all;
  const auto add = [&](sim::TrackKind kind, const char* name, std::uint32_t number) {
    all.push_back({{node, kind, number}, fmt::format("node{}.", node) + fmt::format(fmt::runtime(name), number)});
  };
  for (const auto& [kind, name, number] : machine.nic->signals()) add(kind, name, number);
  for (const sim::SignalInfo& signal : smmu::kSignals) add(signal.kind, signal.name, 0);
  add(cpu::track::kInterrupt, smmu::kInterruptSignal, machine.smmu.interrupt_line);
  add(cpu::track::kInterrupt, nic::kInterruptSignal, machine.nic->interrupt_line());
  return all;
}

FaultProgress::FaultProgress(const rdma::NicKind& kind, const Node& node)
    : recorded_(node.statistics.find(kind.faults_recorded())) {
  for (const char* counter : kind.faults_handled()) handled_.push_back(&node.statistics.find(counter));
}

std::uint64_t FaultProgress::handled() const {
  std::uint64_t sum = 0;
  for (const sim::Counter* counter : handled_) sum += counter->value();
  return sum;
}

std::optional<sim::RunFailure> lost_for_good(const Cluster& cluster) {
  return cluster.nic_kind().lost_for_good([&cluster](std::string_view counter) { return cluster.total(counter); });
}

}  // namespace faultline::platform
