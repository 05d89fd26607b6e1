// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/library/event_service.hpp"

#include "models/nic/path/registers.hpp"

namespace faultline::library {

using cpu::Work;

EventService::EventService(const EventConfig& config, const sim::Context& context, cpu::Cpu& cpu,
                           std::uint64_t engine_base)
    : config_(config), context_(context), cpu_(cpu), engine_(engine_base) {}

// The engine looks when it is armed: what has come before wakes nobody too late.
sim::Task<void> EventService::sleep(cpu::Execution& thread, std::uint32_t pdid, std::uint64_t channel_base,
                                    std::uint64_t what, std::uint64_t count) {
  Sleeper& self = sleeper(pdid);
  self.is_due = false;
  co_await cpu_.run(thread, Work::system, config_.event_call);
  co_await cpu_.mmio_write(thread, Work::system, channel_base + reg::kEventCount, count);
  co_await cpu_.mmio_write(thread, Work::system, channel_base + reg::kEventArm, what);
  while (!self.is_due) co_await cpu_.sleep(thread, self.woken);
}

void EventService::wake(std::uint32_t pdid) {
  Sleeper& other = sleeper(pdid);
  other.is_due = true;
  other.woken.notify_all();
}

sim::Task<void> EventService::handle() {
  cpu::Execution& context = cpu_.irq_context();
  const std::uint64_t pdid = co_await cpu_.mmio_read(context, Work::irq, engine_ + reg::kEventPending);
  if (pdid == reg::kNoEvent) co_return;
  co_await cpu_.mmio_write(context, Work::irq, engine_ + reg::kEventAck, pdid);
  co_await cpu_.run(context, Work::irq, config_.event_handler);
  wake(static_cast<std::uint32_t>(pdid));
}

}  // namespace faultline::library
