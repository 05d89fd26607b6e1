// SPDX-License-Identifier: Apache-2.0
// The programs themselves (workloads/kernel_cost/kernel_program.hpp).
#pragma once

#include <deque>
#include <vector>

#include "workloads/kernel_cost/kernel_program.hpp"

namespace faultline::workloads {

// lat_ctx: a token goes round a ring of processes, by a pipe from each to the next; who gets it reads an array of its
// own. A lap by the number of processes, less what one process needs to write and read a pipe and to read the array.
class Ring : public KernelProgram {
 public:
  explicit Ring(const ProgramPlace& place);

  sim::Task<void> set_up() override;
  sim::Task<void> tear_down() override;
  sim::Task<void> round() override;
  sim::Task<void> overhead() override;
  unsigned overheads() const override { return units(); }
  unsigned units() const override { return place_.config.processes; }

 private:
  struct Member {
    os::Process& process;
    cpu::Execution& thread;
    os::VirtualAddress array = 0;
  };
  sim::Task<void> pass_on(std::size_t number);
  sim::Task<void> read_array(const Member& member);

  std::deque<os::Pipe> pipes_;  // pipe i is written by member i
  os::Pipe own_;
  std::vector<Member> members_;
};

// lat_pipe, lat_unix: a byte to another process and back.
class PipePingPong : public KernelProgram {
 public:
  PipePingPong(const ProgramPlace& place, os::Pipe::Kind kind);

  sim::Task<void> set_up() override;
  sim::Task<void> tear_down() override;
  sim::Task<void> round() override;

 private:
  sim::Task<void> echo();

  os::Process& other_;
  cpu::Execution& other_thread_;
  os::Pipe there_;
  os::Pipe back_;
};

// lat_proc: fork, and wait for the child, which exits, or runs another program (execve) that exits. Both write pages
// that they share until then.
class ForkAndExit : public KernelProgram {
 public:
  ForkAndExit(const ProgramPlace& place, bool execs) : KernelProgram(place), execs_(execs) {}

  sim::Task<void> set_up() override;
  sim::Task<void> round() override;

 private:
  sim::Task<void> live(os::Process& child, os::ChildStatus& status);
  sim::Task<void> run_program(cpu::Execution& thread, os::Process& child);
  std::uint64_t written_bytes() const { return place_.config.written_pages * os::kPage; }

  const bool execs_;
  os::VirtualAddress memory_ = 0;
  os::File* text_ = nullptr;  // of the new program
};

// lat_pagefault: reads a byte of each page of a file that is in the page cache, in random order, through a new shared
// mapping; less the time to unmap and map it alone; by the number of pages, however many faults that takes.
class FileFaults : public KernelProgram {
 public:
  explicit FileFaults(const ProgramPlace& place);

  sim::Task<void> set_up() override;
  sim::Task<void> round() override;
  sim::Task<void> overhead() override;
  unsigned overheads() const override { return 1; }
  unsigned units() const override { return static_cast<unsigned>(order_.size()); }

 private:
  sim::Task<void> map_again();

  std::vector<std::uint64_t> order_;  // of pages
  os::File* file_ = nullptr;
  os::VirtualAddress where_ = 0;
};

// lat_mmap: maps a file shared, stores a byte every 16 KiB into the first tenth of it, unmaps it.
class MapAndStore : public KernelProgram {
 public:
  using KernelProgram::KernelProgram;

  sim::Task<void> set_up() override;
  sim::Task<void> round() override;

 private:
  os::File* file_ = nullptr;
};

// bw_mem bcopy, bzero: memory that is present.
class MoveMemory : public KernelProgram {
 public:
  MoveMemory(const ProgramPlace& place, bool copies) : KernelProgram(place), copies_(copies) {}

  sim::Task<void> set_up() override;
  sim::Task<void> round() override;
  std::uint64_t bytes() const override { return place_.size; }

 private:
  const bool copies_;
  os::VirtualAddress from_ = 0;
  os::VirtualAddress to_ = 0;
};

// lat_sig catch: a signal to oneself and its handler, less the same call with signal 0.
class CatchSignal : public KernelProgram {
 public:
  using KernelProgram::KernelProgram;

  sim::Task<void> round() override { return os::send_signal_to_self(thread_, costs(), cpu(), /*caught=*/true); }
  sim::Task<void> overhead() override { return os::send_signal_to_self(thread_, costs(), cpu(), /*caught=*/false); }
  unsigned overheads() const override { return 1; }
};

// A first write to each page of new anonymous memory, whatever their size: by the number of faults.
class FirstWrites : public KernelProgram {
 public:
  using KernelProgram::KernelProgram;

  sim::Task<void> before() override;
  sim::Task<void> round() override;
  sim::Task<void> after() override;
  unsigned units() const override { return faults_; }

 private:
  os::VirtualAddress memory_ = 0;
  unsigned faults_ = 1;
};

// mprotect(PROT_READ) of memory that is present and has been written.
class TakeRights : public KernelProgram {
 public:
  using KernelProgram::KernelProgram;

  sim::Task<void> set_up() override;
  sim::Task<void> round() override;
  sim::Task<void> after() override;

 private:
  os::VirtualAddress memory_ = 0;
};

}  // namespace faultline::workloads
