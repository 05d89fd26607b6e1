// SPDX-License-Identifier: Apache-2.0
#include "models/nic/path/notice_record.hpp"

namespace faultline::nic {

void NoticeRecord::hear(sim::NodeId source, const Notice& notice) {
  Channel& channel = channels_[{source, notice.channel}];
  if (notice.first_open <= channel.first_open) return;
  const std::uint64_t ended = notice.first_open - channel.first_open;
  channel.given = ended < kNoticeWindow ? channel.given >> ended : 0;
  channel.first_open = notice.first_open;
}

NoticeRecord::State NoticeRecord::state(sim::NodeId source, const Notice& notice) const {
  const auto found = channels_.find({source, notice.channel});
  if (!remembers_ || found == channels_.end()) return State::open;
  const Channel& channel = found->second;
  if (notice.number < channel.first_open) return State::late;
  return (channel.given & bit(channel, notice)) != 0 ? State::given : State::open;
}

void NoticeRecord::give(sim::NodeId source, const Notice& notice) {
  Channel& channel = channels_[{source, notice.channel}];
  if (notice.number >= channel.first_open) channel.given |= bit(channel, notice);
}

// The source begins none that is further than the window, or it would have another one's bit.
std::uint64_t NoticeRecord::bit(const Channel& channel, const Notice& notice) {
  return std::uint64_t{1} << (notice.number - channel.first_open) % kNoticeWindow;
}

}  // namespace faultline::nic
