// SPDX-License-Identifier: Apache-2.0
// What the receive unit knows of the blocks that it has seen: which attempt is the newest, how many of its bytes are in
// memory, which blocks are complete. Everything happens now, and takes no time.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "models/nic/path/notice.hpp"
#include "models/nic/path/notice_record.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/statistics.hpp"
#include "models/sim/time.hpp"
#include "models/sim/trace.hpp"

namespace faultline::nic {

using sim::Time;

// A set of block numbers, kept as intervals. A source works on its blocks in order but for the few that it has
// outstanding, so there are at most outstanding_blocks + 1 intervals however long the transfer is.
class BlockSet {
 public:
  void insert(std::uint32_t block);           // not yet in the set
  bool is_first(std::uint32_t blocks) const;  // holds the first so many blocks
  bool contains(std::uint32_t block) const;
  std::size_t intervals() const { return ends_.size(); }

 private:
  sim::Map<std::uint32_t, std::uint32_t> ends_;  // first -> one past the last
};

class Reassembly {
 public:
  enum class Verdict { write, stale, duplicate, faulted, late };

  // Remembers this many transfers; beyond that it forgets the one that was silent for longest, which is counted if it
  // had a block under way: its source must send that block again. A transfer whose notice is open stays in any case,
  // because its blocks come once: as many more as the record of notices has open.
  Reassembly(std::size_t transfers, const NoticeRecord& notices, sim::Counter& evicted_unfinished)
      : capacity_(transfers), notices_(notices), evicted_unfinished_(evicted_unfinished) {}

  // Bytes of the attempt under way that are not in memory, if its writes have not failed and `key` is of a newer one.
  struct Rest {
    std::uint32_t attempt;
    std::uint32_t bytes;
  };
  std::optional<Rest> rest_of_older_attempt(sim::NodeId source, const sim::PartKey& key,
                                            std::uint32_t block_bytes) const;

  // What to do with a cell of this block that is handled now. A newer attempt starts the block afresh.
  Verdict judge(sim::NodeId source, const sim::PartKey& key, const Notice& notice = {});

  // Cells of this attempt, of which the last arrived at `arrived`, are in memory. When they complete the block: the
  // instant at which its last cell arrived. Old attempts' do not count.
  std::optional<Time> written(sim::NodeId source, const sim::PartKey& key, std::uint32_t bytes,
                              std::uint32_t block_bytes, Time arrived = Time{0});
  // A write of this attempt failed. True the first time; false for old attempts, too.
  bool failed(sim::NodeId source, const sim::PartKey& key);
  // All blocks of a transfer of so many are in memory.
  bool is_whole(sim::NodeId source, std::uint64_t transfer, std::uint32_t blocks) const;

  std::size_t transfers() const { return transfers_.size(); }

 private:
  using Id = std::pair<sim::NodeId, std::uint64_t>;
  struct Block {
    std::uint32_t attempt = 0;
    std::uint32_t bytes = 0;  // in memory
    bool faulted = false;
    Time arrived{0};  // of what is in memory, the last
  };
  struct Transfer {
    BlockSet complete;
    sim::Map<std::uint32_t, Block> under_way;
    Notice notice;
    sim::List<Id>::iterator age;
  };
  Transfer& touch(const Id& id);
  // False: all are needed.
  bool evict_oldest();
  bool is_needed(const Id& id) const;
  Block* current(sim::NodeId source, const sim::PartKey& key);

  std::size_t capacity_;
  const NoticeRecord& notices_;
  sim::Counter& evicted_unfinished_;
  sim::Map<Id, Transfer> transfers_;
  sim::List<Id> by_age_;  // the most recently seen first
};

}  // namespace faultline::nic
