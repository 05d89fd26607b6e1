// SPDX-License-Identifier: Apache-2.0
// A process that has opened the RDMA device of its node: its memory, the registration of its buffers, and the calls of
// its library, whichever NIC that is for. What a program of a workload is made of.
//
// Virtual, though there is one library yet: the contract stands below who implements it, so that workloads name no NIC.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "models/cpu/cpu.hpp"
#include "models/os/vm/vm.hpp"
#include "models/rdma/completion/notice.hpp"
#include "models/rdma/operation.hpp"
#include "models/rdma/program_memory.hpp"
#include "models/rdma/registration/registration.hpp"
#include "models/rdma/strategy.hpp"
#include "models/sim/context.hpp"
#include "models/sim/task.hpp"

namespace faultline::rdma {

enum class Status { done, error };

// Memory of a process on another node.
struct RemoteBuffer {
  sim::NodeId node;
  std::uint32_t process;  // os::Process::id() there
  std::uint64_t address;
};

// A transfer under way.
struct Posted {
  std::uint64_t transfer = 0;  // id in the cluster; 0: refused, the device's queue was full
  std::uint64_t cookie = 0;    // by which its completion is told
};

// What a call of a process that has been killed ends with: its thread returns to no code of the program.
struct ProcessKilled {};

// A small message between programs, which they use to agree on transfers.
using Message = std::array<std::uint64_t, 7>;

class Endpoint {
 public:
  // The node that it runs on, and the memory that it is given there.
  struct Host {
    const sim::Context& context;
    cpu::Cpu& cpu;
    os::Vm& vm;
    ProgramMemory memory{};
  };

  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  virtual ~Endpoint() = default;

  // What the library does when the program opens the device. Await it before the first transfer.
  virtual sim::Task<void> open() = 0;
  // Posts one transfer of 1 B to 4 GiB from or to memory of the process. A write may leave a notice at its target.
  virtual sim::Task<Posted> post(cpu::Execution& thread, Operation operation, std::uint64_t local, RemoteBuffer remote,
                                 std::uint64_t length, Notice notice) = 0;
  sim::Task<Posted> post(cpu::Execution& thread, Operation operation, std::uint64_t local, RemoteBuffer remote,
                         std::uint64_t length) {
    return post(thread, operation, local, remote, length, {});
  }
  // Ends when the program knows that the transfer has ended.
  virtual sim::Task<Status> wait(cpu::Execution& thread, Posted posted) = 0;
  // Sends so many words to a process that takes messages.
  virtual sim::Task<void> send(cpu::Execution& thread, sim::NodeId node, std::uint32_t process, Message message,
                               unsigned words) = 0;
  // The next message: the program has it when take() returns, and gives its place back.
  virtual sim::Task<Message> take(cpu::Execution& thread) = 0;
  virtual sim::Task<void> give_back(cpu::Execution& thread) = 0;
  sim::Task<Message> receive(cpu::Execution& thread);

  // Before open(): others' writes will leave notices of this kind, by so many words where it is words; of none the
  // program polls bytes. Throws sim::RunFailure when there is no memory for them. Takes no simulated time.
  virtual void expect(NoticeKind kind, unsigned words) = 0;
  // Waits for the next notice that the program has not taken, and takes it: its index. One that a word loses, because
  // the next one has come before it was taken, or a counter, because it has gone round, is not taken.
  virtual sim::Task<std::optional<std::uint16_t>> learn(cpu::Execution& thread, Awaited awaited) = 0;
  // Polls a byte of the program's memory until it is not what it was before. True, unless nothing will come.
  virtual sim::Task<bool> poll_byte(cpu::Execution& thread, std::uint64_t address, std::uint8_t before) = 0;
  // Before open(): whole pages of the library's own which the device always finds, for the life of the process: buffers
  // that are registered before anybody uses them. Throws sim::RunFailure when there is no memory. Takes no simulated
  // time.
  virtual std::uint64_t keep_buffer(std::uint64_t bytes) = 0;
  // What a program looks at that waits for several things: a message that take() would take at once, an entry of the
  // event queue (after expect()), the end of a transfer. Take no simulated time; poll() looks again whenever the device
  // has written one of these, and ends when `ready` is true. It throws ProcessKilled.
  virtual bool has_message() const = 0;
  virtual bool has_event() const = 0;
  virtual bool has_ended(Posted posted) const = 0;
  virtual sim::Task<void> poll(cpu::Execution& thread, std::function<bool()> ready) = 0;
  // For an experiment that knows that nothing will come, where a program would have a timeout: the call above that
  // waits, or the next one, ends with nothing if there is nothing.
  virtual void nothing_will_come() = 0;

  // The process is killed, or calls exit(): calls that wait, and all later ones, throw ProcessKilled. Its transfers go
  // on until close().
  virtual void kill() = 0;
  virtual bool killed() const = 0;
  // The kernel ends the process, on a thread of its own: the device knows it no more and has let go of its memory,
  // its transfers have ended, and its memory is free when this returns. No thread of the process is in a call any more.
  virtual sim::Task<void> close(cpu::Execution& kernel) = 0;

  // Maps a buffer of the process; `offset` bytes of its first page stay unused. Takes no simulated time. A file is new,
  // and nothing of it in memory. Throws sim::RunFailure when there is no room.
  std::uint64_t map_buffer(std::uint64_t length, std::uint64_t offset);
  // The pages that a buffer lies in, whole ones of the size that its memory has: what comes and goes with it.
  os::Range pages_of(std::uint64_t address, std::uint64_t length) const;
  // A buffer, as the strategy registers it.
  RegisteredBuffer buffer(std::uint64_t address, std::uint64_t length);
  Registration& registration() { return *registration_; }

  sim::NodeId node() const { return host_.context.node; }
  os::Vm& vm() { return host_.vm; }
  cpu::Cpu& cpu() { return host_.cpu; }
  os::Process& process() { return process_; }
  cpu::Execution& thread() { return thread_; }
  // A further thread of the process.
  cpu::Execution& new_thread(const std::string& name) { return host_.cpu.new_thread(name).use(process_.id()); }
  // After a wait that belongs to the experiment and not to the program: see Cpu::keeps_core().
  void keeps_core() { host_.cpu.keeps_core(thread_); }

 protected:
  // Throws sim::RunFailure when the node has no memory left for the process.
  Endpoint(Host host, const std::string& name);
  // To be called by the constructor that knows which table the device walks.
  void register_by(const Strategy& strategy, os::PrivateTable* device_table);
  [[noreturn]] void no_memory(std::string_view for_what) const { no_memory(host_, for_what); }

  const Host host_;

 private:
  static os::Process& new_process(const Host& host, const std::string& name);
  [[noreturn]] static void no_memory(const Host& host, std::string_view for_what);

  os::Process& process_;
  cpu::Execution& thread_;
  std::unique_ptr<Registration> registration_;
};

}  // namespace faultline::rdma
