// SPDX-License-Identifier: Apache-2.0
// What the benchmark does: which transfers, between whom, from and to what memory; or which program it runs instead.
#pragma once

#include <cstdint>
#include <string>

#include "models/rdma/program_memory.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/time.hpp"
#include "workloads/program_config.hpp"

namespace faultline::workloads {

using namespace std::chrono_literals;

enum class Kind {
  write,        // RDMA writes from initiator to target
  read,         // RDMA reads by the initiator from the target
  message,      // small messages through the mailboxes, one way
  flows,        // several streams of writes and reads between any nodes
  all_to_all,   // every node writes to the others in turn
  ring,         // every node writes to the next one
  permutation,  // every node writes to one other and is written to by one
  kernel_cost,  // no transfers: a program that measures the kernel of one node
};
// Every node takes part, in a pattern that is not listed but computed.
constexpr bool is_pattern(Kind kind) {
  return kind == Kind::all_to_all || kind == Kind::ring || kind == Kind::permutation;
}

// One initiator and one target, which no other node is.
constexpr bool has_two_ends(Kind kind) { return kind == Kind::write || kind == Kind::read || kind == Kind::message; }

// Which end's pages are absent when a transfer begins.
enum class Cold { none, source, destination, both };

// What the absent pages of a cold end are.
enum class ColdKind {
  written,        // sources only: the one of the next three that memory comes to that was written (kind_of_written())
  never_written,  // no access yet, or given back since (MADV_DONTNEED): zeros
  swapped,        // written, then paged out to the swap device
  file,           // of a file: written back and dropped from the page cache
  zero_page,      // read, never written: the shared page of zeros is mapped, which no write may enter
};

// Which of a cold end's pages are the absent ones, where it is a share of them.
enum class ColdPlacement {
  random,  // each set of that many pages is as likely
  even,    // at equal distances, the buffer's last page among them
  run,     // one next to the other, from a page that is drawn
};

struct TransferConfig {
  Kind kind = Kind::write;
  std::uint64_t size = 4096;
  std::uint64_t iterations = 20;
  std::uint64_t warmup = 2;
  unsigned window = 1;
  bool madvise_hugepage = false;
  bool advise_late = false;
  rdma::ProgramMemory memory;
  Cold cold = Cold::none;
  double cold_share = 1.0;
  ColdPlacement cold_placement = ColdPlacement::random;
  ColdKind cold_source_kind = ColdKind::written;
  ColdKind cold_destination_kind = ColdKind::never_written;
  std::uint64_t source_offset = 0;
  std::uint64_t destination_offset = 0;
  unsigned clean_window = 0;
  Kind clean_kind = Kind::write;
  std::uint64_t clean_size = 16384;
  unsigned initiator = 0;
  unsigned target = 1;
  unsigned peers = 0;  // of the kind `all-to-all`: others that each node writes to; 0: all
  std::string flows;   // of the kind `flows`: workloads/flow.hpp
  ProgramConfig program;
  sim::Time start_spread = 10us;
  bool checks_fail = true;
  sim::Time time_limit = 100s;

  void declare(sim::ParameterTable& table);

  bool cold_source() const { return cold == Cold::source || cold == Cold::both; }
  bool cold_destination() const { return cold == Cold::destination || cold == Cold::both; }

 private:
  void declare_transfers(sim::ParameterTable& table);
  void declare_buffers(sim::ParameterTable& table);
  void declare_cold_pages(sim::ParameterTable& table);
  void declare_others(sim::ParameterTable& table);
};

}  // namespace faultline::workloads
