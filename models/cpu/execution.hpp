// SPDX-License-Identifier: Apache-2.0
// Who spends core time, and what the scheduler knows of a thread.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <utility>

#include "models/sim/random.hpp"
#include "models/sim/time.hpp"

namespace faultline::cpu {

// What core time is spent on. Interrupt handlers go before tasklets, and tasklets before threads; pre-empted work
// resumes where it was stopped. A thread does user and system work. Another thread may pre-empt user work at any time,
// system work only where the kernel gives way (cond_resched), or also at any time with sched.preemption = full.
enum class Work : std::uint8_t { user, system, softirq, irq };
inline constexpr std::size_t kWorks = 4;

enum class SchedClass : std::uint8_t {
  fair,  // SCHED_NORMAL: shares of a core by weight
  fifo,  // SCHED_FIFO: before all fair threads, for as long as it runs
};

// How a thread is woken. `sync` (WF_SYNC): the waker says that it is about to sleep; placement believes it.
enum class Waking : std::uint8_t { plain, sync };

// The core whose interrupt handler or tasklet has woken a thread.
struct Waker {
  unsigned core;
  Waking how = Waking::plain;
};

// Names the memory of one process, whose table a core walks while it has the address space loaded. 0: none, as of
// kernel threads, which run with whatever their core has loaded.
using AddressSpaceId = std::uint32_t;
// For programs that only use their core: an address space that the memory manager does not know.
inline constexpr AddressSpaceId kUnmanagedSpace = UINT32_MAX;

// Of a node. A set of cores has a bit for each.
inline constexpr unsigned kMostCores = 256;
using CoreSet = std::bitset<kMostCores>;

struct Request;

// The scheduler's side of a thread (Linux's sched_entity). Virtual times are those of one core's queue.
struct SchedEntity {
  SchedClass sched_class = SchedClass::fair;
  std::int64_t weight = 1024;  // of nice 0
  // Core time had, times 1024 / weight. A thread begins as one that has slept for long: it was made before the run.
  sim::Time vruntime{-1'000'000'000'000'000};
  std::int64_t remainder = 0;   // of the division for vruntime: charged with the next piece of core time
  sim::Time deadline{0};        // EEVDF: virtual
  sim::Time lag{0};             // EEVDF: virtual time that the thread was owed when it left the queue
  bool protects_slice = false;  // EEVDF: the thread keeps the core until its deadline or its fair share
  sim::Time ran{0};             // since the thread got the core
  sim::Time last_ran{-1};       // instant at which the thread ran last; negative: never
  sim::Time waits_since{0};     // while the thread is runnable and does not run
};

// A thread, or the irq or softirq context of the interrupt core. A thread does one thing at a time: it awaits each call
// before the next.
class Execution {
 public:
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  const std::string& name() const { return name_; }
  // The core that it runs on, or ran on last.
  unsigned core() const { return core_; }
  bool bound() const { return bound_; }
  // Whose memory the thread uses; 0: a kernel thread, which leaves its core's address space loaded.
  AddressSpaceId address_space() const { return address_space_; }
  // Says whose memory the thread uses. Takes effect when the thread next gets a core: call it before its first work.
  Execution& use(AddressSpaceId space) {
    address_space_ = space;
    return *this;
  }
  // Charged so far, up to the last pre-emption or completion (Cpu::settle() brings it up to date).
  sim::Time time(Work kind) const { return time_[static_cast<std::size_t>(kind)]; }

  // For the scheduler alone.
  SchedEntity entity;

 private:
  friend class Balancer;
  friend class Core;
  friend class Cpu;
  Execution(std::string name, unsigned core, bool thread, bool bound, const sim::RandomStream& jitter)
      : name_(std::move(name)), core_(core), thread_(thread), bound_(bound), jitter_(jitter) {}

  std::string name_;
  unsigned core_;
  bool thread_;
  bool bound_;
  AddressSpaceId address_space_ = 0;
  sim::RandomStream jitter_;    // one draw for each piece of its work
  Request* request_ = nullptr;  // of a thread; null: it sleeps, or is about to ask for more
  std::array<sim::Time, kWorks> time_{};
};

}  // namespace faultline::cpu
