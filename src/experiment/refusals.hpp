// SPDX-License-Identifier: Apache-2.0
// Why parameters of points do not go together, and what to do instead, for people.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "src/experiment/experiment.hpp"
#include "src/experiment/point.hpp"

namespace faultline::experiment {

// One line for each reason and place, whatever number of strategies has it: where the first parameter was set, and
// what else decides, unless that is the strategies themselves.
class Refusals {
 public:
  explicit Refusals(const Experiment& experiment) : experiment_(experiment) {}
  // `conflict.instead` may be empty: of what the simulation itself found out.
  void add(const Point& point, const workloads::Conflict& conflict);
  std::size_t size() const { return lines_.size(); }
  void tell(Diagnostics& diagnostics) const;

 private:
  struct Line {
    Place place;
    std::string key;
    std::string reason;
    std::string instead;
    bool of_strategy = false;  // a strategy's setting is to be changed
    bool of_axis = false;
    std::vector<std::pair<std::string, std::vector<std::string>>> others =
        {};  // keys that decide, too, and who set them
    std::vector<std::string> strategies = {};
  };
  Line& line_of(const Point& point, const workloads::Conflict& conflict);
  std::string advice(const Line& line) const;

  const Experiment& experiment_;
  std::vector<Line> lines_;
};

}  // namespace faultline::experiment
