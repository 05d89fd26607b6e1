// SPDX-License-Identifier: Apache-2.0
// How dirty pages of files come to the disk, and how those who make them are held back. Thresholds and periods as in
// Linux 6.x, mm/page-writeback.c.
#pragma once

#include <cstdint>

#include "models/cpu/cpu.hpp"
#include "models/os/files/file.hpp"
#include "models/sim/task.hpp"

namespace faultline::os {

class BlockDevice;
class PageCache;
class VmCore;

class Writeback {
 public:
  Writeback(VmCore& core, BlockDevice& disk, const PageCache& cache);

  // The page, which was clean, has been written.
  void dirtied(File& file, std::uint32_t page);
  // It goes, whatever was written to it.
  void forget(File& file, std::uint32_t page);
  // balance_dirty_pages: waits while more is dirty than os.dirty_ratio allows.
  sim::Task<void> throttle(cpu::Execution& exec);
  bool is_over_limit() const;
  // Reclaim has met dirty pages: all of them go.
  void wake();
  // fsync: all that is dirty now is on the disk afterwards.
  sim::Task<void> sync(cpu::Execution& exec, File& file);
  // Of the pages [first, end); the program does not wait.
  sim::Task<unsigned> clean(cpu::Execution& exec, File& file, std::uint32_t first, std::uint32_t end);
  // Ends when the page is not on its way to the disk.
  sim::Task<void> written(File& file, std::uint32_t page);

  std::uint64_t dirty_pages() const { return dirty_; }
  std::uint64_t writing_pages() const { return writing_; }
  // Pages will be clean soon without anybody's doing.
  bool is_at_work() const { return writing_ > 0 || asked_ || passing_; }

 private:
  sim::Task<void> serve();
  sim::Task<void> wait_for_expiry();
  sim::Task<void> pass(File& file, bool all);
  sim::Task<std::uint32_t> clean_run(cpu::Execution& exec, File& file, std::uint32_t first, std::uint32_t most);
  sim::Task<void> protect(cpu::Execution& exec, Address frame);
  sim::Task<void> transfer(File& file, std::uint32_t first, std::uint32_t end);
  void notify();
  bool is_over_background() const;
  std::uint64_t limit(unsigned percent) const;

  VmCore& core_;
  BlockDevice& disk_;
  const PageCache& cache_;
  std::uint64_t dirty_ = 0;
  std::uint64_t writing_ = 0;
  unsigned commands_ = 0;    // that the disk has, of ours
  std::uint64_t begun_ = 0;  // pages, ever
  bool ticking_ = false;     // somebody looks for expired pages
  bool asked_ = false;       // by reclaim, or by who is held back
  bool expired_ = false;     // pages may be
  bool passing_ = false;     // the flusher is at work
  cpu::Execution* flusher_ = nullptr;
  sim::Signal wanted_;
  sim::Signal written_;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::os
