// SPDX-License-Identifier: Apache-2.0
// What the benchmark does: which transfers, between whom, from and to what memory; or which program it runs instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "models/rdma/operation.hpp"
#include "models/rdma/program_memory.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/time.hpp"
#include "workloads/arrivals.hpp"
#include "workloads/cold_config.hpp"
#include "workloads/kernel_cost/program_config.hpp"
#include "workloads/ranks/notify.hpp"

namespace faultline::workloads {

using namespace std::chrono_literals;

struct TransferConfig : ColdConfig, ArrivalConfig {
  std::size_t kind = 0;  // a place in workload_kinds() (workloads/kinds.hpp); kind_of() has the entry
  std::uint64_t size = 4096;
  std::uint64_t iterations = 20;
  std::uint64_t warmup = 2;
  unsigned window = 1;
  bool madvise_hugepage = false;
  bool advise_late = false;
  rdma::ProgramMemory memory;
  ColdKind cold_source_kind = ColdKind::written;
  ColdKind cold_destination_kind = ColdKind::never_written;
  std::uint64_t source_offset = 0;
  std::uint64_t destination_offset = 0;
  unsigned clean_window = 0;
  rdma::Operation clean_kind = rdma::Operation::write;
  std::uint64_t clean_size = 16384;
  unsigned initiator = 0;
  unsigned target = 1;
  std::string nodes;  // of kinds whose programs have ranks: workloads/ranks/places.hpp
  unsigned ranks = 1;
  unsigned peers = 0;  // of `all-to-all`: others that each node writes to; of `ping-pong`: that may write to a rank
  Notify notify = Notify::message;  // of the kind `ping-pong`
  std::string flows;                // of the kind `flows`: workloads/flows/flow.hpp
  ProgramConfig program;
  sim::Time start_spread = 10us;
  bool checks_fail = true;
  sim::Time time_limit = 100s;

  void declare(sim::ParameterTable& table);

 private:
  void declare_transfers(sim::ParameterTable& table);
  void declare_buffers(sim::ParameterTable& table);
  void declare_cold_pages(sim::ParameterTable& table);
  void declare_others(sim::ParameterTable& table);
};

}  // namespace faultline::workloads
