// SPDX-License-Identifier: Apache-2.0
// A benchmark's shape as the models read it: a torus of QFDBs.
#pragma once

#include "benchmarks/traffic.hpp"
#include "models/network/cluster_shape.hpp"

namespace faultline::bench {

inline network::ClusterShape cluster_shape(const Shape& shape) {
  network::ClusterShape torus;
  torus.x = shape.x;
  torus.y = shape.y;
  torus.z = shape.z;
  torus.mpsocs_per_qfdb = shape.mpsocs;
  return torus;
}

}  // namespace faultline::bench
