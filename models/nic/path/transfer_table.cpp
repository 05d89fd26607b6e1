// SPDX-License-Identifier: Apache-2.0
#include "models/nic/path/transfer_table.hpp"

#include <algorithm>
#include <iterator>

#include "models/nic/path/registers.hpp"

namespace faultline::nic {

TransferTable::TransferTable(const PathConfig& config, sim::NodeId node)
    : config_(config),
      last_id_(std::uint64_t{node} << 32),
      channels_(config.channels + 1),
      next_notices_(config.channels, 1) {}

Transfer* TransferTable::post(unsigned channel, std::uint32_t pdid, const Descriptor& descriptor) {
  if (channels_[channel].size() >= config_.channel_queue) return nullptr;
  auto made = std::make_unique<Transfer>();
  made->id = ++last_id_;
  made->role = descriptor.command == reg::kCommandWrite ? Role::write : Role::read;
  made->channel = channel;
  made->pdid = pdid;
  made->descriptor = descriptor;
  if (descriptor.notice != NoticeKind::none) made->notice_number = next_notices_[channel]++;
  channels_[channel].push_back(made.get());
  return (posted_[made->id] = std::move(made)).get();
}

Transfer* TransferTable::serve(std::uint64_t id, std::uint32_t pdid, const Descriptor& descriptor) {
  if (channels_.back().size() >= config_.remote_reads) return nullptr;
  auto made = std::make_unique<Transfer>();
  made->id = id;
  made->role = Role::serve;
  made->channel = config_.channels;
  made->pdid = pdid;
  made->descriptor = descriptor;
  channels_.back().push_back(made.get());
  return (served_[id] = std::move(made)).get();
}

void TransferTable::erase(Transfer& transfer) {
  auto& channel = channels_[transfer.channel];
  channel.erase(std::find(channel.begin(), channel.end(), &transfer));
  const std::uint64_t id = transfer.id;
  (transfer.role == Role::serve ? served_ : posted_).erase(id);
}

bool TransferTable::has_ended(std::uint64_t id) const {
  if (id >> 32 != last_id_ >> 32) return false;
  const Transfer* transfer = posted(id);
  return transfer == nullptr || transfer->ended;
}

Transfer* TransferTable::find(const Map& map, std::uint64_t id) {
  const auto found = map.find(id);
  return found == map.end() ? nullptr : found->second.get();
}

Transfer* TransferTable::sender(std::uint64_t id) const {
  if (Transfer* serving = served(id)) return serving;
  Transfer* own = posted(id);
  return own != nullptr && own->role == Role::write ? own : nullptr;
}

std::vector<Transfer*> TransferTable::of_process(unsigned channel, std::uint32_t pdid) const {
  std::vector<Transfer*> all = channels_[channel];
  std::ranges::copy_if(channels_.back(), std::back_inserter(all),
                       [pdid](const Transfer* served) { return served->pdid == pdid; });
  return all;
}

template <typename Wanted>
Transfer* TransferTable::next(unsigned& last, Wanted wanted) {
  const auto count = static_cast<unsigned>(channels_.size());
  for (unsigned i = 1; i <= count; ++i) {
    const unsigned channel = (last + i) % count;
    for (Transfer* transfer : channels_[channel]) {
      if (!wanted(*transfer)) continue;
      last = channel;
      return transfer;
    }
  }
  return nullptr;
}

Transfer* TransferTable::next_to_start() {
  return next(last_started_, [this](const Transfer& t) { return !t.started && !t.ended && is_within_window(t); });
}

std::uint64_t TransferTable::first_open_notice(unsigned channel) const {
  std::uint64_t first = next_notices_[channel];
  for (const Transfer* each : channels_[channel]) {
    if (each->notice_number != 0 && !each->ended) first = std::min(first, each->notice_number);
  }
  return first;
}

bool TransferTable::is_within_window(const Transfer& t) const {
  if (t.notice_number == 0 || !config_.keeps_notice_window) return true;
  return t.notice_number - first_open_notice(t.channel) < kNoticeWindow;
}

Notice TransferTable::notice_of(const Transfer& t) const {
  if (t.notice_number == 0) return {};
  const Descriptor& d = t.descriptor;
  return {d.notice,
          d.notice_index,
          static_cast<std::uint8_t>(t.channel),
          static_cast<std::uint32_t>(t.blocks.size()),
          t.notice_number,
          first_open_notice(t.channel)};
}

Transfer* TransferTable::next_with_block() {
  return next(last_scheduled_, [this](Transfer& t) { return has_block(t); });
}

bool TransferTable::has_block(Transfer& t) const {
  if (!t.started || t.ended || t.role == Role::read) return false;
  // Acknowledged meanwhile: the copy that was thought lost had arrived.
  while (!t.again.empty() && t.blocks[t.again.front()].state != Block::State::queued) t.again.pop_front();
  return !t.again.empty() || (t.next_untouched < t.blocks.size() && t.outstanding < config_.outstanding_blocks);
}

}  // namespace faultline::nic
