// SPDX-License-Identifier: Apache-2.0
#include "models/os/files/writeback.hpp"

#include <algorithm>
#include <utility>

#include "models/os/files/page_cache.hpp"
#include "models/os/reclaim/block_device.hpp"
#include "models/os/vm/vm_core.hpp"

namespace faultline::os {

using cpu::Execution;
using sim::Task;

namespace {

constexpr std::uint32_t kMostPages = 256;  // of one command: 1 MiB

}  // namespace

Writeback::Writeback(VmCore& core, BlockDevice& disk, const PageCache& cache)
    : core_(core), disk_(disk), cache_(cache), wanted_(core.context.loop), written_(core.context.loop) {}

// domain_dirty_limits: of what files may use at all.
std::uint64_t Writeback::limit(unsigned percent) const {
  const std::uint64_t pages =
      core_.frames.free_pages() + core_.listed(LruList::inactive_file) + core_.listed(LruList::active_file);
  return pages * percent / 100;
}

bool Writeback::is_over_limit() const { return dirty_ + writing_ > limit(core_.config.dirty_ratio); }

bool Writeback::is_over_background() const { return dirty_ > limit(core_.config.dirty_background_ratio); }

void Writeback::dirtied(File& file, std::uint32_t page) {
  File::Page& cached = *file.find(page);
  cached.dirty = true;
  cached.dirtied = core_.context.now();
  file.dirty_.insert(page);
  ++core_.counters.nr_dirtied;
  if (flusher_ == nullptr) {
    flusher_ = &core_.cpu.new_thread("kworker/flush");
    tasks_.start(serve());
  }
  ++dirty_;
  if (!std::exchange(ticking_, true)) tasks_.start(wait_for_expiry());
  if (is_over_background()) wanted_.notify_all();
}

void Writeback::forget(File& file, std::uint32_t page) {
  file.find(page)->dirty = false;
  file.dirty_.erase(page);
  --dirty_;
  notify();
}

void Writeback::wake() {
  if (dirty_ == 0) return;
  asked_ = true;
  wanted_.notify_all();
}

Task<void> Writeback::throttle(Execution& exec) {
  while (is_over_limit()) {
    wake();
    co_await core_.cpu.sleep(exec, written_);
  }
}

// The flusher: while somebody wants it, one pass after the other over all that is dirty.
Task<void> Writeback::serve() {
  for (;;) {
    while (dirty_ == 0 || !(asked_ || expired_ || is_over_background())) {
      expired_ = false;
      if (std::exchange(asked_, false)) notify();  // what was asked for has gone
      co_await core_.cpu.sleep(*flusher_, wanted_);
    }
    const bool all = std::exchange(asked_, false);
    expired_ = false;
    passing_ = true;
    const std::uint64_t begun = begun_;
    const auto& files = cache_.files();
    for (std::size_t i = 0; i < files.size(); ++i) co_await pass(*files[i], all);  // others may come meanwhile
    // All that is dirty was written to while it was on its way to the disk.
    if (begun_ == begun && writing_ > 0) co_await core_.cpu.sleep(*flusher_, written_);
    passing_ = false;
    notify();
  }
}

Task<void> Writeback::pass(File& file, bool all) {
  const sim::Time now = core_.context.now();
  const auto due = [&](std::uint32_t page) {
    return all || is_over_background() || now - file.find(page)->dirtied >= core_.config.dirty_expire;
  };
  for (auto at = file.dirty_.begin(); at != file.dirty_.end();) {
    const std::uint32_t page = *at;
    const std::uint32_t next = due(page) ? co_await clean_run(*flusher_, file, page, kMostPages) : page + 1;
    while (commands_ >= core_.config.disk_queue_depth) co_await core_.cpu.sleep(*flusher_, written_);
    at = file.dirty_.lower_bound(next);
  }
}

// wb_writeback's periodic part, as long as anything is dirty.
Task<void> Writeback::wait_for_expiry() {
  while (dirty_ > 0) {
    co_await core_.context.loop.idle(core_.config.dirty_writeback_interval);
    expired_ = true;
    wanted_.notify_all();
  }
  ticking_ = false;
}

// Dirty neighbours from `first` on, by one command, which goes on by itself. The page behind them; `first` is dirty,
// and the next but one where it is being written already.
Task<std::uint32_t> Writeback::clean_run(Execution& exec, File& file, std::uint32_t first, std::uint32_t most) {
  std::uint32_t end = first;
  while (end - first < most && file.dirty_.contains(end) && !file.find(end)->writing) {
    file.dirty_.erase(end);
    File::Page& page = *file.find(end);
    page.dirty = false;
    page.writing = true;
    --dirty_;
    ++writing_;
    ++end;
  }
  if (end == first) co_return first + 1;
  begun_ += end - first;
  co_await core_.run_giving_way(exec, core_.config.writeback_page * std::int64_t{end - first});
  for (std::uint32_t page = first; page < end; ++page) {
    co_await core_.cond_resched(exec);
    Address frame = 0;
    do {  // until it has not been moved meanwhile
      frame = file.find(page)->frame;
      co_await protect(exec, frame);
    } while (file.find(page)->frame != frame);
  }
  ++commands_;
  tasks_.start(transfer(file, first, end));
  co_return end;
}

// folio_mkclean: whoever writes the page from now on says so. The descriptor is invalid until TLBs have forgotten it
// (ptep_clear_flush), so that meanwhile reads of a device fault, too.
Task<void> Writeback::protect(Execution& exec, Address frame) {
  const Taking by = core_.taking(exec, Taker::writeback);
  const auto protect_there = [&](Process& process, VirtualAddress va) -> Task<void> {
    const Range range{va, va + kPage};
    co_await core_.settled(process, range);
    const bool there = core_.frame_table.has_mapper(frame, {&process, va});
    PageState* page = there ? Mm::of(process).space.entry(va) : nullptr;
    if (page == nullptr || !page->may_write()) co_return;
    if (!page->present()) {
      page->write_protect(by);
      co_return;
    }
    core_.hide(process, va, Entry::moving, by);
    co_await core_.flush(exec, process, va);
    page = Mm::of(process).space.entry(va);
    page->write_protect(by);
    core_.show(process, va);
    core_.on_change(process, 1);
  };
  co_await core_.for_each_mapper(exec, frame, Taker::writeback, Notice::told, protect_there);
}

Task<void> Writeback::transfer(File& file, std::uint32_t first, std::uint32_t end) {
  core_.counters.pgpgout += (end - first) * (kPage >> 10);
  co_await disk_.write(std::uint64_t{end - first} * kPage);
  core_.counters.nr_written += end - first;
  for (std::uint32_t page = first; page < end; ++page) {
    File::Page& cached = *file.find(page);
    file.written_[page] = core_.store.read(cached.frame, kPage);
    file.punched_.erase(page);
    cached.writing = false;
  }
  writing_ -= end - first;
  --commands_;
  notify();
}

void Writeback::notify() {
  written_.notify_all();
  core_.reclaim().progressed();
}

Task<void> Writeback::sync(Execution& exec, File& file) {
  co_await core_.run(exec, core_.config.syscall);
  co_await clean(exec, file, 0, file.pages());
  const auto writing = [&file] {
    return std::any_of(file.cached().begin(), file.cached().end(),
                       [](const auto& page) { return page.second.writing; });
  };
  while (writing()) co_await core_.cpu.sleep(exec, written_);
}

Task<unsigned> Writeback::clean(Execution& exec, File& file, std::uint32_t first, std::uint32_t end) {
  unsigned cleaned = 0;  // or given to the disk already, and written to since
  for (auto at = file.dirty_.lower_bound(first); at != file.dirty_.end() && *at < end;) {
    const std::uint32_t page = *at;
    const std::uint32_t next = co_await clean_run(exec, file, page, std::min(kMostPages, end - page));
    cleaned += next - page;
    at = file.dirty_.lower_bound(next);
  }
  co_return cleaned;
}

Task<void> Writeback::written(File& file, std::uint32_t page) {
  while (file.find(page) != nullptr && file.find(page)->writing) co_await written_;
}

}  // namespace faultline::os
