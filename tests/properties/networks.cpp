// SPDX-License-Identifier: Apache-2.0
#include "tests/properties/networks.hpp"

#include <fmt/format.h>

#include "models/network/topology.hpp"

namespace faultline::test {
namespace {

Network qfdbs(unsigned x, unsigned y, unsigned mpsocs) {
  return {{{"cluster.x", std::int64_t{x}},
           {"cluster.y", std::int64_t{y}},
           {"cluster.mpsocs_per_qfdb", std::int64_t{mpsocs}}},
          x * y == 1};
}

Network torus(const char* sizes) { return {{{"network.topology", "torus"}, {"cluster.torus", sizes}}, false}; }

Network fat_tree(unsigned arity, unsigned up, unsigned levels) {
  return {{{"network.topology", "fat_tree"},
           {"cluster.fat_tree_arity", std::int64_t{arity}},
           {"cluster.fat_tree_up", std::int64_t{up}},
           {"cluster.fat_tree_levels", std::int64_t{levels}}},
          false};
}

Network dragonfly(unsigned groups, unsigned routers, unsigned terminals, unsigned global_links) {
  return {{{"network.topology", "dragonfly"},
           {"cluster.dragonfly_groups", std::int64_t{groups}},
           {"cluster.dragonfly_routers", std::int64_t{routers}},
           {"cluster.dragonfly_terminals", std::int64_t{terminals}},
           {"cluster.dragonfly_global_links", std::int64_t{global_links}}},
          false};
}

const std::vector<Network>& several_qfdbs() {
  static const std::vector<Network> all{qfdbs(2, 1, 1), qfdbs(2, 1, 2), qfdbs(2, 1, 4), qfdbs(3, 1, 1), qfdbs(3, 1, 2),
                                        qfdbs(4, 1, 2), qfdbs(2, 2, 1), qfdbs(2, 2, 2), qfdbs(8, 1, 1)};
  return all;
}

const std::vector<Network>& other_topologies() {
  static const std::vector<Network> all{torus("3"),
                                        torus("5"),
                                        torus("3 x 2"),
                                        torus("3 x 3"),
                                        torus("2 x 1 x 2 x 2"),
                                        fat_tree(4, 2, 1),
                                        fat_tree(2, 1, 2),
                                        fat_tree(2, 2, 2),
                                        fat_tree(3, 2, 2),
                                        fat_tree(2, 2, 3),
                                        dragonfly(2, 1, 2, 1),
                                        dragonfly(3, 1, 2, 2),
                                        dragonfly(2, 2, 2, 1),
                                        dragonfly(3, 2, 1, 1)};
  return all;
}

}  // namespace

unsigned Network::nodes() const { return network::node_count(configuration(settings).machine.shape); }

Network any_network(const Domain& domain, Dice& dice) {
  const unsigned kind = static_cast<unsigned>(dice.below(4));
  Network network = kind == 0 && domain.topologies      ? dice.one_of(other_topologies())
                    : kind == 1 && domain.several_qfdbs ? dice.one_of(several_qfdbs())
                                                        : qfdbs(1, 1, dice.from_to(2, 8));
  if (domain.topologies && !network.all_to_all && dice.percent(50)) {
    network.settings.push_back({"network.routing", "adaptive"});
    network.settings.push_back({"network.virtual_channels", 4});
  }
  return network;
}

Settings any_failures(const Case& c, Dice& dice) {
  const workloads::Configuration configuration = c.configuration();
  if (!workloads::conflicts(configuration).empty()) return {};  // the case is drawn again
  const auto topology = network::make_topology(configuration.machine.shape);
  std::string list;
  for (unsigned i = dice.few(3); i > 0; --i) {
    const network::Link link = dice.one_of(topology->links());
    list += dice.percent(70) ? fmt::format("link {}-{}", link.a, link.b) : fmt::format("router {}", link.a);
    const unsigned from = dice.from_to(0, 60);
    list += fmt::format(" at {} us", from);
    if (dice.percent(70)) list += fmt::format(" until {} us", from + dice.from_to(1, 201));
    if (i > 1) list += ", ";
  }
  Settings settings{{"network.failures", list}};
  if (dice.percent(50)) {
    settings.push_back({"network.reroute", true});
    settings.push_back({"network.virtual_channels", 4});
    settings.push_back({"network.failure_detection", dice.one_of<std::string>({"0 ns", "1 us", "10 us"})});
  }
  return settings;
}

}  // namespace faultline::test
