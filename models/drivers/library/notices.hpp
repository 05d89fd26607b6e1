// SPDX-License-Identifier: Apache-2.0
// The library's side of what others' writes tell a process: words and an event queue in its memory, which the engine
// writes, and event counters in the engine. The program polls them, or sleeps in the driver until the engine's
// interrupt.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "models/cpu/cpu.hpp"
#include "models/drivers/library/config.hpp"
#include "models/drivers/library/event_service.hpp"
#include "models/nic/path/event_source.hpp"
#include "models/nic/path/registers.hpp"
#include "models/os/vm/vm.hpp"
#include "models/rdma/completion/notice.hpp"
#include "models/sim/context.hpp"
#include "models/sim/task.hpp"
#include "models/soc/ddr.hpp"

namespace faultline::library {

class Notices {
 public:
  // Of the node and the process, what notices need.
  struct Device {
    nic::EventSource& engine;
    EventService& service;
    soc::DdrController& memory;
    std::uint64_t privileged_base;  // bus address of the engine's privileged page
    std::uint64_t channel_base;     // and of the process's channel
    unsigned channel;
  };
  Notices(const LibraryConfig& config, const sim::Context& context, cpu::Cpu& cpu, os::Vm& vm, os::Process& process,
          Device device);

  // Before the first notice: has the device tell the process by words (of so many others), counters or the queue; of
  // none it watches the process's own memory. Maps what that takes, locked and resident. Throws sim::RunFailure when
  // there is no memory. Takes no simulated time.
  void expect(rdma::NoticeKind kind, unsigned words);
  // The pages of words or queue, which the device must be able to reach.
  std::vector<std::uint64_t> pages() const;

  // There is an entry in the queue that the program has not taken.
  bool has_entry() const;

  // As those of rdma::Endpoint.
  sim::Task<std::optional<std::uint16_t>> learn(cpu::Execution& thread, rdma::Awaited awaited);
  sim::Task<bool> poll_byte(cpu::Execution& thread, std::uint64_t address, std::uint8_t before);
  void nothing_will_come();

  // Calls that wait throw ProcessKilled, and so do all later ones.
  void kill();
  // Before the process's memory goes.
  void unwatch() { device_.memory.unwatch(changed_); }

 private:
  void map(std::uint64_t bytes);
  void set_up(std::uint64_t offset, std::uint64_t value);
  std::uint64_t word_address(unsigned index) const;
  std::uint64_t entry_address() const;
  std::uint64_t load(std::uint64_t address) const { return vm_.read(process_, address, 8).word(0); }
  // Whether there is a notice that the program has not taken.
  bool is_there(const rdma::Awaited& awaited) const;
  void check_alive() const;
  bool stops_waiting() const { return killed_ || gives_up_; }

  sim::Task<void> poll(cpu::Execution& thread, const rdma::Awaited& awaited);
  sim::Task<void> sleep(cpu::Execution& thread, const rdma::Awaited& awaited);
  // When loads or register reads, begun now one after the other, see what is stored at an instant.
  std::function<sim::Time(sim::Time stored)> seen_by(const rdma::Awaited& awaited);
  sim::Task<std::uint16_t> take(cpu::Execution& thread, const rdma::Awaited& awaited);

  const LibraryConfig& config_;
  const sim::Context& context_;
  cpu::Cpu& cpu_;
  os::Vm& vm_;
  os::Process& process_;
  const Device device_;
  sim::Signal changed_;  // a device has written to memory, or an event counter has changed
  bool killed_ = false;
  bool gives_up_ = false;    // nothing will come
  std::uint64_t begin_ = 0;  // where words or queue are
  std::uint64_t bytes_ = 0;
  std::vector<std::uint64_t> words_;  // taken last, by word
  std::array<std::uint64_t, reg::kEventCounters> counters_{};
  std::uint64_t entries_ = 0;  // of the queue: taken
  unsigned scan_begin_ = 0;
};

}  // namespace faultline::library
