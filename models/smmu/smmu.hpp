// SPDX-License-Identifier: Apache-2.0
// The Arm MMU-500 (SMMUv2) of ZynqMP: six TBUs in front of the memory, one TCU with the walker and
// the register file. README.md in this folder says what is modelled and what is not.
//
// For driver writers:
// * Out of reset sCR0.CLIENTPD = 1: everything bypasses. Set up SMR/S2CR, CBAR (type stage 1),
//   CBA2R (VA64), TTBR0, TCR and SCTLR, then clear CLIENTPD.
// * TLB entries are tagged with CBAR.VMID and the ASID in TTBR0[63:48]: banks that share both share
//   entries. Stage 2 and AArch32 tables are not modelled; such a bank raises sGFSR.ICF.
// * The window is reg::kWindowBytes long; accesses of 4 and 8 bytes, aligned. TLBIVA, TLBIVAA, TLBIVAL
//   and TLBIVAAL take 8 bytes.
// * Clear FSR, then write RESUME. RESUME acts on every transaction of the bank that is stalled by a
//   fault of its own, and with HUPCF = 1 on what has come for its page since; those merely held because
//   HUPCF = 0 go on once FSR reads zero.
#pragma once

#include <tlm_utils/passthrough_target_socket.h>
#include <tlm_utils/simple_target_socket.h>
#include <cstdint>
#include <memory>
#include <optional>
#include <systemc>
#include <tlm>

#include "models/cpu/interrupt_sink.hpp"
#include "models/memory/frame_store.hpp"
#include "models/sim/context.hpp"
#include "models/sim/transport.hpp"
#include "models/smmu/config.hpp"
#include "models/smmu/dvm.hpp"
#include "models/smmu/registers.hpp"
#include "models/smmu/translation.hpp"

namespace faultline::smmu {

class ContextBank;

class Smmu : public sc_core::sc_module, private DvmSink {
 public:
  // `truth` only stamps translations with the mapping epoch at the walk, so that stale accesses can be
  // found; no behaviour depends on it. Everything that is passed in must outlive the module.
  Smmu(sc_core::sc_module_name name, const SmmuConfig& config, const sim::Context& context,
       const memory::FrameStore& truth);
  ~Smmu() override;

  // One a TBU (kTbus), in the order of config.hpp; ports that share a TBU are joined before it. Trains
  // as models/sim/payload.hpp says; those over page boundaries have cells whose size divides a page and their address.
  // The AxiAttributes extension gives the master id. A faulting train gets, for all its cells in one page:
  //   TLM_ADDRESS_ERROR_RESPONSE  translation or access-flag fault, or held off by an earlier one (HUPCF = 0)
  //   TLM_COMMAND_ERROR_RESPONSE  permission fault
  //   TLM_GENERIC_ERROR_RESPONSE  external abort of the walk, or a global fault (stream not set up)
  // or, with CFRE (GFRE for global faults) clear, an OK response, zeros for a read and no write.
  using UpstreamSocket = tlm_utils::passthrough_target_socket_tagged_optional<Smmu, sim::kBusBits, sim::DataPath>;
  sc_core::sc_vector<UpstreamSocket> upstream;
  // Translated trains; addresses are physical, AxiAttributes.translation_epoch is set.
  sim::InitiatorSocket<Smmu> downstream;
  // Descriptor reads: trains of one cell of 8 bytes.
  sim::InitiatorSocket<Smmu> walker;
  // Register file, b_transport, offsets from reg::; takes no time.
  tlm_utils::simple_target_socket<Smmu> registers;
  // Broadcast TLB maintenance from the CPUs.
  sc_core::sc_export<DvmSink> dvm;

  // The one shared line, SmmuConfig::interrupt_line, level: the OR of all context and global faults.
  sc_core::sc_port<cpu::InterruptSink, 1, sc_core::SC_ZERO_OR_MORE_BOUND> interrupt;

  // Who is told of each access that does not go through, at that instant.
  void observe_faults(FaultObserver& observer);

  // What registers and TLBs hold now, for observers: no counter counts, and no entry becomes younger.
  // The bank that translates for the ASID, or nullptr.
  const ContextBank* bank_of(std::uint16_t asid) const;
  std::optional<Leaf> micro_tlb_entry(const Tag& tag, std::uint64_t va) const;  // of the first TBU that has one
  std::optional<Leaf> macro_tlb_entry(const Tag& tag, std::uint64_t va) const;
  std::uint64_t tlb_changes() const;  // grows whenever one of these two may have changed

 private:
  struct Parts;

  void end_of_elaboration() override;
  tlm::tlm_sync_enum accept(int tbu, tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time& delay);
  tlm::tlm_sync_enum downstream_answer(tlm::tlm_generic_payload& payload, sim::Message& message,
                                       sc_core::sc_time& delay);
  tlm::tlm_sync_enum walker_answer(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time& delay);
  void access_register(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);

  void tlbi_va(std::uint16_t asid, std::uint64_t va) override;
  void tlbi_asid(std::uint16_t asid) override;
  void tlbi_all() override;
  unsigned start_sync() override;
  sim::Time sync_end(unsigned sync) override;

  std::unique_ptr<Parts> parts_;
};

}  // namespace faultline::smmu
