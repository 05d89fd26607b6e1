// SPDX-License-Identifier: Apache-2.0
// What every stand-in that sends cells has in common: trains leave when they are ready and as slots at
// the receiver come free.
#pragma once

#include <algorithm>
#include <functional>
#include <map>

#include "models/sim/context.hpp"
#include "models/sim/issue_queue.hpp"
#include "models/sim/payload.hpp"
#include "models/sim/wakeup.hpp"

namespace faultline::test {

// A Job has `address`, `cell_bytes` and `ready`, the instants at which its cells may leave.
template <typename Job>
class CellPump {
 public:
  // `send` gets a payload whose train, address and length are set, and the job as it stands before them; `recall` a
  // payload whose cells from one on do not come.
  CellPump(std::uint32_t slots, const sim::Context& context,
           std::function<void(tlm::tlm_generic_payload&, const Job&)> send,
           std::function<void(tlm::tlm_generic_payload&, std::uint32_t from)> recall)
      : context_(context),
        queue_({slots}, *this),
        wakeup_(context_.loop, *this),
        releases_(context_.loop, *this),
        send_(std::move(send)),
        recall_(std::move(recall)) {}

  void post(const Job& job) {
    for (std::uint32_t begin = 0; begin < job.ready.size(); begin += context_.cells_per_train) {
      Item train{job, job.ready.slice(begin, std::min(context_.cells_per_train, job.ready.size() - begin))};
      train.job.address += std::uint64_t{begin} * job.cell_bytes;
      queue_.submit(std::move(train));
    }
    wakeup_.now();
  }
  // When slots come free.
  void answered(tlm::tlm_generic_payload& payload, const sim::Answers& answers) {
    void_slots(payload, answers.from);
    wakeup_.now();
    if (answers.instants.empty()) return;
    const auto run = std::find_if(queue_.runs().begin(), queue_.runs().end(),
                                  [&](const auto& r) { return r.details.payload == &payload; });
    freed_[&payload].append(answers.instants);
    queue_.give(answers.instants, run->issued.at(answers.from), context_.now());
    releases_.at(answers.instants.back());
  }
  // Whether any cell has not been announced.
  bool unsent() const { return !queue_.empty(); }
  // Payloads of which not all slots have come free by now, or not for long.
  std::size_t open() const { return freed_.size(); }

 private:
  struct Item {
    Job job;
    sim::TimeSequence ready;
    std::uint64_t number = 0;
    Item split(std::uint32_t first) {
      Item rest = *this;
      rest.ready = ready.suffix(first);
      rest.job.address += std::uint64_t{first} * job.cell_bytes;
      ready.drop_back(rest.ready.size());
      return rest;
    }
  };
  struct Details {
    tlm::tlm_generic_payload* payload = nullptr;
  };
  using Queue = sim::IssueQueue<Item, Details, CellPump>;
  friend Queue;

  void pump() {
    queue_.reconcile(context_.now());
    forget();
    while (!queue_.empty() && std::max(queue_.turn(), queue_.next_slot()) <= context_.now()) {
      auto& run = queue_.issue(context_.now());
      tlm::tlm_generic_payload& payload = context_.payloads.acquire();
      run.details.payload = &payload;
      freed_[&payload] = {};
      sim::Train& train = sim::train_of(payload);
      train.times = run.issued;
      train.cell_bytes = run.item.job.cell_bytes;
      payload.set_address(run.item.job.address);
      payload.set_data_length(train.bytes());
      const Job job = run.item.job;
      send_(payload, job);
    }
    wakeup_.at(queue_.due(context_.now()));
  }
  void taken_back(typename Queue::Run& run, const Item& rest, const sim::TimeSequence&) {
    tlm::tlm_generic_payload& payload = *run.details.payload;
    const std::uint32_t kept = run.issued.size();
    void_slots(payload, kept);
    sim::Train& train = sim::train_of(payload);
    train.times.drop_back(rest.ready.size());
    if (!train.content.empty()) train.content = train.content.slice(0, train.bytes());
    recall_(payload, kept);
  }
  void void_slots(tlm::tlm_generic_payload& payload, std::uint32_t from) {
    sim::TimeSequence& freed = freed_[&payload];
    if (freed.size() <= from) return;
    const sim::TimeSequence gone = freed.suffix(from);
    freed.drop_back(gone.size());
    queue_.withdraw(gone);
  }
  void forget() {
    auto& runs = queue_.runs();
    while (!runs.empty()) {
      tlm::tlm_generic_payload& payload = *runs.front().details.payload;
      const sim::TimeSequence& freed = freed_[&payload];
      if (freed.size() < runs.front().issued.size()) return;
      if (freed.back() > context_.now()) return releases_.at(freed.back());
      freed_.erase(&payload);
      payload.release();
      runs.pop_front();
    }
  }

  sim::Context context_;
  Queue queue_;
  sim::Wakeup<CellPump, &CellPump::pump> wakeup_;
  sim::Wakeup<CellPump, &CellPump::forget> releases_;
  std::function<void(tlm::tlm_generic_payload&, const Job&)> send_;
  std::function<void(tlm::tlm_generic_payload&, std::uint32_t)> recall_;
  std::map<tlm::tlm_generic_payload*, sim::TimeSequence> freed_;
};

}  // namespace faultline::test
