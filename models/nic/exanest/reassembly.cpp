// SPDX-License-Identifier: Apache-2.0
#include "models/nic/exanest/reassembly.hpp"

#include <utility>

namespace faultline::exanest {

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

Reassembly::Transfer& Reassembly::touch(const Id& id) {
  const auto found = transfers_.find(id);
  if (found != transfers_.end()) {
    by_age_.splice(by_age_.begin(), by_age_, found->second.age);
    return found->second;
  }
  if (transfers_.size() >= capacity_) evict_oldest();
  by_age_.push_front(id);
  Transfer& made = transfers_[id];
  made.age = by_age_.begin();
  return made;
}

void Reassembly::evict_oldest() {
  const auto oldest = transfers_.find(by_age_.back());
  if (!oldest->second.under_way.empty()) ++evicted_unfinished_;
  transfers_.erase(oldest);
  by_age_.pop_back();
}

Reassembly::Verdict Reassembly::judge(sim::NodeId source, const sim::PartKey& key) {
  Transfer& transfer = touch({source, key.transfer});
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

bool Reassembly::written(sim::NodeId source, const sim::PartKey& key, std::uint32_t bytes, std::uint32_t block_bytes) {
  Block* block = current(source, key);
  if (block == nullptr) return false;
  block->bytes += bytes;
  if (block->bytes < block_bytes) return false;
  Transfer& transfer = touch({source, key.transfer});
  transfer.under_way.erase(key.part);
  transfer.complete.insert(key.part);
  return true;
}

bool Reassembly::failed(sim::NodeId source, const sim::PartKey& key) {
  Block* block = current(source, key);
  if (block == nullptr) return false;
  return !std::exchange(block->faulted, true);
}

}  // namespace faultline::exanest
