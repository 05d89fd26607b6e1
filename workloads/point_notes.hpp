// SPDX-License-Identifier: Apache-2.0
// What a reader of a point's figures must know.
#pragma once

#include <string>
#include <vector>

#include "workloads/program.hpp"

namespace faultline::workloads {

void add_notes(const Configuration& configuration, const Program& transfers, std::vector<std::string>& notes);

}  // namespace faultline::workloads
