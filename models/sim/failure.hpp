// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace faultline::sim {

// The configuration, legal as it looked, made the run impossible: no memory left on a node, say. Not a
// bug of ours; ends the run with a message that names what to change.
class RunFailure : public std::runtime_error {
 public:
  // `refused`: by a limit that is set for programs, as where RLIMIT_MEMLOCK is less than they want to lock.
  RunFailure(const std::string& what, std::vector<std::string> keys, bool refused = false)
      : std::runtime_error(what), keys_(std::move(keys)), refused_(refused) {}
  // The parameters that decide it.
  const std::vector<std::string>& keys() const { return keys_; }
  bool refused() const { return refused_; }

 private:
  std::vector<std::string> keys_;
  bool refused_;
};

}  // namespace faultline::sim
