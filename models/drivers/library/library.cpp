// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/library/library.hpp"

#include <fmt/format.h>

#include "models/drivers/library/steps.hpp"
#include "models/nic/path/registers.hpp"
#include "models/os/out_of_memory.hpp"

namespace faultline::library {

namespace {

constexpr std::uint64_t message_word(unsigned index) { return reg::kMessageWord0 + std::uint64_t{8} * index; }

}  // namespace

using cpu::Work;

Library::Library(const LibraryConfig& config, const sim::Context& context, cpu::Cpu& cpu, os::Vm& vm,
                 os::Process& process, soc::DdrController& memory, std::uint64_t engine_base, unsigned channel)
    : context_(context),
      config_(config),
      cpu_(cpu),
      vm_(vm),
      process_(process),
      memory_(memory),
      registers_(engine_base + channel * reg::kChannelStride),
      channel_(channel),
      descriptor_lock_(context.loop, 1),
      message_lock_(context.loop, 1),
      memory_written_(context.loop) {
  notification_ = std::make_unique<rdma::PolledWord>(cpu_, vm_, process_, map_shared_page(), memory_written_);
  mailbox_ring_ = map_shared_page();
}

std::uint64_t Library::map_shared_page() {
  const os::Result<os::VirtualAddress> page = vm_.map_driver_memory(process_, os::kPage);
  if (!page.ok()) {
    throw os::out_of_memory(vm_, fmt::format("node {} has no memory left for the library's pages", context_.node),
                            {"ddr.size", "os.user_memory", "os.cma_bytes"});
  }
  // As libibverbs does with what the device writes: copy-on-write would take it from under the device.
  vm_.keep_from_children(process_, page.value, os::kPage);
  memory_.watch(process_.space().page(page.value)->frame, memory_written_);
  return page.value;
}

std::uint64_t Library::word_at(std::uint64_t address) const { return vm_.read(process_, address, 8).word(0); }

sim::Task<void> Library::write_register(cpu::Execution& thread, std::uint64_t offset, std::uint64_t value) {
  co_await cpu_.mmio_write(thread, Work::user, registers_ + offset, value);
}

sim::Task<Posted> Library::post(cpu::Execution& thread, Operation operation, std::uint64_t local, RemoteBuffer remote,
                                std::uint64_t length, rdma::Notice notice) {
  check_alive();
  const sim::Time began = context_.now();
  const std::uint64_t cookie = next_cookie_++;
  co_await cpu_.run(thread, Work::user, config_.post);
  co_await descriptor_lock_.acquire();
  const bool writes = operation == Operation::write;
  co_await write_register(thread, reg::kSource, writes ? local : remote.address);
  co_await write_register(thread, reg::kDestination, writes ? remote.address : local);
  co_await write_register(thread, reg::kLength, length);
  co_await write_register(thread, reg::kPeer, remote.node | std::uint64_t{remote.process} << 32);
  co_await write_register(thread, reg::kNotify, notification_->address(cookie));
  co_await write_register(thread, reg::kCookie, cookie);
  if (notice.kind != rdma::NoticeKind::none) {
    co_await write_register(thread, reg::kNotice,
                            static_cast<std::uint64_t>(notice.kind) | std::uint64_t{notice.index} << 8);
  }
  co_await write_register(thread, reg::kCommand, writes ? reg::kCommandWrite : reg::kCommandRead);
  const sim::Time posted = context_.now();
  const std::uint64_t transfer = co_await cpu_.mmio_read(thread, Work::user, registers_ + reg::kStatus);
  descriptor_lock_.release();
  if (transfer != 0) {
    context_.trace.report(began, context_.node, step::kPostBegin, {transfer, 0, 0});
    context_.trace.report(posted, context_.node, step::kPosted, {transfer, 0, 0});
  }
  check_alive();
  co_return Posted{transfer, cookie};
}

sim::Task<Status> Library::wait(cpu::Execution& thread, Posted posted) {
  // No more than two words: a std::function that captures them allocates nothing.
  co_await notification_->poll(thread, posted.cookie, [this, cookie = posted.cookie](std::uint64_t word) {
    return killed_ || word >> 8 == cookie;
  });
  check_alive();
  co_await cpu_.run(thread, Work::user, config_.completion);
  context_.report(step::kCompleted, {posted.transfer, 0, 0});
  co_return (notification_->load(posted.cookie) & 0xff) == reg::kNotifyDone ? Status::done : Status::error;
}

sim::Task<void> Library::send(cpu::Execution& thread, sim::NodeId node, std::uint32_t pdid, Message message,
                              unsigned words) {
  check_alive();
  context_.report(step::kMessageBegin, {});
  co_await cpu_.run(thread, Work::user, config_.message_send);
  co_await message_lock_.acquire();
  context_.report(step::kMessageComposed, {});
  for (unsigned i = 0; i < words; ++i) co_await write_register(thread, message_word(i), message[i]);
  co_await write_register(thread, reg::kMessageSend,
                          node | std::uint64_t{pdid} << 32 | std::uint64_t{words} << 48 | reg::kMessageToUser << 56);
  message_lock_.release();
}

bool Library::has_message() const {
  return static_cast<std::uint32_t>(word_at(next_slot() + reg::kSlotHeader)) ==
         static_cast<std::uint32_t>(messages_received_ + 1);
}

sim::Task<Message> Library::take(cpu::Execution& thread) {
  const std::uint64_t slot = next_slot();
  const std::function<bool()> arrived = [this] { return killed_ || has_message(); };
  co_await cpu_.poll(thread, memory_written_, arrived);
  check_alive();
  context_.report(step::kMessageSeen, {});
  Message message{};
  const sim::Content content = vm_.read(process_, slot, reg::kSlotBytes);
  for (unsigned i = 0; i < message.size(); ++i) message[i] = content.word(8 * i);
  ++messages_received_;
  co_await cpu_.run(thread, Work::user, config_.message_receive);
  context_.report(step::kMessageReceived, {});
  co_return message;
}

sim::Task<void> Library::give_back(cpu::Execution& thread) {
  check_alive();
  co_await write_register(thread, reg::kMailboxHead, messages_received_);
  context_.report(step::kMessageReturned, {});
}

sim::Task<void> Library::send_to_nic(cpu::Execution& thread, sim::Time cost, sim::NodeId node,
                                     std::array<std::uint64_t, 3> words, unsigned count) {
  co_await cpu_.run(thread, Work::user, cost);
  co_await message_lock_.acquire();
  for (unsigned i = 0; i < count; ++i) co_await write_register(thread, message_word(i), words[i]);
  co_await write_register(thread, reg::kMessageSend, node | std::uint64_t{count} << 48 | reg::kMessageToNic << 56);
  message_lock_.release();
}

}  // namespace faultline::library
