// SPDX-License-Identifier: Apache-2.0
#include "models/nic/path/reassembly.hpp"

#include <algorithm>
#include <utility>

namespace faultline::nic {

void BlockSet::insert(std::uint32_t block) {
  std::uint32_t first = block;
  std::uint32_t end = block + 1;
  const auto next = ends_.upper_bound(block);
  if (next != ends_.begin()) {
    const auto before = std::prev(next);
    if (before->second == block) first = before->first;
  }
  if (next != ends_.end() && next->first == end) {
    end = next->second;
    ends_.erase(next);
  }
  ends_[first] = end;
}

bool BlockSet::contains(std::uint32_t block) const {
  const auto next = ends_.upper_bound(block);
  return next != ends_.begin() && block < std::prev(next)->second;
}

bool BlockSet::is_first(std::uint32_t blocks) const {
  return ends_.size() == 1 && ends_.begin()->first == 0 && ends_.begin()->second == blocks;
}

Reassembly::Transfer& Reassembly::touch(const Id& id) {
  const auto found = transfers_.find(id);
  if (found != transfers_.end()) {
    by_age_.splice(by_age_.begin(), by_age_, found->second.age);
    return found->second;
  }
  while (transfers_.size() >= capacity_ && evict_oldest()) {
  }
  by_age_.push_front(id);
  Transfer& made = transfers_[id];
  made.age = by_age_.begin();
  return made;
}

bool Reassembly::is_needed(const Id& id) const {
  const Notice& notice = transfers_.at(id).notice;
  return notice && notices_.state(id.first, notice) == NoticeRecord::State::open;
}

bool Reassembly::evict_oldest() {
  auto last = by_age_.end();
  do {
    if (last == by_age_.begin()) return false;
    --last;
  } while (is_needed(*last));
  const auto oldest = transfers_.find(*last);
  if (!oldest->second.under_way.empty()) ++evicted_unfinished_;
  transfers_.erase(oldest);
  by_age_.erase(last);
  return true;
}

Reassembly::Verdict Reassembly::judge(sim::NodeId source, const sim::PartKey& key, const Notice& notice) {
  if (notice) {
    const NoticeRecord::State state = notices_.state(source, notice);
    if (state == NoticeRecord::State::late) return Verdict::late;
    if (state == NoticeRecord::State::given) return Verdict::duplicate;
  }
  Transfer& transfer = touch({source, key.transfer});
  transfer.notice = notice;
  if (transfer.complete.contains(key.part)) return Verdict::duplicate;
  const auto [found, is_new] = transfer.under_way.try_emplace(key.part);
  Block& block = found->second;
  if (is_new) block.attempt = key.attempt;
  if (key.attempt < block.attempt) return Verdict::stale;
  if (key.attempt > block.attempt) {
    block = Block{};
    block.attempt = key.attempt;
  }
  return block.faulted ? Verdict::faulted : Verdict::write;
}

std::optional<Reassembly::Rest> Reassembly::rest_of_older_attempt(sim::NodeId source, const sim::PartKey& key,
                                                                  std::uint32_t block_bytes) const {
  const auto transfer = transfers_.find({source, key.transfer});
  if (transfer == transfers_.end()) return std::nullopt;
  const auto block = transfer->second.under_way.find(key.part);
  if (block == transfer->second.under_way.end() || block->second.attempt >= key.attempt || block->second.faulted) {
    return std::nullopt;
  }
  return Rest{block->second.attempt, block_bytes - block->second.bytes};
}

Reassembly::Block* Reassembly::current(sim::NodeId source, const sim::PartKey& key) {
  const auto transfer = transfers_.find({source, key.transfer});
  if (transfer == transfers_.end()) return nullptr;
  const auto block = transfer->second.under_way.find(key.part);
  if (block == transfer->second.under_way.end() || block->second.attempt != key.attempt) return nullptr;
  return &block->second;
}

std::optional<Time> Reassembly::written(sim::NodeId source, const sim::PartKey& key, std::uint32_t bytes,
                                        std::uint32_t block_bytes, Time arrived) {
  Block* block = current(source, key);
  if (block == nullptr) return std::nullopt;
  block->bytes += bytes;
  block->arrived = std::max(block->arrived, arrived);
  if (block->bytes < block_bytes) return std::nullopt;
  const Time last = block->arrived;
  Transfer& transfer = touch({source, key.transfer});
  transfer.under_way.erase(key.part);
  transfer.complete.insert(key.part);
  return last;
}

bool Reassembly::is_whole(sim::NodeId source, std::uint64_t transfer, std::uint32_t blocks) const {
  const auto found = transfers_.find({source, transfer});
  return found != transfers_.end() && found->second.complete.is_first(blocks);
}

bool Reassembly::failed(sim::NodeId source, const sim::PartKey& key) {
  Block* block = current(source, key);
  if (block == nullptr) return false;
  return !std::exchange(block->faulted, true);
}

}  // namespace faultline::nic
