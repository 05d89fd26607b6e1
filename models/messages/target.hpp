// SPDX-License-Identifier: Apache-2.0
// The program at the target of transfers that it prepares its buffers for, or whose pages initiators hold: it does what
// initiators ask, for ever, on its own thread.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "models/messages/protocol.hpp"
#include "models/rdma/endpoint.hpp"
#include "models/rdma/strategy.hpp"

namespace faultline::messages {

class Target {
 public:
  // A buffer of the program: how it is registered, and for whom. Its number is its place.
  struct Slot {
    rdma::RegisteredBuffer buffer;
    bool written;  // by the device
    rdma::Endpoint* initiator;
  };

  // The strategy outlives it, as the endpoint does.
  Target(rdma::Endpoint& endpoint, const rdma::Strategy& strategy, Check check);

  // While no transfer uses them.
  void add(Slot slot) { slots_.push_back({slot, {}}); }
  bool has_slots() const { return !slots_.empty(); }
  void move_slot(std::size_t number, rdma::RegisteredBuffer buffer) { slots_[number].slot.buffer = buffer; }

  // `used`, if there is one: what the program does with the buffer of this slot before it is prepared.
  sim::Task<void> serve(std::function<sim::Task<void>(std::uint64_t slot)> used = {});

 private:
  struct Served {
    Slot slot;
    sim::Vector<rdma::Part> parts;
    std::size_t prepared = 0;  // of the parts
    std::size_t let_go = 0;    // of these
  };
  sim::Task<void> prepare_ahead(std::uint64_t number);
  sim::Task<void> move_pages(const rdma::Message& request);
  sim::Task<void> release(std::uint64_t number, std::size_t part);
  sim::Task<void> answer(std::uint64_t number, Kind kind, std::size_t part);

  rdma::Endpoint& endpoint_;
  const rdma::Strategy& strategy_;
  const Check check_;
  std::vector<Served> slots_;
};

}  // namespace faultline::messages
