// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/pipeline.hpp"

#include <algorithm>

namespace faultline::rdma {

sim::Vector<Part> Pipeline::parts(std::uint64_t bytes) const {
  sim::Vector<Part> all;
  std::uint64_t next = chunks == Chunks::none ? bytes : chunks == Chunks::fixed ? chunk : first;
  for (std::uint64_t offset = 0; offset < bytes;) {
    all.push_back({offset, std::min(next, bytes - offset)});
    offset += all.back().bytes;
    if (chunks == Chunks::growing) next = std::min(2 * next, chunk);
  }
  return all;
}

void Pipeline::declare(sim::ParameterTable& table) {
  using sim::Standing;
  constexpr sim::Range<std::uint64_t> kAnyChunk{4096, std::uint64_t{4} << 30};
  table.add_choice(
      "pipeline", chunks, {{"none", Chunks::none}, {"fixed", Chunks::fixed}, {"growing", Chunks::growing}},
      {"how a transfer that both ends prepare is cut, so that one part is prepared while another one "
       "crosses the network (none: not at all; fixed: parts of strategy.pipeline_chunk; growing: the first "
       "one of strategy.pipeline_first, each twice as long as the one before)",
       "",
       {}});
  table.add_bytes("pipeline_chunk", chunk, kAnyChunk,
                  {"longest part of a pipelined transfer",
                   "Open MPI: 1 MiB with openib (btl_openib_mca.c, rdma_pipeline_frag_size), 4 MiB with ofi and uct",
                   Standing::published,
                   {"16 KiB", "4 MiB"}});
  table.add_bytes("pipeline_first", first, kAnyChunk,
                  {"first part of a pipelined transfer whose parts grow",
                   "assumed; Open-MX begins with a page and doubles, PM2 began with 256 KiB and added 512 KiB",
                   Standing::assumed,
                   {"4 KiB", "256 KiB"}});
  table.add_count("pipeline_depth", depth, {1, 31},
                  {"parts of a pipelined transfer that are prepared at an end at a time",
                   "Open MPI: 4 (pml_ob1_component.c, recv_pipeline_depth)",
                   Standing::published,
                   {"2", "8"}});
}

std::vector<sim::Conflict> Pipeline::conflicts() const {
  if (chunks != Chunks::growing || first <= chunk) return {};
  return {{{"strategy.pipeline_first", "strategy.pipeline_chunk"},
           "the first part of a growing pipeline is longer than the longest one",
           "take a smaller strategy.pipeline_first"}};
}

}  // namespace faultline::rdma
