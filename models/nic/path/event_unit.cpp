// SPDX-License-Identifier: Apache-2.0
#include "models/nic/path/event_unit.hpp"

#include <utility>

#include "models/nic/path/steps.hpp"

namespace faultline::nic {

EventUnit::EventUnit(const PathConfig& config, ControlWriter& writer, Counters& counters, const sim::Context& context)
    : writer_(writer), counters_(counters), context_(context), mask_(mask(config)) {}

std::uint64_t EventUnit::mask(const PathConfig& config) { return UINT64_MAX >> (64 - config.event_counter_bits); }

void EventUnit::open(std::uint32_t pdid) {
  const auto [found, is_new] = processes_.try_emplace(pdid);
  if (is_new) found->second.opened = ++opened_;
}

void EventUnit::close(std::uint32_t pdid) {
  processes_.erase(pdid);
  update_interrupt();
}

void EventUnit::set_words(std::uint32_t pdid, std::uint64_t address, std::uint64_t words) {
  const auto found = processes_.find(pdid);
  if (found == processes_.end()) return;
  found->second.words_address = address;
  found->second.words = words;
}

void EventUnit::set_queue(std::uint32_t pdid, std::uint64_t address, std::uint64_t entries) {
  const auto found = processes_.find(pdid);
  if (found == processes_.end()) return;
  found->second.opened = ++opened_;  // what is under way is for the one before
  found->second.queue = {};
  found->second.queue.address = address;
  found->second.queue.entries = entries;
}

bool EventUnit::give(std::uint32_t pdid, const Notice& notice, std::uint64_t transfer) {
  const auto found = processes_.find(pdid);
  bool given = false;
  if (found != processes_.end()) {
    Process& process = found->second;
    if (notice.kind == NoticeKind::counter) {
      given = count(process, notice, transfer);
    } else if (notice.kind == NoticeKind::queue) {
      given = append(pdid, process, notice, transfer);
    } else if (notice.index < process.words) {
      write(process.words_address + reg::kNoticeWordBytes * notice.index,
            sim::Content::literal(++process.given_in_words, 8), {pdid, process.opened, transfer, kNoEntry});
      given = true;
    }
  }
  ++(given ? counters_.notices : counters_.notices_refused);
  return given;
}

bool EventUnit::count(Process& process, const Notice& notice, std::uint64_t transfer) {
  if (notice.index >= process.counters.size()) return false;
  std::uint64_t& counter = process.counters[notice.index];
  counter = (counter + 1) & mask_;
  context_.report(step::kTargetNotified, {transfer, 0, 0});
  if (process.counted != nullptr) process.counted->notify_all();
  wake_if_due(process);
  return true;
}

bool EventUnit::append(std::uint32_t pdid, Process& process, const Notice& notice, std::uint64_t transfer) {
  Queue& queue = process.queue;
  if (queue.made - queue.taken >= queue.entries) return false;
  const std::uint64_t entry = queue.made++;
  queue.written.push_back(false);
  sim::Content content = sim::Content::literal(transfer, 8);
  content.append(
      sim::Content::literal(((entry + 1) & UINT32_MAX) | std::uint64_t{notice.index} << reg::kEventIndexShift, 8));
  write(queue.address + entry % queue.entries * reg::kEventBytes, std::move(content),
        {pdid, process.opened, transfer, entry});
  return true;
}

void EventUnit::write(std::uint64_t address, sim::Content content, Writing writing) {
  const std::uint64_t tag = next_tag_++;
  writing_.emplace(tag, writing);
  writer_.write(address, writing.pdid, std::move(content), *this, tag);
}

bool EventUnit::is_for_present(const Writing& writing) const {
  const auto found = processes_.find(writing.pdid);
  return found != processes_.end() && found->second.opened == writing.opened;
}

bool EventUnit::control_wanted(std::uint64_t tag) const { return is_for_present(writing_.at(tag)); }

void EventUnit::control_written(std::uint64_t tag, bool ok) {
  const Writing done = writing_.at(tag);
  writing_.erase(tag);
  if (!is_for_present(done)) return;
  if (!ok) {
    ++counters_.notices_lost;
    return;
  }
  context_.report(step::kTargetNotified, {done.transfer, 0, 0});
  if (done.entry != kNoEntry) entry_written(processes_.at(done.pdid), done.entry);
}

// Entries are seen in order: behind one that was lost none is.
void EventUnit::entry_written(Process& process, std::uint64_t entry) {
  Queue& queue = process.queue;
  queue.written.at(static_cast<std::size_t>(entry - queue.visible)) = true;
  for (; !queue.written.empty() && queue.written.front(); queue.written.pop_front()) ++queue.visible;
  wake_if_due(process);
}

void EventUnit::set_taken(std::uint32_t pdid, std::uint64_t entries) {
  const auto found = processes_.find(pdid);
  if (found != processes_.end() && entries <= found->second.queue.made) found->second.queue.taken = entries;
}

std::optional<std::uint64_t> EventUnit::counter(std::uint32_t pdid, unsigned index) const {
  const auto found = processes_.find(pdid);
  if (found == processes_.end() || index >= found->second.counters.size()) return std::nullopt;
  return found->second.counters[index];
}

void EventUnit::arm(std::uint32_t pdid, NoticeKind kind, unsigned index, std::uint64_t count) {
  const auto found = processes_.find(pdid);
  const bool known = kind == NoticeKind::queue || (kind == NoticeKind::counter && index < reg::kEventCounters);
  if (found == processes_.end() || !known) return;
  found->second.armed = {kind, index, count};
  wake_if_due(found->second);
}

void EventUnit::wake_if_due(Process& process) {
  const Armed& armed = process.armed;
  if (armed.kind == NoticeKind::none) return;
  const std::uint64_t now = armed.kind == NoticeKind::queue ? process.queue.visible : process.counters[armed.index];
  if (now == armed.count) return;
  process.armed = {};
  process.to_be_woken = true;
  update_interrupt();
}

std::uint64_t EventUnit::pending() const {
  for (const auto& [pdid, process] : processes_) {
    if (process.to_be_woken) return pdid;
  }
  return reg::kNoEvent;
}

void EventUnit::acknowledge(std::uint32_t pdid) {
  const auto found = processes_.find(pdid);
  if (found == processes_.end()) return;
  found->second.to_be_woken = false;
  update_interrupt();
}

void EventUnit::update_interrupt() {
  const bool high = pending() != reg::kNoEvent;
  if (std::exchange(high_, high) != high && on_interrupt) on_interrupt();
}

}  // namespace faultline::nic
