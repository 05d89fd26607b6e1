// SPDX-License-Identifier: Apache-2.0
// The kinds of NIC that nodes can have, and the NIC of one node, hardware and software: the seam below which everything
// is one NIC's own. Workloads and platform name no NIC; models/platform/nics.cpp lists the kinds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/cpu/interrupt_controller.hpp"
#include "models/network/router.hpp"
#include "models/rdma/endpoint.hpp"
#include "models/sim/failure.hpp"
#include "models/sim/instruments.hpp"
#include "models/sim/parameters.hpp"
#include "models/soc/axi_port.hpp"
#include "models/soc/ddr.hpp"
#include "models/soc/mmio_bus.hpp"

// The system's SMMU and its driver, for NICs that translate by them.
namespace faultline::smmu {
class Smmu;
}
namespace faultline::mmu500 {
class SmmuDriver;
}

namespace faultline::rdma {

// How much a node's NIC can do at a time, and what decides that, as messages to the user say it.
struct NicLimit {
  unsigned most;
  std::vector<std::string> keys;  // the parameters that decide it
  std::string uses;               // what each takes, or all of them share: "a channel and a context bank"
  std::string has;                // how many of these a node has: "16 and 16"

  // The parameters as text: "exanest.channels and smmu.context_banks".
  std::string named() const;
  // For a conflict: other keys, and the parameters behind them.
  std::vector<std::string> keys_behind(std::vector<std::string> others) const;
};

// The NIC of one node. It is made before the node's router and kernel are; start() and wire() follow, in this order.
class Nic {
 public:
  // Hardware around it. All of it outlives the NIC.
  struct Wiring {
    soc::AxiPort& port;
    network::Router& router;
    soc::MmioBus& bus;
    cpu::InterruptController& interrupts;
  };
  // The kernel, and what its drivers work with. All of it outlives the NIC.
  struct Kernel {
    cpu::Cpu& cpu;
    os::Vm& vm;
    soc::DdrController& ddr;
    cpu::InterruptController& interrupts;
    smmu::Smmu& smmu;
    mmu500::SmmuDriver& smmu_driver;
    unsigned smmu_interrupt_line;
  };
  // What waits in it now: in the order of platform::kQueues.
  struct Depths {
    std::size_t transfers;      // posted, and not notified
    std::size_t fault_records;  // of the hardware, for the driver
  };
  // What an MMU has of a page.
  struct MmuEntry {
    std::uint64_t frame;
    bool writable;
    bool operator==(const MmuEntry&) const = default;
  };
  // For how long one of the kind's busy_parts() has worked until now.
  struct Busy {
    const sim::BusyPart* part;
    std::uint32_t number;
    sim::Time busy;
  };

  Nic() = default;
  Nic(const Nic&) = delete;
  Nic& operator=(const Nic&) = delete;
  virtual ~Nic() = default;

  virtual void wire(const Wiring& wiring) = 0;
  virtual void start(const Kernel& kernel) = 0;
  // Before the kernel goes: its software does no more.
  virtual void stop() = 0;
  // A program of this name opens the NIC. `end`: which end of its transfers' data it has. Throws sim::RunFailure when
  // the node has no memory left for it, or the NIC takes no further process.
  virtual std::unique_ptr<Endpoint> open(const Strategy& strategy, const ProgramMemory& memory, const std::string& name,
                                         End end) = 0;
  // Throws std::logic_error when its software's books do not agree.
  virtual void audit() const = 0;
  // Brings the statistics up to now.
  virtual void settle() = 0;
  virtual Depths depths() const = 0;
  virtual std::vector<Busy> busy() const = 0;
  // Of an MMU of its own (NicKind::uses_smmu), looked at from outside. Nothing: it has no entry of that page.
  virtual std::optional<MmuEntry> mmu_entry(std::uint32_t /*process*/, std::uint64_t /*va*/) const { return {}; }
};

// A kind of NIC, with the parameters that it owns. Its NICs have the counters driver.fault_records, driver.faults_CAUSE
// for each cause of os::kFaultCauseDocs, and those of counters().
class NicKind {
 public:
  // Of the machine, what its limits and its wiring depend on.
  struct Surroundings {
    const soc::AxiPortConfig& axi;
    const network::RouterConfig& router;
    unsigned context_banks;
    unsigned smmu_interrupt_line;
  };
  struct Signal {
    sim::TrackKind kind;
    const char* name;
    std::uint32_t number;
  };
  // The value of a counter by its name: the sum over all nodes.
  using CounterValue = std::function<std::uint64_t(std::string_view counter)>;

  virtual ~NicKind() = default;
  virtual std::unique_ptr<NicKind> clone() const = 0;
  // The values of another one of the same type.
  virtual void assign(const NicKind& other) = 0;

  // As nic.kind has it.
  virtual std::string_view name() const = 0;
  // What it is: a clause.
  virtual std::string_view meaning() const = 0;
  // What its NICs and their software tell of transfers.
  virtual const sim::TransferLife& life() const = 0;
  // Whether its accesses go through the system's SMMU; else it brings an MMU of its own.
  virtual bool uses_smmu() const = 0;
  virtual bool translates(const Translation& translation) const = 0;
  virtual bool answers(const AbsentPage& answer, End end) const = 0;

  // Its parameters, in groups of its own.
  virtual void declare(sim::ParameterTable& table) = 0;
  virtual std::vector<sim::Conflict> conflicts(const Surroundings& around) const = 0;
  virtual std::unique_ptr<Nic> make(const Surroundings& around, const sim::Context& context) const = 0;
  // Cells from the network that it has room for.
  virtual unsigned receive_buffer() const = 0;

  // Processes on one node that have opened it.
  virtual NicLimit most_endpoints(const Surroundings& around) const = 0;
  // Transfers that one process has posted and that have not ended.
  virtual NicLimit most_posted() const = 0;
  // Memory of one process in which its NIC leaves completions and small messages.
  virtual std::uint64_t bytes_of_library() const = 0;
  // Memory of one process in which its NIC leaves notices of a kind, of so many other processes.
  virtual std::uint64_t bytes_of_notices(NoticeKind kind, unsigned words) const = 0;
  // Whether the last byte of a write with these offsets within pages is placed after all others, whatever happens.
  virtual bool is_placed_in_order(std::uint64_t source_offset, std::uint64_t destination_offset,
                                  std::uint64_t bytes) const = 0;
  // Small messages that may wait for one program: a further one is lost.
  virtual unsigned most_waiting_messages() const = 0;
  // Entries that may wait in a program's event queue: a write that finds no place for a further one fails in the end.
  virtual unsigned most_waiting_events() const = 0;

  // Counters that are results, of this kind alone.
  virtual std::span<const sim::CounterMetric> metrics() const { return {}; }
  virtual std::vector<const sim::BusyPart*> busy_parts() const { return {}; }
  virtual std::vector<Signal> signals() const = 0;
  // The lines of the interrupt controller that it drives, and their signals' names.
  virtual unsigned interrupt_line() const = 0;
  // Counters: of the faults that it has recorded; of those that its software has dealt with, which may be fewer for
  // good, because a record may be lost.
  virtual const char* faults_recorded() const = 0;
  virtual std::span<const char* const> faults_handled() const = 0;
  // Says what was lost that nobody sends again, so that programs may wait for it for ever; nothing if all arrived.
  virtual std::optional<sim::RunFailure> lost_for_good(const CounterValue& total) const = 0;
  // Parameters that decide how long a transfer may be tried in vain; and those whose limit, once reached, ends a
  // transfer with an error.
  virtual std::vector<std::string> keys_of_delay() const = 0;
  virtual std::vector<std::string> keys_of_failure() const = 0;
};

}  // namespace faultline::rdma
