// SPDX-License-Identifier: Apache-2.0
// What every stand-in that sends cells has in common: trains leave when they are ready and as slots at
// the receiver are known to come free.
#pragma once

#include <deque>
#include <functional>

#include "models/sim/context.hpp"
#include "models/sim/credit_pool.hpp"
#include "models/sim/payload.hpp"

namespace faultline::test {

// A Job has `address`, `cell_bytes` and `ready`, the instants at which its cells may leave.
template <typename Job>
class CellPump {
 public:
  // `send` gets a payload whose train, address and length are set, and the job as it stands before them.
  CellPump(std::uint32_t slots, const sim::Context& context,
           std::function<void(tlm::tlm_generic_payload&, const Job&)> send)
      : context_(context), credits_(slots), port_(context.loop.new_port()), send_(std::move(send)) {}

  // Jobs must be posted in the order of their first instants.
  void post(const Job& job) {
    for (std::uint32_t begin = 0; begin < job.ready.size(); begin += context_.cells_per_train) {
      Job train = job;
      train.ready = job.ready.slice(begin, std::min(context_.cells_per_train, job.ready.size() - begin));
      train.address += std::uint64_t{begin} * job.cell_bytes;
      posted_.push_back(train);
      context_.loop.at<&CellPump::begin_next>(train.ready.front(), port_, *this);
    }
  }
  void slots_come_free(const sim::TimeSequence& instants) {
    credits_.give(instants);
    pump();
  }
  std::size_t unsent() const { return posted_.size() + waiting_.size(); }

 private:
  void begin_next() {
    waiting_.push_back(posted_.front());
    posted_.pop_front();
    pump();
  }
  void pump() {
    while (!waiting_.empty() && credits_.known() > 0) {
      Job& next = waiting_.front();
      const std::uint32_t cells = std::min(next.ready.size(), credits_.known());
      tlm::tlm_generic_payload& payload = context_.payloads.acquire();
      sim::Train& train = sim::train_of(payload);
      train.times = sim::not_before(sim::later_of(next.ready.prefix(cells), credits_.take(cells)), last_);
      last_ = train.times.back();
      train.cell_bytes = next.cell_bytes;
      payload.set_address(next.address);
      payload.set_data_length(train.bytes());
      const Job sent = next;
      next.address += train.bytes();
      next.ready.drop_front(cells);
      if (next.ready.empty()) waiting_.pop_front();
      send_(payload, sent);
    }
  }

  sim::Context context_;
  sim::CreditPool credits_;
  sim::Port port_;
  std::function<void(tlm::tlm_generic_payload&, const Job&)> send_;
  std::deque<Job> posted_;
  std::deque<Job> waiting_;
  sim::Time last_{0};
};

}  // namespace faultline::test
