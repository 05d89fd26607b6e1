// SPDX-License-Identifier: Apache-2.0
#include "models/nic/exanest/firmware.hpp"

#include "models/nic/exanest/steps.hpp"

namespace faultline::exanest {

Firmware::Firmware(const EngineConfig& config, Hardware hardware)
    : BlockScheduler(hardware),
      config_(config),
      r5_("r5", config.r5, context_),
      losses_(context_.seed, "dma.rapf_loss", context_.node),
      refault_failures_(context_.statistics.counter("dma.refault_failures", "count",
                                                    "failed transfers: those with a block that kept faulting")),
      requests_(context_.statistics.counter("dma.rapf_received", "count",
                                            "retransmission requests that reached the R5's mailbox")),
      stale_(context_.statistics.counter("dma.rapf_stale", "count",
                                         "retransmission requests of old attempts or finished blocks")),
      ignored_(context_.statistics.counter("dma.rapf_ignored", "count",
                                           "remote retransmission requests ignored by configuration")),
      lost_(context_.statistics.counter("dma.rapf_lost", "count",
                                        "remote retransmission requests lost by configuration")) {
  begin();
}

void Firmware::source_fault(const BlockCommand& command, std::uint64_t page) {
  hw_.faults.log({page, true, command.pdid, context_.node, command.key});
}

bool Firmware::admits(const Message& message) {
  if (!reg::asks_for_block(message.words[0]) || message.source == context_.node) return true;
  if (!config_.rapf_enabled) {
    ++ignored_;
    return false;
  }
  const bool is_lost = losses_.chance(config_.rapf_loss);
  if (is_lost) ++lost_;
  return !is_lost;
}

void Firmware::message_waits(const Message& message) {
  if (reg::asks_for_block(message.words[0])) {
    ++requests_;
    context_.report(step::kRetryReceived, {message.words[1], static_cast<std::uint32_t>(message.words[2]),
                                           static_cast<std::uint32_t>(message.words[2] >> 32)});
  }
  BlockScheduler::message_waits(message);
}

sim::Task<bool> Firmware::handle_own(Message message) {
  if (!reg::asks_for_block(message.words[0])) co_return false;
  co_await run(config_.retransmit_processing, "retransmission request");
  handle_retransmit(message);
  co_return true;
}

void Firmware::handle_retransmit(const Message& message) {
  const auto block = static_cast<std::uint32_t>(message.words[2]);
  const auto attempt = static_cast<std::uint32_t>(message.words[2] >> 32);
  // A timeout may have overtaken the request, or its block may have arrived after all.
  if (!still_wanted({message.words[1], block, attempt})) {
    ++stale_;
    return;
  }
  Transfer& transfer = *table_.sender(message.words[1]);
  Block& again = transfer.blocks[block];
  const bool faulted = message.words[0] == reg::kRetransmit;
  // Its pages vanish before each resend, or there never was one.
  if (faulted && again.refaults >= config_.refault_limit) {
    ++refault_failures_;
    return finish(transfer, reg::kNotifyError);
  }
  again.refaults += faulted ? 1 : 0;
  again.timeouts = 0;
  requeue(transfer, block);
}

}  // namespace faultline::exanest
