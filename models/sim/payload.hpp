// SPDX-License-Identifier: Apache-2.0
// What crosses the TLM sockets of the data path: a pooled generic payload whose Train extension says
// when each cell of the run is where the payload is, and what the cells carry.
//
// Protocol of the data-path sockets (non-blocking; every call returns TLM_ACCEPTED; the delay argument
// is zero, because trains carry absolute instants, and an instant may be announced before it comes):
//   BEGIN_REQ   forward   the train's cells arrive at train.times. Comes no later than the first of them sets off.
//   SLOTS_FREED backward, network sockets: train.freed says when the target's buffer slots of the next freed.size()
//                         cells of this train are free again. Comes as often as needed; the slots add up to the cells.
//   BEGIN_RESP  backward, memory-mapped sockets: train.responses says when the responses of the next responses.size()
//                         cells come (for a read: the last data beat), the response status is that of these cells.
//                         Comes as often as needed. For a read train.content then holds the data of these cells.
// What was announced is what happens if nothing comes between. What has not happened yet can be taken back, and then
// be announced anew:
//   CELLS_RECALLED     forward   the train's last cells do not come: train.times (and content) hold those that still
//                                do: at least one, unless the train parted from another. What the target announced for
//                                the others is void.
//   CELLS_MOVED        forward, links between routers: train.times hold what comes now: from cell train.changed_from on
//                                other instants, more of them, or none for the time being. While train.is_open more may
//                                come. What the target announced for cells from there on is void. train.content holds
//                                what all cells carry, those that may still come with them.
//   SLOTS_RECALLED     backward  the last train.recalled of the slots announced so far do not come free when they were
//                                said to.
//   RESPONSES_RECALLED backward  the same of responses.
// Cells of one train may meet different fates, and later ones be answered before earlier ones. Then they part:
//   TRAIN_PARTED       backward, memory-mapped sockets: the train's last cells, which have neither arrived nor been
//                      answered, are the train *train.rest from now on, which is its initiator's as this one is.
// No cell goes for which there is no slot: a SlotLedger tells the initiator when slots come free (from SLOTS_FREED, or
// from BEGIN_RESP where the bound is on outstanding bursts). Of a train only the first cell's slot must be known when
// the train is announced; cells whose slots turn out otherwise are recalled before they go (issue_queue.hpp). So
// targets never split a train for want of slots.
// A payload belongs to its initiator, which keeps it until the last announced slot or response has come; whoever
// keeps it longer calls acquire() and release().
#pragma once

#include <cstdint>
#include <memory>
#include <tlm>
#include <vector>

#include "models/sim/content.hpp"
#include "models/sim/time_sequence.hpp"

namespace faultline::sim {

TLM_DECLARE_EXTENDED_PHASE(SLOTS_FREED);
TLM_DECLARE_EXTENDED_PHASE(CELLS_RECALLED);
TLM_DECLARE_EXTENDED_PHASE(CELLS_MOVED);
TLM_DECLARE_EXTENDED_PHASE(SLOTS_RECALLED);
TLM_DECLARE_EXTENDED_PHASE(RESPONSES_RECALLED);
TLM_DECLARE_EXTENDED_PHASE(TRAIN_PARTED);

// The unit of timing truth: one AXI burst, one network payload (UG1085: 16 beats of 128 bits).
inline constexpr std::uint32_t kCellBytes = 256;
inline constexpr std::uint32_t kPageBytes = 4096;
// Where the page that holds the address begins; where the page that holds the byte before the address ends.
constexpr std::uint64_t page_begin(std::uint64_t address) { return address / kPageBytes * kPageBytes; }
constexpr std::uint64_t page_end(std::uint64_t address) { return page_begin(address + kPageBytes - 1); }

struct Train : tlm::tlm_extension<Train> {
  TimeSequence times;
  TimeSequence freed;
  TimeSequence responses;
  std::uint32_t recalled = 0;                // slots or responses
  std::uint32_t changed_from = 0;            // with CELLS_MOVED
  bool is_open = false;                      // more cells may come; between routers only
  std::uint32_t cell_bytes = 0;              // of every cell of the train: 1 to kCellBytes
  Content content;                           // of all cells, in order; empty where only timing matters
  tlm::tlm_generic_payload* rest = nullptr;  // with TRAIN_PARTED

  std::uint32_t cells() const { return times.size(); }
  std::uint32_t bytes() const { return cells() * cell_bytes; }
  tlm::tlm_extension_base* clone() const override { return new Train(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Train&>(other); }
};

// The payload's extension of type T, made on first use and kept when the payload is recycled, so
// that a steady stream allocates nothing. A new user of the payload assigns all of it.
template <typename T>
T& extension(tlm::tlm_generic_payload& payload) {
  T* found = payload.get_extension<T>();
  if (found == nullptr) {
    found = new T;
    payload.set_extension(found);
  }
  return *found;
}
inline Train& train_of(tlm::tlm_generic_payload& payload) { return extension<Train>(payload); }

// Recycles payloads; must outlive all of them.
class PayloadPool : public tlm::tlm_mm_interface {
 public:
  PayloadPool() = default;
  PayloadPool(const PayloadPool&) = delete;
  PayloadPool& operator=(const PayloadPool&) = delete;
  ~PayloadPool() override = default;

  // A payload with reference count 1 and an empty Train; give it back with payload.release().
  tlm::tlm_generic_payload& acquire();
  void free(tlm::tlm_generic_payload* payload) override;

  std::size_t in_use() const { return all_.size() - idle_.size(); }

 private:
  std::vector<std::unique_ptr<tlm::tlm_generic_payload>> all_;
  std::vector<tlm::tlm_generic_payload*> idle_;
};

}  // namespace faultline::sim
