// SPDX-License-Identifier: Apache-2.0
// Why a device's access to a page cannot go through: the cause, and what the page looks like at that instant.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "models/os/vm/address_space.hpp"
#include "models/os/vm/taking.hpp"

namespace faultline::os {

// Exactly one for each fault.
enum class FaultCause : std::uint8_t {
  absent,
  file,
  zero_page,
  access_flag,
  clean,
  write_protected,
  permission,
  no_mapping,
  dropped,
  collapse,
  split,
  migration,
  numa_hint,
  reclaim,
  swap,
  memory_failure,
  mirror,
  private_table,
  held_off,
  raced,
  bus_error,
};

struct FaultCauseDoc {
  FaultCause cause;
  const char* name;         // of its metric, behind "faults_"
  const char* description;  // of the faults that it has
};
inline constexpr std::size_t kFaultCauses = 21;
// In the order of the enumeration.
extern const std::array<FaultCauseDoc, kFaultCauses> kFaultCauseDocs;
const char* to_string(FaultCause cause);

struct FaultReason {
  FaultCause cause = FaultCause::raced;
  Taking by{};            // who took what the access needs; nobody: it has never been there
  PageState page{};       // in the process's own table
  bool mapped = false;    // there is a VMA
  bool huge = false;      // part of a page of 2 MiB
  bool in_memory = true;  // the content of a swapped page, or of a file's

  // The access would go through now.
  bool usable() const { return cause == FaultCause::raced; }
};
// The page's state in words: "present, old", "migrating", "swapped, on the device".
std::string state_text(const FaultReason& reason);

}  // namespace faultline::os
