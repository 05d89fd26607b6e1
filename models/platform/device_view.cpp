// SPDX-License-Identifier: Apache-2.0
#include "models/platform/device_view.hpp"

#include <fmt/format.h>

#include "models/smmu/context_bank.hpp"

namespace faultline::platform {
namespace {

std::optional<rdma::Nic::MmuEntry> entry_of(const std::optional<smmu::Leaf>& leaf, std::uint64_t va) {
  if (!leaf) return std::nullopt;
  return rdma::Nic::MmuEntry{sim::page_begin(leaf->physical(va)), leaf->writable};
}

}  // namespace

std::optional<BankView> bank_view(Node& node, std::uint32_t process) {
  const smmu::ContextBank* bank = node.smmu.bank_of(static_cast<std::uint16_t>(process));
  if (bank == nullptr) return std::nullopt;
  return BankView{bank->table(), bank->va_bits(), bank->fsr(), bank->far, bank->fsynr0};
}

TlbView tlb_view(Node& node, std::uint32_t process, std::uint64_t va) {
  const smmu::ContextBank* bank = node.smmu.bank_of(static_cast<std::uint16_t>(process));
  if (bank == nullptr) return {};
  return {entry_of(node.smmu.micro_tlb_entry(bank->tag(), va), va),
          entry_of(node.smmu.macro_tlb_entry(bank->tag(), va), va)};
}

WalkView walk_view(Node& node, const BankView& bank, std::uint64_t va) {
  WalkView view;
  if (bank.va_bits == 0) return view;
  std::uint64_t table = bank.table;
  for (view.level = smmu::start_level(bank.va_bits);; ++view.level) {
    view.descriptor = node.ddr.frames().read_word(table + 8 * smmu::level_index(va, view.level));
    const bool leads_on = view.level < 3 && (view.descriptor & smmu::descriptor::kValid) != 0 &&
                          (view.descriptor & smmu::descriptor::kTableOrPage) != 0;
    if (!leads_on) return view;
    table = view.descriptor & smmu::descriptor::kAddressMask;
  }
}

std::string fsr_text(std::uint32_t fsr) {
  std::string text = fmt::format("{:#x}", fsr);
  const auto add = [&](std::uint32_t bit, const char* name) {
    if ((fsr & bit) != 0) text += fmt::format("{}{}", text.find(' ') == std::string::npos ? ": " : ", ", name);
  };
  add(smmu::reg::fsr::kTF, "translation fault");
  add(smmu::reg::fsr::kAFF, "access-flag fault");
  add(smmu::reg::fsr::kPF, "permission fault");
  add(smmu::reg::fsr::kEF, "external fault");
  add(smmu::reg::fsr::kSS, "an access is stalled");
  add(smmu::reg::fsr::kMULTI, "further faults");
  return text;
}

}  // namespace faultline::platform
