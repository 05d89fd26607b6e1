// SPDX-License-Identifier: Apache-2.0
#include "models/nic/path/register_file.hpp"

#include <bit>
#include <cstring>

#include "models/nic/path/registers.hpp"

namespace faultline::nic {

static_assert(std::endian::native == std::endian::little, "register words are copied as they are");

RegisterFile::RegisterFile(const PathConfig& config, BlockScheduler& scheduler, Mailbox& mailbox, FaultFifo& faults,
                           EventUnit& events, OwnRegisters* own)
    : scheduler_(scheduler),
      mailbox_(mailbox),
      faults_(faults),
      events_(events),
      own_(own),
      channels_(config.channels) {}

void RegisterFile::access(tlm::tlm_generic_payload& payload) {
  const std::uint64_t address = payload.get_address();
  if (payload.get_data_length() != 8 || address % 8 != 0) {
    payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    return;
  }
  bool known = false;
  if (payload.is_write()) {
    std::uint64_t value = 0;
    std::memcpy(&value, payload.get_data_ptr(), 8);
    known = write(address, value);
  } else if (const auto value = read(address)) {
    std::memcpy(payload.get_data_ptr(), &*value, 8);
    known = true;
  }
  payload.set_response_status(known ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

bool RegisterFile::write(std::uint64_t address, std::uint64_t value) {
  const std::uint64_t page = address / reg::kChannelStride;
  const std::uint64_t offset = address % reg::kChannelStride;
  if (page < channels_.size()) return write_channel(static_cast<unsigned>(page), offset, value);
  return page == channels_.size() && write_privileged(offset, value);
}

bool RegisterFile::write_channel(unsigned number, std::uint64_t offset, std::uint64_t value) {
  Channel& channel = channels_[number];
  Descriptor& d = channel.descriptor;
  if (offset >= reg::kMessageWord0 && offset < reg::kMessageSend) {
    channel.words[(offset - reg::kMessageWord0) / 8] = value;
    return true;
  }
  switch (offset) {
    case reg::kSource: d.source = value; return true;
    case reg::kDestination: d.destination = value; return true;
    case reg::kLength: d.length = value; return true;
    case reg::kPeer:
      d.peer = static_cast<sim::NodeId>(value);
      d.peer_pdid = static_cast<std::uint32_t>(value >> 32) & 0xffff;
      return true;
    case reg::kNotify: d.notify = value; return true;
    case reg::kCookie: d.cookie = value & ((std::uint64_t{1} << 56) - 1); return true;
    case reg::kCommand:
      d.command = value;
      post(number);
      return true;
    case reg::kNotice:
      d.notice = static_cast<NoticeKind>(value & 0xff);
      d.notice_index = static_cast<std::uint16_t>(value >> 8);
      return true;
    case reg::kMessageSend: send_message(channel, value); return true;
    case reg::kMailboxHead:
      if (channel.pdid) mailbox_.set_consumed(*channel.pdid, value);
      return true;
    default: return write_event(channel, offset, value);
  }
}

bool RegisterFile::write_event(Channel& channel, std::uint64_t offset, std::uint64_t value) {
  switch (offset) {
    case reg::kEventCount: channel.event_count = value; return true;
    case reg::kEventArm:
      if (channel.pdid) {
        events_.arm(*channel.pdid, static_cast<NoticeKind>(value & 0xff), static_cast<std::uint16_t>(value >> 8),
                    channel.event_count);
      }
      return true;
    case reg::kEventTaken:
      if (channel.pdid) events_.set_taken(*channel.pdid, value);
      return true;
    default: return false;
  }
}

void RegisterFile::post(unsigned number) {
  Channel& channel = channels_[number];
  channel.status = channel.pdid ? scheduler_.post(number, *channel.pdid, channel.descriptor) : 0;
  channel.descriptor.notice = NoticeKind::none;
}

void RegisterFile::send_message(Channel& channel, std::uint64_t value) {
  if (!channel.pdid) return;
  Message message;
  message.destination = static_cast<sim::NodeId>(value);
  message.pdid = static_cast<std::uint32_t>(value >> 32) & 0xffff;
  message.count = static_cast<unsigned>(value >> 48) & 0xff;
  message.to_nic = value >> 56 == reg::kMessageToNic;
  for (unsigned i = 0; i < message.words.size() && i < message.count; ++i) message.words[i] = channel.words[i];
  mailbox_.send(message);
}

bool RegisterFile::write_privileged(std::uint64_t offset, std::uint64_t value) {
  if (offset >= reg::kOwn) return own_ != nullptr && own_->write(offset, value);
  if (offset == reg::kChannelSelect) {
    selected_ = value;
    return true;
  }
  if (offset == reg::kFaultPop) {
    faults_.pop();
    return true;
  }
  if (offset == reg::kEventAck) {
    events_.acknowledge(static_cast<std::uint32_t>(value));
    return true;
  }
  if (offset == reg::kChannelClose) {
    if (value < channels_.size()) close(static_cast<unsigned>(value));
    return value < channels_.size();
  }
  return selected_ < channels_.size() && set_up_channel(channels_[selected_], offset, value);
}

bool RegisterFile::set_up_channel(Channel& channel, std::uint64_t offset, std::uint64_t value) {
  switch (offset) {
    case reg::kChannelPdid:
      if (value >= reg::kPdids) return false;
      channel.pdid = static_cast<std::uint32_t>(value);
      channel.mailbox = channel.slots = 0;
      events_.open(*channel.pdid);
      return true;
    case reg::kChannelMailbox: channel.mailbox = value; break;
    case reg::kChannelSlots: channel.slots = value; break;
    case reg::kNoticeWords: channel.notice_words = value; return true;
    case reg::kNoticeWordCount:
      if (channel.pdid) events_.set_words(*channel.pdid, channel.notice_words, value);
      return true;
    case reg::kEventQueue: channel.event_queue = value; return true;
    case reg::kEventEntries:
      if (channel.pdid) events_.set_queue(*channel.pdid, channel.event_queue, value);
      return true;
    default: return false;
  }
  set_ring(channel);
  return true;
}

void RegisterFile::close(unsigned number) {
  Channel& channel = channels_[number];
  if (!channel.pdid) return;
  mailbox_.set_ring(*channel.pdid, 0, 0);
  events_.close(*channel.pdid);
  scheduler_.end_all(number, *channel.pdid);
  channel = Channel{};
}

// A slot is written as one cell, so it must not cross a page.
void RegisterFile::set_ring(const Channel& channel) {
  if (channel.pdid)
    mailbox_.set_ring(*channel.pdid, channel.mailbox % reg::kSlotBytes == 0 ? channel.mailbox : 0, channel.slots);
}

std::optional<std::uint64_t> RegisterFile::read(std::uint64_t address) const {
  const std::uint64_t page = address / reg::kChannelStride;
  const std::uint64_t offset = address % reg::kChannelStride;
  if (page < channels_.size()) {
    const Channel& channel = channels_[page];
    if (offset == reg::kStatus) return channel.status;
    const bool is_counter = offset >= reg::kEventCounter0 && offset % 8 == 0 && channel.pdid;
    return is_counter ? events_.counter(*channel.pdid, static_cast<unsigned>(offset - reg::kEventCounter0) / 8)
                      : std::nullopt;
  }
  if (page > channels_.size()) return std::nullopt;
  if (offset >= reg::kOwn) return own_ != nullptr ? own_->read(offset) : std::nullopt;
  const FaultRecord record = faults_.front();
  switch (offset) {
    case reg::kEventPending: return events_.pending();
    case reg::kFaultCount: return faults_.size();
    case reg::kFaultWord0: return record.page | (record.at_source ? reg::kFaultAtSource : 0);
    case reg::kFaultWord1: return std::uint64_t{record.pdid} | std::uint64_t{record.peer} << 32;
    case reg::kFaultWord2: return record.key.transfer;
    case reg::kFaultWord3: return std::uint64_t{record.key.part} | std::uint64_t{record.key.attempt} << 32;
    default: return std::nullopt;
  }
}

}  // namespace faultline::nic
