// SPDX-License-Identifier: Apache-2.0
#include "models/nic/elan/scheduler.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "models/nic/elan/instruments.hpp"
#include "models/nic/elan/registers.hpp"
#include "models/nic/elan/steps.hpp"

namespace faultline::elan {

using nic::Block;
using nic::Transfer;

Scheduler::Scheduler(const ElanConfig& config, Hardware hardware)
    : BlockScheduler(hardware),
      config_(config),
      back_offs_(context_.loop, *this),
      parks_(context_.statistics.counter("elan.parks", "count", "blocks parked because a page of theirs has no entry")),
      naks_(context_.statistics.counter("elan.naks", "count", "blocks that their target has refused")),
      nak_failures_(context_.statistics.counter("elan.nak_failures", "count",
                                                "failed transfers: those with a block that was refused too often, or "
                                                "to nobody")) {
  hw_.faults.on_lost = [this](const nic::FaultRecord& fault) { trap_lost(fault); };
  hw_.faults.on_room = [this] { trap_again(); };
  hw_.faults.wanted = [this](const nic::FaultRecord& fault) { return traps(fault); };
  begin();
}

// A write needs more than a read, so that the answer to a read's trap may not be one to a write's: that comes again.
bool Scheduler::traps(const nic::FaultRecord& fault) {
  if (!reg::is_address(fault.page) || trapped_.contains({fault.pdid, fault.page})) return false;
  if (trapped_.size() >= config_.fault_fifo) {
    ++counters_.fault_overflows;
    trap_lost(fault);
    return false;
  }
  trapped_.emplace(fault.pdid, fault.page);
  return true;
}

void Scheduler::trap_lost(const nic::FaultRecord& fault) {
  const auto one = std::ranges::find(parked_, fault.key, &Parked::key);
  if (one != parked_.end()) one->told = false;
}

void Scheduler::trap_again() {
  if (trapped_.size() >= config_.fault_fifo) return;
  std::erase_if(parked_, [this](const Parked& each) { return held(each.key) == nullptr; });
  const auto one = std::ranges::find_if(parked_, [this](const Parked& each) {
    return !each.told && !trapped_.contains({each.pdid, each.page});
  });
  if (one == parked_.end()) return;
  one->told = true;
  hw_.faults.log({one->page, true, one->pdid, context_.node, one->key});
}

void Scheduler::forget_traps(std::uint32_t pdid) {
  const std::size_t before = trapped_.size();
  trapped_.erase(trapped_.lower_bound({pdid, 0}), trapped_.lower_bound({pdid + 1, 0}));
  for (const Parked& one : take_parked([pdid](const Parked& parked) { return parked.pdid == pdid; })) {
    Transfer* transfer = table_.sender(one.key.transfer);
    if (transfer != nullptr && !transfer->ended) finish(*transfer, reg::kNotifyError);
  }
  for (std::size_t freed = before - trapped_.size(); freed > 0; --freed) trap_again();
}

sim::Task<void> Scheduler::run(Time cost, const char* what) {
  const Time now = context_.now();
  busy_ += cost;
  free_ = now + cost;
  context_.slice(track::kProcessor, 0, now, free_, what, "hardware");
  co_await context_.loop.until(free_);
}

Time Scheduler::busy() const { return busy_ - std::max(free_ - context_.now(), Time{0}); }

Block* Scheduler::held(const sim::PartKey& key) {
  Transfer* transfer = table_.sender(key.transfer);
  if (transfer == nullptr || transfer->ended || key.part >= transfer->blocks.size()) return nullptr;
  Block& block = transfer->blocks[key.part];
  return block.state == Block::State::held && block.attempt == key.attempt ? &block : nullptr;
}

void Scheduler::source_fault(const nic::BlockCommand& command, std::uint64_t page) {
  if (!still_wanted(command.key)) return;
  if (!reg::is_address(page)) return finish(*table_.sender(command.key.transfer), reg::kNotifyError);
  table_.sender(command.key.transfer)->blocks[command.key.part].state = Block::State::held;
  ++parks_;
  parked_.push_back({command.key, command.pdid, page});
  hw_.timer.start(*this, kParkDeadline, command.key);
  hw_.faults.log({page, true, command.pdid, context_.node, command.key});
}

// The driver may take long, or never answer.
bool Scheduler::deadline_matters(std::uint64_t what, const sim::PartKey& key) {
  if (what != kParkDeadline) return BlockScheduler::deadline_matters(what, key);
  return std::ranges::any_of(parked_, [&](const Parked& one) { return one.key == key; }) && held(key) != nullptr;
}

void Scheduler::deadline_passed(std::uint64_t what, const sim::PartKey& key) {
  if (what != kParkDeadline) return BlockScheduler::deadline_passed(what, key);
  std::erase_if(parked_, [&](const Parked& one) { return one.key == key; });
  Transfer& transfer = *table_.sender(key.transfer);
  ++counters_.timeouts;
  context_.report(step::kTimedOut, key);
  if (config_.retry_limit != 0 && ++held(key)->timeouts > config_.retry_limit) {
    return finish(transfer, reg::kNotifyError);
  }
  requeue(transfer, key.part);
}

sim::Vector<Scheduler::Parked> Scheduler::take_parked(const std::function<bool(const Parked&)>& wanted) {
  sim::Vector<Parked> taken;
  std::ranges::copy_if(parked_, std::back_inserter(taken), wanted);
  std::erase_if(parked_, wanted);
  std::erase_if(taken, [this](const Parked& one) { return held(one.key) == nullptr; });
  return taken;
}

void Scheduler::answer(std::uint32_t pdid, std::uint64_t page, bool give_up) {
  trapped_.erase({pdid, page});
  const auto is_for = [&](const Parked& one) { return one.pdid == pdid && one.page == page; };
  for (const Parked& one : take_parked(is_for)) {
    Transfer* transfer = table_.sender(one.key.transfer);
    if (transfer == nullptr || transfer->ended) continue;  // with another block of it
    if (give_up) {
      finish(*transfer, reg::kNotifyError);
      continue;
    }
    transfer->blocks[one.key.part].timeouts = 0;
    requeue(*transfer, one.key.part);
  }
  trap_again();
}

void Scheduler::refused(const sim::PartKey& key, std::uint64_t word) {
  if (!still_wanted(key)) return;
  Transfer& transfer = *table_.sender(key.transfer);
  Block& block = transfer.blocks[key.part];
  ++naks_;
  context_.report(step::kNakReceived, key);
  if (word == reg::kNoProcess || block.refaults >= config_.nak_limit) {
    ++nak_failures_;
    return finish(transfer, reg::kNotifyError);
  }
  Time wait = config_.nak_back_off;
  const Time limit = config_.nak_back_off_limit;
  for (std::uint32_t i = 0; config_.doubles_back_off && i < block.refaults && wait < limit; ++i) wait *= 2;
  ++block.refaults;
  block.timeouts = 0;
  block.state = Block::State::held;
  back_offs_.at(context_.now() + std::min(wait, limit), key);
}

void Scheduler::back_off_ends(const sim::PartKey& key) {
  if (held(key) != nullptr) requeue(*table_.sender(key.transfer), key.part, step::kBackOffOver);
}

}  // namespace faultline::elan
