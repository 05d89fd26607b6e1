// SPDX-License-Identifier: Apache-2.0
// Processes, frames, and how a change reaches TLBs and notifiers. Entries: vm_entries.cpp.
#include "models/os/vm/vm_core.hpp"

#include <algorithm>

namespace faultline::os {
namespace {

constexpr std::size_t kAsids = 65535;  // 16 bits, 0 is the kernel's

Address base_of(const OsConfig& config, const memory::FrameStore& store) {
  return std::min(sim::page_begin(config.kernel_reserved), store.bytes());
}

FrameAllocator frames_of(const OsConfig& config, const memory::FrameStore& store) {
  const Address base = base_of(config, store);
  const std::uint64_t bytes = std::min(sim::page_begin(config.user_memory), store.bytes() - base);
  return FrameAllocator(base, bytes, config.cma_bytes, config.kernel.has(Change::cma_first));
}

std::vector<std::unique_ptr<MemoryGroup>> root_group(FrameTable& frames, const cpu::Kernel& kernel) {
  std::vector<std::unique_ptr<MemoryGroup>> groups;
  groups.push_back(std::make_unique<MemoryGroup>(frames, GroupId{0}, kUnlimited / kPage, kernel));
  return groups;
}

}  // namespace

VmCore::VmCore(const OsConfig& wanted, const sim::Context& owner, memory::FrameStore& memory, cpu::Cpu& cores)
    : config(wanted),
      context(owner),
      store(memory),
      cpu(cores),
      frames(frames_of(config, store)),
      counters(context.statistics),
      tlbs(config, cpu, counters.tlb_invalidations),
      groups(root_group(frame_table, config.kernel)),
      huge_pool(config.nr_hugepages, frames, frame_table, context.loop),
      // The last page of the kernel's image.
      zero_page_(base_of(config, store) - kPage) {}

std::uint64_t VmCore::listed(LruList list) const {
  std::uint64_t pages = 0;
  for (const auto& group : groups) pages += group->lru.size(list);
  return pages;
}

sim::Task<void> VmCore::lock_for_change(cpu::Execution& exec, Process& process, Range range) {
  co_await Mm::of(process).lock.lock_exclusive(cpu, exec);
  co_await lock_vmas(exec, process, range);
}

sim::Task<void> VmCore::lock_vmas(cpu::Execution& exec, Process& process, Range range) {
  if (config.kernel.has(Change::vma_locks))
    co_await Mm::of(process).lock.lock_vmas(cpu, exec, Mm::of(process).space.whole_vmas(range));
}

void VmCore::charge(const Process& process, Address frame, FrameRecord& record) {
  if (record.charged || record.pool) return;
  record.charged = true;
  ++Mm::of(process).group->charged;
  if (record.group == Mm::of(process).group->id) return;
  const LruList list = record.list;
  lru(record).remove(frame);
  record.group = Mm::of(process).group->id;
  if (list != LruList::none) lru(record).add(frame, list);
}

void VmCore::note_arrival(const FrameRecord& record) {
  if (record.list == LruList::unevictable) return;
  groups[record.group]->balance.came(record.on_file_lists() ? ScanBalance::file : ScanBalance::anon,
                                     record.is_active());
}

Process* VmCore::create_process(std::string name) {
  if (processes.size() >= kAsids) return nullptr;
  const auto bits = static_cast<unsigned>(config.va_bits);
  auto table = PageTable::create(store, frames, bits);
  if (!table) {
    ++counters.out_of_memory;
    return nullptr;
  }
  // The lowest number that nobody has.
  std::uint16_t id = 1;
  while (std::any_of(processes.begin(), processes.end(), [id](const auto& process) { return process->id() == id; })) {
    ++id;
  }
  auto mm = std::make_unique<Mm>(context, id, std::move(table), bits, *groups.front());
  processes.push_back(std::make_unique<Process>(id, std::move(name), std::move(mm)));
  return processes.back().get();
}

void VmCore::destroy_process(Process& process) {
  cpu.forget_space(process.id());
  std::erase_if(processes, [&](const auto& other) { return other.get() == &process; });
}

sim::Task<void> VmCore::run_walk(cpu::Execution& exec, sim::Time per_entry, TableWalk walk) {
  for (const std::int64_t entries : walk.pieces()) {
    co_await run(exec, per_entry * entries);
    if (walk.gives_way()) co_await cond_resched(exec);
  }
}

// clear_huge_page(): the kernel gives way after each 4 KiB.
sim::Task<void> VmCore::clear_memory(cpu::Execution& exec, NewPage page) {
  counters.zeroed_bytes += bytes_of(page.size);
  for (std::uint64_t offset = 0; offset < bytes_of(page.size); offset += kPage) {
    if (offset > 0) co_await cond_resched(exec);
    co_await cpu.memory_bulk(exec, cpu::Work::system, page.frame + offset, kPage, config.zero_bandwidth, true);
  }
}

sim::Task<void> VmCore::copy_page(cpu::Execution& exec, Address from, Address to) {
  const sim::ByteRate each = config.copy_rate_each_way();
  co_await cpu.memory_bulk(exec, cpu::Work::system, from, kPage, each, false);
  co_await cpu.memory_bulk(exec, cpu::Work::system, to, kPage, each, true);
  counters.copied_bytes += kPage;
  store.write(to, store.read(from, kPage));
}

// copy_user_huge_page(), in migration copy_huge_page(): the kernel gives way after each 4 KiB.
sim::Task<void> VmCore::copy_block(cpu::Execution& exec, Address from, Address to) {
  for (std::uint64_t offset = 0; offset < kHugePage; offset += kPage) {
    if (offset > 0) co_await cond_resched(exec);
    co_await copy_page(exec, from + offset, to + offset);
  }
}

void VmCore::copy_block_now(Address from, Address to) {
  for (std::uint64_t at = 0; at < kHugePage; at += kPage) store.write(to + at, store.read(from + at, kPage));
}

void VmCore::add_notifier(Process& process, MmuNotifier& notifier) { Mm::of(process).notifiers.add(notifier); }

sim::Task<void> VmCore::remove_notifier(Process& process, MmuNotifier& notifier) {
  const MmUser user(process);
  co_await Mm::of(process).notifiers.remove(notifier);
}

sim::Task<bool> VmCore::change_begins(cpu::Execution& exec, Process& process, Range range, Taker by, Notice notice) {
  return Mm::of(process).notifiers.begin(exec, {.range = range, .by = taking(exec, by), .notice = notice});
}

void VmCore::change_ends(Process& process, Range range) { Mm::of(process).notifiers.end(range); }

sim::Task<void> VmCore::flush(cpu::Execution& exec, Process& process, VirtualAddress leaf) {
  // Of a page of the pool huge_ptep_clear_flush makes one invalidation, as of a small one.
  const bool block = Mm::of(process).space.is_huge(leaf) && !Mm::of(process).space.entry(leaf)->pool;
  const PageSize size = block ? PageSize::huge : PageSize::small;
  return tlbs.flush_leaf(exec, process, Mm::of(process).table->root(), leaf, size);
}

sim::Task<void> VmCore::flush_unmapped(cpu::Execution& exec, Process& process, VirtualAddress leaf, UnmapBatch& batch) {
  return tlbs.flush_unmapped(exec, process, Mm::of(process).table->root(), leaf, batch);
}

sim::Task<void> VmCore::flush_entry(cpu::Execution& exec, Process& process, VirtualAddress leaf) {
  return tlbs.flush_leaf(exec, process, Mm::of(process).table->root(), leaf, PageSize::small);
}

sim::Task<void> VmCore::flush(cpu::Execution& exec, Process& process, sim::Vector<VirtualAddress> leaves) {
  for (const VirtualAddress leaf : leaves) co_await flush(exec, process, leaf);
}

sim::Task<void> VmCore::make_young(cpu::Execution& exec, Process& process, VirtualAddress leaf, bool by_store) {
  set_young(process, leaf);
  if (by_store || !config.kernel.has(Change::flags_unflushed)) co_await flush_entry(exec, process, leaf);
}

sim::Task<void> VmCore::fix_spurious_fault(cpu::Execution& exec, Process& process, VirtualAddress va) {
  if (config.kernel.has(Change::flags_unflushed) || Mm::of(process).space.is_huge(va)) co_return;
  co_await flush_entry(exec, process, va);
}

sim::Task<void> VmCore::clear_young(cpu::Execution& exec, Process& process, VirtualAddress leaf) {
  set_old(process, leaf, taking(exec, Taker::reclaim));
  const PageSize size = Mm::of(process).space.leaf_size(leaf);
  return tlbs.flush_young(exec, process, Mm::of(process).table->root(), leaf, size);
}

sim::Task<void> VmCore::flush_gathered(cpu::Execution& exec, Process& process, Leaves leaves, std::size_t tables) {
  return tlbs.flush_gathered(exec, process, Mm::of(process).table->root(), std::move(leaves), tables);
}

sim::Task<void> VmCore::flush_protected(cpu::Execution& exec, Process& process, Range range, Leaves leaves) {
  return tlbs.flush_protected(exec, process, Mm::of(process).table->root(), range, std::move(leaves));
}

sim::Task<void> VmCore::flush_range(cpu::Execution& exec, Process& process, Range range, Leaves leaves) {
  return tlbs.flush_range(exec, process, Mm::of(process).table->root(), range, std::move(leaves));
}

sim::Task<void> VmCore::flush_all(cpu::Execution& exec, Process& process, Leaves leaves, std::size_t tables) {
  return tlbs.flush_all(exec, process, Mm::of(process).table->root(), std::move(leaves), tables);
}

sim::Task<void> VmCore::settled(Process& process, Range range) {
  const AddressSpace& space = Mm::of(process).space;
  VirtualAddress va = range.begin;
  while (Mm::of(process).in_motion > 0) {
    const auto next = space.next_entry(va, range.end);
    if (!next) co_return;
    va = *next + kPage;
    if (!space.entry(*next)->in_motion()) continue;
    co_await Mm::of(process).page_settled;
    va = range.begin;  // others may have begun to move meanwhile
  }
}

void VmCore::drop(Process& process, Range range, const sim::Vector<VirtualAddress>& leaves, Taking by) {
  tlbs.drop(process, leaves);
  Mm::of(process).notifiers.drop(range, by);
}

// Linux's thp_vma_allowable and alloc_anon_folio: the aligned range lies in the VMA and is empty.
bool VmCore::wants_huge(const Process& process, const Vma& vma, VirtualAddress va) const {
  const Range whole = huge_range(va);
  return allows_huge(vma) && vma.begin <= whole.begin && whole.end <= vma.end &&
         Mm::of(process).space.huge_range_empty(va);
}

bool VmCore::allows_huge(const Vma& vma) const {
  if (vma.file != nullptr || vma.hugetlb != 0) return false;
  switch (config.thp) {
    case ThpMode::always: return vma.advice != HugeAdvice::no_huge;
    case ThpMode::madvise: return vma.advice == HugeAdvice::huge;
    case ThpMode::never: break;
  }
  return false;
}

std::optional<VmCore::NewPage> VmCore::take_page(const Process& process, const Vma& vma, VirtualAddress va,
                                                 FrameUse use) {
  if (vma.driver) use = FrameUse::fixed;
  if (wants_huge(process, vma, va) && reclaim_->has_room(process, kPagesPerHuge)) {
    if (const auto block = frames.allocate_huge(use)) return NewPage{*block, PageSize::huge};
  }
  if (const auto frame = frames.allocate_page(use)) return NewPage{*frame, PageSize::small};
  return {};
}

void VmCore::give_back(NewPage page) {
  if (frame_table.find(page.frame).pool) {
    huge_pool.give_back(page.frame);
  } else if (page.size == PageSize::huge) {
    frames.free_huge(page.frame);
  } else {
    frames.free_page(page.frame);
  }
}

sim::Task<std::optional<Address>> VmCore::new_frame(cpu::Execution& exec, const Process& process, FrameUse use) {
  const bool room = reclaim_->has_room(process, 1) || co_await reclaim_->make_room(exec, process, 1);
  if (!room) co_return std::optional<Address>();
  co_return frames.allocate_page(use);
}

sim::Task<bool> VmCore::make_room_for_tables(cpu::Execution& exec, const Process& process, std::uint64_t bytes) {
  const bool room = co_await reclaim_->make_room_for_tables(exec, process, bytes / kHugePage + 6);
  if (!room) ++counters.out_of_memory;
  co_return room;
}

sim::Task<bool> VmCore::make_huge_zero_page(cpu::Execution& exec) {
  const auto block = reclaim_->has_room(kPagesPerHuge) ? frames.allocate_huge(FrameUse::fixed) : std::nullopt;
  if (!block) {
    ++counters.thp_zero_page_alloc_failed;
    co_return false;
  }
  const NewPage page{*block, PageSize::huge};
  co_await clear_memory(exec, page);
  if (huge_zero_page_) {  // another thread was faster
    give_back(page);
    co_return true;
  }
  fill_with_zeros(page);
  for (unsigned i = 0; i < kPagesPerHuge; ++i) frame_table.at(*block + i * kPage).foreign = true;
  huge_zero_page_ = block;
  ++counters.thp_zero_page_alloc;
  co_return true;
}

bool VmCore::is_huge_zero_page(const Process& process, VirtualAddress va) const {
  const PageState* page = Mm::of(process).space.page(va);
  return page != nullptr && page->zero && Mm::of(process).space.is_huge(va);
}

void VmCore::put_frame(Address frame) {
  FrameRecord& record = frame_table.at(frame);
  const bool in_use = record.mappings > 0 || record.has_extra_references();
  if (!in_use) swap_->forget(frame);  // which nobody needs any more, unless a swapped entry does
  if (record.held()) return;
  lru(record).remove(frame);
  record.referenced = false;
  if (record.charged) --groups[record.group]->charged;
  record.charged = false;
  record.group = 0;
  stamp(frame);
  if (record.pool) {
    huge_pool.frame_released(frame);
  } else {
    frames.free_page(frame);
  }
}

bool VmCore::isolate(Address frame) {
  FrameRecord& record = frame_table.at(frame);
  if (record.list == LruList::none) return false;
  lru(record).remove(frame);
  ++record.isolated;
  return true;
}

void VmCore::put_back(Address frame, bool active) {
  FrameRecord& record = frame_table.at(frame);
  --record.isolated;
  const LruList own = active ? record.active() : record.inactive();
  lru(record).add(frame, evictable(frame) ? own : LruList::unevictable);
  put_frame(frame);
}

bool VmCore::evictable(Address frame) const {
  const auto mappers = frame_table.mappers(frame);
  return std::all_of(mappers.begin(), mappers.end(), [](const Mapper& mapper) {
    const Vma* vma = mapper.process->space().find(mapper.va);
    return vma == nullptr || vma->evictable();
  });
}

bool VmCore::owned_alone(const PageState& page) const {
  if (!page.has_frame()) return false;
  const FrameRecord record = frame_table.find(page.frame);
  return record.mappings == 1 && !record.foreign && record.file == 0 && !swap_->wanted(page.frame);
}

bool VmCore::reusable(const PageState& page, PageSize size) const {
  if (!owned_alone(page)) return false;
  const cpu::Kernel& kernel = config.kernel;
  const bool counts = kernel.has(Change::reuse_by_references) && !kernel.has(Change::exclusive_pages);
  if (!counts || size == PageSize::huge) return true;  // do_huge_pmd_wp_page asks reuse_swap_page in either case
  return !frame_table.find(page.frame).has_extra_references();
}

template <typename Is>
bool VmCore::any_frame(const Process& process, Range range, Is is) const {
  for (VirtualAddress va = range.begin; va < range.end; va += kPage) {
    const PageState* page = Mm::of(process).space.entry(va);
    if (page != nullptr && page->has_frame() && is(frame_table.find(page->frame))) return true;
  }
  return false;
}

bool VmCore::held(const Process& process, Range range) const {
  return any_frame(process, range, [](const FrameRecord& record) { return record.has_extra_references(); });
}

bool VmCore::pinned(const Process& process, Range range) const {
  return any_frame(process, range, [](const FrameRecord& record) { return record.pins > 0; });
}

void VmCore::stamp(Address frame) { store.mapping_changed(frame); }

}  // namespace faultline::os
