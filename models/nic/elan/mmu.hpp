// SPDX-License-Identifier: Apache-2.0
// The NIC's own MMU, between its data path and the bus: a table that software fills. How hardware finds an entry there
// is not modelled. A burst whose page has an entry goes on; one without gets an error response, and the NIC does the
// rest.
//
// A train of the path lies within one page. Cells that have not arrived yet part from their train where the entry of
// their page changes meanwhile, and are looked up when they arrive.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "models/nic/elan/config.hpp"
#include "models/sim/context.hpp"
#include "models/sim/drain.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/transport.hpp"

namespace faultline::elan {

class Mmu : public sc_core::sc_module {
 public:
  struct Entry {
    std::uint64_t frame = 0;  // physical address of the page, or of the block of 2 MiB
    bool writable = false;
    bool block = false;
    std::uint64_t epoch = 0;  // of the process's table, when software read it

    // Of an address in the page or block.
    std::uint64_t physical(std::uint64_t va) const;
  };
  // A burst that has no entry, or must not write.
  struct Refusal {
    std::uint32_t pdid;
    std::uint64_t address;
    bool write;
  };

  sim::TargetSocket<Mmu> reads;  // from the path; then to the AXI port
  sim::TargetSocket<Mmu> writes;
  sim::InitiatorSocket<Mmu> reads_out;
  sim::InitiatorSocket<Mmu> writes_out;

  Mmu(sc_core::sc_module_name name, const ElanConfig& config, const sim::Context& context);

  // `va`: of the page or block. False: the table is full.
  bool load(std::uint32_t pdid, std::uint64_t va, const Entry& entry);
  // Of the page around the address, or the block.
  void invalidate(std::uint32_t pdid, std::uint64_t va);
  void invalidate_all(std::uint32_t pdid);
  // Until drained(): what has been translated before is under way.
  void drain();
  bool drained() const;
  std::optional<Entry> find(std::uint32_t pdid, std::uint64_t va) const;

  // For observers: at the instant of the lookup.
  std::function<void(const Refusal&)> on_refusal;

 private:
  // A train. Its first cell has arrived, or is still to come.
  struct Transit {
    tlm::tlm_generic_payload* train = nullptr;
    unsigned channel = 0;
    std::uint32_t pdid = 0;
    std::uint64_t va = 0;
    sim::TimeSequence arrivals;
    bool has_arrived = false;
    tlm::tlm_generic_payload* request = nullptr;  // to memory; null: refused, or not looked up yet
    std::uint64_t drain_number = 0;
    sim::TimeSequence responses;  // as far as they are known

    std::uint32_t cells() const { return arrivals.size(); }
    bool is_answered() const { return responses.size() == arrivals.size(); }
  };
  struct TransitOf;

  tlm::tlm_sync_enum read_comes(tlm::tlm_generic_payload&, sim::Message&, sc_core::sc_time&);
  tlm::tlm_sync_enum write_comes(tlm::tlm_generic_payload&, sim::Message&, sc_core::sc_time&);
  tlm::tlm_sync_enum answer_comes(tlm::tlm_generic_payload&, sim::Message&, sc_core::sc_time&);
  void accept(unsigned channel, tlm::tlm_generic_payload& payload);
  void trains_arrive(std::uint64_t channel);
  void arrive(Transit& transit);
  void forward(Transit& transit, const Entry& entry);
  void refuse(Transit& transit);
  Transit& new_transit(unsigned channel, tlm::tlm_generic_payload& payload);
  void await(Transit& transit, bool parted);
  // The train's last cells do not come.
  void cut(Transit& transit, std::uint32_t cells);
  // Cells that have not arrived yet are a train of their own, which is looked up when it arrives.
  void split_off_future(Transit& transit);
  // An entry has changed: of one page or block, or of all of the process.
  void entry_changed(std::uint32_t pdid, std::uint64_t begin, std::uint64_t end);
  void respond(Transit& transit, const sim::Answers& answers);
  Time last_response(const Transit& transit) const;
  void tell(const Transit& transit, const sim::Message& message);
  void send(const Transit& transit, std::uint32_t from);
  void forget();

  static std::uint64_t key(std::uint32_t pdid, std::uint64_t va, bool block);

  const ElanConfig& config_;
  const sim::Context& context_;
  const std::array<sim::Port, 2> arrival_ports_;  // reads before writes
  sim::Drain drain_;
  sim::HashMap<std::uint64_t, Entry> table_;
  std::array<sim::Vector<Transit*>, 2> coming_;
  std::deque<Transit> transits_;  // all that there ever were
  std::vector<Transit*> idle_;
  std::vector<Transit*> under_way_;  // looked up, and not all over
  sim::Counter& translations_;
  sim::Counter& refusals_;
  sim::Counter& loads_;
  sim::Counter& invalidations_;
  sim::Counter& drains_;
};

}  // namespace faultline::elan
