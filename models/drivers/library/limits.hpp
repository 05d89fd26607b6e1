// SPDX-License-Identifier: Apache-2.0
// What kinds of NIC that are made of models/nic/path have to say alike: of their limits, their signals, their losses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/drivers/library/config.hpp"
#include "models/nic/path/config.hpp"
#include "models/rdma/nic.hpp"

namespace faultline::library {

// The path knows of its neighbours' buffers, and of the one clock of the programmable logic, only this.
void know_neighbours(nic::PathConfig& config, const rdma::NicKind::Surroundings& around);
// `key`: the parameter behind PathConfig::channel_queue.
rdma::NicLimit most_posted(const nic::PathConfig& config, const char* key);
std::uint64_t bytes_of_notices(const LibraryConfig& config, rdma::NoticeKind kind, unsigned words);
// A cell is written whole; where several are, one of them may meet a fault.
bool is_one_cell(std::uint64_t source_offset, std::uint64_t destination_offset, std::uint64_t bytes);
std::vector<rdma::NicKind::Signal> signals_of(const nic::PathConfig& config);

// What was lost for good of NICs that are made of the path. `keys`: parameters that decide how long a write of a
// notification or notice is tried. `refused`: counters of the messages that a NIC refuses, beside the path's.
std::optional<sim::RunFailure> lost_for_good(const rdma::NicKind::CounterValue& total, std::vector<std::string> keys,
                                             const std::vector<const char*>& refused = {});

}  // namespace faultline::library
