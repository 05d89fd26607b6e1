// SPDX-License-Identifier: Apache-2.0
#include "models/interconnect/topology.hpp"

#include <algorithm>
#include <stdexcept>

namespace faultline::interconnect {

using sim::Standing;

void ClusterShape::declare(sim::ParameterTable& table) {
  const auto group = table.group("cluster");
  table.add_count("x", x, {1, 16}, {"QFDBs in the first dimension of the torus", "", Standing::setting});
  table.add_count("y", y, {1, 16}, {"QFDBs in the second dimension of the torus", "", Standing::setting});
  table.add_count("z", z, {1, 16}, {"QFDBs in the third dimension of the torus", "", Standing::setting});
  table.add_count(
      "mpsocs_per_qfdb", mpsocs_per_qfdb, {1, 8},
      {"MPSoCs of a QFDB, wired all to all", "ExaNeSt QFDB: 4 Zynq UltraScale+ MPSoCs", Standing::published});
}

Topology::Topology(const ClusterShape& shape) : shape_(shape) {
  if (shape.nodes() == 0) throw std::logic_error("a cluster needs at least one node in each dimension");
  ports_.resize(shape.nodes());
  for (unsigned qfdb = 0; qfdb < shape.qfdbs(); ++qfdb) {
    for (unsigned mpsoc = 0; mpsoc < shape.mpsocs_per_qfdb; ++mpsoc) {
      const NodeId node = qfdb * shape.mpsocs_per_qfdb + mpsoc;
      unsigned count = shape.mpsocs_per_qfdb;
      if (mpsoc == 0) count = external_port(kDimensions, true);
      ports_[node].assign(count, {node, false});
    }
  }
  for (unsigned qfdb = 0; qfdb < shape.qfdbs(); ++qfdb) {
    wire_qfdb(qfdb);
    for (unsigned dimension = 0; dimension < kDimensions; ++dimension) wire_ring(qfdb, dimension);
  }
}

unsigned Topology::size(unsigned dimension) const {
  return dimension == 0 ? shape_.x : dimension == 1 ? shape_.y : shape_.z;
}

unsigned Topology::stride(unsigned dimension) const {
  return dimension == 0 ? 1 : dimension == 1 ? shape_.x : shape_.x * shape_.y;
}

// After the internal ports, for each dimension: none if it has one member, one to the only neighbour if
// it has two, else the positive direction and then the negative one.
unsigned Topology::external_port(unsigned dimension, bool positive) const {
  unsigned port = shape_.mpsocs_per_qfdb;
  for (unsigned lower = 0; lower < dimension; ++lower) port += std::min(size(lower) - 1, 2U);
  return positive || dimension == kDimensions || size(dimension) < 3 ? port : port + 1;
}

void Topology::add_link(const Link& link) {
  links_.push_back(link);
  ports_[link.a][link.a_port] = {link.b, link.external};
  ports_[link.b][link.b_port] = {link.a, link.external};
}

void Topology::wire_qfdb(unsigned qfdb) {
  const NodeId base = qfdb * shape_.mpsocs_per_qfdb;
  for (unsigned a = 0; a < shape_.mpsocs_per_qfdb; ++a) {
    for (unsigned b = a + 1; b < shape_.mpsocs_per_qfdb; ++b) {
      add_link({base + a, internal_port(a, b), base + b, internal_port(b, a), false});
    }
  }
}

// The link to the next QFDB in the positive direction, if this one is to draw it.
void Topology::wire_ring(unsigned qfdb, unsigned dimension) {
  const unsigned members = size(dimension);
  const unsigned here = coordinate(qfdb, dimension);
  if (members < 2 || (members == 2 && here == 1)) return;
  const unsigned next = qfdb - here * stride(dimension) + (here + 1) % members * stride(dimension);
  add_link({qfdb * shape_.mpsocs_per_qfdb, external_port(dimension, true), next * shape_.mpsocs_per_qfdb,
            external_port(dimension, false), true});
}

Route Topology::along(unsigned dimension, unsigned here, unsigned there) const {
  const unsigned members = size(dimension);
  const unsigned ahead = (there + members - here) % members;
  const bool positive = 2 * ahead <= members;
  const bool wraps = positive ? there < here : there > here;
  // Two members have one link and no ring to close.
  return {external_port(dimension, positive), wraps || members < 3 ? 0U : 1U};
}

Route Topology::route(NodeId at, NodeId destination) const {
  const unsigned qfdb = at / shape_.mpsocs_per_qfdb;
  const unsigned mpsoc = at % shape_.mpsocs_per_qfdb;
  const unsigned to_qfdb = destination / shape_.mpsocs_per_qfdb;
  const unsigned to_mpsoc = destination % shape_.mpsocs_per_qfdb;
  if (at == destination) return {kLocalPort, 0};
  if (qfdb == to_qfdb) return {internal_port(mpsoc, to_mpsoc), 0};
  if (mpsoc != 0) return {internal_port(mpsoc, 0), 0};
  unsigned dimension = 0;
  while (coordinate(qfdb, dimension) == coordinate(to_qfdb, dimension)) ++dimension;
  return along(dimension, coordinate(qfdb, dimension), coordinate(to_qfdb, dimension));
}

unsigned Topology::virtual_channels_needed() const { return std::max({shape_.x, shape_.y, shape_.z}) >= 3 ? 2 : 1; }

}  // namespace faultline::interconnect
