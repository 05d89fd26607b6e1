// SPDX-License-Identifier: Apache-2.0
// A connected stream between two programs, through their kernels, as TCP's: what user-level messages without copies are
// measured against. A call that writes enters the kernel, copies the data into segments of the kernel's and has the NIC
// send them; the NIC at the other end writes them into its kernel's memory and interrupts; a thread of the kernel takes
// them and wakes the program, whose call that reads copies them out. A sender has at most as many segments under way as
// the receiver has room for.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/messages/protocol.hpp"
#include "models/messages/request.hpp"
#include "models/messages/socket_config.hpp"
#include "models/os/ipc.hpp"
#include "models/rdma/endpoint.hpp"

namespace faultline::messages {

using namespace std::chrono_literals;

class Socket {
 public:
  // `own`: the program; `kernel`: its kernel's end of the connection, with a channel of the NIC's, memory that the
  // device always finds, and a thread. Before either opens. Throws sim::RunFailure when there is no memory. `check` as
  // of Initiator.
  Socket(rdma::Endpoint& own, rdma::Endpoint& kernel, const SocketConfig& config, Check check);
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Takes no simulated time.
  static void connect(Socket& one, Socket& other);

  // write(2): ends when all bytes are in the kernel's memory. False: the connection is broken (ETIMEDOUT), as it is for
  // good where the NIC has given up what the kernel has sent.
  sim::Task<bool> write(cpu::Execution& thread, Span memory);
  // read(2) with MSG_WAITALL: ends when so many bytes are there. False: likewise.
  sim::Task<bool> read(cpu::Execution& thread, Span memory);
  // What the program waits for in a call, for a person; empty: it does not wait.
  std::string_view waits() const { return waits_; }
  // The connection is no more, for either end: who waits in a call there returns. Takes no time.
  void break_off();
  // The kernel's thread: takes what comes, until the kernel's end is killed.
  sim::Task<void> serve(cpu::Execution& thread);

  rdma::Endpoint& kernel() { return kernel_; }
  // Bytes of the kernel's memory for one connection.
  static std::uint64_t bytes_of_segments(const SocketConfig& config);

 private:
  sim::Task<bool> send_segment(cpu::Execution& thread, std::uint64_t from, std::uint64_t bytes);
  sim::Task<void> acknowledge(cpu::Execution& thread);
  sim::Task<bool> finish(cpu::Execution& thread, const rdma::Posted* posted);
  sim::Task<void> take(cpu::Execution& thread, unsigned index);
  void posted_one();
  sim::Task<void> watch();
  bool has_under_way() const;
  rdma::RemoteBuffer there(std::uint64_t address) const;
  std::uint64_t stride() const { return kHeader + config_.segment; }
  std::uint64_t own_segment(std::uint64_t n) const { return sending_ + n % config_.window * stride(); }
  std::uint64_t segment_from_other(std::uint64_t n) const { return receiving_ + n % config_.window * stride(); }
  os::Vm& vm() const { return own_.vm(); }

  static constexpr std::uint64_t kHeader = 64;  // of a segment: its length, and what protocols put before the data

  rdma::Endpoint& own_;
  rdma::Endpoint& kernel_;
  const SocketConfig config_;
  const Check check_;
  const std::uint32_t kernel_process_;
  const std::uint64_t sending_;    // segments, and behind them the word that acknowledges
  const std::uint64_t receiving_;  // likewise
  Socket* other_ = nullptr;
  bool is_broken_ = false;
  // Segments, counted from the first one.
  std::uint64_t sent_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t taken_ = 0;           // of the other's: read to their ends
  std::uint64_t told_ = 0;            // of these, those that the other knows of
  std::uint64_t offset_ = 0;          // read of the next one
  std::vector<rdma::Posted> posted_;  // by slot
  std::vector<bool> has_come_;        // likewise
  rdma::Posted last_acknowledgement_{};
  std::string_view waits_;
  sim::Time last_posted_{0};
  bool is_watched_ = false;
  sim::TaskGroup tasks_;
  os::WaitQueue writers_;
  os::WaitQueue readers_;
};

}  // namespace faultline::messages
