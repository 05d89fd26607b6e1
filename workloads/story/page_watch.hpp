// SPDX-License-Identifier: Apache-2.0
// Page tables, TLBs, frames, pins and fault registers, as far as they concern the two buffers of one transfer, at every
// instant. The watch looks between events and changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/platform/cluster.hpp"
#include "models/platform/device_view.hpp"

namespace faultline::workloads {

// One thing that is watched: a property of a page, or a register of the context bank. Where the NIC has an MMU of its
// own, that one's table stands in the place of walk, TLBs and registers.
struct WatchedKey {
  std::string_view group;                            // "page table", "TLB", "NIC", "frame", "pin", "register"
  std::string_view name;                             // "entry"
  bool source = false;                               // it belongs to the source; else to the destination
  std::optional<std::uint32_t> page = std::nullopt;  // of the buffer
  // "destination/0/entry", "source/FSR"
  std::string text() const;
};

// The value of a key has changed.
struct WatchedChange {
  sim::Time at;
  std::size_t key;  // its place in PageWatch::keys()
  std::string from;
  std::string to;
  std::string by;  // who took the page, or a right to it; empty: the kernel does not know, or nobody did
};

// A buffer, as it is watched.
struct WatchedBuffer {
  bool source = false;
  sim::NodeId node = 0;
  std::uint32_t process = 0;
  std::string name;  // the process's
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  unsigned va_bits = 0;                // 0: the SMMU does not translate the process's addresses
  std::string table;                   // by which table the device translates, in words
  std::vector<std::uint64_t> pages{};  // addresses of the watched ones
  std::uint64_t left_out = 0;          // pages that are not watched
};

class PageWatch {
 public:
  // The first pages of each buffer, up to so many, are watched.
  static constexpr std::size_t kMostPages = 512;

  // Begins with what there is now. `cluster` outlives it.
  PageWatch(platform::Cluster& cluster, const sim::TransferBegin& transfer);

  void look();

  // Which MMU refuses the device's accesses.
  const char* mmu() const { return smmu_ ? "SMMU" : "NIC's MMU"; }
  const std::vector<WatchedBuffer>& buffers() const { return buffers_; }
  const std::vector<WatchedKey>& keys() const { return keys_; }
  const std::vector<std::string>& at_first() const { return at_first_; }
  const std::vector<WatchedChange>& changes() const { return changes_; }

 private:
  struct Page {
    os::PageState state{};
    bool in_memory = true;
    bool huge = false;
    bool mapped = false;
    bool locked = false;
    os::FaultCause cause = os::FaultCause::raced;  // of an access by the device now; raced: it goes through
    os::Taking by{};
    platform::WalkView walk{};
    platform::TlbView tlbs{};
    std::optional<rdma::Nic::MmuEntry> nic{};
    std::uint32_t mappings = 0;
    std::uint32_t pins = 0;
    bool operator==(const Page&) const;
  };
  // A buffer at one end, and where its keys begin.
  struct End {
    platform::Node& node;
    std::uint32_t process;
    std::size_t first_key;
    std::vector<Page> pages;
    std::optional<platform::BankView> bank;
    std::uint64_t tlb_changes;
  };

  void add(const sim::TransferBegin::End& end, bool source, std::uint64_t bytes);
  // `before`: the page at the last look, whose TLB entries still hold; nullptr: they are looked up.
  Page page_of(const End& end, const os::Process* process, bool source, std::uint64_t va, const Page* before) const;
  std::vector<std::string> text_of(const Page& page) const;
  std::vector<std::string> text_of(const std::optional<platform::BankView>& bank) const;
  void note(std::size_t first_key, const std::vector<std::string>& from, const std::vector<std::string>& to,
            const std::string& by);

  platform::Cluster& cluster_;
  const bool smmu_;  // translates
  std::vector<WatchedBuffer> buffers_;
  std::vector<End> ends_;
  std::vector<WatchedKey> keys_;
  std::vector<std::string> at_first_;
  std::vector<WatchedChange> changes_;
};

}  // namespace faultline::workloads
