// SPDX-License-Identifier: Apache-2.0
// The document of one transfer, or of one under two strategies: what `faultline explain` prints, and what its page
// shows. The stories are workloads/story/story.hpp's; title, strategies, parameters and terms come with them.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "src/experiment/experiment.hpp"
#include "src/experiment/point.hpp"
#include "src/experiment/simulator.hpp"

namespace faultline::explain {

using Json = nlohmann::ordered_json;

// A point, and what was told of its transfer.
struct ToldPoint {
  const experiment::Point& point;
  Json story;
};

Json explanation_json(const experiment::Experiment& experiment, std::span<ToldPoint> told,
                      const experiment::Simulator& simulator);

// The parameter in an entry of `cost`: "7 cpu.mmio_write" is seven times one; "axi.*" is a group.
std::string parameter_of(const std::string& cost);
// "One RDMA write of 64 B from node 0 to node 1"
std::string title_of(const Json& story);

}  // namespace faultline::explain
