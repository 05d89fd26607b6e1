// SPDX-License-Identifier: Apache-2.0
// What a process does so that its NIC finds the pages of its buffers. One object for a process that has opened the
// device; a policy for each value of strategy.registration, which is a file of its own beside this one.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/os/vm/vm.hpp"
#include "models/rdma/registration/unpin_config.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/statistics.hpp"

namespace faultline::rdma {

class Strategy;

// Memory of a program, as it tells its library: the first byte begins a page, since system calls take whole pages.
struct Buffer {
  os::VirtualAddress address = 0;
  std::uint64_t length = 0;
  auto operator<=>(const Buffer&) const = default;
  os::Range pages() const { return {sim::page_begin(address), sim::page_end(address + length)}; }
};

// The life of a buffer: add, then acquire and release around each transfer, then remove. Costs fall on the thread that
// calls. Each call may fail with the error of the system call behind it (no memory, RLIMIT_MEMLOCK reached), and then
// holds nothing more than before it.
class Registration {
 public:
  // Whose memory it is. `device_table`: a table of its own that the device walks; null: it walks the process's.
  struct Owner {
    cpu::Cpu& cpu;
    os::Vm& vm;
    os::Process& process;
    os::PrivateTable* device_table = nullptr;
    UnpinConfig unpin = {};
  };

  explicit Registration(Owner owner) : owner_(owner) {}
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  virtual ~Registration() = default;

  // Once, before the buffer's first transfer.
  virtual sim::Task<os::Error> add(cpu::Execution& thread, Buffer buffer);
  // Around each transfer; `written`: the device will write the buffer. Several transfers may use a buffer at a time.
  virtual sim::Task<os::Error> acquire(cpu::Execution& thread, Buffer buffer, bool written);
  virtual sim::Task<os::Error> release(cpu::Execution& thread, Buffer buffer);
  // Once, before the program is done with the buffer.
  virtual sim::Task<os::Error> remove(cpu::Execution& thread, Buffer buffer);
  // Of a policy with LeaseTerms, at the target: an initiator, by a number that nobody else has, gives back pages that
  // it holds, and takes others. Those stay pinned until it gives them back, or until the program's memory changes. An
  // error leaves it without those that it was to take.
  virtual sim::Task<os::Error> lease(cpu::Execution& thread, std::uint64_t initiator, os::Ranges back,
                                     os::Ranges taken);
  // A memory hook: the program is about to unmap the pages, or to give them back.
  virtual sim::Task<void> unmapping(cpu::Execution& thread, os::Range pages);
  // Likewise: the program is about to fork.
  virtual sim::Task<void> forking(cpu::Execution& thread);
  // The device has found nothing at this page of a private table. Ends when a registration that is being made has the
  // page; with its error when it fails, and with bad_address when there is none.
  virtual sim::Task<os::Error> await_page(cpu::Execution& thread, os::VirtualAddress page);
  // The process is about to exit: ends when no thread of the registration's own is in a call, and none will be.
  virtual sim::Task<void> stop(cpu::Execution& kernel);

 protected:
  const Owner owner_;
};

// A buffer, and the registration that it goes through.
class RegisteredBuffer {
 public:
  // `unused`: bytes at the buffer's begin that no transfer uses.
  RegisteredBuffer(Registration& registration, Buffer buffer, std::uint64_t unused = 0)
      : registration_(&registration), buffer_(buffer), unused_(unused) {}
  sim::Task<os::Error> add(cpu::Execution& thread) const { return registration_->add(thread, buffer_); }
  sim::Task<os::Error> acquire(cpu::Execution& thread, bool written) const {
    return registration_->acquire(thread, buffer_, written);
  }
  sim::Task<os::Error> release(cpu::Execution& thread) const { return registration_->release(thread, buffer_); }
  sim::Task<os::Error> remove(cpu::Execution& thread) const { return registration_->remove(thread, buffer_); }

  // That transfers use.
  std::uint64_t bytes() const { return buffer_.length - unused_; }
  // The pages of a part of these bytes.
  RegisteredBuffer part(std::uint64_t offset, std::uint64_t bytes) const {
    const os::VirtualAddress data = buffer_.address + unused_ + offset;
    const os::VirtualAddress page = sim::page_begin(data);
    return {*registration_, {page, data + bytes - page}, data - page};
  }

 private:
  Registration* registration_;
  Buffer buffer_;
  std::uint64_t unused_;
};

// What a policy can do. Others ask for an ability, and never for a policy by its name.
struct Abilities {
  bool pins = false;              // pages are pinned while a transfer uses them
  bool locks = false;             // pages are VM_LOCKED
  bool asks_target = false;       // acquire and release are work: an initiator must ask its target to do them, too
  bool stays_prepared = false;    // a page that one transfer has found is not to be made absent before the next
  bool is_bound = false;          // pages are present at no cost, as on no machine: a bound for the other policies
  bool leaves_to_faults = false;  // nothing is done before a transfer
  bool prepares_once = false;     // add has work to do, which is paid before the first transfer
  bool pins_late = false;         // a transfer begins before its pages are pinned
  bool lets_go = false;           // pins go while the program runs, so that strategy.unpin says when
  bool knows_frames = false;      // add can fill a private table, with frames that nothing keeps for the process
  bool holds_all_added = false;   // each buffer is held from add to remove, whether a transfer uses it or not

  // Pages that are there stay there as long as they are held.
  bool keeps_present() const { return pins || locks || is_bound; }
  // What it holds counts against RLIMIT_MEMLOCK.
  bool is_limited() const { return pins || locks; }
  // It knows the frames of what it has prepared, so that a private table can be filled with them.
  bool fills_private_table() const { return pins || locks || knows_frames; }
};

// What an initiator may hold of a target's memory: pages that stay pinned at the target between transfers, so that the
// initiator asks for those that it does not hold, and for no transfer whose pages it holds.
struct LeaseTerms {
  std::uint64_t most;   // pages that one initiator holds at one target
  sim::Time lookup;     // of one page: user code
  unsigned initiators;  // that may hold pages of one target
};

// A policy, with the parameters that it owns.
class RegistrationPolicy {
 public:
  virtual ~RegistrationPolicy() = default;
  virtual std::unique_ptr<RegistrationPolicy> clone() const = 0;

  // As strategy.registration has it.
  virtual std::string_view name() const = 0;
  // What the owner of a buffer does: a clause.
  virtual std::string_view meaning() const = 0;
  // What it adds to the machine, beside time: memory that is held, cores that poll. Empty: nothing.
  virtual std::string_view adds() const { return ""; }
  virtual Abilities abilities() const { return {}; }
  virtual std::optional<LeaseTerms> lease_terms() const { return std::nullopt; }
  // Its own parameters, in the group strategy.GROUP of the table; see parameter_group().
  virtual void declare(sim::ParameterTable&) {}
  // Values, of its own parameters or of the strategy's, that it cannot go with; asked of the chosen policy alone.
  virtual std::vector<sim::Conflict> conflicts(const Strategy&) const { return {}; }
  // Counters of its own that are results.
  virtual std::span<const sim::CounterMetric> metrics() const { return {}; }
  virtual std::unique_ptr<Registration> open(Registration::Owner owner) const = 0;
};

// The policy's name as a group of parameters: "pin_cache" of "pin-cache".
std::string parameter_group(const RegistrationPolicy& policy);

// All policies, with their parameters, of which one is chosen: at first `nothing`.
class RegistrationChoice {
 public:
  RegistrationChoice();
  RegistrationChoice(const RegistrationChoice& other);
  RegistrationChoice(RegistrationChoice&&) noexcept = default;
  RegistrationChoice& operator=(const RegistrationChoice& other);
  RegistrationChoice& operator=(RegistrationChoice&&) noexcept = default;
  ~RegistrationChoice() = default;
  // Throws std::invalid_argument when no policy is called so.
  RegistrationChoice& operator=(std::string_view name);

  const RegistrationPolicy& operator*() const { return *policies_[chosen_]; }
  const RegistrationPolicy* operator->() const { return policies_[chosen_].get(); }
  const std::vector<std::unique_ptr<RegistrationPolicy>>& all() const { return policies_; }
  // strategy.registration and the parameters of all policies, in the group that is open.
  void declare(sim::ParameterTable& table);

 private:
  std::vector<std::unique_ptr<RegistrationPolicy>> policies_;
  std::size_t chosen_ = 0;
};

}  // namespace faultline::rdma
