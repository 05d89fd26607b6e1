// SPDX-License-Identifier: Apache-2.0
#include "models/network/cluster_shape.hpp"

#include <fmt/format.h>

#include <charconv>

namespace faultline::network {

using sim::Standing;

namespace {

constexpr std::string_view kTorusAllowed =
    "one to five sizes from 1 to 1024, at most 65536 MPSoCs together: \"8 x 4 x 4\"";

void declare_families(ClusterShape& s, sim::ParameterTable& table) {
  table.add_text("torus", s.torus, std::string(kTorusAllowed), [](const std::string& text) { parse_torus(text); },
                 {"of torus: MPSoCs in each dimension, up to five of them", "", Standing::setting});
  table.add_count(
      "fat_tree_arity", s.fat_tree_arity, {2, 64},
      {"of fat_tree: ports of a switch that lead down, on the lowest level to MPSoCs", "", Standing::setting});
  table.add_count(
      "fat_tree_up", s.fat_tree_up, {1, 64},
      {"of fat_tree: ports of a switch that lead up; fewer than down: a tapered tree", "", Standing::setting});
  table.add_count(
      "fat_tree_levels", s.fat_tree_levels, {1, 6},
      {"of fat_tree: levels of switches; fat_tree_arity to this power is the number of MPSoCs", "", Standing::setting});
  table.add_count("dragonfly_groups", s.dragonfly_groups, {1, 4096}, {"of dragonfly: groups", "", Standing::setting});
  table.add_count("dragonfly_routers", s.dragonfly_routers, {1, 256},
                  {"of dragonfly: routers of a group, wired all to all", "", Standing::setting});
  table.add_count("dragonfly_terminals", s.dragonfly_terminals, {1, 64},
                  {"of dragonfly: MPSoCs of a router", "", Standing::setting});
  table.add_count("dragonfly_global_links", s.dragonfly_global_links, {1, 64},
                  {"of dragonfly: links of a router to other groups", "", Standing::setting});
}

std::uint64_t nodes_of(const ClusterShape& s) {
  switch (s.topology) {
    case TopologyKind::qfdb_torus: return std::uint64_t{s.x} * s.y * s.z * s.mpsocs_per_qfdb;
    case TopologyKind::torus: return 1;  // parse_torus has seen to it
    case TopologyKind::dragonfly:
      return std::uint64_t{s.dragonfly_groups} * s.dragonfly_routers * s.dragonfly_terminals;
    case TopologyKind::fat_tree: break;
  }
  std::uint64_t nodes = 1;
  for (unsigned i = 0; i < s.fat_tree_levels; ++i) nodes *= s.fat_tree_arity;
  return nodes;
}

// As messages to the user call such a network: "a NOUN has no dimensions".
std::string_view noun_of(TopologyKind kind) {
  switch (kind) {
    case TopologyKind::qfdb_torus: return "torus of QFDBs";
    case TopologyKind::torus: return "torus";
    case TopologyKind::fat_tree: return "fat tree";
    case TopologyKind::dragonfly: return "dragonfly";
  }
  return "network";
}

}  // namespace

TorusSizes parse_torus(std::string_view text) {
  const auto refuse = [&] {
    throw sim::BadParameterValue(fmt::format("'{}' is no torus", text), std::string(kTorusAllowed));
  };
  TorusSizes sizes;
  sizes.fill(1);
  std::uint64_t members = 1;
  unsigned dimension = 0;
  for (std::size_t at = 0; at <= text.size(); ++dimension) {
    std::string_view size = text.substr(at, text.find('x', at) - at);
    at += size.size() + 1;
    size.remove_prefix(std::min(size.find_first_not_of(' '), size.size()));
    size = size.substr(0, size.find_last_not_of(' ') + 1);
    if (dimension == kMaxDimensions) refuse();
    const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), sizes[dimension]);
    if (error != std::errc{} || end != size.data() + size.size()) refuse();
    if (sizes[dimension] < 1 || sizes[dimension] > kMaxRingMembers) refuse();
    members *= sizes[dimension];
    if (members > kMaxNodes) refuse();
  }
  return sizes;
}

void ClusterShape::declare(sim::ParameterTable& table) {
  {
    const auto group = table.group("cluster");
    table.add_count("x", x, {1, kMaxRingMembers},
                    {"of qfdb_torus: QFDBs in the first dimension", "", Standing::setting});
    table.add_count("y", y, {1, kMaxRingMembers},
                    {"of qfdb_torus: QFDBs in the second dimension", "", Standing::setting});
    table.add_count("z", z, {1, kMaxRingMembers},
                    {"of qfdb_torus: QFDBs in the third dimension", "", Standing::setting});
    table.add_count("mpsocs_per_qfdb", mpsocs_per_qfdb, {1, 256},
                    {"of qfdb_torus: MPSoCs of a QFDB, wired all to all", "ExaNeSt QFDB: 4 Zynq UltraScale+ MPSoCs",
                     Standing::published});
    declare_families(*this, table);
  }
  const auto group = table.group("network");
  table.add_choice(
      "topology", topology,
      {{"qfdb_torus", TopologyKind::qfdb_torus},
       {"torus", TopologyKind::torus},
       {"fat_tree", TopologyKind::fat_tree},
       {"dragonfly", TopologyKind::dragonfly}},
      {"who is wired to whom; the cluster's keys of the other kinds have no effect", "", Standing::setting});
  table.add_choice("routing", routing,
                   {{"minimal", Routing::minimal},
                    {"dimension_ordered", Routing::dimension_ordered},
                    {"adaptive", Routing::adaptive}},
                   {"minimal: one shortest path for each pair; dimension_ordered: the same, on a torus; adaptive: each "
                    "block takes the least loaded of several paths",
                    "", Standing::setting});
  table.add_flag(
      "reroute", reroute,
      {"blocks that start network.failure_detection after a failure take a path around it, where there is one: "
       "not between the MPSoCs of a QFDB",
       "", Standing::setting});
}

std::vector<std::string> size_keys(const ClusterShape& shape) {
  switch (shape.topology) {
    case TopologyKind::qfdb_torus: return {"cluster.mpsocs_per_qfdb", "cluster.x", "cluster.y"};
    case TopologyKind::torus: return {"cluster.torus"};
    case TopologyKind::fat_tree: return {"cluster.fat_tree_levels", "cluster.fat_tree_arity"};
    case TopologyKind::dragonfly: break;
  }
  return {"cluster.dragonfly_groups", "cluster.dragonfly_routers", "cluster.dragonfly_terminals"};
}

std::vector<sim::Conflict> conflicts(const ClusterShape& shape) {
  std::vector<sim::Conflict> found;
  const bool torus = shape.topology == TopologyKind::qfdb_torus || shape.topology == TopologyKind::torus;
  if (shape.routing == Routing::dimension_ordered && !torus) {
    found.push_back({{"network.routing", "network.topology"},
                     fmt::format("a {} has no dimensions", noun_of(shape.topology)),
                     "set network.routing to minimal or adaptive"});
  }
  if (shape.topology == TopologyKind::fat_tree && shape.fat_tree_up > shape.fat_tree_arity) {
    found.push_back(
        {{"cluster.fat_tree_up", "cluster.fat_tree_arity"},
         fmt::format("{} ports up are more than the {} ports down can fill", shape.fat_tree_up, shape.fat_tree_arity),
         fmt::format("take {} ports up or fewer", shape.fat_tree_arity)});
  }
  const unsigned globals = shape.dragonfly_routers * shape.dragonfly_global_links;
  if (shape.topology == TopologyKind::dragonfly && shape.dragonfly_groups > globals + 1) {
    found.push_back(
        {{"cluster.dragonfly_groups", "cluster.dragonfly_routers", "cluster.dragonfly_global_links"},
         fmt::format("{} global links of a group cannot reach {} other groups", globals, shape.dragonfly_groups - 1),
         fmt::format("take {} groups or fewer, or more routers or global links", globals + 1)});
  }
  if (const std::uint64_t nodes = nodes_of(shape); nodes > kMaxNodes) {
    found.push_back(
        {size_keys(shape), fmt::format("{} MPSoCs; {} are the most", nodes, kMaxNodes), "take a smaller network"});
  }
  return found;
}

}  // namespace faultline::network
