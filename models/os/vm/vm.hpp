// SPDX-License-Identifier: Apache-2.0
// The kernel's memory manager of a node, after Linux, as programs and drivers call it: mappings, advice, locks, pins,
// fork, device tables, and the faults that all of them end in. What may happen to pages behind a program's back:
// khugepaged.hpp, page_events.hpp, reclaim.hpp.
//
// Every operation that a program or driver can call is a coroutine. It charges its cost to the caller's
// Execution and answers with an Error; a failed operation gives back what it took, except where Linux
// keeps it (pages populated before an mlock ran out of memory). Operations marked "takes no time" are for
// setting up experiments, not for modelled software.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "models/os/events/cma.hpp"
#include "models/os/events/compaction.hpp"
#include "models/os/events/khugepaged.hpp"
#include "models/os/events/page_events.hpp"
#include "models/os/files/page_cache.hpp"
#include "models/os/reclaim/block_device.hpp"
#include "models/os/reclaim/oom_killer.hpp"
#include "models/os/reclaim/reclaim.hpp"
#include "models/os/reclaim/swap.hpp"
#include "models/os/vm/fault_reason.hpp"
#include "models/os/vm/mirrored_table.hpp"
#include "models/os/vm/private_table.hpp"
#include "models/os/vm/vm_core.hpp"
#include "models/sim/content.hpp"
#include "models/sim/level.hpp"

namespace faultline::os {

struct MmapOptions {
  bool writable = true;
  bool populate = false;  // MAP_POPULATE: like Linux, memory that runs out leaves pages absent, silently
  bool locked = false;    // MAP_LOCKED: counts against RLIMIT_MEMLOCK and populates
  HugeAdvice advice = HugeAdvice::none;
  std::uint64_t alignment = kPage;  // power of two, at least 4 KiB
  File* file = nullptr;             // none: anonymous memory
  std::uint64_t offset = 0;         // of its first byte in the file, whole pages
  bool shared = false;              // MAP_SHARED, of a file
  // MAP_HUGETLB, private: pages of the pool, reserved at once. no_huge_page: the pool has fewer free pages that are not
  // reserved. The length is rounded up to 2 MiB.
  bool hugetlb = false;
};

enum class Advice : std::uint8_t {
  hugepage,        // MADV_HUGEPAGE: with os.thp = madvise, faults from now on may map 2 MiB
  no_hugepage,     // MADV_NOHUGEPAGE
  populate_read,   // MADV_POPULATE_READ: as many reads would; absent pages get the zero page. Invalid before Linux 5.14
  populate_write,  // MADV_POPULATE_WRITE: as many writes would; breaks copy-on-write. Invalid before Linux 5.14
  dont_need,       // MADV_DONTNEED: the pages are gone; invalid on a locked VMA
  dont_need_locked,  // MADV_DONTNEED_LOCKED: the same on any VMA
  collapse,          // MADV_COLLAPSE: 2 MiB pages now, whatever sysfs says; again: not all could be
  free,       // MADV_FREE: the pages may go when memory is short, until they are written again; invalid on a locked VMA
  dont_fork,  // MADV_DONTFORK: a child does not inherit the VMA
  do_fork,
  page_out,  // MADV_PAGEOUT: to the swap device, whether used or not; invalid on a locked VMA, and before Linux 5.4
};

// Who asks for something: a program, by a system call, which it pays for (os.syscall), or a driver inside the kernel.
enum class Caller : std::uint8_t { program, kernel };

// When RLIMIT_MEMLOCK was charged for a pin: by itself, or for several before (Vm::charge_pins()).
enum class PinCharge : std::uint8_t { now, before };

enum class Protection : std::uint8_t { none, read, read_write };

using PinId = std::uint64_t;  // never reused

// A long-term pin (FOLL_PIN | FOLL_LONGTERM): the frames stay what and where they are, whatever becomes
// of the process's mapping.
struct Pin {
  Process* process;
  VirtualAddress begin;
  bool write;
  sim::Vector<Address> frames;  // of each page, in order
  sim::Time release_cost{0};    // of the pages; a huge page is released as one
  std::uint64_t bytes() const { return frames.size() * kPage; }
};

// Lines of /proc/meminfo, in bytes where nothing else is said.
struct MemInfo {
  std::uint64_t mlocked = 0;  // in frames that a locked VMA maps: what mlock holds, where locked_bytes() may be absent
  std::uint64_t unevictable = 0;  // on the unevictable list. Pins do not bring a page there
  // HugePages_Total, _Free and _Rsvd, as in Linux in pages of 2 MiB: all pages of the pool, the free ones, and how many
  // of the free ones are reserved.
  std::uint64_t huge_pages_total = 0;
  std::uint64_t huge_pages_free = 0;
  std::uint64_t huge_pages_rsvd = 0;
};

class Vm {
 public:
  // Memory below config.kernel_reserved belongs to the kernel image; the rest, up to config.user_memory,
  // is handed out as pages and page tables.
  Vm(const OsConfig& config, const sim::Context& context, memory::FrameStore& store, cpu::Cpu& cpu);
  Vm(const Vm&) = delete;
  Vm& operator=(const Vm&) = delete;

  void add_invalidator(TlbInvalidator& invalidator) { core_.tlbs.add(invalidator); }
  // Called when a mechanism of the kernel has changed that many pages of a process for good.
  void observe_changes(std::function<void(const Process& process, unsigned pages)> observer) {
    core_.on_change = std::move(observer);
  }
  // What works on pages behind the programs' backs.
  Khugepaged& khugepaged() { return khugepaged_; }
  PageEvents& page_events() { return page_events_; }
  Cma& cma() { return cma_; }
  Compaction& compaction() { return compaction_; }
  Reclaim& reclaim() { return reclaim_; }
  // Files: made here, mapped by mmap() and map_file(), read and written by calls of the cache.
  PageCache& page_cache() { return page_cache_; }
  const PageCache& page_cache() const { return page_cache_; }

  // A thread of an experiment: what it does to pages is remembered as injected.
  void injects(const cpu::Execution& thread) { core_.injectors.insert(&thread); }
  // nullptr: there is none.
  const Process* find_process(std::uint32_t id) const;
  // Why a device's access to the page would fault now, by the process's table with this root or by one of its device
  // tables.
  FaultReason fault_reason(std::uint32_t process_id, Address table_root, VirtualAddress va, bool write) const;

  // Called when the OOM killer has chosen a process.
  void observe_kills(std::function<void(const Process& process, const OomKill& kill)> observer) {
    oom_killer_.on_kill = std::move(observer);
  }

  // nullptr when there is no frame for its page table or no ASID left. Takes no time.
  Process* create_process(std::string name) { return core_.create_process(std::move(name)); }

  // System calls. Lengths are rounded up to whole pages; empty or (where Linux asks for it) misaligned
  // ranges are `invalid`.
  sim::Task<Result<VirtualAddress>> mmap(cpu::Execution& exec, Process& process, std::uint64_t bytes,
                                         MmapOptions options);
  // What MAP_POPULATE adds to an mmap, for mappings that were made beforehand (map() and the like): private writable
  // memory comes as by writes, other memory as by reads. Memory that runs out leaves pages absent, silently.
  // Holds mmap_lock shared, and pays no system call.
  sim::Task<void> populate_mapping(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes);
  // Splits huge pages at the ends; clears the tables, invalidates the CPU's and all other TLBs, frees the
  // frames. no_memory: no frame for the split's table, nothing unmapped.
  sim::Task<Error> munmap(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes);
  // Sets VM_LOCKED (limit: RLIMIT_MEMLOCK, counted in bytes of VMA), then populates unless `on_fault` (MLOCK_ONFAULT).
  // Huge pages that the ends cut are split. no_memory leaves the VMA locked and what was populated present, as Linux
  // does.
  sim::Task<Error> mlock(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes,
                         bool on_fault = false);
  sim::Task<Error> munlock(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes);
  // bad_address: a part of the range has no VMA (or, to populate, none that allows it); Linux applies the rest.
  sim::Task<Error> madvise(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes,
                           Advice advice);
  // Rights that are taken are taken from the descriptors, too; rights that are given are found by a write fault.
  // bad_address: a part of the range has no VMA, nothing has changed.
  sim::Task<Error> mprotect(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes,
                            Protection protection);
  // Moves a mapping to another place, MREMAP_MAYMOVE | MREMAP_DONTUNMAP aside: the pages keep their frames.
  // bad_address: not all of one VMA.
  sim::Task<Result<VirtualAddress>> mremap(cpu::Execution& exec, Process& process, VirtualAddress va,
                                           std::uint64_t bytes);
  // The child shares all pages, writable in neither process; since Linux 5.9 it gets copies of pages under a pin.
  // VM_LOCKED is not inherited. no_memory: there is no child.
  sim::Task<Result<Process*>> fork(cpu::Execution& exec, Process& parent);
  // Releases its pins and unmaps everything. The process is gone afterwards; no device may be attached to it.
  sim::Task<void> exit(cpu::Execution& exec, Process& process);
  // The process runs a new program, which has not mapped any memory yet. Pins stay, because they belong to drivers.
  sim::Task<void> execve(cpu::Execution& exec, Process& process);

  // Pins. RLIMIT_MEMLOCK bounds a process's pinned bytes, apart from its locked bytes (as the kernel's
  // pinned_vm). All or nothing.
  sim::Task<Result<PinId>> pin_user_pages(cpu::Execution& exec, Process& process, VirtualAddress va,
                                          std::uint64_t bytes, bool write, PinCharge charge = PinCharge::now);
  // Charges whole pages that are to be pinned in parts; false: that exceeds the limit. A part's pin takes its share
  // (PinCharge::before), even if it fails; give_back_charge() is for what no pin has taken. Both take no time.
  bool charge_pins(Process& process, std::uint64_t bytes);
  void give_back_charge(Process& process, std::uint64_t bytes);
  // In one system call of the program, or within one of the kernel's own. invalid: one of them is none; the others are
  // let go all the same.
  sim::Task<Error> unpin(cpu::Execution& exec, PinId pin, Caller caller = Caller::program);
  sim::Task<Error> unpin(cpu::Execution& exec, sim::Vector<PinId> pins, Caller caller = Caller::program);
  const Pin* find_pin(PinId pin) const;
  // Makes several pins of one, at these addresses: a driver that pins pages in one call may let go of each by itself.
  // `table`: a private table that has been filled with the pin, or nullptr. In the pin's order; takes no time.
  sim::Vector<PinId> split_pin(PinId pin, PrivateTable* table, std::span<const VirtualAddress> cuts);

  // get_user_pages without keeping the pages: makes the range present in one system call. Like get_user_pages it ends
  // before the first page that no VMA allows to be accessed so; that is an error only for the very first page. It
  // leaves 4 KiB pages that are present as they are, without access flag or, if clean, without the right to write: a
  // device that faulted for either faults again. The value is the number of pages present from va on, also when an
  // error stopped the call.
  sim::Task<Result<std::uint64_t>> fault_in_pages(cpu::Execution& exec, Process& process, VirtualAddress va,
                                                  std::uint64_t bytes, bool write);

  // fixup_user_fault for one page after the other, in one system call. Each page takes a whole fault (handle_mm_fault),
  // present or not, which also sets the access flag and the right to write. Range and value as of fault_in_pages().
  sim::Task<Result<std::uint64_t>> fixup_user_faults(cpu::Execution& exec, Process& process, VirtualAddress va,
                                                     std::uint64_t bytes, bool write);

  // One access by user code: a load or store when the page is present, a page fault first when not.
  sim::Task<Error> touch(cpu::Execution& exec, Process& process, VirtualAddress va, bool write);
  // One access to each page of the range, in order; stops at the first error.
  sim::Task<Error> touch_range(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes,
                               bool write);
  // memcpy and bzero of a program: each page is touched, then moved at os.copy_bandwidth or cleared at
  // os.zero_bandwidth in user mode. invalid: bzero of anything but whole pages.
  sim::Task<Error> copy_memory(cpu::Execution& exec, Process& process, VirtualAddress to, VirtualAddress from,
                               std::uint64_t bytes);
  // The same between processes, as a kernel copies for a system call: `work` is whose time it is. With the error of the
  // page fault that failed.
  struct Place {
    Process& process;
    VirtualAddress address;
  };
  sim::Task<Error> copy_between(cpu::Execution& exec, Place to, Place from, std::uint64_t bytes, cpu::Work work);
  sim::Task<Error> zero_memory(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes);
  // Linux's handle_mm_fault under the mmap lock: what all of the above do for an absent page.
  sim::Task<Error> handle_fault(cpu::Execution& exec, Process& process, VirtualAddress va, bool write);

  // Private device tables. map_pinned gives no_memory, or again when another pin of another frame is
  // mapped at one of its addresses; then nothing is mapped. unmap_pinned invalidates TLBs before it returns, of several
  // pins once; call it before unpin.
  Result<PrivateTable*> create_private_table(Process& process);  // takes no time
  sim::Task<Error> map_pinned(cpu::Execution& exec, PrivateTable& table, PinId pin);
  sim::Task<Error> unmap_pinned(cpu::Execution& exec, PrivateTable& table, PinId pin);
  sim::Task<Error> unmap_pinned(cpu::Execution& exec, PrivateTable& table, sim::Vector<PinId> pins);
  // Fills the table with the frames that the range has now, holding none of them: what a driver does that reads
  // /proc/self/pagemap and trusts mlock. bad_address: a page is not present.
  sim::Task<Error> map_unpinned(cpu::Execution& exec, PrivateTable& table, VirtualAddress va, std::uint64_t bytes);

  // mincore(2) of one page: whether its content is in memory, be it mapped, in the swap cache or in the page cache.
  bool is_in_core(const Process& process, VirtualAddress va) const;

  // Who follows the process's table, from now on and as the last to be told of a change; takes no time. To be removed
  // before the notifier goes, but not after its process has: removal ends when the notifier is told nothing any more.
  void add_notifier(Process& process, MmuNotifier& notifier) { core_.add_notifier(process, notifier); }
  sim::Task<void> remove_notifier(Process& process, MmuNotifier& notifier) {
    return core_.remove_notifier(process, notifier);
  }

  // Mirrored device tables. mirror_pages is the driver's answer to a device's fault (hmm_range_fault): makes the pages
  // present in the process, then in the mirror, and begins anew when the process's table changes between. It covers
  // what fault_in_pages does.
  Result<MirroredTable*> create_mirrored_table(Process& process);  // takes no time
  sim::Task<Result<std::uint64_t>> mirror_pages(cpu::Execution& exec, MirroredTable& table, VirtualAddress va,
                                                std::uint64_t bytes, bool write);

  // The following take no time, but for settled() and store(). Where something may be at work on the pages behind the
  // program's back, settled() is to be awaited before what changes them.
  // A writable mapping with no page present, as mmap() makes it.
  Result<VirtualAddress> map(Process& process, std::uint64_t bytes, std::uint64_t alignment = kPage);
  // The same of a file, from its beginning.
  Result<VirtualAddress> map_file(Process& process, File& file, bool shared, std::uint64_t alignment = kPage);
  // The same of the pool of huge pages. no_huge_page: as of MmapOptions::hugetlb.
  Result<VirtualAddress> map_huge(Process& process, std::uint64_t bytes);
  // Memory of a driver that a program maps (a ring that a device writes): present, and never reclaimed.
  Result<VirtualAddress> map_driver_memory(Process& process, std::uint64_t bytes);
  // Puts the process, which has no memory yet, into a group of its own that may have so many bytes (memory.max); set-up
  // itself is not held back.
  void limit_memory(Process& process, std::uint64_t bytes);
  const MemoryGroup& group_of(const Process& process) const { return *Mm::of(process).group; }
  // -1000 (is never killed) to 1000: how much sooner than others the OOM killer chooses it, in 1/1000 of the memory and
  // the swap device together.
  void set_oom_score_adj(Process& process, int adjustment) { Mm::of(process).oom_score_adj = adjustment; }
  void keep_from_children(Process& process, VirtualAddress va, std::uint64_t bytes);  // MADV_DONTFORK
  // Makes pages present by the rules of a write fault (huge pages included) without its cost and counters.
  Error make_present(Process& process, VirtualAddress va, std::uint64_t bytes);
  // The same, and from then on the kernel neither reclaims nor moves nor merges the pages, like those of a driver.
  Error keep_present(Process& process, VirtualAddress va, std::uint64_t bytes);
  // Removes the pages that lie wholly in the range, VMAs stay: like MADV_DONTNEED, TLBs included.
  Error discard(Process& process, VirtualAddress va, std::uint64_t bytes);
  // Writes the pattern (seed, 0 ...) as the program's stores would, copy-on-write included; bytes are lost on absent
  // pages and where no VMA lets them be written. Returns the bytes written.
  std::uint64_t fill(Process& process, VirtualAddress va, std::uint64_t bytes, std::uint64_t seed);
  // The same, page by page, each as soon as it is not in motion: a program's stores wait for that.
  sim::Task<void> store(Process& process, VirtualAddress va, std::uint64_t bytes, std::uint64_t seed);
  // Bytes that the program stores, as store() does: they are lost where fill() loses them.
  sim::Task<void> write(Process& process, VirtualAddress va, sim::Content content);
  // What the process would read; absent pages read as what a fault would bring.
  sim::Content read(const Process& process, VirtualAddress va, std::uint32_t bytes) const;
  // Throws std::logic_error when frames, their records, page states and descriptors, pins and locks do not agree: a bug
  // of ours. `changing`: something may be under way. Takes host time, but no simulated time.
  void audit(bool changing = false) const;
  // By a walk over all frames that were ever used.
  MemInfo meminfo() const;
  // Ends when no page of the range is in motion, which the program's loads and stores would have to wait for.
  sim::Task<void> settled(Process& process, VirtualAddress va, std::uint64_t bytes) {
    return core_.settled(process, {sim::page_begin(va), sim::page_end(va + bytes)});
  }

  const sim::Context& context() const { return core_.context; }
  const OsConfig& config() const { return core_.config; }
  const FrameAllocator& frames() const { return core_.frames; }
  // Of the node's mappings now: what a table that is read now says is stale once this has grown for its frame.
  std::uint64_t mapping_epoch() const { return core_.store.epoch(); }
  const HugePool& huge_pool() const { return core_.huge_pool; }
  FrameRecord frame_record(Address frame) const { return core_.frame_table.find(frame); }
  FrameTable::Mappers mappers(Address frame) const { return core_.frame_table.mappers(frame); }
  std::uint64_t pinned_bytes() const { return pinned_.value(); }
  // Its sum over time until now (sim::mean_level).
  sim::Level::Area pinned_area() const { return pinned_.area(core_.context.loop.now()); }
  std::uint64_t locked_bytes() const { return locked_bytes_; }

 private:
  // Of a page on top of its fault, if it had one; the pages of one huge page cost at most per_huge_page.
  struct WalkCost {
    sim::Time per_page;
    sim::Time per_huge_page;
    sim::Time of(std::uint64_t pages, bool huge) const;
  };
  enum class Access { read, write, as_mapped };  // as_mapped: write where that is private, as mlock does

  // With the mmap lock held. `owed` is charged together with the fault's own cost. `again` comes from the parts of
  // fault() only: the page is not as it was, look once more.
  sim::Task<Error> fault(cpu::Execution& exec, Process& process, VirtualAddress va, bool write, sim::Time owed);
  sim::Task<Error> demand_zero(cpu::Execution& exec, Process& process, Vma vma, VirtualAddress va, bool write,
                               sim::Time owed);
  sim::Task<Error> hugetlb_fault(cpu::Execution& exec, Process& process, VirtualAddress at, bool write, sim::Time owed);
  sim::Task<Error> hugetlb_no_page(cpu::Execution& exec, Process& process, VirtualAddress va, bool write);
  sim::Task<Error> hugetlb_wp(cpu::Execution& exec, Process& process, VirtualAddress va, HugePool::PageKey key);
  sim::Task<Error> hugetlb_copy(cpu::Execution& exec, Process& process, VirtualAddress va, Address block);
  sim::Task<void> unmap_from_others(cpu::Execution& exec, Process& process, VirtualAddress va);
  sim::Task<Error> copy_block_for_child(cpu::Execution& exec, Process& parent, Process& child, VirtualAddress va);
  sim::Task<Error> copy_page_for_child(cpu::Execution& exec, Process& parent, Process& child, VirtualAddress va);
  sim::Task<Error> copy_huge_page(cpu::Execution& exec, Process& process, VirtualAddress at, sim::Time owed);
  sim::Task<void> replace_shared_block(cpu::Execution& exec, Process& process, VirtualAddress va, Address block);
  sim::Task<Error> write_fault(cpu::Execution& exec, Process& process, VirtualAddress va, sim::Time owed);
  sim::Task<Error> copy_on_write(cpu::Execution& exec, Process& process, VirtualAddress va, sim::Time owed);
  sim::Task<Error> dirty_fault(cpu::Execution& exec, Process& process, VirtualAddress va, sim::Time owed);
  // The part of the range that a call of get_user_pages gets to: never empty, so that a refusal comes from a fault.
  static Range accessible_part(const Process& process, Range range, bool write);
  // The system call around fault_in_pages() and fixup_user_faults(), which differ in `bring`: it makes the pages of a
  // range present while mmap_lock is held shared.
  using Bring = sim::Task<Result<std::uint64_t>> (Vm::*)(cpu::Execution&, Process&, Range, bool write);
  sim::Task<Result<std::uint64_t>> bring_pages(cpu::Execution& exec, Process& process, VirtualAddress va,
                                               std::uint64_t bytes, bool write, Bring bring);
  sim::Task<Result<std::uint64_t>> bring_by_references(cpu::Execution& exec, Process& process, Range range, bool write);
  sim::Task<Result<std::uint64_t>> bring_by_faults(cpu::Execution& exec, Process& process, Range range, bool write);
  // Linux's __get_user_pages; pins the pages as it passes them if `pin` is not nullptr. The value is the
  // number of pages passed.
  sim::Task<Result<std::uint64_t>> populate(cpu::Execution& exec, Process& process, Range range, Access access,
                                            WalkCost cost, Pin* pin);
  sim::Task<Error> pin_outside_cma(cpu::Execution& exec, Process& process, Range range, Pin& pin);
  // Where the pages may lie that the thread's faults bring.
  FrameUse use_of(const cpu::Execution& exec) const {
    return pinning_.contains(&exec) ? FrameUse::fixed : FrameUse::movable;
  }
  sim::Task<void> run(cpu::Execution& exec, sim::Time cost) { return core_.run(exec, cost); }
  // Parts of madvise(): MADV_POPULATE_*; MADV_DONTNEED, MADV_DONTNEED_LOCKED and MADV_FREE.
  sim::Task<Error> populate_advised(cpu::Execution& exec, Process& process, Range range, bool write);
  sim::Task<Error> drop_advised(cpu::Execution& exec, Process& process, Range range, Advice advice);
  sim::Task<Error> dont_need(cpu::Execution& exec, Process& process, Range range, bool locked_too);
  Leaves age_for_page_out(Process& process, Range range, Taking by);
  sim::Task<Error> page_out(cpu::Execution& exec, Process& process, Range range);
  sim::Task<void> unmap_all(cpu::Execution& exec, Process& process);
  sim::Task<Error> present_for(cpu::Execution& exec, Process& process, VirtualAddress va, bool write);
  sim::Task<Error> collapse(cpu::Execution& exec, Process& process, Range range);
  sim::Task<Error> make_lazyfree(cpu::Execution& exec, Process& process, Range range);
  sim::Task<Error> protect_pages(cpu::Execution& exec, Process& process, Range range, Protection protection);
  // Whether mprotect makes an entry writable that is not, so that no fault has to.
  bool gives_writing_back(const Process& process, VirtualAddress va) const;
  void count_as_written(Process& process, VirtualAddress va);
  sim::Task<Error> move_pages(cpu::Execution& exec, Process& process, Range from, Vma moved_vma);
  sim::Task<Error> copy_vma(cpu::Execution& exec, Process& parent, Process& child, Range range, Leaves& leaves);

  // Without time.
  static Result<Range> pages_around(const Process& process, VirtualAddress va, std::uint64_t bytes);
  static Result<Range> aligned_pages(const Process& process, VirtualAddress va, std::uint64_t bytes);
  // Whether an access goes through: the cores have no hardware that sets access flags or dirty bits.
  static bool accessible(const PageState* page, bool write) {
    return page != nullptr && page->present() && page->young && (page->writable || !write);
  }
  FaultReason look_at(const Process& process, VirtualAddress va) const;
  void audit_locks() const;
  void audit_pins(bool changing) const;
  bool reusable(const Process& process, VirtualAddress va) const;
  bool copies_for_child(const Process& parent, Range page) const;
  Error share_with_child(Process& parent, Process& child, VirtualAddress va, Taking by, Leaves& leaves);
  static bool maps_shared_file(const Process& process, Range range);
  void own_block(Process& process, VirtualAddress va, Address block);
  static bool cuts_huge_page(const Process& process, Range range);
  static bool maps_pool(const Process& process, Range range);
  bool refused_of_pool(const Process& process, Range range, Advice advice) const;
  static sim::SmallVector<Range, 2> without_cut_pages(const Process& process, Range range);
  void restore_reservations(Process& process, Range range);
  Error bring_block(Process& process, VirtualAddress at);
  Error own_block_now(Process& process, VirtualAddress at);
  sim::Task<void> touch_huge(cpu::Execution& exec, Process& process, VirtualAddress va, bool write);
  void use_pages(Process& process, Range range, bool write, Pin* pin);
  void drop_frames(const Pin& pin);
  Error own_now(Process& process, VirtualAddress va);
  bool replace_huge_zero_page_now(Process& process, VirtualAddress va);
  sim::Task<void> may_store(Process& process, VirtualAddress page);
  std::uint64_t write_page(Process& process, VirtualAddress at, const sim::Content& content);
  std::uint64_t fill_page(Process& process, VirtualAddress va, std::uint64_t bytes, std::uint64_t seed,
                          std::uint64_t done);
  Error bring_now(Process& process, VirtualAddress va, std::uint64_t bytes);
  bool store_now(Process& process, VirtualAddress va);
  std::unique_ptr<PageTable> new_device_table(bool dated);
  void set_locked(Process& process, Range range, bool locked);
  void relist(const Process& process, Range range, bool locked);
  TableWalk locked_leaves(const Process& process, Range range) const;
  bool exceeds_limit(std::uint64_t bytes) const { return bytes > core_.config.rlimit_memlock; }
  WalkCost gup_cost() const { return {core_.config.gup_per_page, core_.config.gup_per_huge_page}; }
  // One operation a folio, whatever its size.
  WalkCost mlock_cost() const { return {core_.config.mlock_per_page, core_.config.mlock_per_page}; }

  // Each knows those above it.
  VmCore core_;
  BlockDevice disk_;
  Swap swap_{core_, disk_};
  PageCache page_cache_{core_, disk_, swap_};
  OomKiller oom_killer_{core_, swap_};
  Reclaim reclaim_{core_, swap_, page_cache_, oom_killer_};
  Migration migration_{core_, page_cache_};
  PageEvents page_events_{core_, migration_, page_cache_};
  Compaction compaction_{core_, migration_, reclaim_};
  Cma cma_{core_, migration_};
  Khugepaged khugepaged_{core_, compaction_, swap_};
  sim::HashMap<PinId, Pin> pins_;
  sim::Set<const cpu::Execution*> pinning_;  // threads whose pages are pinned as they come
  PinId next_pin_ = 1;
  sim::Level pinned_;  // bytes
  std::uint64_t locked_bytes_ = 0;
};

}  // namespace faultline::os
