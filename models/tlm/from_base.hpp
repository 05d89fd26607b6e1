// SPDX-License-Identifier: Apache-2.0
// From an initiator of somebody else's (an accelerator) that speaks the TLM-2.0 base protocol to the data path.
#pragma once

#include <tlm_utils/passthrough_target_socket.h>
#include <cstdint>
#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

#include "models/sim/answers.hpp"
#include "models/sim/context.hpp"
#include "models/sim/transport.hpp"
#include "models/tlm/agenda.hpp"
#include "models/tlm/base_protocol.hpp"

namespace faultline::adapters {

struct FromBaseConfig {
  // Of every access: soc::AxiAttributes::master_id, of 10 bits, by which the SMMU knows the device.
  std::uint32_t master_id = 0;
  // Bursts of at most 256 B on their way, reads and writes each. 1 to 65536. A slot is free again at the response.
  unsigned outstanding_reads = 8;
  unsigned outstanding_writes = 8;
};

// The part of FromBase that does not depend on the socket's width.
//
// Transactions become bursts that do not cross a multiple of 256 B, as AXI's do not cross 4 KiB. They go when there is
// a slot, in the order in which they came, reads and writes each. An access that overlaps one of the other direction
// that came before waits until that one is over: AXI keeps no order between the two, and the base protocol does.
//
// The response is given at the instant at which the last burst has been answered, because what the data path has
// announced may be taken back until then. Its status is that of the first burst, by address, that failed.
//
//   nb_transport_fw  BEGIN_REQ is answered by TLM_ACCEPTED, then END_REQ when all bursts have gone (that is how the
//                    bound keeps an initiator back), then BEGIN_RESP. The initiator may answer that by TLM_COMPLETED,
//                    by TLM_UPDATED with END_RESP, or by END_RESP later; the next response comes after it.
//   b_transport      returns at the response's instant, with a delay of zero. Any number of threads may call.
//   transport_dbg    the data path's, if what is behind has one.
//   DMI              refused.
// What the data path cannot do is answered at once (early completion: TLM_COMPLETED):
//   byte enables                                      TLM_BYTE_ENABLE_ERROR_RESPONSE
//   a streaming width below the data's length         TLM_BURST_ERROR_RESPONSE
//   no data, or no pointer to them                    TLM_BURST_ERROR_RESPONSE
//   addresses that go on behind the last one at 0     TLM_ADDRESS_ERROR_RESPONSE
//   neither read nor write                            TLM_COMMAND_ERROR_RESPONSE
class FromBaseModule : public sc_core::sc_module {
 public:
  sim::InitiatorSocket<FromBaseModule> reads{"reads"};
  sim::InitiatorSocket<FromBaseModule> writes{"writes"};

  // Every transaction that is open is answered now with TLM_GENERIC_ERROR_RESPONSE; of one whose BEGIN_RESP has been
  // sent no END_RESP is waited for. Bursts that have gone keep their slots until the data path answers them.
  void reset() { resets_.now(); }
  // Trains of bursts that have gone and have not been answered.
  std::size_t trains_on_their_way() const { return bursts_.size(); }

 protected:
  // Throws std::invalid_argument if a number of the configuration is out of range.
  FromBaseModule(sc_core::sc_module_name name, const FromBaseConfig& config, const sim::Context& context);
  ~FromBaseModule() override;

  virtual tlm::tlm_bw_transport_if<>& initiator() = 0;
  tlm::tlm_sync_enum on_forward(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void on_blocking(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned on_debug(tlm::tlm_generic_payload& payload);
  bool on_direct_memory(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& region);

 private:
  struct Call;  // a transaction
  struct Caller;
  struct Burst;  // what is remembered of a train
  // Reads, or writes.
  struct Channel {
    sim::InitiatorSocket<FromBaseModule>& socket;
    unsigned slots;
    sim::Deque<Call*> waiting = {};  // have come and not gone, at least in part
  };

  Call& open(tlm::tlm_generic_payload& payload, sim::Time start);
  void close(Call& call);
  void start();
  void pump_both();
  void pump(Channel& channel);
  bool must_wait(const Call& call) const;
  void send_train(Channel& channel, Call& call);
  Burst& remember(tlm::tlm_generic_payload& train, Call* call, std::uint32_t offset);

  tlm::tlm_sync_enum on_message(tlm::tlm_generic_payload& train, sim::Message& message, sc_core::sc_time&);
  void answered(tlm::tlm_generic_payload& train, const sim::Answers& answers);
  void settle();
  void settle_train(tlm::tlm_generic_payload& train);
  void wait_for_answer(tlm::tlm_generic_payload& train);
  void complete(Call& call);

  // Calls of the initiator.
  void speak();
  void speak_at(sim::Time when);
  void respond(Call& call);
  void end_response(const sc_core::sc_time& delay);
  // The caller does not wait any more.
  void abandon(Call& call);
  void abandon_all();
  void end_of_simulation() override;

  Channel& channel_of(const tlm::tlm_generic_payload& payload) { return payload.is_write() ? write_ : read_; }

  const FromBaseConfig config_;
  const sim::Context& context_;
  Channel read_;
  Channel write_;
  // Transactions that are to begin, and trains that have answers to come.
  Agenda<Call, FromBaseModule, &FromBaseModule::start> starts_;
  Agenda<tlm::tlm_generic_payload, FromBaseModule, &FromBaseModule::settle> answers_;
  sim::Wakeup<FromBaseModule, &FromBaseModule::abandon_all> resets_;
  sim::Wakeup<FromBaseModule, &FromBaseModule::pump_both> retries_;
  std::uint64_t next_number_ = 0;
  std::vector<std::unique_ptr<Call>> all_calls_;
  sim::Vector<Call*> idle_calls_;
  sim::Map<std::uint64_t, Call*> calls_;                       // that are open, by number
  sim::Map<std::uint64_t, tlm::tlm_generic_payload*> bursts_;  // trains that are not answered, by number
  sc_core::sc_event speak_;
  sim::Deque<Call*> accepted_;   // END_REQ is to be sent
  sim::Deque<Call*> responses_;  // BEGIN_RESP is to be sent
  Call* request_ = nullptr;      // whose request phase lasts
  Call* response_ = nullptr;     // whose response phase lasts
  sim::Time response_free_{0};   // when another may begin
};

// BusBits: of the initiator's socket.
template <unsigned BusBits = kUsualBusBits>
class FromBase : public FromBaseModule {
 public:
  FromBase(sc_core::sc_module_name name, const FromBaseConfig& config, const sim::Context& context)
      : FromBaseModule(name, config, context) {
    in.register_nb_transport_fw(this, &FromBase::on_forward);
    in.register_b_transport(this, &FromBase::on_blocking);
    in.register_transport_dbg(this, &FromBase::on_debug);
    in.register_get_direct_mem_ptr(this, &FromBase::on_direct_memory);
  }
  tlm_utils::passthrough_target_socket<FromBase, BusBits> in{"in"};

 private:
  tlm::tlm_bw_transport_if<>& initiator() override { return *in.operator->(); }
};

}  // namespace faultline::adapters
