// SPDX-License-Identifier: Apache-2.0
// A rank of a program: a process that has opened its node's NIC, and the calls that the rank's code is made of. All of
// them are awaited, one at a time, and take the rank's own thread the time that they cost; those that use memory may
// trap. Of a process that is killed none returns: each throws rdma::ProcessKilled.
//
//   sim::Task<void> PingPong::main(Rank& me) {
//     co_await me.store(mine, seed);
//     Transfer sent = co_await me.put(mine, theirs);
//     co_await me.wait(sent);
//     co_await me.tell(peer);
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/messages/leases.hpp"
#include "models/rdma/endpoint.hpp"
#include "models/rdma/told_transfer.hpp"
#include "models/sim/content.hpp"
#include "models/sim/task.hpp"

namespace faultline::workloads {

// Memory of one rank that is registered as the strategy says. RankProgram::allocate() makes it.
struct Memory {
  unsigned rank;
  unsigned number;  // among those of its rank
  rdma::End end;    // of transfers' data
  std::uint64_t address;
  std::uint64_t bytes;
};

// A put or a get under way.
struct Transfer {
  Memory own;
  Memory other;
  rdma::Operation operation;
  sim::Time begin;  // of what the rank does for it: to ask the other rank to prepare, where it has to, and to post
  rdma::ToldTransfer told;
  rdma::Posted posted;
  sim::Content expected;        // at the destination
  sim::Time end = sim::kNever;  // when the rank knew that it had ended, and had let go of its own memory
};

class RankProgram;

class Rank {
 public:
  Rank(RankProgram& program, unsigned number, std::unique_ptr<rdma::Endpoint> endpoint);
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  unsigned number() const { return number_; }
  // Its process is there no more.
  bool has_ended() const { return has_ended_; }
  rdma::Endpoint& endpoint() const { return *endpoint_; }
  cpu::Execution& thread() const { return endpoint_->thread(); }
  // A further thread of the process, which does this until the process is killed. A rank has at most one such thread.
  void serve_beside(const std::string& name, std::function<sim::Task<void>(cpu::Execution&)> serve);

  // Of the whole of an own memory to the whole of another rank's, of the same size, and the other way. Returns when it
  // is posted.
  sim::Task<Transfer> put(const Memory& from, const Memory& to, rdma::Notice notice = {}) {
    return begin(rdma::Operation::write, from, to, notice);
  }
  sim::Task<Transfer> get(const Memory& to, const Memory& from) { return begin(rdma::Operation::read, to, from, {}); }
  // Ends when the rank knows that the transfer has ended, and has told the other one to let go of its memory, where the
  // strategy wants that. Data that arrived wrong are counted.
  sim::Task<rdma::Status> wait(Transfer& transfer);

  // A word to another rank's mailbox, and the next one from that rank.
  sim::Task<void> tell(unsigned rank, std::uint64_t word = 0) { return send(rank, kWord, word); }
  sim::Task<std::uint64_t> hear(unsigned rank);
  // Waits until another rank has written to this one, and takes its notice: the notice's index. Nothing: the experiment
  // knows that none will come (rdma::Endpoint::nothing_will_come()). `from`: the rank that is waited for.
  sim::Task<std::optional<std::uint16_t>> learn(unsigned from, rdma::Awaited awaited);
  // The same by the last byte of a memory of its own, which is not what it was before when another one has written.
  sim::Task<bool> poll_last_byte(unsigned from, const Memory& memory, std::uint8_t before);
  // Returns when all ranks have called it: a dissemination barrier of small messages.
  sim::Task<void> barrier();

  // The rank's loads or stores of a whole memory, at half the time of os.copy_bandwidth, with the pattern of a seed; a
  // copy of whole pages, at os.copy_bandwidth; and work without memory. Throw sim::RunFailure where the kernel refuses
  // the rank its page.
  sim::Task<void> load(const Memory& memory);
  sim::Task<void> store(const Memory& memory, std::uint64_t seed);
  sim::Task<void> copy(const Memory& to, const Memory& from);
  sim::Task<void> compute(sim::Time time);

 private:
  friend class RankProgram;
  enum Kind : std::uint64_t { kWord, kBarrier, kPrepare, kRelease, kReady, kMove };

  // Opens the device and registers all memory. `asks`: other ranks will ask it to prepare its memory, where the
  // strategy wants that.
  sim::Task<void> set_up(bool asks);
  // Ends the process, whose thread is in no call: its server ends, and the kernel takes everything from it.
  sim::Task<void> close();
  sim::Task<Transfer> begin(rdma::Operation operation, const Memory& own, const Memory& other, rdma::Notice notice);
  sim::Task<void> send(unsigned rank, Kind kind, std::uint64_t word, std::uint64_t written = 0);
  // The next message of this kind from that rank.
  sim::Task<rdma::Message> receive(Kind kind, unsigned rank);
  std::vector<rdma::Message>::iterator find(Kind kind, unsigned rank);
  // Of a strategy that prepares memory around each transfer: what other ranks ask for, for ever.
  sim::Task<void> serve();
  sim::Task<void> serve_until_killed(std::function<sim::Task<void>(cpu::Execution&)> serve, cpu::Execution& thread);
  sim::Task<void> ask(const Memory& other, Kind request, bool written);
  // Of a strategy by which ranks hold each other's pages: what this one holds of another one's.
  messages::Leases& leases_of(unsigned rank);
  static os::Range range_of(const Memory& memory) {
    return {sim::page_begin(memory.address), sim::page_end(memory.address + memory.bytes)};
  }
  sim::Task<void> acquire(const Memory& own, bool written);
  // Waits until that rank has answered each kRelease that it has been sent.
  sim::Task<void> hear_of_releases(unsigned rank);
  rdma::RegisteredBuffer buffer(const Memory& memory) { return endpoint_->buffer(memory.address, memory.bytes); }
  void check_alive() const {
    if (endpoint_->killed()) throw rdma::ProcessKilled();
  }
  sim::Task<void> use(const Memory& memory, bool writes);

  RankProgram& program_;
  const unsigned number_;
  std::unique_ptr<rdma::Endpoint> endpoint_;
  const std::uint32_t process_;  // its id, which others know when the process has ended
  bool has_set_up_ = false;
  bool has_warmed_up_ = false;
  bool has_ended_ = false;
  std::vector<Memory> memories_;
  std::vector<rdma::Message> inbox_;  // received, and not asked for yet; by their order
  std::vector<unsigned> releasing_;   // by rank: kRelease that have not been answered
  std::map<unsigned, messages::Leases> leases_;
  cpu::Execution* server_ = nullptr;  // the thread that takes messages, where one serves
  sim::Signal arrived_;               // the server has put a message there, or has ended
  bool serves_ = false;
  std::optional<unsigned> waits_for_;  // the rank whose message is waited for
};

}  // namespace faultline::workloads
