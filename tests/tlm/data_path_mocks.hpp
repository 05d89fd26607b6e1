// SPDX-License-Identifier: Apache-2.0
// Stand-ins for what is on the other side of an adapter, on the data path.
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>
#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "models/sim/answers.hpp"
#include "models/sim/context.hpp"
#include "models/sim/transport.hpp"
#include "models/soc/axi.hpp"

namespace faultline::test {

struct CellAnswer {
  std::uint64_t address;
  sim::Time at;
  tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
  bool operator==(const CellAnswer&) const = default;
};

// Sends trains, and keeps the answers to their cells, which must be final.
class TrainSender : public sc_core::sc_module {
 public:
  sim::InitiatorSocket<TrainSender> out{"out"};
  std::vector<CellAnswer> answers;             // in the order in which they came
  std::map<std::uint64_t, sim::Content> data;  // of the cells that were read, by address
  unsigned not_final = 0;                      // answers that were announced before their instant
  std::function<void()> on_answer = [] {};

  TrainSender(sc_core::sc_module_name name, const sim::Context& context) : sc_module(name), context_(context) {
    out.register_nb_transport_bw(this, &TrainSender::on_message);
  }

  void write(std::uint64_t address, std::uint32_t cell_bytes, const sim::TimeSequence& times,
             const sim::Content& content) {
    send(tlm::TLM_WRITE_COMMAND, address, cell_bytes, times, content);
  }
  void read(std::uint64_t address, std::uint32_t cell_bytes, const sim::TimeSequence& times) {
    send(tlm::TLM_READ_COMMAND, address, cell_bytes, times, {});
  }
  // Cells that lie at `address` or behind it and have not gone do not come.
  void take_back(std::uint64_t address) {
    const auto open = open_;
    for (tlm::tlm_generic_payload* payload : open) {
      sim::Train& train = sim::train_of(*payload);
      const std::uint64_t begin = payload->get_address();
      const auto before = address <= begin ? 0 : static_cast<std::uint32_t>((address - begin) / train.cell_bytes);
      const std::uint32_t kept = std::max(before, train.times.count_by(context_.now()));
      if (kept >= train.cells()) continue;
      train.times.drop_back(train.cells() - kept);
      if (!train.content.empty()) train.content = train.content.slice(0, train.bytes());
      sim::send_on(out, *payload, {kept});
      release_if_over(*payload);
    }
  }
  std::size_t open() const { return open_.size(); }

 private:
  struct Told : tlm::tlm_extension<Told> {
    std::uint32_t cells = 0;
    tlm::tlm_extension_base* clone() const override { return new Told(*this); }
    void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Told&>(other); }
  };

  void send(tlm::tlm_command command, std::uint64_t address, std::uint32_t cell_bytes, const sim::TimeSequence& times,
            const sim::Content& content) {
    tlm::tlm_generic_payload& payload = context_.payloads.acquire();
    sim::Train& train = sim::train_of(payload);
    train.times = times;
    train.cell_bytes = cell_bytes;
    train.content = content;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_length(train.bytes());
    payload.set_streaming_width(train.bytes());
    remember(payload);
    sim::send_on(out, payload);
  }
  void remember(tlm::tlm_generic_payload& payload) {
    sim::extension<Told>(payload).cells = 0;
    open_.push_back(&payload);
  }
  tlm::tlm_sync_enum on_message(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time&) {
    if (const auto* parted = std::get_if<sim::Parted>(&message)) {
      remember(parted->rest);
      return tlm::TLM_ACCEPTED;
    }
    const auto& said = std::get<sim::Answers>(message);
    std::uint32_t& told = sim::extension<Told>(payload).cells;
    if (said.from != told) throw std::logic_error("answers are not in order");
    const std::uint32_t cell_bytes = sim::train_of(payload).cell_bytes;
    for (std::uint32_t i = 0; i < said.instants.size(); ++i, ++told) {
      const std::uint64_t address = payload.get_address() + std::uint64_t{told} * cell_bytes;
      answers.push_back({address, said.instants.at(i), said.status});
      if (said.instants.at(i) > context_.now()) ++not_final;
      if (!said.data.empty()) data[address] = said.data.slice(i * cell_bytes, cell_bytes);
    }
    release_if_over(payload);
    on_answer();
    return tlm::TLM_ACCEPTED;
  }
  void release_if_over(tlm::tlm_generic_payload& payload) {
    if (sim::extension<Told>(payload).cells < sim::train_of(payload).cells()) return;
    std::erase(open_, &payload);
    payload.release();
  }

  const sim::Context& context_;
  std::vector<tlm::tlm_generic_payload*> open_;
};

// Answers each cell `latency` after it came, in order, as soon as it hears of the train.
class CellMemory : public sc_core::sc_module {
 public:
  struct Request {
    std::uint64_t address;
    bool write;
    std::uint32_t cell_bytes;
    std::uint32_t master_id;
    sim::TimeSequence times;
    bool operator==(const Request&) const = default;
  };
  tlm_utils::multi_passthrough_target_socket<CellMemory, sim::kBusBits, sim::DataPath> in{"in"};
  std::vector<Request> requests;
  sim::Content bytes;
  sim::Time latency{0};
  // What it says first comes so much before the truth, which it says at that instant.
  sim::Time too_early{0};
  bool parts = false;                                     // the last cell of each train of several
  std::map<std::uint64_t, tlm::tlm_response_status> bad;  // cells by address

  CellMemory(sc_core::sc_module_name name, std::uint32_t size, sim::Time answers_after, const sim::Context& context)
      : sc_module(name),
        bytes(sim::Content::zeros(size)),
        latency(answers_after),
        context_(context),
        port_(context.loop.new_port()) {
    in.register_nb_transport_fw(this, &CellMemory::on_train);
  }

 private:
  tlm::tlm_sync_enum on_train(int id, tlm::tlm_generic_payload& payload, sim::Message&, sc_core::sc_time&) {
    sim::Train& train = sim::train_of(payload);
    const bool write = payload.is_write();
    requests.push_back({payload.get_address(), write, train.cell_bytes,
                        sim::extension<soc::AxiAttributes>(payload).master_id, train.times});
    if (write) bytes.overwrite(static_cast<std::uint32_t>(payload.get_address()), train.content);
    tlm::tlm_generic_payload* rest = nullptr;
    if (parts && train.cells() > 1) rest = &part_last(id, payload);
    if (rest != nullptr) answer(id, *rest, sim::Time{0});
    if (too_early > sim::Time{0}) {
      answer(id, payload, too_early);
      ids_[&payload] = id;
      context_.loop.at<&CellMemory::correct>(train.times.front() + latency - too_early, port_, *this,
                                             reinterpret_cast<std::uint64_t>(&payload));
    } else {
      answer(id, payload, sim::Time{0});
    }
    return tlm::TLM_ACCEPTED;
  }
  tlm::tlm_generic_payload& part_last(int id, tlm::tlm_generic_payload& payload) {
    sim::Train& train = sim::train_of(payload);
    tlm::tlm_generic_payload& rest = context_.payloads.acquire();
    sim::train_of(rest).times = train.times.suffix(train.cells() - 1);
    sim::train_of(rest).cell_bytes = train.cell_bytes;
    train.times.drop_back(1);
    rest.set_command(payload.get_command());
    rest.set_address(payload.get_address() + train.bytes());
    sim::send_back(in[id], payload, sim::Parted{rest});
    return rest;
  }
  void correct(std::uint64_t of) {
    auto& payload = *reinterpret_cast<tlm::tlm_generic_payload*>(of);
    sim::send_back(in[ids_[&payload]], payload, sim::Answers{0, {}});
    answer(ids_[&payload], payload, sim::Time{0});
  }
  // Cell by cell: each has a status of its own.
  void answer(int id, tlm::tlm_generic_payload& payload, sim::Time earlier) {
    const sim::Train train = sim::train_of(payload);
    for (std::uint32_t cell = 0; cell < train.cells(); ++cell) {
      const std::uint64_t address = payload.get_address() + std::uint64_t{cell} * train.cell_bytes;
      const auto found = bad.find(address);
      const auto status = found == bad.end() ? tlm::TLM_OK_RESPONSE : found->second;
      sim::Content data;
      if (payload.is_read() && status == tlm::TLM_OK_RESPONSE) {
        data = bytes.slice(static_cast<std::uint32_t>(address), train.cell_bytes);
      }
      const auto instant = sim::TimeSequence::single(train.times.at(cell) + latency - earlier);
      sim::send_back(in[id], payload, sim::Answers{cell, instant, status, data});
    }
  }

  const sim::Context& context_;
  sim::Port port_;
  std::map<tlm::tlm_generic_payload*, int> ids_;
};

}  // namespace faultline::test
