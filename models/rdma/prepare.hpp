// SPDX-License-Identifier: Apache-2.0
// What the owner of a buffer does so that the device finds its pages: one policy for each value of
// strategy.registration. Both ends of a transfer run the same policy, each on its own node.
#pragma once

#include <memory>

#include "models/os/vm/vm.hpp"
#include "models/rdma/strategy.hpp"

namespace faultline::rdma {

// One buffer in the life of its owner; costs fall on the thread that calls. Every call may fail with
// the error of the system call behind it (no memory, RLIMIT_MEMLOCK reached).
class PreparePolicy {
 public:
  struct Buffer {
    os::Vm& vm;
    os::Process& process;
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    os::PrivateTable* device_table = nullptr;  // that the SMMU walks; null: it walks the process's own
  };

  explicit PreparePolicy(Buffer buffer) : buffer_(buffer) {}
  PreparePolicy(const PreparePolicy&) = delete;
  PreparePolicy& operator=(const PreparePolicy&) = delete;
  virtual ~PreparePolicy() = default;

  // Once, before the first transfer.
  virtual sim::Task<os::Error> set_up(cpu::Execution& thread);
  // Around each transfer; `written`: the device will write the buffer.
  virtual sim::Task<os::Error> before(cpu::Execution& thread, bool written);
  virtual sim::Task<os::Error> after(cpu::Execution& thread);
  // Once, before the buffer is unmapped.
  virtual sim::Task<os::Error> tear_down(cpu::Execution& thread);

 protected:
  const Buffer buffer_;
};

std::unique_ptr<PreparePolicy> make_prepare_policy(const Strategy& strategy, PreparePolicy::Buffer buffer);

}  // namespace faultline::rdma
