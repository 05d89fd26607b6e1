// SPDX-License-Identifier: Apache-2.0
#include "workloads/ranks/rank.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "workloads/ranks/rank_program.hpp"
#include "workloads/stream.hpp"

namespace faultline::workloads {

using os::Error;
using rdma::Message;
using sim::Task;

Rank::Rank(RankProgram& program, unsigned number, std::unique_ptr<rdma::Endpoint> endpoint)
    : program_(program),
      number_(number),
      endpoint_(std::move(endpoint)),
      process_(endpoint_->process().id()),
      arrived_(endpoint_->vm().context().loop) {}

Task<void> Rank::set_up(bool asks) {
  releasing_.resize(program_.ranks());
  co_await endpoint_->open();
  for (const Memory& memory : memories_) {
    check_buffer(co_await buffer(memory).add(thread()), "setting up", endpoint_->vm());
  }
  if (!asks || !program_.strategy().serves_at_target()) co_return;
  serve_beside("server", [this](cpu::Execution& thread) {
    server_ = &thread;
    return serve();
  });
}

void Rank::serve_beside(const std::string& name, std::function<Task<void>(cpu::Execution&)> serve) {
  program_.run_beside(serve_until_killed(std::move(serve), endpoint_->new_thread(name)));
}

Task<void> Rank::serve_until_killed(std::function<Task<void>(cpu::Execution&)> serve, cpu::Execution& thread) {
  serves_ = true;
  try {
    co_await serve(thread);
  } catch (const rdma::ProcessKilled&) {
  }
  serves_ = false;
  arrived_.notify_all();
}

Task<void> Rank::close() {
  endpoint_->kill();
  while (serves_) co_await arrived_;
  has_ended_ = true;
  co_await endpoint_->close(endpoint_->cpu().new_thread("exit"));
}

Task<Transfer> Rank::begin(rdma::Operation operation, const Memory& own, const Memory& other, rdma::Notice notice) {
  const Rank& peer = program_.rank(other.rank);
  rdma::Endpoint& far = peer.endpoint();
  const bool reads = operation == rdma::Operation::read;
  const rdma::RemoteBuffer remote{far.node(), peer.process_, other.address};
  endpoint_->keeps_core();
  Transfer made{own, other, operation, program_.now(), {*endpoint_, operation, own.address, remote, own.bytes}, {}, {}};
  if (program_.strategy().registration->lease_terms()) {
    co_await leases_of(other.rank).begin(thread(), range_of(other), number_, acquire(own, reads));
  } else if (program_.strategy().asks_target()) {
    co_await hear_of_releases(other.rank);
    co_await ask(other, kPrepare, !reads);
    co_await acquire(own, reads);
    co_await receive(kReady, other.rank);
  }
  rdma::Endpoint& source = reads ? far : *endpoint_;
  const std::uint64_t from = reads ? other.address : own.address;
  if (!reads || !peer.has_ended()) {
    made.expected = source.vm().read(source.process(), from, static_cast<std::uint32_t>(own.bytes));
  }
  made.posted = co_await endpoint_->post(thread(), operation, own.address, remote, own.bytes, notice);
  made.told.posted(made.posted);
  co_return made;
}

Task<rdma::Status> Rank::wait(Transfer& transfer) {
  rdma::Status status = rdma::Status::error;
  if (transfer.posted.transfer != 0) status = co_await endpoint_->wait(thread(), transfer.posted);
  const bool done = status == rdma::Status::done;
  if (done && !program_.rank(transfer.other.rank).has_ended()) {
    const bool reads = transfer.operation == rdma::Operation::read;
    rdma::Endpoint& to = reads ? *endpoint_ : program_.rank(transfer.other.rank).endpoint();
    const std::uint64_t address = reads ? transfer.own.address : transfer.other.address;
    const auto bytes = static_cast<std::uint32_t>(transfer.own.bytes);
    if (!(to.vm().read(to.process(), address, bytes) == transfer.expected)) program_.count_wrong_data();
  }
  const bool asks = program_.strategy().asks_target();
  const bool holds = program_.strategy().registration->lease_terms().has_value();
  if (holds) leases_of(transfer.other.rank).end(range_of(transfer.other));
  if (asks || holds) check_buffer(co_await buffer(transfer.own).release(thread()), "releasing", endpoint_->vm());
  transfer.end = program_.now();
  transfer.told.ended(transfer.end, done);
  if (asks) {
    co_await ask(transfer.other, kRelease, false);
    ++releasing_[transfer.other.rank];
  }
  co_return status;
}

// Made for the first transfer to that rank.
messages::Leases& Rank::leases_of(unsigned rank) {
  const auto found = leases_.find(rank);
  if (found != leases_.end()) return found->second;
  const messages::Leases::Asking asking{
      [this, rank](cpu::Execution& by, Message move, unsigned words) {
        const Rank& to = program_.rank(rank);
        move[0] = kMove;
        return endpoint_->send(by, to.endpoint().node(), to.process_, move, words);
      },
      [this, rank](cpu::Execution&) -> Task<void> { co_await receive(kReady, rank); }};
  return leases_.try_emplace(rank, *endpoint_, *program_.strategy().registration->lease_terms(), asking).first->second;
}

Task<void> Rank::acquire(const Memory& own, bool written) {
  check_buffer(co_await buffer(own).acquire(thread(), written), "preparing", endpoint_->vm());
}

Task<void> Rank::hear_of_releases(unsigned rank) {
  for (; releasing_[rank] > 0; --releasing_[rank]) co_await receive(kReady, rank);
}

Task<void> Rank::ask(const Memory& other, Kind request, bool written) {
  return send(other.rank, request, other.number, written ? 1 : 0);
}

Task<void> Rank::send(unsigned rank, Kind kind, std::uint64_t word, std::uint64_t written) {
  const Rank& to = program_.rank(rank);
  cpu::Execution& sender = kind == kReady ? *server_ : thread();
  return endpoint_->send(sender, to.endpoint().node(), to.process_, {kind, number_, word, written}, 4);
}

std::vector<Message>::iterator Rank::find(Kind kind, unsigned rank) {
  return std::ranges::find_if(inbox_, [&](const Message& each) { return each[0] == kind && each[1] == rank; });
}

Task<Message> Rank::receive(Kind kind, unsigned rank) {
  waits_for_ = rank;
  while (find(kind, rank) == inbox_.end()) {
    if (server_ != nullptr) {
      co_await endpoint_->cpu().poll(thread(), arrived_,
                                     [&] { return endpoint_->killed() || find(kind, rank) != inbox_.end(); });
      check_alive();
    } else {
      inbox_.push_back(co_await endpoint_->receive(thread()));
    }
  }
  const auto found = find(kind, rank);
  const Message message = *found;
  inbox_.erase(found);
  waits_for_.reset();
  co_return message;
}

Task<std::optional<std::uint16_t>> Rank::learn(unsigned from, rdma::Awaited awaited) {
  waits_for_ = from;
  const std::optional<std::uint16_t> index = co_await endpoint_->learn(thread(), awaited);
  waits_for_.reset();
  co_return index;
}

Task<bool> Rank::poll_last_byte(unsigned from, const Memory& memory, std::uint8_t before) {
  waits_for_ = from;
  const bool came = co_await endpoint_->poll_byte(thread(), memory.address + memory.bytes - 1, before);
  waits_for_.reset();
  co_return came;
}

Task<std::uint64_t> Rank::hear(unsigned rank) { co_return (co_await receive(kWord, rank))[2]; }

Task<void> Rank::serve() {
  for (;;) {
    const Message message = co_await endpoint_->receive(*server_);
    if (message[0] == kMove) {
      check_buffer(co_await messages::carry_out(message, *server_, *endpoint_, message[1]), "pinning", endpoint_->vm());
      co_await send(static_cast<unsigned>(message[1]), kReady, 0);
      continue;
    }
    if (message[0] != kPrepare && message[0] != kRelease) {
      inbox_.push_back(message);
      arrived_.notify_all();
      continue;
    }
    const rdma::RegisteredBuffer asked = buffer(memories_.at(message[2]));
    Error error = Error::none;
    if (message[0] == kPrepare) {
      error = co_await asked.acquire(*server_, message[3] != 0);
    } else {
      error = co_await asked.release(*server_);
    }
    check_buffer(error, "preparing or releasing", endpoint_->vm());
    co_await send(static_cast<unsigned>(message[1]), kReady, message[2]);
  }
}

Task<void> Rank::barrier() {
  const unsigned ranks = program_.ranks();
  for (unsigned distance = 1; distance < ranks; distance *= 2) {
    co_await send((number_ + distance) % ranks, kBarrier, distance);
    co_await receive(kBarrier, (number_ + ranks - distance) % ranks);
  }
}

// A page at a time is touched, then all bytes are moved.
Task<void> Rank::use(const Memory& memory, bool writes) {
  os::Vm& vm = endpoint_->vm();
  check_buffer(co_await vm.touch_range(thread(), endpoint_->process(), memory.address, memory.bytes, writes),
               writes ? "writing" : "reading", vm);
  co_await compute(vm.config().copy_rate_each_way().time_for(memory.bytes));
}

Task<void> Rank::load(const Memory& memory) { return use(memory, false); }

Task<void> Rank::store(const Memory& memory, std::uint64_t seed) {
  co_await use(memory, true);
  co_await endpoint_->vm().store(endpoint_->process(), memory.address, memory.bytes, seed);
}

Task<void> Rank::copy(const Memory& to, const Memory& from) {
  os::Vm& vm = endpoint_->vm();
  if ((to.address | from.address | from.bytes) % os::kPage != 0) throw std::logic_error("a copy of parts of pages");
  check_buffer(co_await vm.copy_memory(thread(), endpoint_->process(), to.address, from.address, from.bytes), "copying",
               vm);
  check_alive();
}

Task<void> Rank::compute(sim::Time time) {
  check_alive();
  co_await endpoint_->cpu().run(thread(), cpu::Work::user, time);
  check_alive();
}

}  // namespace faultline::workloads
