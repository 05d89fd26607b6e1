// SPDX-License-Identifier: Apache-2.0
// Initiators as somebody else would write them: against the TLM-2.0 base protocol alone. Nothing of Faultline is
// included.
#pragma once

#include <tlm_utils/peq_with_cb_and_phase.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <systemc>
#include <tlm>
#include <utility>
#include <vector>

namespace third_party {

struct Request {
  sc_core::sc_time start;  // not before
  bool write = false;
  std::uint64_t address = 0;
  std::vector<unsigned char> bytes = {};  // of a read: how many
  std::vector<unsigned char> byte_enables = {};
  unsigned streaming_width = 0;  // 0: as many as there are bytes
  tlm::tlm_command other_command = tlm::TLM_IGNORE_COMMAND;
  bool is_other = false;

  // What came of it.
  bool done = false;
  tlm::tlm_response_status status = tlm::TLM_INCOMPLETE_RESPONSE;
  sc_core::sc_time sent{}, accepted{}, ended{};
  bool dmi_allowed = false;
};

inline void fill(tlm::tlm_generic_payload& payload, Request& request) {
  payload.set_command(request.is_other ? request.other_command
                      : request.write  ? tlm::TLM_WRITE_COMMAND
                                       : tlm::TLM_READ_COMMAND);
  payload.set_address(request.address);
  payload.set_data_ptr(request.bytes.data());
  payload.set_data_length(static_cast<unsigned>(request.bytes.size()));
  payload.set_streaming_width(request.streaming_width > 0 ? request.streaming_width
                                                          : static_cast<unsigned>(request.bytes.size()));
  payload.set_byte_enable_ptr(request.byte_enables.empty() ? nullptr : request.byte_enables.data());
  payload.set_byte_enable_length(static_cast<unsigned>(request.byte_enables.size()));
  payload.set_dmi_allowed(false);
  payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
}

inline void keep(Request& request, const tlm::tlm_generic_payload& payload, const sc_core::sc_time& ended) {
  request.done = true;
  request.status = payload.get_response_status();
  request.ended = ended;
  request.dmi_allowed = payload.is_dmi_allowed();
}

// Blocking calls, from any number of threads, each of which does its requests one after the other.
class LooselyTimedInitiator : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<LooselyTimedInitiator> socket{"socket"};
  std::vector<std::vector<Request>> programs;  // one a thread

  LooselyTimedInitiator(sc_core::sc_module_name name, std::vector<std::vector<Request>> work, bool runs_ahead = false)
      : sc_module(name), programs(std::move(work)), runs_ahead_(runs_ahead) {
    for (auto& program : programs) {
      auto& payload = *payloads_.emplace_back(std::make_unique<tlm::tlm_generic_payload>());
      const auto run_it = [this, &program, &payload] { run(program, payload); };
      threads.push_back(sc_core::sc_spawn(run_it, sc_core::sc_gen_unique_name("thread")));
    }
  }
  std::vector<sc_core::sc_process_handle> threads;

 private:
  void run(std::vector<Request>& program, tlm::tlm_generic_payload& payload) {
    sc_core::sc_time delay;
    for (Request& request : program) {
      if (request.start > sc_core::sc_time_stamp() + delay) delay = request.start - sc_core::sc_time_stamp();
      if (!runs_ahead_ && delay > sc_core::SC_ZERO_TIME) wait(std::exchange(delay, sc_core::SC_ZERO_TIME));
      fill(payload, request);
      request.sent = sc_core::sc_time_stamp() + delay;
      socket->b_transport(payload, delay);
      keep(request, payload, sc_core::sc_time_stamp() + delay);
    }
  }
  std::vector<std::unique_ptr<tlm::tlm_generic_payload>> payloads_;  // one a thread
  bool runs_ahead_;  // of SystemC's clock, instead of waiting for the start
};

// Keeps transactions until nobody refers to them.
class Transactions : public tlm::tlm_mm_interface {
 public:
  tlm::tlm_generic_payload& take() {
    if (idle_.empty()) {
      all_.push_back(std::make_unique<tlm::tlm_generic_payload>(this));
      idle_.push_back(all_.back().get());
    }
    tlm::tlm_generic_payload& payload = *idle_.back();
    idle_.pop_back();
    payload.acquire();
    return payload;
  }
  void free(tlm::tlm_generic_payload* payload) override {
    payload->reset();
    idle_.push_back(payload);
  }
  std::size_t in_use() const { return all_.size() - idle_.size(); }

 private:
  std::vector<std::unique_ptr<tlm::tlm_generic_payload>> all_;
  std::vector<tlm::tlm_generic_payload*> idle_;
};

// How an initiator answers BEGIN_RESP.
enum class Reply { completed, updated, later };

// Non-blocking calls: sends each request when its start and the END_REQ before it have come.
class ApproximatelyTimedInitiator : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<ApproximatelyTimedInitiator> socket{"socket"};
  Transactions transactions;
  std::vector<Request> requests;
  std::vector<std::size_t> order;  // of the responses
  unsigned early = 0;              // completed by the call that began them

  // `hold`: from BEGIN_RESP to END_RESP.
  ApproximatelyTimedInitiator(sc_core::sc_module_name name, std::vector<Request> work, Reply reply,
                              sc_core::sc_time hold = {})
      : sc_module(name),
        requests(std::move(work)),
        reply_(reply),
        hold_(hold),
        ends_(this, &ApproximatelyTimedInitiator::on_end),
        payloads_(requests.size()) {
    socket.register_nb_transport_bw(this, &ApproximatelyTimedInitiator::nb_transport_bw);
    sc_core::sc_spawn([this] { run(); }, sc_core::sc_gen_unique_name("thread"));
  }

  // Will not end the response that it is at.
  void forget_response() {
    ends_.cancel_all();
    end(order.back());
  }
  // Gives up all transactions.
  void give_up() {
    for (auto& payload : payloads_) {
      if (payload != nullptr) std::exchange(payload, nullptr)->release();
    }
  }

 private:
  void run() {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      Request& request = requests[i];
      if (request.start > sc_core::sc_time_stamp()) wait(request.start - sc_core::sc_time_stamp());
      tlm::tlm_generic_payload& payload = transactions.take();
      payloads_[i] = &payload;
      fill(payload, request);
      request.sent = sc_core::sc_time_stamp();
      request_ = &payload;
      tlm::tlm_phase phase = tlm::BEGIN_REQ;
      sc_core::sc_time delay;
      const tlm::tlm_sync_enum said = socket->nb_transport_fw(payload, phase, delay);
      if (said == tlm::TLM_COMPLETED) {
        ++early;
        if (delay > sc_core::SC_ZERO_TIME) wait(delay);
        request_ = nullptr;
        finish(i);
      } else if (said == tlm::TLM_UPDATED) {
        if (delay > sc_core::SC_ZERO_TIME) wait(delay);
        on_phase(i, phase);
        if (phase == tlm::BEGIN_RESP) end(i);
      }
      while (request_ != nullptr) wait(go_on_);
    }
  }
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) {
    const auto i =
        static_cast<std::size_t>(std::find(payloads_.begin(), payloads_.end(), &payload) - payloads_.begin());
    if (i == payloads_.size()) SC_REPORT_ERROR("third party", "a response to something unknown");
    if (phase == tlm::BEGIN_RESP && responding_) SC_REPORT_ERROR("third party", "BEGIN_RESP before END_RESP");
    if (phase == tlm::BEGIN_RESP && sc_core::sc_time_stamp() < busy_) {
      SC_REPORT_ERROR("third party", "BEGIN_RESP before the END_RESP that was told");
    }
    on_phase(i, phase);
    if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
    responding_ = true;
    if (reply_ == Reply::later) {
      ends_.notify(payload, tlm::END_RESP, hold_);
      return tlm::TLM_ACCEPTED;
    }
    phase = tlm::END_RESP;
    delay += hold_;
    busy_ = sc_core::sc_time_stamp() + delay;
    end(i);
    return reply_ == Reply::completed ? tlm::TLM_COMPLETED : tlm::TLM_UPDATED;
  }
  void on_phase(std::size_t i, const tlm::tlm_phase& phase) {
    if (request_ == payloads_[i]) {
      request_ = nullptr;
      requests[i].accepted = sc_core::sc_time_stamp();
      go_on_.notify();
    }
    if (phase == tlm::BEGIN_RESP) {
      keep(requests[i], *payloads_[i], sc_core::sc_time_stamp());
      order.push_back(i);
    }
  }
  void on_end(tlm::tlm_generic_payload& payload, const tlm::tlm_phase&) {
    const auto i =
        static_cast<std::size_t>(std::find(payloads_.begin(), payloads_.end(), &payload) - payloads_.begin());
    tlm::tlm_phase phase = tlm::END_RESP;
    sc_core::sc_time delay;
    responding_ = false;
    socket->nb_transport_fw(payload, phase, delay);
    end(i);
  }
  void finish(std::size_t i) {
    keep(requests[i], *payloads_[i], sc_core::sc_time_stamp());
    order.push_back(i);
    end(i);
  }
  void end(std::size_t i) {
    responding_ = false;
    std::exchange(payloads_[i], nullptr)->release();
  }

  Reply reply_;
  sc_core::sc_time hold_;
  tlm_utils::peq_with_cb_and_phase<ApproximatelyTimedInitiator> ends_;
  std::vector<tlm::tlm_generic_payload*> payloads_;
  tlm::tlm_generic_payload* request_ = nullptr;
  sc_core::sc_event go_on_;
  bool responding_ = false;
  sc_core::sc_time busy_;  // until then the response phase lasts
};

}  // namespace third_party
