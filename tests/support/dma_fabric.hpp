// SPDX-License-Identifier: Apache-2.0
// A stand-in for the network between two DMA engines: a serial line of fixed rate and latency to each.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <systemc>
#include <vector>

#include "models/network/packet.hpp"
#include "models/sim/context.hpp"
#include "models/sim/payload.hpp"
#include "models/sim/slot_ledger.hpp"
#include "models/sim/transport.hpp"
#include "models/sim/wakeup.hpp"

namespace faultline::test {

using sim::Time;
using namespace std::chrono_literals;

// What one engine sends, the engine of its destination receives: separate lines for data and control. A cell begins
//   start(i) = max(handed over(i), departure(i-1), slot(i)), departure(i) = start(i) + its time on the line.
// As at port 0 of a router, cells are announced when the first of them starts, as far as their slots are known then;
// the others follow as a train of their own. What has not started is taken back if it turns out otherwise.
class Fabric : public sc_core::sc_module {
 public:
  using In = tlm_utils::passthrough_target_socket_tagged<Fabric, sim::kBusBits, sim::DataPath>;
  using Out = tlm_utils::simple_initiator_socket_tagged<Fabric, sim::kBusBits, sim::DataPath>;

  Fabric(sc_core::sc_module_name name, unsigned receive_cells, const sim::Context& context)
      : sc_module(name),
        in("in", 2),
        out("out", 2),
        context_(context),
        // Behind all other hardware of an instant, as the router: what was announced may still be taken back.
        wakeup_(context.loop, *this, context.loop.new_arrival_port()) {
    for (unsigned i = 0; i < 2; ++i) {
      in[i].register_nb_transport_fw(this, &Fabric::on_cells, static_cast<int>(i));
      out[i].register_nb_transport_bw(this, &Fabric::on_slots, static_cast<int>(i));
      lines_[2 * i].slots = lines_[2 * i + 1].slots = sim::SlotLedger(receive_cells);
    }
  }
  sc_core::sc_vector<In> in;
  sc_core::sc_vector<Out> out;
  sim::BitRate rate{16'000'000'000};
  Time latency = 385ns;
  // Trains that the network loses, where its line begins.
  std::function<bool(const network::PacketHeader&)> loses = [](const auto&) { return false; };
  // What it does to the headers of those that it delivers.
  std::function<void(network::PacketHeader&)> alters = [](auto&) {};

  // Of all so far: trains that were delivered, and cells of them that were taken back.
  std::uint64_t delivered_trains = 0;
  std::uint64_t recalled_cells = 0;

  Time cell_time(std::uint32_t bytes) const { return rate.time_for(bytes + 32); }

 private:
  // Cells of a train as the destination sees them.
  struct Piece {
    tlm::tlm_generic_payload* payload;
    std::uint32_t first;  // of the train's cells
    sim::TimeSequence freed;
  };
  struct Transit {
    tlm::tlm_generic_payload* payload;  // the sender's
    bool lost;                          // takes neither slots nor time
    Time service;
    std::uint32_t cells;
    sim::TimeSequence departures = {};  // of the first cells: those that were announced
    std::vector<Piece> pieces = {};
  };
  struct Line {
    sim::SlotLedger slots{0};
    std::deque<Transit> transits;
    Time free{0};  // of those before
  };

  static const network::PacketHeader& header_of(tlm::tlm_generic_payload& payload) {
    return sim::extension<network::PacketHeader>(payload);
  }
  Line& line_of(tlm::tlm_generic_payload& payload) {
    const bool data = header_of(payload).kind == network::PacketKind::data;
    return lines_[2 * header_of(payload).destination + (data ? 0 : 1)];
  }

  tlm::tlm_sync_enum on_cells(int, tlm::tlm_generic_payload& payload, sim::Message&, sc_core::sc_time&) {
    const sim::Train& train = sim::train_of(payload);
    auto& transits = line_of(payload).transits;
    const auto known = std::find_if(transits.begin(), transits.end(), [&](auto& t) { return t.payload == &payload; });
    if (known == transits.end()) {
      const bool lost = loses(header_of(payload));
      transits.push_back({&payload, lost, lost ? Time{0} : cell_time(train.cell_bytes), train.cells()});
      payload.acquire();
    } else {
      known->cells = train.cells();
    }
    wakeup_.now();
    return tlm::TLM_ACCEPTED;
  }
  tlm::tlm_sync_enum on_slots(int, tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time&) {
    const auto& slots = std::get<sim::Answers>(message);
    for (Line& line : lines_) {
      for (Transit& transit : line.transits) {
        for (Piece& piece : transit.pieces) {
          if (piece.payload != &payload) continue;
          hold(line, piece, slots.from);
          if (slots.instants.empty()) continue;
          piece.freed.append(slots.instants);
          line.slots.free(slots.instants, context_.now());
        }
      }
    }
    wakeup_.now();
    return tlm::TLM_ACCEPTED;
  }
  // Slots of the piece's cells from this one on do not come free as was said.
  static void hold(Line& line, Piece& piece, std::uint32_t from) {
    if (piece.freed.size() <= from) return;
    line.slots.hold(piece.freed.suffix(from));
    piece.freed.drop_back(piece.freed.size() - from);
  }

  void pump() {
    for (Line& line : lines_) {
      forget(line);
      Time free = line.free;
      for (Transit& transit : line.transits) {
        revise(line, transit, free);
        announce(line, transit, free);
        if (transit.departures.size() < transit.cells) break;
        free = transit.departures.back();
      }
    }
  }
  void forget(Line& line) {
    while (!line.transits.empty()) {
      Transit& transit = line.transits.front();
      const Time over = over_at(transit);
      if (over > context_.now()) {
        if (over != sim::kNever) wakeup_.at(over);
        return;
      }
      line.free = transit.departures.back();
      for (Piece& piece : transit.pieces) piece.payload->release();
      transit.payload->release();
      line.transits.pop_front();
    }
  }
  // When all cells have left and all slots behind the line are free again, as far as is known; else kNever.
  static Time over_at(const Transit& transit) {
    if (transit.departures.size() != transit.cells) return sim::kNever;
    Time over = transit.departures.back() + Time{1};
    for (const Piece& piece : transit.pieces) {
      if (piece.freed.size() < sim::train_of(*piece.payload).cells()) return sim::kNever;
      over = std::max(over, piece.freed.back());
    }
    return over;
  }

  // Of the transit's next cell; kNever while its slot is not known. `free`: when the line is, for its first one.
  static Time next_departure(const Line& line, const Transit& transit, Time free) {
    const Time slot = transit.lost ? Time{0} : line.slots.next();
    if (slot == sim::kNever) return sim::kNever;
    const Time before = transit.departures.empty() ? free : transit.departures.back();
    return std::max({before, slot, sim::train_of(*transit.payload).times.at(transit.departures.size())}) +
           transit.service;
  }
  static void plan(Line& line, Transit& transit, Time free, std::uint32_t cells) {
    while (transit.departures.size() < cells) {
      const Time departure = next_departure(line, transit, free);
      if (departure == sim::kNever) return;
      if (!transit.lost) line.slots.take(1);
      transit.departures.append(departure);
    }
  }
  static void undo(Line& line, Transit& transit, std::uint32_t kept) {
    const std::uint32_t gone = transit.departures.size() - kept;
    if (!transit.lost) line.slots.give_back(gone);
    transit.departures.drop_back(gone);
  }

  // Takes back what was announced, has not started and does not go then. The slots that these cells themselves were to
  // leave come after they start, so they do not hide it.
  void revise(Line& line, Transit& transit, Time free) {
    const sim::TimeSequence before = transit.departures;
    const std::uint32_t started = before.count_before(context_.now() + transit.service);
    if (started == before.size()) return;
    const std::uint32_t told = std::min(before.size(), transit.cells);  // to the sender, who may have recalled others
    undo(line, transit, started);
    plan(line, transit, free, told);
    const std::uint32_t same = transit.departures.common_prefix(before);
    undo(line, transit, same);
    if (same == before.size()) return;
    if (!transit.lost) recall(line, transit.pieces.back(), before.size() - same);
    if (same == told) return;
    sim::send_back(in[header_of(*transit.payload).source], *transit.payload, sim::Answers{same});
  }
  void recall(Line& line, Piece& piece, std::uint32_t cells) {
    sim::Train& train = sim::train_of(*piece.payload);
    const std::uint32_t kept = train.cells() - cells;
    hold(line, piece, kept);
    train.times.drop_back(cells);
    if (!train.content.empty()) train.content = train.content.slice(0, train.bytes());
    recalled_cells += cells;
    sim::send_on(out[header_of(*piece.payload).destination], *piece.payload, {kept});
  }

  void announce(Line& line, Transit& transit, Time free) {
    const std::uint32_t first = transit.departures.size();
    if (first == transit.cells) return;
    const Time departure = next_departure(line, transit, free);
    if (departure == sim::kNever) return;
    if (departure - transit.service > context_.now()) return wakeup_.at(departure - transit.service);
    plan(line, transit, free, transit.cells);
    if (!transit.lost) send(transit, first);
    sim::send_back(in[header_of(*transit.payload).source], *transit.payload,
                   sim::Answers{first, transit.departures.suffix(first)});
  }
  void send(Transit& transit, std::uint32_t first) {
    const sim::Train& whole = sim::train_of(*transit.payload);
    tlm::tlm_generic_payload& payload = context_.payloads.acquire();
    sim::Train& train = sim::train_of(payload);
    train.times = transit.departures.suffix(first).shifted(latency);
    train.cell_bytes = whole.cell_bytes;
    train.content = {};
    if (!whole.content.empty()) train.content = whole.content.slice(first * whole.cell_bytes, train.bytes());
    auto& header = sim::extension<network::PacketHeader>(payload);
    header = header_of(*transit.payload);
    header.address += first * whole.cell_bytes;
    header.block_offset += first * whole.cell_bytes;
    const sim::NodeId to = header.destination;
    alters(header);
    payload.set_address(header.address);
    transit.pieces.push_back({&payload, first, {}});
    ++delivered_trains;
    sim::send_on(out[to], payload);
  }

  const sim::Context& context_;
  std::array<Line, 4> lines_;
  sim::Wakeup<Fabric, &Fabric::pump> wakeup_;
};

}  // namespace faultline::test
