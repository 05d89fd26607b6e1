// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer_config.hpp"

#include <vector>

#include "models/rdma/completion/polled_word.hpp"
#include "workloads/kinds.hpp"
#include "workloads/ranks/places.hpp"

namespace faultline::workloads {

void TransferConfig::declare(sim::ParameterTable& table) {
  const auto group = table.group("workload");
  declare_transfers(table);
  declare_buffers(table);
  declare_cold_pages(table);
  declare_others(table);
  table.add_choice(
      "checks", checks_fail, {{"fail", true}, {"count", false}},
      {"wrong data, stale accesses, transfers that fail and locks beyond RLIMIT_MEMLOCK make the run a failure, or are "
       "only shown: for experiments on what goes wrong",
       "",
       {}});
  table.add_time("time_limit", time_limit, {1us, 10000s},
                 {"simulated time after which an unfinished run is given up", "", {}});
}

// What is sent, how often, from where to where, and when.
void TransferConfig::declare_transfers(sim::ParameterTable& table) {
  std::vector<std::string> kinds;
  for (const WorkloadKind& each : workload_kinds()) kinds.emplace_back(each.name);
  table.add_choice(
      "kind", kind, kinds,
      {"what the initiator does: RDMA writes, RDMA reads, small one-way messages; or many initiators do, as flows say; "
       "or every node does, in a pattern; or a program that measures the initiator's kernel; or writes from and to "
       "buffers of a pool; or ranks do, as their program says",
       "",
       {}});
  table.add_bytes("size", size, {1, std::uint64_t{1} << 30}, {"bytes of one transfer (a message: up to 56 B)", "", {}});
  table.add_count(
      "iterations", iterations, {std::uint64_t{1}, std::uint64_t{10'000'000}},
      {"transfers that are measured; in a pattern: of each node to each of its peers; of ranks: of each rank that "
       "sends, or calls that each makes",
       "",
       {}});
  table.add_count(
      "warmup", warmup, {std::uint64_t{0}, std::uint64_t{1'000'000}},
      {"transfers before them, not measured; in a pattern: of each node to each of its peers; flows have none",
       "",
       {}});
  table.add_count("window", window, {1u, rdma::PolledWord::kWords},
                  {"transfers under way at a time, each from and to buffers of its own", "", {}});
  table.add_count("initiator", initiator, {0u, 65535u}, {"node that posts the transfers", "", {}});
  table.add_count("target", target, {0u, 65535u}, {"node at the other end", "", {}});
  table.add_time(
      "start_spread", start_spread, {0us, 1s},
      {"each sender begins after a pause drawn from 0 to this, and so does each transfer of the kinds 'write', 'read' "
       "and 'message' that finds no other under way; no part of latency and goodput. 0: no pause, all senders begin at "
       "one instant",
       "assumed: as long as what recurs in the data path: a block on a link takes 9.5 us at 16 Gb/s, a poll or a turn "
       "of the NIC's firmware less",
       sim::Standing::assumed,
       {"1 us", "20 us"}});
  declare_arrivals(table);
}

// What memory the buffers are.
void TransferConfig::declare_buffers(sim::ParameterTable& table) {
  table.add_bytes("source_offset", source_offset, {0, 4095}, {"offset of the source buffer in its first page", "", {}});
  table.add_bytes("destination_offset", destination_offset, {0, 4095},
                  {"offset of the destination buffer in its first page", "", {}});
  table.add_flag(
      "madvise_hugepage", madvise_hugepage,
      {"buffers are advised MADV_HUGEPAGE when they are set up: with os.thp = madvise they get huge pages", "", {}});
  table.add_flag(
      "advise_late", advise_late,
      {"the advice comes when the buffers have been used: they keep their 4 KiB pages, until khugepaged comes",
       "",
       {}});
  table.add_choice(
      "memory", memory.backing,
      {{"anonymous", rdma::Backing::anonymous},
       {"hugetlb", rdma::Backing::hugetlb},
       {"shmem", rdma::Backing::shmem},
       {"shared-file", rdma::Backing::shared_file},
       {"private-file", rdma::Backing::private_file}},
      {"what the buffers are: memory, 2 MiB pages of the pool (os.nr_hugepages) mapped MAP_HUGETLB, shared "
       "memory (MAP_SHARED | MAP_ANONYMOUS), or files mapped MAP_SHARED or MAP_PRIVATE of which at first "
       "nothing is in the page cache",
       "",
       {}});
  table.add_bytes(
      "memory_limit", memory.limit, {0, std::uint64_t{1} << 40},
      {"memory that each program at the ends may have (memory.max of a cgroup of its own); 0: no limit", "", {}});
  table.add_flag("oom_protected", memory.never_killed,
                 {"the OOM killer leaves the programs at the ends alone (oom_score_adj = -1000)", "", {}});
}

// Which of their pages are absent, and why.
void TransferConfig::declare_cold_pages(sim::ParameterTable& table) {
  declare_cold(table);
  table.add_choice(
      "cold_source_kind", cold_source_kind,
      {{"written", ColdKind::written},
       {"never-written", ColdKind::never_written},
       {"swapped", ColdKind::swapped},
       {"file", ColdKind::file}},
      {"what the absent pages of a cold source are: never written (zeros are sent, as if of a calloc), written and "
       "paged out to the swap device, or a file's that are on the disk alone. 'written', what programs send, is one of "
       "these: a shared file's pages are on the disk, others on the swap device (os.swap_bytes); where there is none "
       "they were never written, which a note says",
       "", sim::Standing::setting});
  table.add_choice(
      "cold_destination_kind", cold_destination_kind,
      {{"never-written", ColdKind::never_written},
       {"swapped", ColdKind::swapped},
       {"file", ColdKind::file},
       {"zero-page", ColdKind::zero_page}},
      {"what the absent pages of a cold destination are: never written, as a new buffer's, those of the "
       "source's kinds, or read and never written: then the shared page of zeros is there, and must not be "
       "written",
       "", sim::Standing::setting});
}

// Who else sends: a bystander, every node in a pattern, flows.
void TransferConfig::declare_others(sim::ParameterTable& table) {
  table.add_count(
      "clean_window", clean_window, {0u, rdma::PolledWord::kWords},
      {"further transfers kept under way between buffers that are always present, beside the measured ones", "", {}});
  table.add_choice("clean_kind", clean_kind, {{"write", rdma::Operation::write}, {"read", rdma::Operation::read}},
                   {"whether the clean transfers are RDMA writes or reads by the initiator", "", {}});
  table.add_bytes("clean_size", clean_size, {1, std::uint64_t{1} << 24}, {"bytes of one such clean transfer", "", {}});
  table.add_text("nodes", nodes, std::string(kNodesForm), [](const std::string& text) { parse_nodes(text); },
                 {"kinds whose programs have ranks: the nodes that these are on, in the order of their ranks; empty: "
                  "ping-pong, "
                  "send-receive, innocent and compute on nodes 0 and 1, fan-in and collective on all nodes",
                  "",
                  {}});
  table.add_count("ranks", ranks, {1u, 64u},
                  {"ranks on each of these nodes; of fan-in the receiver is alone on its. Of reuse: pairs of "
                   "processes, each with pools of its own",
                   "",
                   {}});
  table.add_count("peers", peers, {0u, 65535u},
                  {"all-to-all: other nodes that each node writes to in turn, at distances drawn by the seed; 0: all. "
                   "Ping-pong with "
                   "notify = word: processes that may write to a rank, which scans a word of each; a drawn one of them "
                   "does. 0: one",
                   "",
                   {}});
  table.add_choice(
      "notify", notify,
      {{"message", Notify::message},
       {"polled-byte", Notify::polled_byte},
       {"word", Notify::word},
       {"counter-busy", Notify::counter_busy},
       {"counter-blocking", Notify::counter_blocking},
       {"counter-handler", Notify::counter_handler},
       {"event-queue", Notify::event_queue},
       {"interrupt", Notify::interrupt}},
      {"ping-pong: how a rank learns that it has been written to. By a message that the writer sends when "
       "its own NIC says that all is placed; by the last byte of the data, which it polls; or by a notice "
       "that the target's NIC gives when all is placed: a word that the rank polls, an event counter (read "
       "again and again; slept for; or a handler is called), an entry in an event queue (polled, or slept "
       "for: interrupt)",
       "",
       {}});
  table.add_text(
      "flows", flows,
      {"streams of transfers, each between two processes of its own: fields from, to, kind, size, "
       "source_offset, destination_offset, cold, cold_share, cold_placement, cold_every, transfers, window, "
       "start, arrivals, interval, burst, think_time of each, separated by commas, and the flows by semicolons",
       "",
       {}});
  program.declare(table);
}

}  // namespace faultline::workloads
