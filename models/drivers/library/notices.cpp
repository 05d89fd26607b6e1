// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/library/notices.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "models/nic/path/registers.hpp"
#include "models/os/out_of_memory.hpp"
#include "models/rdma/endpoint.hpp"

namespace faultline::library {

using cpu::Work;
using rdma::Awaited;
using rdma::Waiting;
using sim::Task;
using sim::Time;

namespace {

// The first of begin, begin + period, ... that is not before an instant.
Time first_from(Time begin, Time period, Time instant) {
  if (instant <= begin) return begin;
  const std::int64_t periods = (instant - begin + period - Time{1}) / period;
  return begin + periods * period;
}

}  // namespace

Notices::Notices(const LibraryConfig& config, const sim::Context& context, cpu::Cpu& cpu, os::Vm& vm,
                 os::Process& process, Device device)
    : config_(config),
      context_(context),
      cpu_(cpu),
      vm_(vm),
      process_(process),
      device_(device),
      changed_(context.loop) {}

void Notices::map(std::uint64_t bytes) {
  const os::Result<os::VirtualAddress> mapped = vm_.map_driver_memory(process_, sim::page_end(bytes));
  if (!mapped.ok()) {
    throw os::out_of_memory(
        vm_, fmt::format("node {} has no memory left for the words and queues of notices", context_.node),
        {"ddr.size", "os.user_memory", "os.cma_bytes"});
  }
  vm_.keep_from_children(process_, mapped.value, sim::page_end(bytes));
  begin_ = mapped.value;
  bytes_ = bytes;
}

void Notices::set_up(std::uint64_t offset, std::uint64_t value) {
  cpu_.mmio_set_up(device_.privileged_base + offset, value);
}

void Notices::expect(rdma::NoticeKind kind, unsigned words) {
  set_up(reg::kChannelSelect, device_.channel);
  if (kind == rdma::NoticeKind::word) {
    words_.resize(words);
    map(words * reg::kNoticeWordBytes);
    set_up(reg::kNoticeWords, begin_);
    set_up(reg::kNoticeWordCount, words);
  } else if (kind == rdma::NoticeKind::queue) {
    map(config_.event_entries * reg::kEventBytes);
    set_up(reg::kEventQueue, begin_);
    set_up(reg::kEventEntries, config_.event_entries);
  } else if (kind == rdma::NoticeKind::counter) {
    device_.engine.watch_events(process_.id(), changed_);
  } else {
    device_.memory.watch(soc::DdrController::kEveryFrame, changed_);  // where the program's memory is may change
  }
  for (const std::uint64_t page : pages()) {
    device_.memory.watch(process_.space().page(page)->frame, changed_);
  }
}

std::vector<std::uint64_t> Notices::pages() const {
  std::vector<std::uint64_t> all;
  for (std::uint64_t page = begin_; page < begin_ + bytes_; page += os::kPage) all.push_back(page);
  return all;
}

std::uint64_t Notices::word_address(unsigned index) const { return begin_ + reg::kNoticeWordBytes * index; }

std::uint64_t Notices::entry_address() const { return begin_ + reg::kEventBytes * (entries_ % config_.event_entries); }

bool Notices::has_entry() const {
  return static_cast<std::uint32_t>(load(entry_address() + 8)) == static_cast<std::uint32_t>(entries_ + 1);
}

bool Notices::is_there(const Awaited& awaited) const {
  switch (awaited.kind) {
    case rdma::NoticeKind::word: return load(word_address(awaited.index)) != words_.at(awaited.index);
    case rdma::NoticeKind::queue: return has_entry();
    default: return device_.engine.event_counter(process_.id(), awaited.index) != counters_.at(awaited.index);
  }
}

void Notices::check_alive() const {
  if (killed_) throw rdma::ProcessKilled();
}

void Notices::kill() {
  killed_ = true;
  changed_.notify_all();
  device_.service.wake(process_.id());
}

void Notices::nothing_will_come() {
  gives_up_ = true;
  changed_.notify_all();
  device_.service.wake(process_.id());
}

Task<std::optional<std::uint16_t>> Notices::learn(cpu::Execution& thread, Awaited awaited) {
  check_alive();
  if (awaited.kind == rdma::NoticeKind::none ||
      (awaited.kind == rdma::NoticeKind::word && awaited.waiting != Waiting::polls)) {
    throw std::logic_error("the engine wakes nobody for such a notice");
  }
  if (awaited.waiting == Waiting::polls) {
    co_await poll(thread, awaited);
  } else {
    co_await sleep(thread, awaited);
  }
  check_alive();
  if (std::exchange(gives_up_, false) && !is_there(awaited)) co_return std::nullopt;
  const std::uint16_t index = co_await take(thread, awaited);
  co_return index;
}

Task<void> Notices::poll(cpu::Execution& thread, const Awaited& awaited) {
  co_await cpu_.poll(
      thread, changed_, [this, &awaited] { return stops_waiting() || is_there(awaited); }, seen_by(awaited));
}

std::function<Time(Time)> Notices::seen_by(const Awaited& awaited) {
  const Time begin = context_.now();
  if (awaited.kind == rdma::NoticeKind::counter) {
    const Time read = cpu_.config().mmio_read;
    return [begin, read](Time stored) { return first_from(begin + read, read, stored); };
  }
  const auto words = static_cast<std::int64_t>(awaited.kind == rdma::NoticeKind::word ? words_.size() : 1);
  const Time load = cpu_.scaled(config_.scan_word);
  const std::int64_t before = (awaited.index + words - scan_begin_) % words;
  const Time sees = cpu_.config().poll_latency;
  return [first = begin + before * load, pass = words * load, sees](Time stored) {
    return first_from(first, pass, stored) + sees;
  };
}

// What is in memory is loaded in vain before each call; a counter is read. A handler is called for what has come while
// the program was at work, too.
Task<void> Notices::sleep(cpu::Execution& thread, const Awaited& awaited) {
  const bool counts = awaited.kind == rdma::NoticeKind::counter;
  const std::uint64_t what = static_cast<std::uint64_t>(awaited.kind) | std::uint64_t{awaited.index} << 8;
  for (;;) {
    if (counts) {
      co_await cpu_.mmio_read(thread, Work::user, device_.channel_base + reg::kEventCounter0 + 8 * awaited.index);
    }
    if (stops_waiting() || is_there(awaited)) break;
    const std::uint64_t taken = counts ? counters_[awaited.index] : entries_;
    co_await device_.service.sleep(thread, process_.id(), device_.channel_base, what, taken);
  }
  if (awaited.waiting == Waiting::handles && !stops_waiting()) co_await cpu_.run(thread, Work::system, config_.signal);
}

Task<std::uint16_t> Notices::take(cpu::Execution& thread, const Awaited& awaited) {
  std::uint16_t index = awaited.index;
  if (awaited.kind == rdma::NoticeKind::word) {
    words_[index] = load(word_address(index));
    scan_begin_ = (index + 1u) % static_cast<unsigned>(words_.size());
  } else if (awaited.kind == rdma::NoticeKind::queue) {
    index = static_cast<std::uint16_t>(load(entry_address() + 8) >> reg::kEventIndexShift);
    ++entries_;
    co_await cpu_.mmio_write(thread, Work::user, device_.channel_base + reg::kEventTaken, entries_);
  } else {
    counters_[index] = (counters_[index] + 1) & device_.engine.event_counter_mask();
  }
  co_await cpu_.run(thread, Work::user, config_.completion);
  check_alive();
  co_return index;
}

Task<bool> Notices::poll_byte(cpu::Execution& thread, std::uint64_t address, std::uint8_t before) {
  check_alive();
  // The content shows when the write has come to the memory controller, and a load sees it when it has been moved.
  const std::function<bool()> arrived = [this, address, before] {
    if (stops_waiting()) return true;
    const os::PageState* page = process_.space().page(address);
    return page != nullptr && device_.memory.is_settled(page->frame) &&
           vm_.read(process_, address, 1).byte(0) != before;
  };
  co_await cpu_.poll(thread, changed_, arrived);
  check_alive();
  if (std::exchange(gives_up_, false)) co_return false;
  co_await cpu_.run(thread, Work::user, config_.completion);
  check_alive();
  co_return true;
}

}  // namespace faultline::library
