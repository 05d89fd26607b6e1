// SPDX-License-Identifier: Apache-2.0
// Between two sockets of the data path: says all that a message may say again a second time (payload.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <systemc>
#include <utility>
#include <variant>

#include "models/sim/transport.hpp"

namespace faultline::test {

class Repeater : public sc_core::sc_module {
 public:
  explicit Repeater(sc_core::sc_module_name name) : sc_module(name), in("in"), out("out") {
    in.register_nb_transport_fw(this, &Repeater::forward);
    out.register_nb_transport_bw(this, &Repeater::backward);
  }
  sim::TargetSocket<Repeater> in;
  sim::InitiatorSocket<Repeater> out;
  std::uint64_t repeated = 0;

 private:
  tlm::tlm_sync_enum forward(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time& delay) {
    return twice(payload, [&] { return out->nb_transport_fw(payload, message, delay); });
  }
  tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time& delay) {
    if (std::holds_alternative<sim::Parted>(message)) return in->nb_transport_bw(payload, message, delay);
    return twice(payload, [&] { return in->nb_transport_bw(payload, message, delay); });
  }
  // Unless the payload has gone on as another train by then.
  template <typename Call>
  tlm::tlm_sync_enum twice(tlm::tlm_generic_payload& payload, Call call) {
    payload.acquire();
    const std::uint64_t train = sim::train_of(payload).number;
    tlm::tlm_sync_enum done = call();
    if (sim::train_of(payload).number == train) {
      ++repeated;
      done = call();
    }
    payload.release();
    return done;
  }
};

// What connects the sockets of a bench: as they are, or with somebody between who says everything twice.
class Wiring {
 public:
  Wiring(std::string name, bool repeats) : name_(std::move(name)), repeats_(repeats) {}

  void bind(auto& initiator, auto& target) {
    if (!repeats_) return initiator.bind(target);
    Repeater& between = repeaters_.emplace_back((name_ + "_twice" + std::to_string(repeaters_.size())).c_str());
    initiator.bind(between.in);
    between.out.bind(target);
  }
  std::uint64_t repeated() const {
    std::uint64_t sum = 0;
    for (const Repeater& between : repeaters_) sum += between.repeated;
    return sum;
  }

 private:
  std::string name_;
  bool repeats_;
  std::deque<Repeater> repeaters_;
};

}  // namespace faultline::test
