// SPDX-License-Identifier: Apache-2.0
// Which values cases are made of: the corners of every bound more often than what lies between.
#include "tests/properties/domain.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace faultline::test {

Domain full_domain() {
  Domain d;
  d.flows = 6;
  d.shared_nodes = true;
  d.transfers = 4;
  d.window = 4;
  d.largest = 65536;
  d.largest_recovered = 65536;
  d.any_alignment = true;
  d.reads = true;
  d.cold = true;
  d.stalls = true;
  d.nic_mmu = true;
  d.benchmarks = true;
  d.preparations = true;
  d.huge_pages = true;
  d.several_qfdbs = true;
  d.topologies = true;
  d.failures = true;
  d.rates = true;
  d.latencies = true;
  d.ties = true;
  d.buffers = true;
  d.translation = true;
  d.software = true;
  d.losses = true;
  d.counters = true;
  return d;
}

Domain named_domain(const std::string& names) {
  struct Part {
    std::string_view name;
    void (*widen)(Domain& domain, const Domain& full);
  };
  static constexpr Part kParts[] = {
      {"flows", [](Domain& d, const Domain& full) { d.flows = full.flows; }},
      {"shared_nodes", [](Domain& d, const Domain& full) { d.shared_nodes = full.shared_nodes; }},
      {"transfers", [](Domain& d, const Domain& full) { d.transfers = full.transfers; }},
      {"window", [](Domain& d, const Domain& full) { d.window = full.window; }},
      {"largest", [](Domain& d, const Domain& full) { d.largest = full.largest; }},
      {"largest_recovered", [](Domain& d, const Domain& full) { d.largest_recovered = full.largest_recovered; }},
      {"any_alignment", [](Domain& d, const Domain& full) { d.any_alignment = full.any_alignment; }},
      {"reads", [](Domain& d, const Domain& full) { d.reads = full.reads; }},
      {"cold", [](Domain& d, const Domain& full) { d.cold = full.cold; }},
      {"stalls", [](Domain& d, const Domain& full) { d.stalls = full.stalls; }},
      {"nic_mmu", [](Domain& d, const Domain& full) { d.nic_mmu = full.nic_mmu; }},
      {"all_nic_mmu", [](Domain& d, const Domain&) { d.all_nic_mmu = true; }},
      {"benchmarks", [](Domain& d, const Domain& full) { d.benchmarks = full.benchmarks; }},
      {"preparations", [](Domain& d, const Domain& full) { d.preparations = full.preparations; }},
      {"huge_pages", [](Domain& d, const Domain& full) { d.huge_pages = full.huge_pages; }},
      {"several_qfdbs", [](Domain& d, const Domain& full) { d.several_qfdbs = full.several_qfdbs; }},
      {"topologies", [](Domain& d, const Domain& full) { d.topologies = full.topologies; }},
      {"failures", [](Domain& d, const Domain& full) { d.failures = full.failures; }},
      {"rates", [](Domain& d, const Domain& full) { d.rates = full.rates; }},
      {"latencies", [](Domain& d, const Domain& full) { d.latencies = full.latencies; }},
      {"ties", [](Domain& d, const Domain& full) { d.ties = full.ties; }},
      {"all_ties", [](Domain& d, const Domain&) { d.all_ties = true; }},
      {"buffers", [](Domain& d, const Domain& full) { d.buffers = full.buffers; }},
      {"translation", [](Domain& d, const Domain& full) { d.translation = full.translation; }},
      {"software", [](Domain& d, const Domain& full) { d.software = full.software; }},
      {"losses", [](Domain& d, const Domain& full) { d.losses = full.losses; }},
      {"counters", [](Domain& d, const Domain& full) { d.counters = full.counters; }},
      {"none", [](Domain& d, const Domain&) { d = {}; }},
      {"small",
       [](Domain& d, const Domain&) {
         d.largest = d.largest_recovered = 4096;
         d.transfers = 1;
         d.huge_pages = false;
       }},
  };
  Domain domain = full_domain();
  std::istringstream words(names);
  for (std::string word; words >> word;) {
    const bool less = word.starts_with('-');
    if (less) word.erase(0, 1);
    const auto part = std::find_if(std::begin(kParts), std::end(kParts), [&](const Part& p) { return p.name == word; });
    if (part == std::end(kParts)) throw std::invalid_argument("no part of the domain is called " + word);
    part->widen(domain, less ? Domain{} : full_domain());
  }
  return domain;
}

const std::vector<Knob>& buffer_knobs() {
  static const std::vector<Knob> knobs{
      {"network.buffer_cells", {1, 2, 3, 4, 7, 16}},
      {"network.injection_cells", {1, 2, 3, 8, 17}},
      {"network.virtual_channels", {1}},
      {"exanest.cell_buffer", {1, 2, 3, 5, 15, 17, 64}},
      {"exanest.receive_buffer", {1, 2, 3, 5, 15, 17, 64}},
      {"exanest.send_queue", {1, 3, 16}},
      {"exanest.block_contexts", {2}},
      {"elan.cell_buffer", {1, 2, 3, 17}},
      {"elan.receive_buffer", {1, 2, 5, 17}},
      {"elan.block_bytes", {"4352 B", "5000 B", "16 KiB"}},
      {"elan.outstanding_blocks", {1, 2, 4}},
      {"elan.fault_fifo", {1, 2}},
      {"exanest.block_bytes", {"4 KiB", "4352 B", "5000 B", "8 KiB", "64 KiB"}},
      {"exanest.outstanding_blocks", {1, 2, 16}},
      {"simulation.cells_per_train", {256, 64, 17, 7, 2}},
      {"exanest.channel_queue", {4, 5}},
      {"axi.outstanding_reads", {1, 2, 3, 5, 16}},
      {"axi.outstanding_writes", {1, 2, 3, 5, 16}},
  };
  return knobs;
}

const std::vector<Knob>& translation_knobs() {
  static const std::vector<Knob> knobs{
      {"smmu.micro_tlb_entries", {1, 2, 3, 8}},
      {"smmu.macro_tlb_entries", {4, 8, 64}},
      {"smmu.macro_tlb_ways", {1, 2, 64}},
      {"smmu.misses_per_tbu", {1, 2, 3}},
      {"smmu.walk_slots", {1, 2}},
      {"smmu.write_buffer_beats", {0, 1, 16, 17, 64, 4096}},
      {"smmu.walk_cache_entries_level1", {0, 4}},
      {"smmu.walk_cache_entries_level2", {0, 4}},
      {"smmu.tbu_hit_cycles", {1, 16}},
      {"smmu.termination_cycles", {0, 64}},
      {"smmu.macro_tlb_cycles", {1, 64}},
      {"smmu.clock", {"100 MHz", "333 MHz", "1 GHz"}},
      {"os.va_bits", {"48"}},
      {"smmu_driver.hupcf", {true, false}},
  };
  return knobs;
}

const std::vector<Knob>& rate_knobs() {
  static const std::vector<Knob> knobs{
      {"network.internal_rate", {"500 Mb/s", "2 Gb/s", "9.7 Gb/s", "19.2 Gb/s", "100 Gb/s", "400 Gb/s"}},
      {"network.internal_coding", {"64b/66b", "8b/10b"}},
      {"network.external_coding", {"64b/66b", "8b/10b"}},
      {"network.external_rate", {"500 Mb/s", "2 Gb/s", "16 Gb/s", "19.2 Gb/s", "400 Gb/s"}},
      {"network.overhead", {"0 B", "16 B", "256 B"}},
      {"axi.pl_clock", {"50 MHz", "333 MHz", "400 MHz"}},
      {"axi.width", {"4 B", "8 B"}},
      {"ddr.peak_bandwidth", {"400 MB/s", "1 GB/s", "3.2 GB/s", "200 GB/s"}},
      {"ddr.efficiency", {0.1, 0.5, 1.0}},
  };
  return knobs;
}

const std::vector<Knob>& latency_knobs() {
  static const std::vector<Knob> knobs{
      {"network.internal_latency", {"1 ps", "1 ns", "1 us", "10 us"}},
      {"network.external_latency", {"1 ps", "1 ns", "1 us", "10 us"}},
      {"network.router_latency", {"0 ns", "1 ps", "1 us"}},
      {"network.injection_latency", {"0 ns", "1 ps", "1 us"}},
      {"axi.read_request_latency", {"0 ns", "1 us"}},
      {"axi.read_return_latency", {"0 ns", "1 us"}},
      {"axi.write_request_latency", {"0 ns", "1 us"}},
      {"axi.write_response_latency", {"0 ns", "1 us"}},
      {"ddr.latency", {"0 ns", "10 ns", "1 us", "10 us"}},
      {"exanest.send_pipeline", {0, 1, 1000}},
      {"exanest.receive_pipeline", {0, 1, 1000}},
      {"exanest.message_pipeline", {0, 1000}},
      {"exanest.fault_logging", {0, 1000}},
      {"exanest.transfer_startup", {"0 us", "10 us"}},
      {"exanest.block_scheduling", {"0 us", "10 us"}},
      {"exanest.retransmit_processing", {"0 us", "30 us"}},
      {"exanest.message_processing", {"0 us", "10 us"}},
  };
  return knobs;
}

// A cell of 256 B takes 100 ns, 160 ns or 1 us on a link, 160 ns between a node and its router.
const std::vector<Knob>& tie_knobs() {
  static const std::vector<Knob> knobs{
      {"network.overhead", {"0 B"}},
      {"network.internal_rate", {"20.48 Gb/s", "2.048 Gb/s", "12.8 Gb/s"}},
      {"network.external_rate", {"20.48 Gb/s", "2.048 Gb/s", "12.8 Gb/s"}},
      {"network.internal_latency", {"10 ns", "100 ns", "1 us"}},
      {"network.external_latency", {"10 ns", "100 ns", "1 us"}},
      {"network.router_latency", {"0 ns", "10 ns", "100 ns"}},
      {"network.injection_latency", {"0 ns", "10 ns", "100 ns"}},
      {"axi.pl_clock", {"100 MHz"}},
      {"axi.read_request_latency", {"0 ns", "100 ns"}},
      {"axi.read_return_latency", {"0 ns", "100 ns"}},
      {"axi.write_request_latency", {"0 ns", "100 ns"}},
      {"axi.write_response_latency", {"0 ns", "100 ns"}},
      {"ddr.peak_bandwidth", {"1.6 GB/s", "25.6 GB/s"}},
      {"ddr.efficiency", {1.0}},
      {"ddr.latency", {"0 ns", "100 ns"}},
      {"smmu.clock", {"100 MHz"}},
      {"smmu.walk_read_path", {"0 ns", "80 ns"}},
      {"exanest.send_pipeline", {0, 1, 10}},
      {"exanest.receive_pipeline", {0, 1, 10}},
      {"exanest.message_pipeline", {0, 1, 10}},
      {"exanest.fault_logging", {0, 1, 10}},
      {"exanest.transfer_startup", {"0 us", "1 us"}},
      {"exanest.block_scheduling", {"0 us", "100 ns", "1 us"}},
      {"exanest.retransmit_processing", {"0 us", "1 us"}},
      {"exanest.message_processing", {"0 us", "100 ns", "10 us"}},
      {"elan.send_pipeline", {0, 1, 10}},
      {"elan.receive_pipeline", {0, 1, 10}},
      {"elan.message_pipeline", {0, 1, 10}},
      {"elan.transfer_startup", {"0 us", "1 us"}},
      {"elan.block_scheduling", {"0 us", "100 ns", "1 us"}},
      {"elan.message_processing", {"0 us", "100 ns", "10 us"}},
      {"workload.start_spread", {"0 ns"}},
  };
  return knobs;
}

const std::vector<Knob>& software_knobs() {
  static const std::vector<Knob> knobs{
      {"cpu.cores", {1, 2, 3}},
      {"cpu.jitter", {0.01, 0.5}},
      {"workload.start_spread", {"1 ns", "5 us", "200 us"}},
      {"sched.policy", {"cfs", "eevdf", "work-conserving"}},
      {"sched.preemption", {"none", "voluntary", "full"}},
      {"sched.hz", {100, 1000}},
      {"cpu.context_switch", {"0 ns", "10 us"}},
      {"cpu.irq_to_handler", {"0 ns", "10 us"}},
      {"cpu.tasklet_delay", {"0 ns", "10 us"}},
      {"cpu.poll_latency", {"0 ns", "1 us"}},
      {"smmu_driver.tlb_maintenance", {"mmio"}},
      {"os.zero_bandwidth", {"1.7 GB/s", "8.2 GB/s"}},
      {"os.thp", {"always"}},
      {"strategy.resolve", {"touch-a-page", "touch-ahead"}},
      {"strategy.touch_ahead_pages", {1, 2, 16}},
      {"strategy.call_pages", {1, 3, 8}},
  };
  return knobs;
}

const std::vector<Knob>& loss_knobs() {
  static const std::vector<Knob> knobs{
      {"exanest.rapf_loss", {0.2, 0.5, 1.0}},
      {"exanest.rapf_enabled", {false}},
      {"exanest.block_timeout", {"10 us", "40 us", "100 us", "300 us"}},
      {"exanest.retry_limit", {1, 2, 5}},
      {"exanest.refault_limit", {1, 2}},
      {"exanest.fault_fifo", {1, 2}},
      {"exanest.stop_after_fault", {true}},
      {"exanest.stop_after_fault", {true}},
      {"exanest.stop_loss", {0.3, 1.0}},
      {"exanest.firmware_mailbox", {1, 2}},
      {"exanest.remote_reads", {1, 2}},
      {"exanest.completed_transfers", {16}},
      {"exanest_driver.netlink_socket_records", {1, 2}},
  };
  return knobs;
}

}  // namespace faultline::test
