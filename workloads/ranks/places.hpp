// SPDX-License-Identifier: Apache-2.0
// Where ranks are (workload.nodes and .ranks), and what is checked of that.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "models/rdma/absent_page.hpp"
#include "workloads/configuration.hpp"
#include "workloads/configuration_checks.hpp"
#include "workloads/ignored_settings.hpp"
#include "workloads/needs.hpp"

namespace faultline::workloads {

// Nodes of "0, 2, 4-7", in that order. Throws sim::BadParameterValue for any other text. Empty: none.
std::vector<unsigned> parse_nodes(const std::string& text);
inline constexpr const char* kNodesForm = "numbers of nodes and ranges of them, with ',' between: 0, 2, 4-7";

// The node of each rank: workload.ranks of them on each of workload.nodes, or of `otherwise` where that is empty.
std::vector<unsigned> nodes_of_ranks(const TransferConfig& workload, const std::vector<unsigned>& otherwise);

// Of kinds whose ranks come in pairs: rank i of the first half, and rank i of the second half. Without workload.nodes
// on nodes 0 and 1.
std::vector<unsigned> nodes_of_pairs(const TransferConfig& workload);
void check_pairs(const Configuration& configuration, const AddConflict& add);

// That the nodes are there. False: they are not, and nothing else can be said of them.
bool check_nodes(const std::vector<unsigned>& nodes, const Configuration& configuration, const AddConflict& add);
// Ranks have a rendezvous of their own, which knows whole transfers only.
void check_whole_transfers(const Configuration& configuration, const AddConflict& add);
// That either end's faults stall, or neither's: of ranks each of which is source and destination.
void check_faults_alike(const Configuration& configuration, const AddConflict& add);
// The messages about buffers that so many senders may have under way to one rank, against the places of its mailbox.
void check_mailbox(std::size_t senders, const Configuration& configuration, const AddConflict& add);
// Bytes of a buffer's pages.
std::uint64_t buffer_bytes(const TransferConfig& workload);

// What kinds whose programs have ranks do not look at; all but ping-pong do not look at notices and peers either.
Ignored ignored_by_ranks();
Ignored ignored_by_unnotified_ranks();

}  // namespace faultline::workloads
