// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/library/fault_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace faultline::library {

namespace {

// More than are under way at one node at a time: those that are forgotten have ended.
constexpr std::size_t kMostBlocks = 512;

std::string counter_name(const os::FaultCauseDoc& doc) { return std::string("driver.faults_") + doc.name; }

}  // namespace

FaultBook::FaultBook(const sim::Context& context, const os::Vm& vm)
    : context_(context),
      vm_(vm),
      injected_(context.statistics.counter("driver.faults_injected", "count",
                                           "fault records whose cause an experiment has injected")),
      again_(context.statistics.counter("driver.refaults", "count",
                                        "fault records of a page for which the block had been sent again already")) {
  for (const os::FaultCauseDoc& doc : os::kFaultCauseDocs) {
    causes_.at(static_cast<std::size_t>(doc.cause)) =
        &context.statistics.counter(counter_name(doc), "count", doc.description);
  }
}

void FaultBook::access_refused(const Refusal& refusal, const Fault& fault, sim::Step step) {
  latest_[{refusal.process, sim::page_begin(refusal.address), refusal.write}] = fault;
  if (refusal.held_off || !context_.trace.records()) return;
  const std::string state = os::state_text(fault.reason);
  context_.trace.fault({.at = context_.now(),
                        .node = context_.node,
                        .step = step,
                        .process = refusal.process,
                        .address = refusal.address,
                        .write = refusal.write,
                        .cause = os::to_string(fault.reason.cause),
                        .state = state,
                        .by = os::to_string(fault.reason.by.by),
                        .injected = fault.reason.by.injected});
}

FaultBook::Block& FaultBook::block(const sim::PartKey& key, bool at_source) {
  const BlockId id{key.transfer, key.part, at_source};
  const auto [found, is_new] = blocks_.try_emplace(id);
  if (!is_new) return found->second;
  known_.push_back(id);
  if (known_.size() > kMostBlocks) {
    blocks_.erase(known_.front());
    known_.pop_front();
  }
  return found->second;
}

void FaultBook::block_stopped(const nic::FaultRecord& record) {
  Block& stopped = block(record.key, record.at_source);
  const auto& answered = stopped.answered;
  stopped.attempt = record.key.attempt;
  stopped.fault = of_access(record.pdid, record.page, !record.at_source);
  stopped.fault->again = std::find(answered.begin(), answered.end(), record.page) != answered.end();
}

FaultBook::Fault FaultBook::of_access(std::uint32_t process, os::VirtualAddress page, bool write) const {
  const auto known = latest_.find({process, page, write});
  if (known != latest_.end()) return known->second;
  // No bank has refused it: its stream has lost its bank, and with that its tables.
  return {.reason = {.cause = os::FaultCause::no_mapping}, .again = false};
}

FaultBook::Fault FaultBook::of_block(const nic::FaultRecord& record) {
  const auto known = blocks_.find({record.key.transfer, record.key.part, record.at_source});
  const bool is_it = known != blocks_.end() && known->second.fault && known->second.attempt == record.key.attempt;
  return is_it ? *known->second.fault : of_access(record.pdid, record.page, !record.at_source);
}

void FaultBook::told_of_access(const Fault& fault) {
  ++*causes_.at(static_cast<std::size_t>(fault.reason.cause));
  injected_ += fault.reason.by.injected ? 1 : 0;
  again_ += fault.again ? 1 : 0;
}

void FaultBook::told_of_block(const Fault& fault, const sim::PartKey& key, os::VirtualAddress page, bool at_source) {
  told_of_access(fault);
  // Who was held off is tried again, but nobody has done anything about its page.
  if (fault.again || fault.reason.cause == os::FaultCause::held_off) return;
  block(key, at_source).answered.push_back(page);
}

void FaultBook::audit(std::uint64_t told) const {
  std::uint64_t explained = 0;
  for (const sim::Counter* cause : causes_) explained += cause->value();
  if (explained == told) return;
  throw std::logic_error(fmt::format("{} faults were told to processes, and {} have a cause", told, explained));
}

}  // namespace faultline::library
