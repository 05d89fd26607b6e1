// SPDX-License-Identifier: Apache-2.0
#include "models/nic/exanest/register_file.hpp"

#include <bit>
#include <cstring>

#include "models/nic/exanest/registers.hpp"

namespace faultline::exanest {

static_assert(std::endian::native == std::endian::little, "register words are copied as they are");

RegisterFile::RegisterFile(const EngineConfig& config, BlockScheduler& scheduler, Mailbox& mailbox, FaultFifo& faults)
    : scheduler_(scheduler), mailbox_(mailbox), faults_(faults), channels_(config.channels) {}

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
    case reg::kMessageSend: send_message(channel, value); return true;
    case reg::kMailboxHead:
      if (channel.pdid) mailbox_.set_consumed(*channel.pdid, value);
      return true;
    default: return false;
  }
}

void RegisterFile::post(unsigned number) {
  Channel& channel = channels_[number];
  channel.status = channel.pdid ? scheduler_.post(number, *channel.pdid, channel.descriptor) : 0;
}

void RegisterFile::send_message(Channel& channel, std::uint64_t value) {
  if (!channel.pdid) return;
  Message message;
  message.destination = static_cast<sim::NodeId>(value);
  message.pdid = static_cast<std::uint32_t>(value >> 32) & 0xffff;
  message.count = static_cast<unsigned>(value >> 48) & 0xff;
  message.to_firmware = value >> 56 == reg::kMessageToFirmware;
  for (unsigned i = 0; i < message.words.size() && i < message.count; ++i) message.words[i] = channel.words[i];
  mailbox_.send(message);
}

bool RegisterFile::write_privileged(std::uint64_t offset, std::uint64_t value) {
  if (offset == reg::kChannelSelect) {
    selected_ = value;
    return true;
  }
  if (offset == reg::kFaultPop) {
    faults_.pop();
    return true;
  }
  if (offset == reg::kChannelClose) {
    if (value < channels_.size()) close(static_cast<unsigned>(value));
    return value < channels_.size();
  }
  const bool of_channel = offset == reg::kChannelPdid || offset == reg::kChannelMailbox || offset == reg::kChannelSlots;
  if (!of_channel || selected_ >= channels_.size()) return false;
  Channel& channel = channels_[selected_];
  switch (offset) {
    case reg::kChannelPdid:
      if (value >= reg::kPdids) return false;
      channel.pdid = static_cast<std::uint32_t>(value);
      channel.mailbox = channel.slots = 0;
      return true;

    case reg::kChannelMailbox: channel.mailbox = value; break;
    default: channel.slots = value; break;
  }
  set_ring(channel);
  return true;
}

void RegisterFile::close(unsigned number) {
  Channel& channel = channels_[number];
  if (!channel.pdid) return;
  mailbox_.set_ring(*channel.pdid, 0, 0);
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
    if (offset == reg::kStatus) return channels_[page].status;
    return std::nullopt;
  }
  if (page > channels_.size()) return std::nullopt;
  const FaultRecord record = faults_.front();
  switch (offset) {
    case reg::kFaultCount: return faults_.size();
    case reg::kFaultWord0: return record.page | (record.at_source ? reg::kFaultAtSource : 0);
    case reg::kFaultWord1: return std::uint64_t{record.pdid} | std::uint64_t{record.peer} << 32;
    case reg::kFaultWord2: return record.key.transfer;
    case reg::kFaultWord3: return std::uint64_t{record.key.part} | std::uint64_t{record.key.attempt} << 32;
    default: return std::nullopt;
  }
}

}  // namespace faultline::exanest
