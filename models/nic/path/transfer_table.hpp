// SPDX-License-Identifier: Apache-2.0
// The transfers that a node's NIC knows, by id and by channel, and which of them is next to be served.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/nic/path/config.hpp"
#include "models/nic/path/notice.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/trace.hpp"

namespace faultline::nic {

// What a user posts.
struct Descriptor {
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
  std::uint64_t length = 0;
  sim::NodeId peer = 0;
  std::uint32_t peer_pdid = 0;
  std::uint64_t notify = 0;  // 0: no notification
  std::uint64_t cookie = 0;
  std::uint64_t command = 0;
  NoticeKind notice = NoticeKind::none;  // of a write, for the process at its target
  std::uint16_t notice_index = 0;
};

enum class Role {
  write,  // posted here, this node sends the data
  read,   // posted here, the peer sends the data
  serve,  // posted at the peer as a read, this node sends the data
};

struct Block {
  // held: by the NIC, neither queued nor on its way.
  enum class State : std::uint8_t { untouched, queued, scheduling, handed, held, acknowledged };
  State state = State::untouched;
  std::uint32_t attempt = 0;
  std::uint32_t timeouts = 0;  // since the last retransmission request
  std::uint32_t refaults = 0;  // retransmission requests for a fault obeyed
};

// Block k covers bytes k * block_bytes on of the transfer, wherever they lie in memory: a block of an unaligned
// transfer touches one page more than that of an aligned one.
struct Transfer : sim::Recycled {
  std::uint64_t id = 0;
  Role role = Role::write;
  unsigned channel = 0;
  sim::Time known_since{0};
  std::uint32_t pdid = 0;  // of the process on this node
  Descriptor descriptor;   // source and destination of the data
  bool started = false;
  bool ended = false;  // acknowledged or failed; lives until the notification is written
  sim::Vector<Block> blocks;
  std::uint32_t next_untouched = 0;
  sim::Deque<std::uint32_t> again;  // blocks to send again
  std::uint32_t outstanding = 0;    // blocks scheduled and not acknowledged
  std::uint32_t acknowledged = 0;
  std::uint64_t notice_number = 0;  // among the notices of the channel; 0: the transfer has none
  std::uint32_t requests = 0;       // read: requests sent
  std::uint32_t silent = 0;         // read: requests since the server was last heard of

  std::uint32_t block_bytes(std::uint32_t block, std::uint64_t whole) const {
    return static_cast<std::uint32_t>(std::min(whole, descriptor.length - block * whole));
  }
};

class TransferTable {
 public:
  TransferTable(const PathConfig& config, sim::NodeId node);

  // nullptr when the channel holds as many as it may.
  Transfer* post(unsigned channel, std::uint32_t pdid, const Descriptor& descriptor);
  // A read posted at another node; nullptr when too many are served.
  Transfer* serve(std::uint64_t id, std::uint32_t pdid, const Descriptor& descriptor);
  void erase(Transfer& transfer);
  std::size_t posted() const { return posted_.size(); }
  // How many a channel holds.
  std::size_t held_by(unsigned channel) const { return channels_[channel].size(); }

  Transfer* posted(std::uint64_t id) const { return find(posted_, id); }
  // It was posted here, and is over.
  bool has_ended(std::uint64_t id) const;
  Transfer* served(std::uint64_t id) const { return find(served_, id); }
  // Posted on the channel, oldest first, and served from the process's memory.
  std::vector<Transfer*> of_process(unsigned channel, std::uint32_t pdid) const;
  // The transfer of this id whose data this node sends. A node may read from itself; then the served one.
  Transfer* sender(std::uint64_t id) const;

  // Round robin over channels, within a channel the oldest first; nullptr when there is none.
  Transfer* next_to_start();
  Transfer* next_with_block();

  // The notice of a transfer as its cells carry it now.
  Notice notice_of(const Transfer& transfer) const;

 private:
  using Map = sim::HashMap<std::uint64_t, std::unique_ptr<Transfer>>;
  static Transfer* find(const Map& map, std::uint64_t id);
  bool has_block(Transfer& transfer) const;
  // The lowest notice of the channel whose transfer has not ended; the next one if there is none.
  std::uint64_t first_open_notice(unsigned channel) const;
  bool is_within_window(const Transfer& transfer) const;
  template <typename Wanted>
  Transfer* next(unsigned& last, Wanted wanted);

  const PathConfig& config_;
  std::uint64_t last_id_;
  Map posted_;
  Map served_;
  std::vector<std::vector<Transfer*>> channels_;  // oldest first, few; the last one is that of served reads
  std::vector<std::uint64_t> next_notices_;       // by channel
  unsigned last_started_ = 0;
  unsigned last_scheduled_ = 0;
};

}  // namespace faultline::nic
