// SPDX-License-Identifier: Apache-2.0
#include "workloads/story/page_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace faultline::workloads {
namespace {

using os::FaultCause;
using os::FaultReason;

struct KeyInfo {
  std::string_view group;
  std::string_view name;
};
// In the order of text_of(): with the SMMU, and with an MMU in the NIC.
constexpr auto kWithSmmu = std::to_array<KeyInfo>({{"page table", "entry"},
                                                   {"page table", "descriptor"},
                                                   {"page table", "device's access"},
                                                   {"TLB", "micro-TLB"},
                                                   {"TLB", "macro TLB"},
                                                   {"frame", "frame"},
                                                   {"frame", "mappings"},
                                                   {"pin", "pins"},
                                                   {"pin", "VM_LOCKED"}});
constexpr auto kWithNic = std::to_array<KeyInfo>({{"page table", "entry"},
                                                  {"page table", "device's access"},
                                                  {"NIC", "NIC's table"},
                                                  {"frame", "frame"},
                                                  {"frame", "mappings"},
                                                  {"pin", "pins"},
                                                  {"pin", "VM_LOCKED"}});
constexpr auto kOfBank = std::to_array<KeyInfo>({{"register", "FSR"}, {"register", "FAR"}, {"register", "FSYNR0"}});

std::span<const KeyInfo> keys_of_page(bool smmu) {
  return smmu ? std::span<const KeyInfo>(kWithSmmu) : std::span<const KeyInfo>(kWithNic);
}

std::string entry_text(const std::optional<rdma::Nic::MmuEntry>& entry) {
  return entry ? fmt::format("{:#x}{}", entry->frame, entry->writable ? "" : ", read-only") : "-";
}

}  // namespace

std::string WatchedKey::text() const {
  const std::string_view end = source ? "source" : "destination";
  return page ? fmt::format("{}/{}/{}", end, *page, name) : fmt::format("{}/{}", end, name);
}

bool PageWatch::Page::operator==(const Page& other) const {
  const os::PageState& a = state;
  const os::PageState& b = other.state;
  return a.frame == b.frame && a.entry == b.entry && a.writable == b.writable && a.clean == b.clean &&
         a.young == b.young && a.zero == b.zero && a.userfault == b.userfault && in_memory == other.in_memory &&
         huge == other.huge && mapped == other.mapped && locked == other.locked && cause == other.cause &&
         by == other.by && walk == other.walk && tlbs == other.tlbs && nic == other.nic && mappings == other.mappings &&
         pins == other.pins;
}

PageWatch::PageWatch(platform::Cluster& cluster, const sim::TransferBegin& transfer)
    : cluster_(cluster), smmu_(cluster.nic_kind().uses_smmu()) {
  const auto& [source, destination] =
      transfer.reads ? std::pair(transfer.target, transfer.initiator) : std::pair(transfer.initiator, transfer.target);
  if (source.address == 0) return;  // a message, which has no buffers
  add(source, true, transfer.bytes);
  add(destination, false, transfer.bytes);
}

void PageWatch::add(const sim::TransferBegin::End& at, bool source, std::uint64_t bytes) {
  platform::Node& node = cluster_.node(at.node);
  const os::Process* process = node.vm.find_process(at.process);
  const auto bank = platform::bank_view(node, at.process);
  const bool own = bank && process != nullptr && bank->table == process->page_table().root();
  const char* table = !smmu_ ? "a table in the NIC, which the driver fills"
                      : own  ? "the process's own page table"
                             : "a table of the device's own";
  WatchedBuffer buffer{.source = source,
                       .node = at.node,
                       .process = at.process,
                       .name = process == nullptr ? "" : process->name(),
                       .address = at.address,
                       .bytes = bytes,
                       .va_bits = bank ? bank->va_bits : 0,
                       .table = table};
  const os::Range range{sim::page_begin(at.address), sim::page_end(at.address + bytes)};
  const std::uint64_t watched = std::min<std::uint64_t>(range.pages(), kMostPages);
  buffer.left_out = range.pages() - watched;
  End end{node, at.process, keys_.size(), {}, bank, node.smmu.tlb_changes()};
  for (std::uint32_t page = 0; page < watched; ++page) {
    buffer.pages.push_back(range.begin + page * os::kPage);
    end.pages.push_back(page_of(end, process, source, buffer.pages.back(), nullptr));
    for (const KeyInfo& info : keys_of_page(smmu_)) keys_.push_back({info.group, info.name, source, page});
    for (std::string& text : text_of(end.pages.back())) at_first_.push_back(std::move(text));
  }
  if (smmu_) {
    for (const KeyInfo& info : kOfBank) keys_.push_back({info.group, info.name, source});
  }
  for (std::string& text : text_of(bank)) at_first_.push_back(std::move(text));
  ends_.push_back(std::move(end));
  buffers_.push_back(std::move(buffer));
}

PageWatch::Page PageWatch::page_of(const End& end, const os::Process* process, bool source, std::uint64_t va,
                                   const Page* before) const {
  Page page;
  if (process == nullptr) return page;  // the OOM killer has ended it
  const os::Vm& vm = end.node.vm;
  const std::uint64_t table = end.bank ? end.bank->table : process->page_table().root();
  const FaultReason reason = vm.fault_reason(end.process, table, va, /*write=*/!source);
  page.state = reason.page;
  page.in_memory = reason.in_memory;
  page.huge = reason.huge;
  page.mapped = reason.mapped;
  page.cause = reason.cause;
  if (!reason.usable()) page.by = reason.by;
  const os::Vma* vma = process->space().find(va);
  page.locked = vma != nullptr && vma->locked;
  if (reason.page.has_frame()) {
    const os::FrameRecord record = vm.frame_record(reason.page.frame);
    page.mappings = record.mappings;
    page.pins = record.pins;
  }
  if (!smmu_) {
    page.nic = end.node.nic->mmu_entry(end.process, va);
    const bool goes = page.nic && (source || page.nic->writable);
    const bool lacks = reason.usable() || reason.cause == FaultCause::access_flag;
    page.cause = goes ? FaultCause::raced : lacks ? FaultCause::mirror : reason.cause;
    return page;
  }
  if (end.bank) page.walk = platform::walk_view(end.node, *end.bank, va);
  page.tlbs = before != nullptr ? before->tlbs : platform::tlb_view(end.node, end.process, va);
  return page;
}

std::vector<std::string> PageWatch::text_of(const Page& page) const {
  const FaultReason reason{.cause = page.cause,
                           .by = page.by,
                           .page = page.state,
                           .mapped = page.mapped,
                           .huge = page.huge,
                           .in_memory = page.in_memory};
  const bool goes = reason.usable();
  std::vector<std::string> texts{os::state_text(reason)};
  const auto add = [&texts](std::string text) { texts.push_back(std::move(text)); };
  if (smmu_) add(fmt::format("{:#x} at level {}", page.walk.descriptor, page.walk.level));
  add(goes ? "goes through" : fmt::format("faults: {}", os::to_string(page.cause)));
  if (smmu_) {
    add(entry_text(page.tlbs.micro));
    add(entry_text(page.tlbs.macro));
  } else {
    add(entry_text(page.nic));
  }
  add(page.state.has_frame() ? fmt::format("{:#x}", page.state.frame) : "-");
  add(std::to_string(page.mappings));
  add(std::to_string(page.pins));
  add(page.locked ? "yes" : "no");
  return texts;
}

std::vector<std::string> PageWatch::text_of(const std::optional<platform::BankView>& bank) const {
  if (!smmu_) return {};
  const platform::BankView view = bank.value_or(platform::BankView{});
  return {platform::fsr_text(view.fsr), fmt::format("{:#x}", view.far), fmt::format("{:#x}", view.fsynr0)};
}

void PageWatch::look() {
  for (std::size_t e = 0; e < ends_.size(); ++e) {
    End& end = ends_[e];
    const WatchedBuffer& buffer = buffers_[e];
    const std::optional<platform::BankView> before =
        std::exchange(end.bank, platform::bank_view(end.node, end.process));
    const std::uint64_t tlb_changes = end.node.smmu.tlb_changes();
    const bool same_tlbs = std::exchange(end.tlb_changes, tlb_changes) == tlb_changes &&
                           before.has_value() == end.bank.has_value() &&
                           (!end.bank || before->table == end.bank->table);
    const os::Process* process = end.node.vm.find_process(end.process);
    for (std::size_t i = 0; i < end.pages.size(); ++i) {
      const Page now = page_of(end, process, buffer.source, buffer.pages[i], same_tlbs ? &end.pages[i] : nullptr);
      if (now == end.pages[i]) continue;
      // The last taker stands there while the page comes back: told is who is new.
      const bool taken = now.by.by != os::Taker::nobody && !(now.by == end.pages[i].by);
      const std::string by = taken ? std::string(os::to_string(now.by.by)) : "";
      note(end.first_key + i * keys_of_page(smmu_).size(), text_of(end.pages[i]), text_of(now), by);
      end.pages[i] = now;
    }
    if (before == end.bank) continue;
    note(end.first_key + end.pages.size() * keys_of_page(smmu_).size(), text_of(before), text_of(end.bank), "");
  }
}

void PageWatch::note(std::size_t first_key, const std::vector<std::string>& from, const std::vector<std::string>& to,
                     const std::string& by) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != to[i]) changes_.push_back({cluster_.loop.now(), first_key + i, from[i], to[i], by});
  }
}

}  // namespace faultline::workloads
