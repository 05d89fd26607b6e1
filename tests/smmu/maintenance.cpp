// SPDX-License-Identifier: Apache-2.0
// TLB maintenance by register and by broadcast, TLBSYNC, and the caches against a reference.
#include <rapidcheck.h>

#include "models/sim/random.hpp"
#include "tests/support/smmu_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr std::uint64_t kRoot = 0x10000;
constexpr std::uint64_t kOtherRoot = 0x20000;
constexpr std::uint64_t kVa = 0x12'3456'7000;
constexpr std::uint64_t kPa = 0x4000'0000;
constexpr std::uint64_t kPage = sim::kPageBytes;

// Two contexts (masters 0 and 1, ASIDs 1 and 2) with two pages each, all of them in every TLB.
struct WarmBench : SmmuBench {
  WarmBench() {
    set_up_bank(0, 0, kRoot);
    set_up_bank(1, 1, kOtherRoot, 39, kTerminate, 2);
    for (const std::uint64_t root : {kRoot, kOtherRoot}) {
      for (unsigned n = 0; n < 2; ++n) map(root, kVa + n * kPage, kPa + n * kPage);
    }
    for (unsigned n = 0; n < 4; ++n) read_cell(0, kVa + n % 2 * kPage, 1us + n * 1us, n / 2);
    run_until(10us);
  }
  // How the next read of a page is answered: 0 from the micro-TLB, else by a walk of so many reads.
  unsigned reads_needed(unsigned bank, unsigned page) {
    const Time in = context.now();
    const Answer& answer = read_cell(0, kVa + page * kPage, in, bank);
    run(5us);
    if (answer.at[0] == in + hit() + ddr.latency) return 0;
    for (unsigned reads = 1; reads <= 3; ++reads) {
      if (answer.at[0] == walk_done(in, reads) + ddr.latency) return reads;
    }
    FAIL("an answer at an unexpected instant");
    return 99;
  }
  using Costs = std::array<unsigned, 4>;  // pages 0 and 1 of bank 0, then of bank 1
  Costs costs() { return {reads_needed(0, 0), reads_needed(0, 1), reads_needed(1, 0), reads_needed(1, 1)}; }
  void by_address(std::uint64_t op, std::uint16_t asid) { write(cb(0, op), std::uint64_t{asid} << 48 | kVa >> 12, 8); }
};

}  // namespace

TEST_CASE("what is in the TLBs stays there", "[maintenance]") {
  WarmBench b;
  CHECK(b.costs() == WarmBench::Costs{0, 0, 0, 0});
}

TEST_CASE("registers beside the maintenance operations leave the TLBs alone", "[maintenance]") {
  WarmBench b;
  // The ASID of the bank's context, were any of them TLBIASID.
  for (const auto at : {reg::cb::kACTLR, reg::cb::kTCR2, reg::cb::kCONTEXTIDR, reg::cb::kMAIR0, reg::cb::kMAIR1})
    b.write(b.cb(0, at), 1);
  CHECK(b.costs() == WarmBench::Costs{0, 0, 0, 0});
}

// After TLBIVA and TLBIVAA the walk cache has lost the way to the page, its neighbour still hits.
TEST_CASE("TLBIVA drops one page of one ASID and its tables", "[CB.TLBIVA]") {
  WarmBench b;
  b.by_address(reg::cb::kTLBIVA, 1);
  CHECK(b.costs() == WarmBench::Costs{3, 0, 0, 0});
  b.by_address(reg::cb::kTLBIVA, 7);
  CHECK(b.costs() == WarmBench::Costs{0, 0, 0, 0});
  CHECK(b.count("tlb_invalidations") == 2);
}
TEST_CASE("TLBIVAA drops one page of every ASID and its tables", "[CB.TLBIVAA]") {
  WarmBench b;
  b.by_address(reg::cb::kTLBIVAA, 0);
  CHECK(b.costs() == WarmBench::Costs{3, 0, 3, 0});
}
TEST_CASE("TLBIVAL drops one page of one ASID and keeps the walk cache", "[CB.TLBIVAL]") {
  WarmBench b;
  b.by_address(reg::cb::kTLBIVAL, 1);
  CHECK(b.costs() == WarmBench::Costs{1, 0, 0, 0});
}
TEST_CASE("TLBIVAAL drops one page of every ASID and keeps the walk cache", "[CB.TLBIVAAL]") {
  WarmBench b;
  b.by_address(reg::cb::kTLBIVAAL, 0);
  CHECK(b.costs() == WarmBench::Costs{1, 0, 1, 0});
}
TEST_CASE("TLBIASID drops all of an ASID", "[CB.TLBIASID]") {
  WarmBench b;
  b.write(b.cb(0, reg::cb::kTLBIASID), 1);
  CHECK(b.costs() == WarmBench::Costs{3, 1, 0, 0});
}
TEST_CASE("TLBIALL drops all of the bank's VMID", "[CB.TLBIALL]") {
  WarmBench b;
  b.write(b.cb(0, reg::cb::kTLBIALL), 0);
  CHECK(b.costs() == WarmBench::Costs{3, 1, 3, 1});
  // Bank 1 moves to another VMID: its entries are others, and are left alone.
  b.write(reg::cbar(1), reg::cbar_field::kTypeStage1 | 9);
  CHECK(b.costs() == WarmBench::Costs{0, 0, 3, 1});
  b.write(b.cb(0, reg::cb::kTLBIALL), 0);
  CHECK(b.costs() == WarmBench::Costs{3, 1, 0, 0});
}
TEST_CASE("global maintenance drops a VMID or everything", "[GR.TLBIVMID][GR.STLBIALL][GR.TLBIALLNSNH][GR.TLBIALLH]") {
  WarmBench b;
  b.write(reg::kTLBIVMID, 3);
  CHECK(b.costs() == WarmBench::Costs{0, 0, 0, 0});
  for (const auto at : {reg::kTLBIVMID, reg::kSTLBIALL, reg::kTLBIALLNSNH, reg::kTLBIALLH}) {
    b.write(at, 0);
    CHECK(b.costs() == WarmBench::Costs{3, 1, 3, 1});
  }
}

TEST_CASE("maintenance reaches every TBU", "[CB.TLBIVA]") {
  WarmBench b;
  b.read_cell(5, kVa, 10us);
  b.run_until(12us);
  b.by_address(reg::cb::kTLBIVAL, 1);
  const Answer& elsewhere = b.read_cell(5, kVa, 12us);
  b.run_until(14us);
  CHECK(elsewhere.at[0] == b.walk_done(12us, 1) + b.ddr.latency);
}

TEST_CASE("a page that changes during the walk is walked again", "[CB.TLBIVA][CB.TLBIVAL]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot);
  b.map(kRoot, kVa, kPa);
  const Answer& answer = b.read_cell(0, kVa, 1us);
  // The leaf has been fetched, its data are on their way back.
  b.run_until(b.walk_end(1us, 3) - Time{1});
  b.map(kRoot, kVa, kPa + 7 * kPage);
  b.frames.mapping_changed(kPa);
  b.write(b.cb(0, reg::cb::kTLBIVAL), std::uint64_t{1} << 48 | kVa >> 12, 8);
  b.run_until(5us);
  CHECK(b.ddr.seen.at(0).address == kPa + 7 * kPage);
  CHECK(b.ddr.seen.at(0).epoch == b.frames.epoch());
  CHECK(answer.at[0] == b.walk_end(1us, 3) + b.cycles(4) + b.table_read() + b.to_tbu() + b.ddr.latency);
  CHECK(b.count("walk_restarts") == 1);

  // The translation is on its way to the TBU: it asks again.
  const Answer& second = b.read_cell(3, kVa, 5us);
  b.run_until(b.macro_done(5us) - Time{1});
  b.map(kRoot, kVa, kPa + 8 * kPage);
  b.write(b.cb(0, reg::cb::kTLBIVAL), std::uint64_t{1} << 48 | kVa >> 12, 8);
  b.run_until(8us);
  CHECK(b.ddr.seen.at(1).address == kPa + 8 * kPage);
  CHECK(second.at[0] == b.walk_done(b.macro_done(5us) - b.hit(), 1) + b.ddr.latency);
}

// A walk of 48 bits has read its level-0 descriptor, or that and the one of level 1, when the table of level 1 moves to
// another frame. The maintenance names another GiB below the same level-0 descriptor.
void move_table_under_walk(SmmuBench& b, unsigned descriptors_read) {
  b.set_up_bank(0, 0, kRoot, 48);
  const std::uint64_t va = 0x1234'5678'9000;
  const std::uint64_t neighbour = va ^ smmu::level_bytes(1);
  b.map(kRoot, va, kPa);
  b.map(kRoot, neighbour, kPa + kPage);
  const Answer& answer = b.read_cell(0, va, 1us);
  const Time present_read = b.walk_end(1us, descriptors_read);
  b.run_until(present_read - Time{1});
  const std::uint64_t pointer_at = b.descriptor_at(kRoot, va, 0);
  const std::uint64_t old_table = b.frames.read_word(pointer_at) & smmu::descriptor::kAddressMask;
  b.frames.write_word(pointer_at, 0);
  b.map(kRoot, va, kPa + 2 * kPage);
  b.map(kRoot, neighbour, kPa + 3 * kPage);
  for (std::uint64_t at = 0; at < kPage; at += 8) b.frames.write_word(old_table + at, 0);
  b.write(b.cb(0, reg::cb::kTLBIVA), std::uint64_t{1} << 48 | neighbour >> 12, 8);
  b.run_until(5us);
  // What it was reading is thrown away; then from the root once more.
  CHECK(answer.at[0] == present_read + b.cycles(4) + 4 * b.table_read() + b.to_tbu() + b.ddr.latency);
  CHECK(b.ddr.seen.at(0).address == kPa + 2 * kPage);
  CHECK(b.count("walk_restarts") == 1);
  CHECK(b.count("translation_faults") == 0);
  // Nor was the old pointer kept.
  const Answer& later = b.read_cell(0, va ^ kPage, 5us);
  const Answer& beside = b.read_cell(3, neighbour, 5us);
  b.run_until(8us);
  CHECK(later.at[0] == b.walk_done(5us, 1) + b.termination());
  CHECK(beside.status == tlm::TLM_OK_RESPONSE);
}

TEST_CASE("a walk does not read from a table that is freed while it reads the pointer", "[CB.TLBIVA]") {
  SmmuBench b;
  move_table_under_walk(b, 1);
}
TEST_CASE("a walk does not go on from a table that is freed while it reads it", "[CB.TLBIVA]") {
  SmmuBench b;
  move_table_under_walk(b, 2);
}

TEST_CASE("maintenance before a walk has read anything, or beside its tables, does not disturb it", "[CB.TLBIVA]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot, 48);
  const std::uint64_t va = 0x1234'5678'9000;
  b.map(kRoot, va, kPa);
  const auto invalidate = [&](std::uint64_t at) {
    b.write(b.cb(0, reg::cb::kTLBIVA), std::uint64_t{1} << 48 | at >> 12, 8);
  };
  const Answer& answer = b.read_cell(0, va, 1us);
  b.run_until(b.walk_end(1us, 0) - Time{1});
  invalidate(va);
  // It reads from its level-3 table; the neighbour's tables below level 1 are others.
  b.run_until(b.walk_end(1us, 3) + Time{1});
  invalidate(va ^ smmu::level_bytes(1));
  b.run_until(5us);
  CHECK(answer.at[0] == b.walk_done(1us, 4) + b.ddr.latency);
  CHECK(b.count("walk_restarts") == 0);
}

TEST_CASE("a translation carries the epoch of its walk, however long it is used", "[maintenance]") {
  WarmBench b;
  const std::uint64_t walked = b.frames.epoch();
  b.frames.mapping_changed(kPa);
  b.read_cell(0, kVa, 10us);
  b.run_until(12us);
  CHECK(b.ddr.seen.back().epoch == walked);
  CHECK(b.frames.is_stale(kPa, b.ddr.seen.back().epoch));
}

TEST_CASE("TLBSYNC takes its time when nothing is on its way", "[CB.TLBSYNC][CB.TLBSTATUS]") {
  WarmBench b;
  CHECK(b.read(b.cb(0, reg::cb::kTLBSTATUS)) == 0);
  b.write(b.cb(0, reg::cb::kTLBSYNC), 0);
  CHECK(b.read(b.cb(1, reg::cb::kTLBSTATUS)) == 0);
  b.run_until(10us + b.config.tlb_sync - Time{1});
  CHECK(b.read(b.cb(0, reg::cb::kTLBSTATUS)) == reg::tlbstatus::kSACTIVE);
  b.run(Time{1});
  CHECK(b.read(b.cb(0, reg::cb::kTLBSTATUS)) == 0);
}

TEST_CASE("TLBSYNC waits for what had been translated before, and for no more",
          "[CB.TLBSYNC][GR.STLBGSYNC][GR.STLBGSTATUS]") {
  WarmBench b;
  b.ddr.latency = 3us;
  const Answer& before = b.send(0, false, kVa, TimeSequence::regular(10us, 50ns, 16));
  b.run_until(10us + 100ns);
  b.write(b.cb(0, reg::cb::kTLBSYNC), 0);
  b.write(reg::kSTLBGSYNC, 0);
  const Answer& after = b.read_cell(0, kVa, 10us + 900ns);
  // Three of the train's cells had arrived, whatever was known of the others.
  b.run_until(before.at[2] - Time{1});
  CHECK(b.read(b.cb(0, reg::cb::kTLBSTATUS)) == reg::tlbstatus::kSACTIVE);
  CHECK(b.read(reg::kSTLBGSTATUS) == reg::tlbstatus::kSACTIVE);
  b.run(Time{1});
  CHECK(b.context.now() == 10us + 2 * 50ns + b.hit() + 3us);
  CHECK(b.read(b.cb(0, reg::cb::kTLBSTATUS)) == 0);
  CHECK(b.read(reg::kSTLBGSTATUS) == 0);
  CHECK(after.at[0] > b.context.now());
}

TEST_CASE("TLBSYNC does not wait for a stalled transaction", "[CB.TLBSYNC]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot, 39, SmmuBench::kStall);
  b.read_cell(0, kVa, 1us);
  b.run_until(3us);
  b.write(b.cb(0, reg::cb::kTLBSYNC), 0);
  b.run(b.config.tlb_sync);
  CHECK(b.read(b.cb(0, reg::cb::kTLBSTATUS)) == 0);
}

TEST_CASE("broadcast maintenance acts after its latency, unless PTM is set", "[GR.SCR0]") {
  WarmBench b;
  b.dut.dvm->tlbi_va(1, kVa + 0x123);
  const Time last = 10us + b.config.dvm_invalidate_latency;
  const Answer& early = b.read_cell(0, kVa, last - Time{1});
  b.run_until(last);
  const Answer& late = b.read_cell(0, kVa, last + Time{1});
  b.run_until(13us);
  CHECK(early.at[0] == last - Time{1} + b.hit() + b.ddr.latency);
  CHECK(late.at[0] == b.walk_done(last + Time{1}, 3) + b.ddr.latency);

  b.dut.dvm->tlbi_asid(2);
  b.run(1us);
  CHECK(b.costs() == WarmBench::Costs{0, 0, 3, 1});
  b.dut.dvm->tlbi_all();
  b.run(1us);
  CHECK(b.costs() == WarmBench::Costs{3, 1, 3, 1});
  b.write(reg::kSCR0, reg::scr0::kPTM);
  b.dut.dvm->tlbi_all();
  b.run(1us);
  CHECK(b.costs() == WarmBench::Costs{0, 0, 0, 0});
}

// With TLBs so small that everything is evicted now and then, every access must see the tables as they
// were at the last change, provided that each change of a valid descriptor is followed by maintenance.
TEST_CASE("TLBs and walk cache agree with a map under random changes", "[maintenance]") {
  smmu::SmmuConfig config;
  config.micro_tlb_entries = 3;
  config.macro_tlb_entries = 8;
  config.macro_tlb_ways = 2;
  config.walk_cache_entries = {1, 2, 2};
  config.walk_cache_ways = 2;
  SmmuBench b(config);
  b.set_up_bank(0, 0, kRoot, 48);
  // Eight pages: two of each table, in two tables of two directories.
  const auto va_of = [](std::uint64_t n) {
    return (n & 1) * kPage + (n >> 1 & 1) * smmu::level_bytes(2) + (n >> 2 & 1) * smmu::level_bytes(1) +
           (std::uint64_t{5} << 39);
  };
  struct Page {
    std::uint64_t pa;
    bool writable;
  };
  std::map<std::uint64_t, Page> reference;
  std::uint64_t next_pa = kPa;
  const auto invalidate = [&](std::uint64_t va, std::uint64_t how) {
    const std::uint64_t operand = std::uint64_t{1} << 48 | va >> 12;
    constexpr std::array by_va{reg::cb::kTLBIVA, reg::cb::kTLBIVAA, reg::cb::kTLBIVAL, reg::cb::kTLBIVAAL};
    if (how < 4) {
      b.write(b.cb(0, by_va[how]), operand, 8);
    } else {
      b.write(b.cb(0, how == 4 ? reg::cb::kTLBIASID : reg::cb::kTLBIALL), 1);
    }
  };
  const auto map_page = [&](std::uint64_t va, bool writable) {
    reference[va] = {next_pa += kPage, writable};
    b.map(kRoot, va, next_pa, SmmuBench::kUserPage | (writable ? 0 : smmu::descriptor::kReadOnly));
  };
  const auto check_access = [&](std::uint64_t va, unsigned tbu, bool write) {
    const std::size_t seen = b.ddr.seen.size();
    const Answer& answer = b.send(tbu, write, va, TimeSequence::single(b.context.now()));
    b.run(2us);
    const auto page = reference.find(va);
    const bool good = page != reference.end() && (!write || page->second.writable);
    RC_ASSERT((answer.status == tlm::TLM_OK_RESPONSE) == good);
    RC_ASSERT(b.ddr.seen.size() == seen + (good ? 1 : 0));
    if (good) RC_ASSERT(b.ddr.seen.back().address == page->second.pa);
  };
  const auto holds = [&](std::uint64_t seed) {
    sim::RandomStream random(seed, "operations");
    for (unsigned step = 0; step < 60; ++step) {
      const std::uint64_t va = va_of(random.below(8));
      const bool present = reference.contains(va);
      switch (random.below(6)) {
        case 0:
          map_page(va, random.below(2) != 0);
          if (present) invalidate(va, random.below(6));  // break before make is the caller's business
          break;
        case 1:
          b.unmap(kRoot, va);
          reference.erase(va);
          if (present) invalidate(va, random.below(6));
          break;
        default: check_access(va, random.below(2) != 0 ? 3 : 0, random.below(2) != 0); break;
      }
    }
  };
  CHECK(rc::check("every access sees the present mapping", holds));
  CHECK(b.count("macro_tlb_hits") > 0);
  CHECK(b.count("micro_tlb_hits") > 0);
}
