// SPDX-License-Identifier: Apache-2.0
// Memories as somebody else would write them: against the TLM-2.0 base protocol alone. Nothing of Faultline is
// included.
#pragma once

#include <tlm_utils/peq_with_cb_and_phase.h>
#include <tlm_utils/simple_target_socket.h>
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <systemc>
#include <tlm>
#include <utility>
#include <vector>

namespace third_party {

// What a memory has seen, and when.
struct Visit {
  std::uint64_t address;
  bool write;
  unsigned length;
  sc_core::sc_time at;
  bool operator==(const Visit&) const = default;
};

class Storage {
 public:
  explicit Storage(std::size_t size) : bytes(size) {}
  std::vector<unsigned char> bytes;
  std::vector<Visit> visits;

  void note(const tlm::tlm_generic_payload& payload, const sc_core::sc_time& delay) {
    visits.push_back(
        {payload.get_address(), payload.is_write(), payload.get_data_length(), sc_core::sc_time_stamp() + delay});
  }

  void access(tlm::tlm_generic_payload& payload) {
    const std::uint64_t address = payload.get_address();
    const unsigned length = payload.get_data_length();
    if (address >= bytes.size() || length > bytes.size() - address) {
      payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      return;
    }
    const unsigned char* enables = payload.get_byte_enable_ptr();
    for (unsigned i = 0; i < length; ++i) {
      if (enables != nullptr && enables[i % payload.get_byte_enable_length()] != TLM_BYTE_ENABLED) continue;
      unsigned char& here = bytes[address + i % payload.get_streaming_width()];
      unsigned char& there = payload.get_data_ptr()[i];
      payload.is_write() ? here = there : there = here;
    }
    payload.set_dmi_allowed(true);  // a hint that nobody has to follow
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
};

using Latency = std::function<sc_core::sc_time(std::uint64_t address)>;

// Does nothing, and forgets to say so.
class ForgetfulMemory : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<ForgetfulMemory> socket{"socket"};

  ForgetfulMemory(sc_core::sc_module_name name, std::size_t) : sc_module(name) {
    socket.register_b_transport(this, &ForgetfulMemory::b_transport);
  }

 private:
  void b_transport(tlm::tlm_generic_payload&, sc_core::sc_time&) {}
};

// Waits inside b_transport, or says in the delay how long it would have waited.
class LooselyTimedMemory : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<LooselyTimedMemory> socket{"socket"};
  Storage storage;
  unsigned most_at_a_time = 0;

  LooselyTimedMemory(sc_core::sc_module_name name, std::size_t size, Latency latency, bool waits)
      : sc_module(name), storage(size), latency_(std::move(latency)), waits_(waits) {
    socket.register_b_transport(this, &LooselyTimedMemory::b_transport);
    socket.register_transport_dbg(this, &LooselyTimedMemory::transport_dbg);
  }

 private:
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    storage.note(payload, delay);
    most_at_a_time = std::max(most_at_a_time, ++at_a_time_);
    if (waits_) {
      wait(delay + latency_(payload.get_address()));
      delay = sc_core::SC_ZERO_TIME;
    } else {
      delay += latency_(payload.get_address());
    }
    storage.access(payload);
    --at_a_time_;
  }
  unsigned transport_dbg(tlm::tlm_generic_payload& payload) {
    storage.access(payload);
    return payload.is_response_ok() ? payload.get_data_length() : 0;
  }

  Latency latency_;
  bool waits_;
  unsigned at_a_time_ = 0;
};

// The ways in which a target may answer nb_transport_fw.
enum class Style {
  two_phases,       // BEGIN_RESP, which ends the request, too
  four_phases,      // END_REQ, then BEGIN_RESP, which waits for END_RESP
  end_req_updated,  // END_REQ by TLM_UPDATED with a delay, then BEGIN_RESP
  resp_updated,     // BEGIN_RESP by TLM_UPDATED with a delay
  early,            // TLM_COMPLETED with a delay
};

// `accept`: from a request to its END_REQ. Latencies count from the request on, so responses may overtake each other.
class ApproximatelyTimedMemory : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<ApproximatelyTimedMemory> socket{"socket"};
  Storage storage;

  ApproximatelyTimedMemory(sc_core::sc_module_name name, std::size_t size, Style style, sc_core::sc_time accept,
                           Latency latency)
      : sc_module(name),
        storage(size),
        style_(style),
        accept_(accept),
        latency_(std::move(latency)),
        queue_(this, &ApproximatelyTimedMemory::on_phase) {
    socket.register_nb_transport_fw(this, &ApproximatelyTimedMemory::nb_transport_fw);
    socket.register_transport_dbg(this, &ApproximatelyTimedMemory::transport_dbg);
  }

  // Forgets what it was asked.
  void reset() {
    queue_.cancel_all();
    request_ = nullptr;
    busy_ = sc_core::SC_ZERO_TIME;
  }

 private:
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) {
    if (phase != tlm::BEGIN_REQ) {
      queue_.notify(payload, phase, delay);
      return tlm::TLM_ACCEPTED;
    }
    if (request_ != nullptr) SC_REPORT_ERROR("third party", "BEGIN_REQ before END_REQ");
    if (sc_core::sc_time_stamp() < busy_) SC_REPORT_ERROR("third party", "BEGIN_REQ before the END_REQ that was told");
    storage.note(payload, delay);
    const sc_core::sc_time latency = latency_(payload.get_address());
    if (style_ == Style::early || style_ == Style::resp_updated) {
      storage.access(payload);
      delay += latency;
      busy_ = sc_core::sc_time_stamp() + delay;
      phase = tlm::BEGIN_RESP;
      return style_ == Style::early ? tlm::TLM_COMPLETED : tlm::TLM_UPDATED;
    }
    payload.acquire();
    if (style_ != Style::end_req_updated) request_ = &payload;
    queue_.notify(payload, tlm::BEGIN_RESP, delay + latency);
    if (style_ == Style::four_phases) queue_.notify(payload, tlm::END_REQ, delay + accept_);
    if (style_ != Style::end_req_updated) return tlm::TLM_ACCEPTED;
    phase = tlm::END_REQ;
    delay += accept_;
    busy_ = sc_core::sc_time_stamp() + delay;
    return tlm::TLM_UPDATED;
  }

  void on_phase(tlm::tlm_generic_payload& payload, const tlm::tlm_phase& phase) {
    if (phase == tlm::END_REQ && request_ == &payload) {
      request_ = nullptr;
      tlm::tlm_phase end = tlm::END_REQ;
      sc_core::sc_time delay;
      socket->nb_transport_bw(payload, end, delay);
    } else if (phase == tlm::BEGIN_RESP) {
      storage.access(payload);
      responses_.push_back(&payload);
      respond();
    } else if (phase == tlm::END_RESP) {
      end_response();
    }
  }
  void respond() {
    if (responding_ || responses_.empty()) return;
    responding_ = true;
    tlm::tlm_generic_payload& payload = *responses_.front();
    if (request_ == &payload) request_ = nullptr;
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay;
    const tlm::tlm_sync_enum said = socket->nb_transport_bw(payload, phase, delay);
    if (said == tlm::TLM_COMPLETED || (said == tlm::TLM_UPDATED && phase == tlm::END_RESP)) {
      if (delay == sc_core::SC_ZERO_TIME) return end_response();
      queue_.notify(payload, tlm::END_RESP, delay);
    }
  }
  void end_response() {
    responses_.front()->release();
    responses_.pop_front();
    responding_ = false;
    respond();
  }
  unsigned transport_dbg(tlm::tlm_generic_payload& payload) {
    storage.access(payload);
    return payload.is_response_ok() ? payload.get_data_length() : 0;
  }

  Style style_;
  sc_core::sc_time accept_;
  Latency latency_;
  tlm_utils::peq_with_cb_and_phase<ApproximatelyTimedMemory> queue_;
  const tlm::tlm_generic_payload* request_ = nullptr;
  sc_core::sc_time busy_;
  std::deque<tlm::tlm_generic_payload*> responses_;
  bool responding_ = false;
};

}  // namespace third_party
