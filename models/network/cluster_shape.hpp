// SPDX-License-Identifier: Apache-2.0
// What a cluster's network is, as configuration files say it. topology.hpp makes it a network.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "models/sim/parameters.hpp"

namespace faultline::network {

enum class TopologyKind { qfdb_torus, torus, fat_tree, dragonfly };
enum class Routing {
  minimal,            // one fixed path of minimal length for each pair
  dimension_ordered,  // the same where there are dimensions
  adaptive,           // each block takes the least loaded of several paths where it enters the network
};

inline constexpr unsigned kMaxDimensions = 5;
inline constexpr unsigned kMaxRingMembers = 1024;
inline constexpr unsigned kMaxNodes = 65536;

// Members of each dimension, the rest 1.
using TorusSizes = std::array<unsigned, kMaxDimensions>;
// "8 x 4 x 4". Throws sim::BadParameterValue.
TorusSizes parse_torus(std::string_view text);

// Only the keys of its own kind of topology matter.
struct ClusterShape {
  // Torus of QFDBs.
  unsigned x = 1;  // QFDBs in each dimension; 1 x 1 x 1 is a single QFDB
  unsigned y = 1;
  unsigned z = 1;
  unsigned mpsocs_per_qfdb = 4;

  TopologyKind topology = TopologyKind::qfdb_torus;
  Routing routing = Routing::minimal;
  bool reroute = false;

  std::string torus = "4 x 4 x 4";  // MPSoCs in each dimension

  // Switches of `arity` ports down and `up` ports up in `levels` levels; an MPSoC under each port of the lowest.
  unsigned fat_tree_arity = 4;
  unsigned fat_tree_up = 4;
  unsigned fat_tree_levels = 2;

  // Kim et al. (ISCA 2008) call them g, a, p and h.
  unsigned dragonfly_groups = 9;
  unsigned dragonfly_routers = 4;       // of a group, wired all to all
  unsigned dragonfly_terminals = 2;     // MPSoCs of a router
  unsigned dragonfly_global_links = 2;  // of a router, to other groups

  // Whether blocks may take other paths than the one that is fixed for the pair.
  bool has_detours() const { return reroute || routing == Routing::adaptive; }
  void declare(sim::ParameterTable& table);
};

// The parameters that decide how many MPSoCs there are.
std::vector<std::string> size_keys(const ClusterShape& shape);
// Why no network has this shape; none when one has.
std::vector<sim::Conflict> conflicts(const ClusterShape& shape);

}  // namespace faultline::network
