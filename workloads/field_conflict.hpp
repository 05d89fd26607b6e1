// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace faultline::workloads {

// Settings of a workload, or of one of its flows, that do not go together.
struct FieldConflict {
  const char* field;  // to be blamed, without its group
  const char* reason;
  const char* instead;
};

}  // namespace faultline::workloads
