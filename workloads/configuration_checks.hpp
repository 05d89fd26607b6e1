// SPDX-License-Identifier: Apache-2.0
// Which values of a configuration contradict each other: the parts of conflicts() (workloads/experiment_point.hpp) that
// kinds of workload share. What is one kind's own is beside its program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "workloads/configuration.hpp"

namespace faultline::workloads {

// Takes a conflict: the keys that it is between, the first one to be blamed first, why they contradict each other, and
// what to do instead.
using AddConflict = std::function<void(std::vector<std::string> keys, std::string reason, std::string instead)>;

// What to do instead of setting what a kind of workload does not have.
inline std::string at_default(const std::string& key) { return "leave " + key + " at its default"; }

// What the absent pages of a cold end are, of every kind.
void check_cold_kinds(const Configuration& configuration, const AddConflict& add);
// When transfers arrive and how often pages are absent, of every kind.
void check_settings_of_senders(const TransferConfig& workload, const AddConflict& add);
// The pool of huge pages, of every kind.
void check_huge_pages(const TransferConfig& workload, const platform::Machine& machine, const AddConflict& add);
// An initiator and a target that are two nodes of the network.
void check_places(const TransferConfig& workload, const network::ClusterShape& shape, const AddConflict& add);

// Whether the NIC can hold as many transfers of one process as are under way at a time; `keys` decide how many.
void check_queue(unsigned under_way, std::vector<std::string> keys, const platform::Machine& machine,
                 const AddConflict& add);

// Of one size, so many under way at a time.
struct UnderWay {
  std::size_t transfers;
  std::uint64_t bytes;
};
// Whether the transfers fit in their queue, each of as many parts as the strategy has under way, with so many others.
void check_transfers_in_queue(UnderWay under_way, std::vector<std::string> keys, const Configuration& configuration,
                              const AddConflict& add, unsigned others = 0);
// Whether so many initiators, each with a transfer of so many bytes, may hold pages of one target, where the strategy
// has them do so and failures are no results. What a transfer's first page has before it is not counted.
void check_leases(std::size_t initiators, std::uint64_t bytes, const Configuration& configuration,
                  const AddConflict& add);
// Whether what is said about the transfers fits in a mailbox of their target: nobody sends a message again that did not
// fit.
void check_asked(UnderWay under_way, std::vector<std::string> keys, const Configuration& configuration,
                 const AddConflict& add);

// The key that names a node, and the keys that decide how many nodes there are.
std::vector<std::string> keys_of_place(std::string key, const network::ClusterShape& shape);
// How much there is to simulate, as work_of(), for workload.warmup and workload.iterations transfers of workload.size.
double work_of_iterations(const Configuration& configuration);
// Bytes of the pages that a buffer touches, at the end where they are more.
std::uint64_t lane_bytes(std::uint64_t source_offset, std::uint64_t destination_offset, std::uint64_t size);
// Bytes of a node's memory that programs may use.
std::uint64_t user_memory(const platform::Machine& machine);

}  // namespace faultline::workloads
