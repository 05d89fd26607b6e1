// SPDX-License-Identifier: Apache-2.0
// From the data path to a memory of somebody else's that speaks the TLM-2.0 base protocol.
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <cstdint>
#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

#include "models/sim/context.hpp"
#include "models/sim/transport.hpp"
#include "models/tlm/agenda.hpp"
#include "models/tlm/base_protocol.hpp"

namespace faultline::adapters {

struct ToBaseConfig {
  enum class Calls {
    blocking,      // b_transport, in which the memory may wait
    non_blocking,  // nb_transport_fw: two or four phases, or early completion, as the memory likes
  };
  // As AXI has it, responses to cells of one train come in order. A memory may keep another order.
  enum class Order {
    as_answered,  // each cell at its own instant: cells become trains of their own (Parted) before they arrive
    in_order,     // an answer waits for those before it. For initiators that know no Parted, e.g. the SMMU
  };

  Calls calls = Calls::non_blocking;
  Order order = Order::as_answered;
  // Of blocking calls: accesses that the memory works on at a time, a thread of SystemC each. 1 to 1024. Cells that
  // come when all are busy wait, first come, first served.
  unsigned threads = 16;
};

// The part of ToBase that does not depend on the socket's width.
class ToBaseModule : public sc_core::sc_module {
 public:
  // Any number of initiators; of cells that arrive at one instant, that of the first bound goes first.
  //   nb_transport  a train's cells go to the memory one by one, each as a transaction of its own at its instant, and
  //                 are answered when the memory's response has come, with its status and data. Cells that are taken
  //                 back before they go are not seen by the memory. A write without content disables all bytes.
  //   b_transport   without time: the memory's transport_dbg. What it does not do is an address error.
  //   transport_dbg the memory's.
  // An answer without a status (TLM_INCOMPLETE_RESPONSE) is a TLM_GENERIC_ERROR_RESPONSE.
  tlm_utils::multi_passthrough_target_socket<ToBaseModule, sim::kBusBits, sim::DataPath> in{"in"};

  // What has arrived and has not been answered is answered now with TLM_GENERIC_ERROR_RESPONSE; what the memory says of
  // it later is ignored. The memory must be reset, too, or go on as if nothing was. A thread in b_transport is busy
  // until it returns.
  void reset() { resets_.now(); }

 protected:
  // Throws std::invalid_argument if the number of threads is out of range.
  ToBaseModule(sc_core::sc_module_name name, const ToBaseConfig& config, const sim::Context& context);
  ~ToBaseModule() override;

  virtual tlm::tlm_fw_transport_if<>& memory() = 0;
  tlm::tlm_sync_enum on_backward(tlm::tlm_generic_payload& access, tlm::tlm_phase& phase, sc_core::sc_time& delay);

 private:
  struct Passage;  // what is remembered of a train
  struct Access;   // what is remembered of a cell that has arrived: an extension of its transaction
  struct Worker;   // a thread

  tlm::tlm_sync_enum on_cells(int inlet, tlm::tlm_generic_payload& train, sim::Message& message, sc_core::sc_time&);
  void on_word(int inlet, tlm::tlm_generic_payload& word, sc_core::sc_time&);
  unsigned on_debug(int inlet, tlm::tlm_generic_payload& payload);

  // The way of a cell to the memory: it arrives, waits for its turn and goes.
  void announce(std::uint32_t inlet, tlm::tlm_generic_payload& train);
  void expect(std::uint32_t inlet, tlm::tlm_generic_payload& train);
  tlm::tlm_generic_payload& part_last(tlm::tlm_generic_payload& train);
  void cut(tlm::tlm_generic_payload& train);
  void arrive();
  tlm::tlm_generic_payload& make_access(tlm::tlm_generic_payload& train, std::uint32_t cell);
  void send();
  void send_request();
  void work(Worker& worker);

  // And back.
  void heed(tlm::tlm_generic_payload& access, const tlm::tlm_phase& phase, const sc_core::sc_time& delay);
  void end_request(const tlm::tlm_generic_payload& access, const sc_core::sc_time& delay);
  void begin_response(tlm::tlm_generic_payload& access, const sc_core::sc_time& delay);
  void respond();
  void finish(tlm::tlm_generic_payload& access);
  void answer(tlm::tlm_generic_payload& train, tlm::tlm_generic_payload& access);
  void forget(tlm::tlm_generic_payload& access);
  void abandon_all();

  const ToBaseConfig config_;
  const sim::Context& context_;
  // Trains whose cells are to come, and transactions whose responses are.
  Agenda<tlm::tlm_generic_payload, ToBaseModule, &ToBaseModule::arrive> arrivals_;
  Agenda<tlm::tlm_generic_payload, ToBaseModule, &ToBaseModule::respond> responses_;
  sim::Wakeup<ToBaseModule, &ToBaseModule::abandon_all> resets_;
  std::uint64_t next_number_ = 0;
  sim::Deque<tlm::tlm_generic_payload*> ready_;              // have arrived and not gone
  sim::Map<std::uint64_t, tlm::tlm_generic_payload*> open_;  // have arrived and are not answered; by number
  sc_core::sc_event send_;
  const tlm::tlm_generic_payload* request_ = nullptr;  // whose request phase lasts
  sim::Time request_free_{0};                          // when another may begin
  std::vector<std::unique_ptr<Worker>> workers_;
  sim::Vector<Worker*> idle_;
};

// BusBits: of the memory's socket.
template <unsigned BusBits = kUsualBusBits>
class ToBase : public ToBaseModule {
 public:
  ToBase(sc_core::sc_module_name name, const ToBaseConfig& config, const sim::Context& context)
      : ToBaseModule(name, config, context) {
    out.register_nb_transport_bw(this, &ToBase::on_backward);
  }
  tlm_utils::simple_initiator_socket<ToBase, BusBits> out{"out"};

 private:
  tlm::tlm_fw_transport_if<>& memory() override { return *out.operator->(); }
};

}  // namespace faultline::adapters
