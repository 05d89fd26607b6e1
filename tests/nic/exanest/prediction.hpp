// SPDX-License-Identifier: Apache-2.0
// When each step of an undisturbed RDMA write on an idle DmaBench happens: cell by cell, from the configuration alone.
#pragma once

#include <algorithm>
#include <vector>

#include "tests/support/dma_bench.hpp"

namespace faultline::test {

struct CellTimes {
  std::uint64_t source, destination;
  std::uint32_t bytes;
  Time issued, back, sent, arrived, write, written;
};

struct BlockTimes {
  std::size_t first_cell, end_cell;
  Time scheduled, taken, acknowledged;
};

struct Prediction {
  Time started, notified;
  std::vector<BlockTimes> blocks;
  std::vector<CellTimes> cells;
};

// When the cells from this address on were handed to the memory.
inline std::vector<Time> instants(const PagedMemory& memory, bool write, std::uint64_t from = 0) {
  std::vector<Time> found;
  for (const auto& access : memory.accesses) {
    if (access.write != write || access.address < from) continue;
    for (std::uint32_t i = 0; i < access.times.size(); ++i) found.push_back(access.times.at(i));
  }
  return found;
}

inline Prediction predict(const DmaBench& bench, const DmaPost& post, Time posted) {
  const exanest::EngineConfig& c = bench.config;
  const PagedMemory& from = *bench.memory[0];
  const PagedMemory& to = *bench.memory[1];
  const auto cycles = [&c](unsigned n) { return c.clock.cycles(n); };
  Prediction p;
  p.started = posted + c.transfer_startup;
  Time firmware = p.started;
  Time read_bus{0}, line{0}, write_bus{0}, ack_line{0};
  std::vector<Time> line_left, context_free;
  const auto after = [](const auto& v, std::size_t i, std::size_t back, auto field) {
    return i >= back ? field(v[i - back]) : Time{0};
  };
  for (std::uint64_t done = 0; done < post.length;) {
    const std::size_t k = p.blocks.size();
    const std::uint64_t end = std::min(post.length, done + c.block_bytes);
    BlockTimes b{};
    const Time room = after(p.blocks, k, c.send_queue, [](const BlockTimes& x) { return x.taken; });
    const Time window = after(p.blocks, k, c.outstanding_blocks, [](const BlockTimes& x) { return x.acknowledged; });
    b.scheduled = firmware = std::max({firmware, room, window}) + c.block_scheduling;
    b.taken = std::max({b.scheduled, after(p.cells, p.cells.size(), 1, [](auto& y) { return y.issued; }),
                        after(context_free, k, c.block_contexts, [](Time t) { return t; })});
    b.first_cell = p.cells.size();
    Time in_memory{0};
    while (done < end) {
      const std::size_t i = p.cells.size();
      CellTimes x{};
      x.source = post.source + done;
      x.destination = post.destination + done;
      x.bytes = static_cast<std::uint32_t>(
          std::min({std::uint64_t{256}, 4096 - x.source % 4096, 4096 - x.destination % 4096, end - done}));
      // A page's tail that is shorter than a cell is a cell of its own.
      x.issued = std::max({b.taken, after(p.cells, i, c.neighbours.outstanding_reads, [](auto& y) { return y.back; }),
                           after(p.cells, i, c.cell_buffer, [](auto& y) { return y.sent; })});
      read_bus = std::max(read_bus, x.issued) + from.service;
      x.back = read_bus + from.read_latency;
      x.sent = std::max(x.back + cycles(c.send_pipeline),
                        after(line_left, i, c.neighbours.router_cells, [](Time t) { return t; }));
      const Time slot = after(p.cells, i, c.receive_buffer, [](auto& y) { return y.write; });
      line = std::max({line, x.sent, slot}) + bench.fabric->cell_time(x.bytes);
      line_left.push_back(line);
      x.arrived = line + bench.fabric->latency;
      x.write = std::max(x.arrived + cycles(c.receive_pipeline),
                         after(p.cells, i, c.neighbours.outstanding_writes, [](auto& y) { return y.written; }));
      write_bus = std::max(write_bus, x.write) + to.service;
      x.written = write_bus + to.write_latency;
      in_memory = x.written;
      done += x.bytes;
      p.cells.push_back(x);
    }
    b.end_cell = p.cells.size();
    context_free.push_back(p.cells.back().sent);
    ack_line = std::max(ack_line, in_memory + cycles(c.send_pipeline)) + bench.fabric->cell_time(16);
    b.acknowledged = ack_line + bench.fabric->latency + cycles(c.receive_pipeline);
    p.blocks.push_back(b);
  }
  p.notified = p.blocks.back().acknowledged + from.service + from.write_latency;
  return p;
}

}  // namespace faultline::test
