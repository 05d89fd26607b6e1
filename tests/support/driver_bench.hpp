// SPDX-License-Identifier: Apache-2.0
// The kernel's fault path on a real SMMU: cores, interrupt controller, memory manager, driver; a master on HPC0 whose
// memory answers as late as a test likes, and a fault FIFO that the test fills.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "models/cpu/interrupt_controller.hpp"
#include "models/drivers/exanest/driver_config.hpp"
#include "models/drivers/mmu500/smmu_driver.hpp"
#include "models/nic/exanest/registers.hpp"
#include "models/soc/mmio_bus.hpp"
#include "tests/support/os_bench.hpp"
#include "tests/support/smmu_bench.hpp"
#include "tests/support/stream_of.hpp"

namespace faultline::test {

// The privileged page of a DMA engine, as far as its fault FIFO goes.
class FifoPage : public sc_core::sc_module {
 public:
  explicit FifoPage(sc_core::sc_module_name name) : sc_module(name) {
    socket.register_b_transport(this, &FifoPage::access);
  }
  void push(std::uint64_t page, std::uint32_t pdid, const sim::PartKey& key) {
    records_.push_back(
        {page, std::uint64_t{7} << 32 | pdid, key.transfer, key.part | std::uint64_t{key.attempt} << 32});
  }
  tlm_utils::simple_target_socket<FifoPage> socket{"socket"};

 private:
  void access(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
    namespace r = exanest::reg;
    auto& word = *reinterpret_cast<std::uint64_t*>(payload.get_data_ptr());
    const std::uint64_t at = payload.get_address();
    if (at == r::kFaultPop) records_.pop_front();
    if (at == r::kFaultCount) word = records_.size();
    if (at >= r::kFaultWord0 && at <= r::kFaultWord3) word = records_.front().at((at - r::kFaultWord0) / 8);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  std::deque<std::array<std::uint64_t, 4>> records_;
};

struct DriverConfig {
  OsConfig os;
  mmu500::DriverConfig smmu_driver;
  exanest::DriverConfig driver;
  smmu::SmmuConfig smmu;
  Time memory_latency = 200ns;
  bool stall_on_fault = false;
};

struct DriverBench : sim::StepListener {
  static constexpr std::uint64_t kSmmu = 0xfd80'0000;
  static constexpr std::uint64_t kEngine = 0xa000'0000;
  static constexpr unsigned kLine = 155;

  explicit DriverBench(const DriverConfig& wanted = {}) : config(wanted) {
    master.out.bind(smmu.upstream[0]);
    smmu.downstream.bind(device_memory.in);
    smmu.walker.bind(tables.in);
    smmu.interrupt.bind(interrupts.lines);
    cpu.memory.bind(ddr.port);
    cpu.mmio.bind(bus.cpu);
    bus.map(kSmmu, reg::kWindowBytes, "smmu").bind(smmu.registers);
    bus.map(kEngine, 0x1000, "engine").bind(engine.socket);
    vm.add_invalidator(driver);
    node.trace.listen(*this);
    process = vm.create_process("test");
    sc_core::sc_start(sc_core::SC_ZERO_TIME);  // elaborates
    driver.probe();
    REQUIRE(driver.attach(*process, stream_of(*process), process->page_table().root(), config.stall_on_fault) ==
            Error::none);
  }

  template <typename T>
  Timed<T> run(Task<T> operation) {
    return run_to_end(node, cpu, thread, std::move(operation));
  }
  void run_until(Time t) { sc_core::sc_start(sim::to_sc_time(t - node.now())); }
  VirtualAddress map_present(std::uint64_t pages) {
    const auto va = vm.map(*process, pages * kPage, kHugePage);
    REQUIRE(va.ok());
    REQUIRE(vm.make_present(*process, va.value, pages * kPage) == Error::none);
    return va.value;
  }
  Answer& read(VirtualAddress va, Time at) {
    return master.send(false, va, TimeSequence::single(at), 256, exanest::hpc0_master_id(process->id()));
  }
  // The page is in the micro-TLB after this.
  void warm(VirtualAddress va) {
    const Answer& answer = read(va, node.now() + 1us);
    run_until(node.now() + 10us);
    REQUIRE(answer.status == tlm::TLM_OK_RESPONSE);
  }

  std::uint64_t counted(std::string_view name) const { return node.counted(name); }
  Time hit() const { return config.smmu.clock.cycles(config.smmu.tbu_hit_cycles); }
  // When a walk of `reads` descriptors ends, for an access that comes at `in`: a fault is recorded.
  Time walk_end(Time in, unsigned reads) const {
    const auto cycles = [this](unsigned n) { return config.smmu.clock.cycles(n); };
    return in + hit() + cycles(config.smmu.tbu_to_tcu_cycles) + cycles(config.smmu.macro_tlb_cycles) +
           cycles(config.smmu.walk_cache_cycles) + reads * (tables.latency + config.smmu.walk_read_path);
  }
  // Of one attached bank with a fault.
  Time handler() const { return config.smmu_driver.handler_body + 4 * cpu_config.mmio_read + cpu_config.mmio_write; }

  void on_step(const sim::StepRecord& record) override { steps.push_back(record); }
  Time at(sim::Step step, std::uint64_t transfer) const {
    const auto found = std::find_if(steps.begin(), steps.end(), [&](const sim::StepRecord& record) {
      return record.step == step && record.key.transfer == transfer;
    });
    return found == steps.end() ? Time{-1} : found->at;
  }

  // The SMMU comes before the cores, as in a node: at one instant its events go first.
  Node node;
  DriverConfig config;
  cpu::CpuConfig cpu_config;
  soc::DdrConfig ddr_config{.size = 64 * kMiB};
  soc::DdrController ddr{"ddr", ddr_config, node.context};
  memory::FrameStore& store = ddr.frames();
  smmu::Smmu smmu{"smmu", config.smmu, node.context, store};
  SmmuMaster master{"master", node.context};
  SmmuMemory device_memory{"device_memory", node.context, store, config.memory_latency};
  SmmuMemory tables{"tables", node.context, store, 150ns};
  soc::MmioBus bus{"bus", node.context};
  FifoPage engine{"engine"};
  cpu::Cpu cpu{"cpu", cpu_config, node.context};
  cpu::InterruptController interrupts{"interrupts", cpu, node.context};
  os::Vm vm{OsBench::small(config.os), node.context, store, cpu};
  mmu500::SmmuDriver driver{config.smmu_driver,
                            node.context,
                            cpu,
                            kSmmu,
                            config.smmu.context_banks,
                            config.os.va_bits,
                            smmu.dvm.operator->(),
                            config.smmu.stall_holds_interrupt};
  cpu::Execution& thread = cpu.new_thread("thread", 1);
  Process* process = nullptr;
  std::vector<sim::StepRecord> steps;
  sim::TaskGroup tasks;
};

}  // namespace faultline::test
