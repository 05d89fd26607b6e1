// SPDX-License-Identifier: Apache-2.0
// What crosses the TLM sockets of the data path: a pooled generic payload whose Train extension says when each cell of
// the run is where the payload is, and what the cells carry; and messages about it, one kind each way.
//
//   Cells    forward   where the train is: its cells from `from` on come at train.times, as many as are left there.
//                      Those before are as was said before. A new train comes no later than its first cell sets off.
//   Answers  backward  what becomes of its cells from `from` on, as far as is known: at these instants the target's
//                      buffer slots are free again (network), or the responses come (memory; for a read the last beat
//                      of the data), all with one status. Comes as often as needed.
//
// Either says all that holds from one cell on. So a message that takes back what was said before is no different from
// one that says something new, and a message that comes twice changes nothing. What is said is what happens if nothing
// comes between; only what has not happened yet is said otherwise. Cells that do not come have no answers any more.
//
//   Parted   backward, memory only: the train's last cells, which have neither arrived nor been answered, are another
//                      train from now on, which is its initiator's as this one is. So cells of one train may meet
//                      different fates, and later ones be answered before earlier ones.
//
// Calls are non-blocking and return TLM_ACCEPTED; the delay is zero, because trains carry absolute instants, and an
// instant may be announced before it comes. At memory and at the router's port 0 an initiator only takes cells of a
// known train back; cells that go after all go in another train.
// No cell goes for which there is no slot: a SlotLedger tells the initiator when slots come free (from Answers; where
// the bound is on outstanding bursts they come free at the response). Of a train only the first cell's slot must be
// known when the train is announced; cells whose slots turn out otherwise are recalled before they go
// (issue_queue.hpp). So targets never split a train for want of slots.
// A payload belongs to its initiator, which keeps it until the last announced slot or response has come; whoever
// keeps it longer calls acquire() and release().
#pragma once

#include <cstdint>
#include <memory>
#include <tlm>
#include <utility>
#include <variant>
#include <vector>

#include "models/sim/content.hpp"
#include "models/sim/time_sequence.hpp"

namespace faultline::sim {

// The unit of timing truth: one AXI burst, one network payload (UG1085: 16 beats of 128 bits).
inline constexpr std::uint32_t kCellBytes = 256;
inline constexpr std::uint32_t kPageBytes = 4096;
// Where the page that holds the address begins; where the page that holds the byte before the address ends.
constexpr std::uint64_t page_begin(std::uint64_t address) { return address / kPageBytes * kPageBytes; }
constexpr std::uint64_t page_end(std::uint64_t address) { return page_begin(address + kPageBytes - 1); }

inline const TimeSequence kNoInstants;
inline const Content kNoContent;

struct Cells {
  std::uint32_t from = 0;
};
struct Answers {
  std::uint32_t from = 0;
  const TimeSequence& instants = kNoInstants;
  tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
  // Of a read: of these cells. Empty where only timing matters, and where all have been answered before: data stays.
  const Content& data = kNoContent;
};
struct Parted {
  tlm::tlm_generic_payload& rest;
};

// The protocol of the data-path sockets. It is a type of its own, so that a model of the base protocol that is bound to
// one of them does not compile; models/tlm/ has adapters.
struct DataPath {
  using tlm_payload_type = tlm::tlm_generic_payload;
  using tlm_phase_type = std::variant<Cells, Answers, Parted>;
};
using Message = DataPath::tlm_phase_type;

struct Train : tlm::tlm_extension<Train> {
  std::uint64_t number = 0;      // no other train of the pool has it
  TimeSequence times;            // of its cells
  std::uint32_t cell_bytes = 0;  // of every cell of the train: 1 to kCellBytes
  bool is_open = false;          // more cells may come; between routers only
  // Of all cells of a write, in order, and between routers with those that may still come; empty where only timing
  // matters.
  Content content;

  std::uint32_t cells() const { return times.size(); }
  std::uint32_t bytes() const { return cells() * cell_bytes; }
  tlm::tlm_extension_base* clone() const override { return new Train(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Train&>(other); }
};

// The payload's extension of type T, made on first use and kept when the payload is recycled, so
// that a steady stream allocates nothing. A new user of the payload assigns all of it.
template <typename T>
T& extension(tlm::tlm_generic_payload& payload) {
  struct alignas(64) Apart final : T {};  // as few cache lines of the host as can be: each message touches several
  T* found = payload.get_extension<T>();
  if (found == nullptr) {
    found = new Apart;
    payload.set_extension(found);
  }
  return *found;
}
inline Train& train_of(tlm::tlm_generic_payload& payload) { return extension<Train>(payload); }

// Whether a train is new to the target that keeps `record` of it: an extension of the payload with a member `train`. It
// is not from then on.
bool is_new(auto& record, const Train& train) { return std::exchange(record.train, train.number) != train.number; }

// Recycles payloads; must outlive all of them.
class PayloadPool : public tlm::tlm_mm_interface {
 public:
  PayloadPool() = default;
  PayloadPool(const PayloadPool&) = delete;
  PayloadPool& operator=(const PayloadPool&) = delete;
  ~PayloadPool() override = default;

  // A payload with reference count 1 and an empty Train; give it back with payload.release().
  tlm::tlm_generic_payload& acquire();
  // The payload goes on as another train of as many cells: no target has seen it.
  void renew(Train& train) { train.number = ++trains_; }
  void free(tlm::tlm_generic_payload* payload) override;

  std::size_t in_use() const { return all_.size() - idle_.size(); }

 private:
  std::vector<std::unique_ptr<tlm::tlm_generic_payload>> all_;
  std::vector<tlm::tlm_generic_payload*> idle_;
  std::uint64_t trains_ = 0;
};

}  // namespace faultline::sim
