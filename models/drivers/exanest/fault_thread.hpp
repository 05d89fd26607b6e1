// SPDX-License-Identifier: Apache-2.0
// The library's fault thread: told by the kernel about faults of its process, it makes the pages present as
// strategy.resolve says, then asks for the blocks again (or resumes the stalled access). Where touch-ahead takes
// several calls (strategy.call_pages) the answer leaves after the first one, and the others are made as long as no
// further fault has come.
#pragma once

#include "models/drivers/exanest/fault_service.hpp"
#include "models/drivers/exanest/library.hpp"
#include "models/rdma/strategy.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::exanest {

class FaultThread {
 public:
  // `mirror`: the table that the SMMU walks, if it is not the process's own and follows it.
  FaultThread(const rdma::Strategy& strategy, const sim::Context& context, cpu::Cpu& cpu, os::Vm& vm,
              FaultService& service, Library& library, rdma::Registration& registration,
              os::MirroredTable* mirror = nullptr);
  // Ends when the thread is in no call that concerns the process's memory, and makes no further one.
  sim::Task<void> stop();

 private:
  // Pages [first, end) of faults that have been answered; those from `next` on are still to be made present. Addresses.
  struct Ahead {
    std::uint64_t first;
    std::uint64_t next;
    std::uint64_t end;
    bool write;
  };
  // Pages of one message that are dealt with; a page that may be read need not be writable.
  using Resolved = sim::Map<std::pair<std::uint64_t, bool>, os::Error>;

  // A block that a call of get_user_pages answered, and the pages which that covered.
  struct Answered {
    sim::NodeId peer;
    std::uint64_t transfer;
    std::uint32_t block;
    os::Range pages;
  };

  sim::Task<void> serve();
  // Throws sim::RunFailure (refused) when pages fault that strategy.registration = ideal says to be always there.
  void check_bound() const;
  sim::Task<sim::Vector<FaultMessage>> next_records();
  sim::Task<void> handle(sim::Vector<FaultMessage> records);
  sim::Task<os::Error> resolve(const FaultMessage& record);
  // How much is to be made present for a fault at `page`, in all calls together.
  std::uint64_t bytes_ahead(std::uint64_t page) const;
  // Whether a call has covered the page for this very block before, so that another one would not help.
  bool came_back(const FaultMessage& record) const;
  // A call for this fault has covered so many bytes from its page on.
  void remember(const FaultMessage& record, std::uint64_t bytes);
  sim::Task<os::Result<std::uint64_t>> call(std::uint64_t page, std::uint64_t bytes, bool write);
  sim::Task<void> go_ahead();
  void plan_ahead(std::uint64_t called, std::uint64_t begin, std::uint64_t end, bool write);
  sim::Task<os::Error> resolve_once(const FaultMessage& record, Resolved& resolved);
  sim::Task<void> answer(const FaultMessage& record, os::Error error);

  const rdma::Strategy strategy_;
  sim::Context context_;
  cpu::Cpu& cpu_;
  os::Vm& vm_;
  FaultService& service_;
  FaultSocket& socket_;
  Library& library_;
  rdma::Registration& registration_;
  os::MirroredTable* mirror_;
  cpu::Execution& thread_;
  sim::Counter& resolved_;
  sim::Counter& merged_;
  sim::Counter& refused_;
  sim::Counter& calls_ahead_;
  sim::Counter& held_off_;
  sim::Counter& touched_;
  sim::Vector<Ahead> ahead_;
  sim::Vector<Answered> answered_;  // the latest kRemembered, as a ring when there are so many
  std::size_t oldest_ = 0;          // number in answered_ of the one that makes room for the next
  std::uint64_t stalled_page_ = 1;  // page of the stalled access that was answered last; 1: there was none
  bool stopping_ = false;
  bool in_call_ = false;  // anywhere but waiting for records
  sim::Signal out_of_call_;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::exanest
