// SPDX-License-Identifier: Apache-2.0
// What takes no simulated time: preparing an experiment, and the content of memory as a process sees it.
#include <algorithm>

#include "models/os/vm/vm.hpp"

namespace faultline::os {

Result<VirtualAddress> Vm::map(Process& process, std::uint64_t bytes, std::uint64_t alignment) {
  const std::uint64_t length = sim::page_end(bytes);
  const auto gap = length == 0 ? std::nullopt : Mm::of(process).space.find_gap(length, alignment);
  if (!gap) return {.error = Error::no_memory};
  Mm::of(process).space.insert(Vma{.begin = *gap, .end = *gap + length});
  if (core_.config.thp == ThpMode::always) khugepaged_.start();
  return {.value = *gap};
}

Result<VirtualAddress> Vm::map_file(Process& process, File& file, bool shared, std::uint64_t alignment) {
  const auto gap = file.bytes() == 0 ? std::nullopt : Mm::of(process).space.find_gap(file.bytes(), alignment);
  if (!gap) return {.error = Error::no_memory};
  Mm::of(process).space.insert(
      Vma{.begin = *gap, .end = *gap + file.bytes(), .shared = shared, .file = &file, .file_origin = *gap});
  return {.value = *gap};
}

Result<VirtualAddress> Vm::map_driver_memory(Process& process, std::uint64_t bytes) {
  Result<VirtualAddress> mapped = map(process, bytes);
  if (!mapped.ok()) return mapped;
  mapped.error = keep_present(process, mapped.value, bytes);
  return mapped;
}

Error Vm::keep_present(Process& process, VirtualAddress va, std::uint64_t bytes) {
  const auto range = pages_around(process, va, bytes);
  if (!range.ok()) return range.error;
  // The pages of the pool of huge pages stay anyway, and are not cut.
  const Vma* vma = Mm::of(process).space.find(range.value.begin);
  if (vma != nullptr && vma->hugetlb == 0) {
    Mm::of(process).space.change(range.value.begin, range.value.end, [](Vma& part) { part.driver = true; });
  }
  const Error error = make_present(process, va, bytes);
  if (error == Error::none) relist(process, range.value, true);
  return error;
}

void Vm::limit_memory(Process& process, std::uint64_t bytes) {
  const auto id = static_cast<GroupId>(core_.groups.size());
  core_.groups.push_back(std::make_unique<MemoryGroup>(core_.frame_table, id, bytes / kPage, core_.config.kernel));
  Mm::of(process).group = core_.groups.back().get();
}

void Vm::keep_from_children(Process& process, VirtualAddress va, std::uint64_t bytes) {
  Mm::of(process).space.change(sim::page_begin(va), sim::page_end(va + bytes), [](Vma& vma) { vma.inherited = false; });
}

Error Vm::make_present(Process& process, VirtualAddress va, std::uint64_t bytes) {
  const Error error = bring_now(process, va, bytes);
  Mm::of(process).notifiers.follow_now();
  return error;
}

Error Vm::bring_now(Process& process, VirtualAddress va, std::uint64_t bytes) {
  const auto range = pages_around(process, va, bytes);
  if (!range.ok()) return range.error;
  for (VirtualAddress at = range.value.begin; at < range.value.end; at += kPage) {
    const Vma* vma = Mm::of(process).space.find(at);
    if (vma == nullptr) return Error::bad_address;
    Error error = Error::none;
    if (const PageState* page = Mm::of(process).space.entry(at); page != nullptr) {
      if (page->in_motion()) return Error::again;
      if (page->entry == Entry::swapped) error = swap_.bring(process, at);
      if (error != Error::none) return error;
      if (page->entry == Entry::hidden) core_.show(process, at);
      // Of the huge zero page a fresh one, as if it had never been read: a store would split it in some kernels.
      const bool read_only = vma->writable && page->present() && !page->writable;
      if (read_only && !replace_huge_zero_page_now(process, at)) error = own_now(process, at);
      const PageState& now = *Mm::of(process).space.entry(at);  // another one, perhaps
      if (now.present() && !now.young) core_.set_young(process, at);
    } else if (vma->hugetlb != 0) {
      error = bring_block(process, at);
    } else if (vma->file != nullptr) {
      error = page_cache_.bring(process, at);
      if (error == Error::none && vma->writable) error = own_now(process, at);
    } else {
      const auto fresh = core_.take_page(process, *vma, at);
      error = fresh ? core_.install(process, at, *fresh, vma->writable) : Error::no_memory;
    }
    if (error != Error::none) return error;
  }
  return Error::none;
}

// False: it is no huge zero page, or there is no room for another one.
bool Vm::replace_huge_zero_page_now(Process& process, VirtualAddress va) {
  if (!core_.is_huge_zero_page(process, va) || !reclaim_.has_room(process, kPagesPerHuge)) return false;
  const auto block = core_.frames.allocate_huge();
  if (block) core_.replace_huge_zero_page_now(process, huge_range(va), *block);
  return block.has_value();
}

// A write fault without time.
Error Vm::own_now(Process& process, VirtualAddress va) {
  if (Mm::of(process).space.page(va)->pool) return own_block_now(process, va);
  if (Mm::of(process).space.find(va)->shared) {
    page_cache_.dirtied(Mm::of(process).space.page(va)->frame);
    core_.allow_writing(process, va);
    core_.drop(process, {va, va + kPage}, {va});
    return Error::none;
  }
  if (!core_.config.kernel.has(Change::huge_cow_splits) && replace_huge_zero_page_now(process, va)) return Error::none;
  if (Mm::of(process).space.is_huge(va) && !Mm::of(process).space.page(va)->clean && !reusable(process, va)) {
    const Error error = core_.split_now(process, va);
    if (error != Error::none) return error;
  }
  if (Mm::of(process).space.page(va)->clean || reusable(process, va)) {
    core_.allow_writing(process, va);
    swap_.dirtied(Mm::of(process).space.page(va)->frame);
    core_.drop(process, {va, va + kPage}, {va});
    return Error::none;
  }
  const auto frame = core_.frames.allocate_page();
  if (!frame) return Error::no_memory;
  const PageState old = *Mm::of(process).space.page(va);
  core_.store.write(*frame, core_.store.read(old.frame, kPage));
  core_.hide(process, va, Entry::moving, {Taker::copy, false});
  core_.redirect(process, va, *frame);
  core_.drop(process, {va, va + kPage}, {va});
  Mm::of(process).space.entry(va)->writable = true;
  Mm::of(process).space.entry(va)->protected_by = {};
  core_.show(process, va);
  if (!old.zero) core_.retire(process, old.frame);
  return Error::none;
}

Error Vm::discard(Process& process, VirtualAddress va, std::uint64_t bytes) {
  const auto range = pages_around(process, va, bytes);
  if (!range.ok()) return range.error;
  const Range whole{sim::page_end(va), sim::page_begin(va + bytes)};
  if (whole.begin >= whole.end) return Error::none;
  if (core_.split_edges_now(process, whole) != Error::none) return Error::no_memory;
  for (const Range part : without_cut_pages(process, whole)) {
    const VmCore::Zapped zapped = core_.zap(process, part, {});
    core_.drop(process, part, zapped.leaves.addresses());
    core_.retire(process, zapped);
    restore_reservations(process, part);  // as if they had never been touched
  }
  return Error::none;
}

// What a store finds when it comes to the page, without time. False: it finds nothing to write.
bool Vm::store_now(Process& process, VirtualAddress va) {
  const Vma* vma = Mm::of(process).space.find(va);
  const PageState* page = Mm::of(process).space.entry(va);
  if (page == nullptr || page->entry == Entry::poisoned || page->in_motion() || !vma->allows(true)) return false;
  if (page->entry == Entry::hidden) core_.show(process, va);
  if (page->entry == Entry::swapped && swap_.bring(process, va) != Error::none) return false;
  if (page->writable) return true;
  return page->present() && own_now(process, va) == Error::none;
}

std::uint64_t Vm::fill(Process& process, VirtualAddress va, std::uint64_t bytes, std::uint64_t seed) {
  std::uint64_t written = 0;
  for (std::uint64_t done = 0; done < bytes; done += kPage - (va + done) % kPage) {
    written += fill_page(process, va, bytes, seed, done);
  }
  Mm::of(process).notifiers.follow_now();
  return written;
}

sim::Task<void> Vm::store(Process& process, VirtualAddress va, std::uint64_t bytes, std::uint64_t seed) {
  for (std::uint64_t done = 0; done < bytes; done += kPage - (va + done) % kPage) {
    co_await may_store(process, sim::page_begin(va + done));
    fill_page(process, va, bytes, seed, done);
  }
}

sim::Task<void> Vm::write(Process& process, VirtualAddress va, sim::Content content) {
  for (std::uint32_t done = 0; done < content.size();) {
    const VirtualAddress at = va + done;
    const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(content.size() - done, kPage - at % kPage));
    co_await may_store(process, sim::page_begin(at));
    write_page(process, at, content.slice(done, part));
    done += part;
  }
}

sim::Task<void> Vm::may_store(Process& process, VirtualAddress page) {
  if (Mm::of(process).in_motion > 0) co_await core_.settled(process, {page, page + kPage});
  if (Mm::of(process).space.swapped_bytes() > 0) co_await swap_.arrived(process, page);
}

// What of the pattern lies in the page of va + done.
std::uint64_t Vm::fill_page(Process& process, VirtualAddress va, std::uint64_t bytes, std::uint64_t seed,
                            std::uint64_t done) {
  const VirtualAddress at = va + done;
  const auto part = static_cast<std::uint32_t>(std::min(bytes - done, kPage - at % kPage));
  return write_page(process, at, sim::Content::pattern(seed, done, part));
}

std::uint64_t Vm::write_page(Process& process, VirtualAddress at, const sim::Content& content) {
  if (!store_now(process, sim::page_begin(at))) return 0;
  PageState& page = *Mm::of(process).space.entry(sim::page_begin(at));
  core_.store.write(page.frame + at % kPage, content);
  page.dirty = true;
  page.lazyfree = false;
  return content.size();
}

bool Vm::is_in_core(const Process& process, VirtualAddress va) const {
  const PageState* page = Mm::of(process).space.entry(va);
  if (page != nullptr) return page->entry != Entry::swapped || swap_.in_memory(process, va);
  const Vma* vma = Mm::of(process).space.find(va);
  return vma != nullptr && vma->file != nullptr && page_cache_.is_in_core(*vma->file, vma->file_page(va));
}

sim::Content Vm::read(const Process& process, VirtualAddress va, std::uint32_t bytes) const {
  sim::Content content;
  while (content.size() < bytes) {
    const VirtualAddress at = va + content.size();
    const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes - content.size(), kPage - at % kPage));
    const PageState* page = Mm::of(process).space.entry(at);
    const Vma* vma = page == nullptr ? Mm::of(process).space.find(at) : nullptr;
    if (vma != nullptr && vma->file != nullptr && vma->file_page(at) < vma->file->pages()) {
      content.append(page_cache_.content(*vma->file, vma->file_page(at)).slice(at % kPage, part));
    } else if (page == nullptr || page->entry == Entry::poisoned) {
      content.append(sim::Content::zeros(part));
    } else if (page->entry == Entry::swapped) {
      content.append(swap_.content(page->slot()).slice(at % kPage, part));
    } else {
      content.append(core_.store.read(page->frame + at % kPage, part));
    }
  }
  return content;
}

}  // namespace faultline::os
