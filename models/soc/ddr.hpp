// SPDX-License-Identifier: Apache-2.0
// The DDR controller of a node and the memory behind it: one first-come server at the effective
// bandwidth, then a latency, for everybody who reads or writes memory.
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>
#include <cstdint>
#include <functional>
#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

#include "models/memory/frame_store.hpp"
#include "models/sim/context.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/task.hpp"
#include "models/sim/train_server.hpp"
#include "models/sim/transport.hpp"
#include "models/sim/wakeup.hpp"

namespace faultline::soc {

using namespace std::chrono_literals;

struct DdrConfig {
  std::uint64_t size = std::uint64_t{16} << 30;
  sim::ByteRate peak_bandwidth{19'200'000'000};
  double efficiency = 0.75;  // counts in whole parts per million
  sim::Time latency = 100ns;

  void declare(sim::ParameterTable& table);
  // peak_bandwidth * efficiency in whole bytes per second.
  sim::ByteRate effective_bandwidth() const;
};

// A cell of a device that has come through a translation which does not describe the frame (any longer).
struct StaleCell {
  memory::Address address;  // physical, of its first byte
  std::uint32_t bytes;
  bool write;
  std::uint32_t master_id;  // AxiAttributes::master_id
};

class DdrController : public sc_core::sc_module {
 public:
  // Any number of initiators; of requests that arrive at one instant, that of the first bound goes first, and of its
  // own reads before writes.
  //   nb_transport   trains, answered as soon as the first cell has arrived. Out of range: TLM_ADDRESS_ERROR_RESPONSE
  //                  at the same instants. Bulk traffic of the CPU, marked so in the AxiAttributes, is timing only: its
  //                  responses are the instants at which the controller has moved each cell, without the latency,
  //                  which caches and write buffers hide.
  //   b_transport    any number of bytes, without time. Byte enables and a streaming width below the length are
  //                  answered with their errors.
  //   transport_dbg  any number of bytes, which nothing counts. Returns how many of them lie in the memory.
  tlm_utils::multi_passthrough_target_socket<DdrController, sim::kBusBits, sim::DataPath> port{"port"};

  DdrController(sc_core::sc_module_name name, const DdrConfig& config, const sim::Context& context);
  ~DdrController() override;

  const DdrConfig& config() const { return config_; }
  // For the operating system's model, which is what decides about frames.
  memory::FrameStore& frames() { return frames_; }
  // Notifies the signal whenever the controller has moved the last cell of a device's write to the frame: what
  // lets a polling program be simulated without its loads. Both must outlive the simulation. kEveryFrame: to any.
  static constexpr memory::Address kEveryFrame = UINT64_MAX;
  void watch(memory::Address frame, sim::Signal& written);
  // Whether no write of a device to the frame, of which the content shows already, has yet to be moved. Known only
  // while somebody watches kEveryFrame.
  bool is_settled(memory::Address frame) const;
  // Calls the listener for each cell that memory.stale_accesses counts, at the instant at which the cell arrives: after
  // all cells before it, and before the software of that instant. There is one listener.
  void on_stale(std::function<void(const StaleCell& cell)> listener) { on_stale_ = std::move(listener); }
  // Nobody polls there any more: the signal may go.
  void unwatch(const sim::Signal& written);
  // For how long the controller has moved data, up to now.
  sim::Time busy() const { return server_.busy(context_.now()); }
  // How long the controller is busy with one cell.
  sim::Time service(std::uint32_t cell_bytes) const {
    return cell_bytes == sim::kCellBytes ? full_cell_ : effective_.time_for(cell_bytes);
  }

 private:
  struct Inlet;    // one initiator
  struct Arrival;  // what is remembered with a payload
  // Cells of a train that go to one frame.
  struct FramePart {
    memory::Address frame;  // its number
    std::uint32_t first, end;
    std::uint32_t stale_from;  // cells from here on are counted as stale
  };

  void end_of_elaboration() override;
  tlm::tlm_sync_enum on_request(int id, tlm::tlm_generic_payload& payload, sim::Message& message,
                                sc_core::sc_time& delay);
  void on_blocking(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned on_debug(int id, tlm::tlm_generic_payload& payload);
  void serve(Inlet& inlet, tlm::tlm_generic_payload& payload);
  void recall(tlm::tlm_generic_payload& payload);
  void tell_changed();
  void respond(tlm::tlm_generic_payload& payload, const sim::TimeSequence& moved, const sim::Content& data);
  void write_content(tlm::tlm_generic_payload& payload);
  void tell_watchers(const tlm::tlm_generic_payload& payload, sim::Time moved);
  void notify_watch(std::uint64_t index);
  void move_bytes(tlm::tlm_generic_payload& payload, std::uint32_t bytes);
  // Cells of the train that come through a translation that does not describe the frame (any longer).
  void count_stale(tlm::tlm_generic_payload& payload);
  void mapping_changed(memory::Address frame);
  void uncount_stale(tlm::tlm_generic_payload& payload);
  // Cells of the train, at these instants, are stale.
  void tell_stale(tlm::tlm_generic_payload& payload, const sim::TimeSequence& arrivals, std::uint32_t first,
                  std::uint32_t end);
  void tell_stale_cells();

  DdrConfig config_;
  const sim::Context& context_;
  sim::ByteRate effective_;
  sim::Time full_cell_;  // service time of a cell of kCellBytes
  memory::FrameStore frames_;
  sim::TrainServer server_;
  sim::Wakeup<DdrController, &DdrController::tell_changed> changes_;
  std::vector<std::unique_ptr<Inlet>> inlets_;
  struct Watch {
    memory::Address frame;  // its number
    sim::Signal* written;   // nullptr: nobody polls there any more
  };
  std::vector<Watch> watches_;
  struct Moving {
    memory::Address first, last;  // numbers of frames
    sim::Time moved;
  };
  std::vector<Moving> moving_;  // writes that watchers of every frame will be told of
  // Trains of which cells are coming, and whose translation has described at least one frame so far.
  struct Fresh {
    tlm::tlm_generic_payload* payload;
    sim::TimeSequence arrivals;
  };
  std::vector<Fresh> fresh_;
  // Stale cells that have been announced and have not arrived, for the listener.
  struct Coming {
    tlm::tlm_generic_payload* payload;
    std::uint32_t number;  // of the cell in its train
    sim::Time at;
    StaleCell cell;
  };
  std::function<void(const StaleCell&)> on_stale_;
  std::vector<Coming> coming_;
  sim::Port stale_port_;
  sim::Port watch_port_;
  sim::Counter& read_bytes_;
  sim::Counter& written_bytes_;
  sim::Counter& bulk_bytes_;
  sim::Counter& stale_;
  sim::Counter& address_errors_;
};

}  // namespace faultline::soc
