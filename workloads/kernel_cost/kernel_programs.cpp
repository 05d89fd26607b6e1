// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernel_cost/kernel_programs.hpp"

#include <numeric>
#include <utility>

#include "models/sim/random.hpp"

namespace faultline::workloads {

using cpu::Execution;
using os::kHugePage;
using os::kPage;
using os::Process;
using sim::Task;

namespace {

// lmbench's constants.
constexpr std::uint64_t kMapStride = std::uint64_t{16} << 10;  // PSIZE
constexpr std::uint64_t kMapShare = 10;                        // N

// Text of the program that a child becomes. lmbench's prints a line; assumed: as much as one fault maps.
constexpr std::uint64_t kTextBytes = std::uint64_t{64} << 10;

}  // namespace

Ring::Ring(const ProgramPlace& place) : KernelProgram(place), own_(os::Pipe::Kind::pipe, costs(), cpu()) {
  members_.push_back({process_, thread_});
  while (members_.size() < place.config.processes) {
    os::Process& process = new_process("daemon");
    members_.push_back({process, cpu().new_thread("daemon").use(process.id())});
  }
  for (std::size_t i = 0; i < members_.size(); ++i) pipes_.emplace_back(os::Pipe::Kind::pipe, costs(), cpu());
}

Task<void> Ring::set_up() {
  for (Member& member : members_) member.array = co_await map_array(member.thread, member.process);
  for (std::size_t i = 1; i < members_.size(); ++i) place_.tasks.start(pass_on(i));
  co_await round();
}

Task<void> Ring::tear_down() { co_await pipes_.front().close(thread_); }

Task<void> Ring::read_array(const Member& member) {
  check(co_await vm().touch_range(member.thread, member.process, member.array, place_.size, /*write=*/false));
}

Task<void> Ring::pass_on(std::size_t number) {
  const Member& self = members_[number];
  bool token = co_await pipes_[number - 1].read(self.thread);
  while (token) {
    co_await read_array(self);
    co_await pipes_[number].write(self.thread);
    token = co_await pipes_[number - 1].read(self.thread);
  }
  co_await pipes_[number].close(self.thread);
}

Task<void> Ring::round() {
  co_await pipes_.front().write(thread_);
  co_await pipes_.back().read(thread_);
  co_await read_array(members_.front());
}

Task<void> Ring::overhead() {
  co_await own_.write(thread_);
  co_await own_.read(thread_);
  co_await read_array(members_.front());
}

PipePingPong::PipePingPong(const ProgramPlace& place, os::Pipe::Kind kind)
    : KernelProgram(place),
      other_(new_process("echo")),
      other_thread_(cpu().new_thread("echo").use(other_.id())),
      there_(kind, costs(), cpu()),
      back_(kind, costs(), cpu()) {}

Task<void> PipePingPong::set_up() {
  place_.tasks.start(echo());
  co_await round();
}

Task<void> PipePingPong::tear_down() { co_await there_.close(thread_); }

Task<void> PipePingPong::round() {
  co_await there_.write(thread_);
  co_await back_.read(thread_);
}

Task<void> PipePingPong::echo() {
  bool byte = co_await there_.read(other_thread_);
  while (byte) {
    co_await back_.write(other_thread_);
    byte = co_await there_.read(other_thread_);
  }
}

Task<void> ForkAndExit::set_up() {
  memory_ = co_await map_array(thread_, process_);
  if (execs_) text_ = co_await write_file(kTextBytes);
}

Task<void> ForkAndExit::round() {
  os::ChildStatus status(costs(), cpu());
  Process* child = check(co_await vm().fork(thread_, process_));
  place_.tasks.start(live(*child, status));
  if (written_bytes() > 0) {
    check(co_await vm().touch_range(thread_, process_, memory_, written_bytes(), /*write=*/true));
  }
  co_await status.wait(thread_);
}

Task<void> ForkAndExit::live(Process& child, os::ChildStatus& status) {
  Execution& thread = cpu().new_thread("child").use(child.id());
  if (written_bytes() > 0) {
    check(co_await vm().touch_range(thread, child, memory_, written_bytes(), /*write=*/true));
  }
  if (execs_) co_await run_program(thread, child);
  co_await vm().exit(thread, child);
  co_await status.ended(thread);
}

Task<void> ForkAndExit::run_program(Execution& thread, Process& child) {
  co_await vm().execve(thread, child);
  const auto text = check(co_await vm().mmap(thread, child, kTextBytes, {.writable = false, .file = text_}));
  check(co_await vm().touch_range(thread, child, text, kTextBytes, /*write=*/false));
  if (written_bytes() == 0) co_return;
  const auto data = check(co_await vm().mmap(thread, child, written_bytes(), {}));
  check(co_await vm().touch_range(thread, child, data, written_bytes(), /*write=*/true));
}

FileFaults::FileFaults(const ProgramPlace& place) : KernelProgram(place), order_(place.size / kPage) {
  std::iota(order_.begin(), order_.end(), std::uint64_t{0});
  sim::RandomStream random(place.seed, "lat_pagefault");
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
}

Task<void> FileFaults::set_up() {
  file_ = co_await write_file(place_.size);
  where_ = co_await map(thread_, process_, {.writable = false, .file = file_, .shared = true});
}

Task<void> FileFaults::map_again() {
  check(co_await vm().munmap(thread_, process_, where_, place_.size));
  where_ = co_await map(thread_, process_, {.writable = false, .file = file_, .shared = true});
}

Task<void> FileFaults::round() {
  for (const std::uint64_t page : order_) {
    check(co_await vm().touch(thread_, process_, where_ + page * kPage, /*write=*/false));
  }
  co_await map_again();
}

Task<void> FileFaults::overhead() { return map_again(); }

Task<void> MapAndStore::set_up() { file_ = co_await write_file(place_.size); }

Task<void> MapAndStore::round() {
  const auto where = co_await map(thread_, process_, {.file = file_, .shared = true});
  for (std::uint64_t at = 0; at < place_.size / kMapShare; at += kMapStride) {
    check(co_await vm().touch(thread_, process_, where + at, /*write=*/true));
  }
  check(co_await vm().munmap(thread_, process_, where, place_.size));
}

Task<void> MoveMemory::set_up() {
  from_ = co_await map_array(thread_, process_);
  if (copies_) to_ = co_await map_array(thread_, process_);
}

Task<void> MoveMemory::round() {
  if (copies_) {
    check(co_await vm().copy_memory(thread_, process_, to_, from_, place_.size));
  } else {
    check(co_await vm().zero_memory(thread_, process_, from_, place_.size));
  }
}

Task<void> FirstWrites::before() { memory_ = co_await map(thread_, process_, of_array()); }

Task<void> FirstWrites::round() {
  faults_ = 0;
  for (std::uint64_t at = memory_; at < memory_ + place_.size; ++faults_) {
    check(co_await vm().touch(thread_, process_, at, /*write=*/true));
    at += process_.space().is_huge(at) ? kHugePage : kPage;
  }
}

Task<void> FirstWrites::after() { check(co_await vm().munmap(thread_, process_, memory_, place_.size)); }

Task<void> TakeRights::set_up() { memory_ = co_await map_array(thread_, process_); }

Task<void> TakeRights::round() {
  check(co_await vm().mprotect(thread_, process_, memory_, place_.size, os::Protection::read));
}

Task<void> TakeRights::after() {
  check(co_await vm().mprotect(thread_, process_, memory_, place_.size, os::Protection::read_write));
  check(co_await vm().touch_range(thread_, process_, memory_, place_.size, /*write=*/true));
}

}  // namespace faultline::workloads
