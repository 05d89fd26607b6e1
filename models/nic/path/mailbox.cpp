// SPDX-License-Identifier: Apache-2.0
#include "models/nic/path/mailbox.hpp"

#include "models/nic/path/registers.hpp"
#include "models/nic/path/steps.hpp"

namespace faultline::nic {

Mailbox::Mailbox(const PathConfig& config, Injector& injector, ControlWriter& writer, Counters& counters,
                 const sim::Context& context)
    : config_(config),
      injector_(injector),
      writer_(writer),
      counters_(counters),
      context_(context),
      coming_(context.loop, *this) {}

void Mailbox::send(Message message) {
  message.source = context_.node;
  if (message.count == 0 || message.count > message.words.size()) {
    ++counters_.messages_dropped;
    return;
  }
  ++counters_.messages_sent;
  if (!message.to_nic) context_.report(step::kMessagePosted, {});
  const Time packed = context_.now() + config_.clock.cycles(config_.message_pipeline);
  if (message.destination == context_.node) {
    // Packetizer and mailbox of one node are wired together: no network.
    if (!message.to_nic) context_.trace.report(packed, context_.node, step::kMessageInjected, {});
    arrive(message, packed);
    return;
  }
  Outgoing cell;
  cell.header.kind = message.to_nic ? network::PacketKind::firmware : network::PacketKind::message;
  cell.header.source = message.source;
  cell.header.destination = message.destination;
  cell.header.pdid = message.pdid;
  cell.header.words = message.words;
  cell.cell_bytes = 8 * message.count;
  cell.ready = sim::TimeSequence::single(packed);
  injector_.send_control(std::move(cell));
}

void Mailbox::receive(const network::PacketHeader& header, std::uint32_t bytes, Time at) {
  Message message;
  message.source = header.source;
  message.destination = header.destination;
  message.pdid = header.pdid;
  message.to_nic = header.kind == network::PacketKind::firmware;
  message.count = bytes / 8;
  message.words = header.words;
  arrive(message, at);
}

void Mailbox::arrive(const Message& message, Time at) {
  if (!message.to_nic) context_.trace.report(at, context_.node, step::kMessageArrived, {});
  coming_.at(at + config_.clock.cycles(config_.message_pipeline), message);
}

void Mailbox::deliver(const Message& message) {
  if (message.to_nic) {
    deliver_to_nic(message);
  } else {
    deliver_to_user(message);
  }
}

void Mailbox::deliver_to_nic(const Message& message) {
  if (!nic_->admits(message)) return;
  if (inbox_.size() >= config_.firmware_mailbox) {
    ++counters_.firmware_overflows;
    return;
  }
  ++counters_.firmware_messages;
  inbox_.push_back(message);
  nic_->message_waits(message);
}

Message Mailbox::take_own_message() {
  const Message message = inbox_.front();
  inbox_.pop_front();
  return message;
}

void Mailbox::deliver_to_user(const Message& message) {
  constexpr unsigned kHeaderWord = reg::kSlotHeader / 8;
  const auto found = rings_.find(message.pdid);
  const bool fits = found != rings_.end() && found->second.written - found->second.consumed < found->second.slots;
  if (!fits || message.count > kHeaderWord) {
    ++counters_.messages_dropped;
    return;
  }
  Ring& ring = found->second;
  const std::uint64_t slot = ring.address + ring.written % ring.slots * reg::kSlotBytes;
  ++ring.written;
  ++counters_.messages_received;
  context_.report(step::kMessageDelivered, {});
  sim::Content content;
  for (unsigned i = 0; i < kHeaderWord; ++i) content.append(sim::Content::literal(message.words[i], 8));
  const std::uint64_t header = (ring.written & UINT32_MAX) | (std::uint64_t{message.source} & 0xffffff) << 32 |
                               std::uint64_t{message.count} << 56;
  content.append(sim::Content::literal(header, 8));
  writer_.write(slot, message.pdid, std::move(content), *this, 0);
}

void Mailbox::set_ring(std::uint32_t pdid, std::uint64_t address, std::uint64_t slots) {
  if (address == 0 || slots == 0) {
    rings_.erase(pdid);
  } else {
    rings_[pdid] = Ring{address, slots, 0, 0};
  }
}

void Mailbox::set_consumed(std::uint32_t pdid, std::uint64_t messages) {
  const auto found = rings_.find(pdid);
  if (found != rings_.end() && messages <= found->second.written) found->second.consumed = messages;
}

}  // namespace faultline::nic
