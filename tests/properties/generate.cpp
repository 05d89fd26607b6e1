// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "tests/properties/domain.hpp"
#include "tests/properties/networks.hpp"
#include "tests/support/dice.hpp"

namespace faultline::test {
namespace {

using rdma::Operation;
using workloads::Cold;
using workloads::Flow;

void turn(const std::vector<Knob>& knobs, Dice& dice, Settings& settings) {
  // A case that turns every knob says little, and shrinks slowly.
  const unsigned share = dice.one_of<unsigned>({0, 10, 25, 50});
  for (const Knob& knob : knobs) {
    if (!dice.percent(share)) continue;
    settings.push_back({knob.key, dice.percent(35) ? knob.values.front() : dice.one_of(knob.values)});
  }
}

void turn_all(const std::vector<Knob>& knobs, Dice& dice, Settings& settings) {
  for (const Knob& knob : knobs) settings.push_back({knob.key, dice.one_of(knob.values)});
}

std::uint64_t any_size(const Domain& domain, Dice& dice) {
  std::uint64_t size = dice.one_of<std::uint64_t>({256, 4096, 8192, 16384, 65536});
  if (dice.percent(40)) size = 256 * (1 + dice.below(256));
  if (domain.any_alignment && dice.percent(60)) {
    size = dice.percent(30)   ? dice.one_of<std::uint64_t>({1, 8, 64, 255, 257, 4095, 4097, 16383, 16385})
           : dice.percent(50) ? 1 + dice.below(65536)
                              : 1 + dice.below(8192);
  }
  return std::min(size, domain.largest);
}

std::uint64_t any_offset(const Domain& domain, Dice& dice) {
  if (!dice.percent(50)) return 0;
  if (!domain.any_alignment) return 256 * dice.below(16);
  return dice.percent(40) ? dice.one_of<std::uint64_t>({1, 8, 255, 256, 2048, 3840, 4088, 4095}) : dice.below(4096);
}

Flow any_flow(const Domain& domain, unsigned nodes, Dice& dice) {
  Flow flow;
  flow.from = dice.from_to(0, nodes - 1);
  flow.to = (flow.from + dice.from_to(1, nodes - 1)) % nodes;
  if (domain.reads && dice.percent(35)) flow.kind = Operation::read;
  flow.size = any_size(domain, dice);
  flow.source_offset = any_offset(domain, dice);
  flow.destination_offset = any_offset(domain, dice);
  if (domain.cold && dice.percent(60)) flow.cold = dice.one_of<Cold>({Cold::source, Cold::destination, Cold::both});
  flow.transfers = dice.few(domain.transfers);
  flow.window = std::min(dice.few(domain.window), flow.transfers);
  if (dice.percent(60)) flow.start = sim::Time{static_cast<std::int64_t>(dice.below(20'000'000))};
  return flow;
}

std::vector<Flow> any_flows(const Domain& domain, const Network& network, Dice& dice) {
  std::vector<Flow> flows;
  const unsigned nodes = network.nodes();
  const bool apart = domain.shared_nodes || network.all_to_all;
  unsigned wanted = apart ? dice.few(domain.flows) : 1;
  if (domain.shared_nodes && dice.percent(50)) wanted = dice.from_to(1, domain.flows);
  std::vector<bool> taken(nodes);
  for (unsigned i = 0; i < wanted; ++i) {
    Flow flow = any_flow(domain, nodes, dice);
    // The traffic that meets most: all to one, or there and back.
    if (domain.shared_nodes && i > 0 && dice.percent(30) && flow.from != flows[0].to) flow.to = flows[0].to;
    if (domain.shared_nodes && i > 0 && dice.percent(20))
      std::tie(flow.from, flow.to) = std::pair(flows[0].to, flows[0].from);
    if (!domain.shared_nodes && (taken[flow.from] || taken[flow.to])) continue;
    taken[flow.from] = taken[flow.to] = true;
    flows.push_back(flow);
  }
  return flows;
}

// Registrations go with any NIC, but for those that fill a private table.
void add_nic_mmu(Dice& dice, Settings& settings) {
  settings.push_back({"nic.kind", "elan"});
  settings.push_back({"strategy.translate", dice.one_of<std::string>({"pushed", "on-demand", "vetoing"})});
  settings.push_back({"strategy.on_source_fault", "park"});
  settings.push_back({"strategy.on_destination_fault", "nak"});
  if (dice.percent(30)) settings.push_back({"elan.table_entries", 256});
  if (dice.percent(50)) settings.push_back({"elan.nak_back_off_limit", dice.one_of<std::string>({"20 us", "1 ms"})});
  if (dice.percent(30)) settings.push_back({"elan.mmu_lookup", dice.one_of<std::int64_t>({0, 1, 40})});
  if (dice.percent(20)) settings.push_back({"strategy.registration", dice.one_of<std::string>({"mlock", "pin-once"})});
}

// In parts, by another thread; and pins that go later. What does not go together is drawn again.
void add_ways_to_prepare(const std::string& registration, Dice& dice, Settings& settings) {
  const auto add = [&settings](const char* key, sim::ParameterValue value) {
    settings.push_back({key, std::move(value)});
  };
  if (registration == "ideal" || registration == "populate" || registration == "mlock" || registration == "pin-once")
    return;
  if (registration != "pin-overlapped" && dice.percent(50)) {
    add("strategy.pipeline", dice.one_of<std::string>({"fixed", "growing"}));
    add("strategy.pipeline_first", "4 KiB");
    add("strategy.pipeline_chunk", dice.one_of<std::string>({"4 KiB", "16 KiB", "64 KiB"}));
    add("strategy.pipeline_depth", dice.one_of<std::int64_t>({1, 2, 4}));
  }
  if (dice.percent(30)) add("strategy.deferred", true);
  if (registration != "touch" && registration != "pin-overlapped" && dice.percent(50))
    add("strategy.unpin", dice.one_of<std::string>({"batched", "helper"}));
  if (registration == "pin-cache") {
    add("strategy.pin_cache.merge", dice.percent(50));
    add("strategy.pin_cache.budget", dice.one_of<std::string>({"0 B", "64 KiB", "4 MiB"}));
  }
}

void add_policies(const Domain& domain, bool benchmark, Dice& dice, Settings& settings) {
  if (domain.all_nic_mmu || (domain.nic_mmu && dice.percent(20))) return add_nic_mmu(dice, settings);
  if (domain.stalls) {
    if (dice.percent(30)) settings.push_back({"strategy.on_source_fault", "stall"});
    if (dice.percent(30)) settings.push_back({"strategy.on_destination_fault", "stall"});
  }
  if (dice.percent(15)) settings.push_back({"strategy.translate", "mirrored"});
  if (!domain.preparations || dice.percent(70)) return;
  std::vector<std::string> prepare{"ideal", "populate", "mlock", "pin-once"};
  if (benchmark) prepare.insert(prepare.end(), {"touch", "pin-per-transfer", "pin-cache", "pin-overlapped"});
  settings.push_back({"strategy.registration", dice.one_of(prepare)});
  const std::string chosen = std::get<std::string>(settings.back().value);
  if (benchmark) add_ways_to_prepare(chosen, dice, settings);
  const bool may_be_private = chosen.starts_with("pin") || chosen == "mlock";
  if (chosen == "pin-overlapped" || (may_be_private && dice.percent(50))) {
    std::erase_if(settings, [](const Setting& setting) { return setting.key == "strategy.translate"; });
    settings.push_back({"strategy.translate", "private"});
  }
}

void add_benchmark(const Domain& domain, unsigned nodes, Dice& dice, Settings& settings) {
  const Flow flow = any_flow(domain, nodes, dice);
  const auto add = [&settings](const char* key, sim::ParameterValue value) {
    settings.push_back({key, std::move(value)});
  };
  const auto bytes = [](std::uint64_t n) { return fmt::format("{} B", n); };
  add("workload.initiator", std::int64_t{flow.from});
  add("workload.target", std::int64_t{flow.to});
  add("workload.iterations", std::int64_t{flow.transfers});
  if (dice.percent(20)) {
    add("workload.kind", "message");
    add("workload.size", bytes(dice.from_to(1, 56)));
    return;
  }
  add("workload.kind", flow.kind == Operation::read ? "read" : "write");
  add("workload.size", bytes(flow.size));
  add("workload.source_offset", bytes(flow.source_offset));
  add("workload.destination_offset", bytes(flow.destination_offset));
  add("workload.window", std::int64_t{flow.window});
  if (domain.cold && dice.percent(60)) {
    add("workload.cold", dice.one_of<std::string>({"source", "destination", "both"}));
    if (dice.percent(30)) add("workload.cold_share", 0.5);
  } else if (domain.cold && dice.percent(60)) {
    // Pages that move, are protected or go while transfers use them.
    const auto mechanism =
        dice.one_of<std::string>({"compaction", "move-pages", "numa-hint", "ksm", "ageing", "write-protect", "fork",
                                  "truncate", "dont-need", "userfault-wp", "reclaim"});
    add("inject.mechanism", mechanism);
    if (mechanism == "reclaim") add("os.swap_bytes", "1 GiB");
    add("inject.period", dice.one_of<std::string>({"5 us", "30 us", "200 us"}));
    add("inject.count", std::int64_t{dice.from_to(1, 12)});
    if (dice.percent(40)) add("inject.end", "source");
    add("workload.checks", "count");
  }
  if (domain.shared_nodes && dice.percent(25)) {
    add("workload.clean_window", std::int64_t{dice.from_to(1, 3)});
    add("workload.clean_size", bytes(any_size(domain, dice)));
    if (dice.percent(40)) add("workload.clean_kind", "read");
  }
}

// Buffers of one huge page each, or of one and a few small ones: thousands of cells, so there are few of them.
void make_huge(Case& c, Dice& dice) {
  c.settings.push_back({"os.thp", "always"});
  if (dice.percent(70)) c.settings.push_back({"simulation.cells_per_train", dice.one_of<int>({64, 256, 17})});
  if (c.flows.size() > 2) c.flows.resize(2);
  for (Flow& flow : c.flows) {
    flow.size = (std::uint64_t{2} << 20) + dice.one_of<std::uint64_t>({0, 4096, 16384}) - flow.source_offset;
    flow.transfers = flow.window = 1;
  }
}

void begin_at_whole_microseconds(std::vector<Flow>& flows) {
  for (Flow& flow : flows) flow.start = sim::Time{flow.start.count() / 1'000'000 * 1'000'000};
}

// Half of the cases meet no fault and lose nothing.
Domain of_this_case(Domain domain, Dice& dice) {
  if (dice.percent(50)) {
    domain.cold = domain.losses = domain.failures = false;
  } else if (domain.cold || domain.losses || domain.failures) {
    domain.largest = domain.largest_recovered;
  }
  return domain;
}

Case draw(const Domain& widest, Dice& dice) {
  const Domain domain = of_this_case(widest, dice);
  Case c;
  c.seed = 1 + dice.below(1000);
  const Network network = any_network(domain, dice);
  c.settings = Settings{{"workload.time_limit", "100 ms"}} + network.settings;
  const bool benchmark = domain.benchmarks && dice.percent(20);
  add_policies(domain, benchmark, dice, c.settings);
  if (domain.buffers) turn(buffer_knobs(), dice, c.settings);
  if (domain.translation) turn(translation_knobs(), dice, c.settings);
  const bool ties = domain.all_ties || (domain.ties && dice.percent(20));
  if (ties) turn_all(tie_knobs(), dice, c.settings);
  if (domain.rates && !ties) turn(rate_knobs(), dice, c.settings);
  if (domain.latencies && !ties) turn(latency_knobs(), dice, c.settings);
  if (domain.software) turn(software_knobs(), dice, c.settings);
  if (domain.losses) {
    turn(loss_knobs(), dice, c.settings);
  } else {
    c.settings.push_back({"exanest.block_timeout", "50 ms"});  // slow is not lost
  }
  if (domain.failures && dice.percent(25)) c.settings = c.settings + any_failures(c, dice);
  if (benchmark) {
    add_benchmark(domain, network.nodes(), dice, c.settings);
  } else {
    c.flows = any_flows(domain, network, dice);
    if (domain.huge_pages && dice.percent(4)) make_huge(c, dice);
    if (ties) begin_at_whole_microseconds(c.flows);
  }
  return c;
}

bool possible(const Case& c) { return workloads::conflicts(c.configuration()).empty(); }

// --- shrinking ---

// Flows that are a little simpler than this one, the boldest first.
std::vector<Flow> simpler_flows(const Flow& flow) {
  std::vector<Flow> all;
  const auto change = [&](auto member, auto value) {
    Flow other = flow;
    other.*member = value;
    if (!(other == flow)) all.push_back(other);
  };
  change(&Flow::transfers, 1u);
  change(&Flow::transfers, std::max(1u, flow.transfers - 1));
  change(&Flow::window, 1u);
  change(&Flow::cold, Cold::none);
  change(&Flow::kind, Operation::write);
  for (const std::uint64_t size : {std::uint64_t{64}, std::uint64_t{256}, std::uint64_t{512}, std::uint64_t{4096},
                                   flow.size / 2, flow.size / 256 * 256}) {
    if (size > 0 && size < flow.size) change(&Flow::size, size);
  }
  for (const auto offset : {&Flow::source_offset, &Flow::destination_offset}) {
    change(offset, std::uint64_t{0});
    change(offset, flow.*offset / 256 * 256);
    change(offset, flow.*offset / 2);
  }
  for (const std::int64_t unit : {std::int64_t{1'000'000}, std::int64_t{1000}}) {
    change(&Flow::start, sim::Time{flow.start.count() / unit * unit});
  }
  change(&Flow::start, sim::Time{0});
  change(&Flow::start, flow.start / 2);
  return all;
}

template <typename T>
std::vector<T> without(const std::vector<T>& all, std::size_t from, std::size_t count) {
  std::vector<T> rest(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(from));
  rest.insert(rest.end(), all.begin() + static_cast<std::ptrdiff_t>(std::min(from + count, all.size())), all.end());
  return rest;
}

rc::Seq<Case> simpler(const Case& c) {
  std::vector<Case> all;
  const auto add = [&all](Case candidate) {
    if (possible(candidate)) all.push_back(std::move(candidate));
  };
  for (std::size_t i = 0; c.flows.size() > 1 && i < c.flows.size(); ++i) {
    Case other = c;
    other.flows = without(c.flows, i, 1);
    add(std::move(other));
  }
  for (std::size_t count = c.settings.size() / 2; count > 0; count /= 2) {
    for (std::size_t from = 0; from < c.settings.size(); from += count) {
      Case other = c;
      other.settings = without(c.settings, from, count);
      add(std::move(other));
    }
  }
  for (std::size_t i = 0; i < c.flows.size(); ++i) {
    for (const Flow& flow : simpler_flows(c.flows[i])) {
      Case other = c;
      other.flows[i] = flow;
      add(std::move(other));
    }
  }
  if (c.seed != 1) {
    Case other = c;
    other.seed = 1;
    add(std::move(other));
  }
  return rc::seq::fromContainer(std::move(all));
}

}  // namespace

rc::Gen<Case> any_case(const Domain& domain) {
  return rc::Gen<Case>([domain](const rc::Random& random, int) {
    Dice dice(random);
    for (int tries = 0; tries < 1000; ++tries) {
      Case c = draw(domain, dice);
      if (possible(c)) return rc::shrinkable::shrinkRecur(std::move(c), &simpler);
    }
    throw std::logic_error("a domain without possible cases");
  });
}

}  // namespace faultline::test
