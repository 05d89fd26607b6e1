// SPDX-License-Identifier: Apache-2.0
// The header that all cells of a network train share.
#pragma once

#include <array>
#include <cstdint>
#include <tlm>

#include "models/network/topology.hpp"
#include "models/sim/trace.hpp"

namespace faultline::network {

enum class PacketKind : std::uint8_t {
  data,         // cells of one part of a transfer, written to `address` on
  acknowledge,  // the target's NIC -> the source's: part `key` is complete in memory
  stop,         // the target's NIC -> the source's: a cell of attempt `key` was refused, the rest of it need not come
  message,      // a program -> the mailbox of process `pdid`: words
  firmware,     // a NIC's software or firmware -> the firmware of another NIC: words
};

struct PacketHeader : tlm::tlm_extension<PacketHeader> {
  PacketKind kind = PacketKind::data;
  // Owned by the routers, and with all else that they look at.
  std::uint8_t virtual_channel = 0;
  Path path = kFixedPath;
  std::uint64_t train = 0;  // number of the train that a router has been told of
  std::uint64_t slots = 0;  // of that of which a router has been told of the slots, where trains have one cell
  sim::NodeId source = 0;
  sim::NodeId destination = 0;
  std::uint32_t pdid = 0;                // protection domain at the destination
  sim::PartKey key;                      // data, acknowledge, stop
  std::uint64_t address = 0;             // data: destination virtual address of the train's first cell
  std::uint32_t block_offset = 0;        // data: of the train's first byte within its part of the transfer
  std::uint32_t block_bytes = 0;         // data: length of that whole part
  std::array<std::uint64_t, 8> words{};  // message, firmware; data: what the NIC adds

  tlm::tlm_extension_base* clone() const override { return new PacketHeader(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const PacketHeader&>(other); }
};

}  // namespace faultline::network
