// SPDX-License-Identifier: Apache-2.0
// Hit under previous context fault: what a standing fault does to everybody else of its context.
#include "tests/smmu/fault_records.hpp"

using namespace faultline;
using namespace faultline::test;

TEST_CASE("HUPCF = 1: the rest of the context goes on beside a standing fault", "[CB.SCTLR]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot);
  b.map(kRoot, kVa, kPa);
  b.read_cell(0, kVa, 1us);
  b.read_cell(0, kVa + kPage, 3us);
  const Answer& same_tbu = b.read_cell(0, kVa, 5us);
  const Answer& other_tbu = b.read_cell(3, kVa, 5us);
  b.run_until(7us);
  CHECK(same_tbu.at[0] == 5us + b.hit() + b.ddr.latency);
  CHECK(other_tbu.at[0] == b.macro_done(5us) + b.ddr.latency);
  CHECK(b.count("held_off") == 0);
}

TEST_CASE("HUPCF = 0, terminate: the whole context is terminated on all TBUs until FSR is cleared", "[CB.SCTLR]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot, 39, kHupcfOff);
  b.set_up_bank(1, 1, kRoot, 39, kHupcfOff, 2);
  b.map(kRoot, kVa, kPa);
  b.map(kRoot, kVa + kPage, kPa + kPage);
  b.read_cell(0, kVa, 1us, 0);
  b.read_cell(0, kVa, 1us, 1);
  const Answer& faults = b.read_cell(0, kVa + 2 * kPage, 3us);
  // Under way when the fault is recorded: goes on.
  const Answer& under_way = b.read_cell(3, kVa + kPage, 3us + 20ns);
  const Answer& same_tbu = b.read_cell(0, kVa, 4us);
  const Answer& other_tbu = b.write_cell(3, kVa, 4us);
  const Answer& other_context = b.read_cell(0, kVa, 4us, 1);
  b.run_until(6us);
  CHECK(faults.status == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(under_way.at[0] == b.walk_done(3us + 20ns, 1) + b.ddr.latency);
  for (const Answer* answer : {&same_tbu, &other_tbu}) {
    CHECK(answer->at[0] == 4us + b.hit() + b.termination());
    CHECK(answer->status == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  }
  CHECK(other_context.at[0] == 4us + b.hit() + b.ddr.latency);
  // They are not faults of their own.
  CHECK(record_of(b, 0) == Record{kTF, kVa + 2 * kPage, 3, smmu::stream_id(0, 0)});
  CHECK(b.count("held_off") == 2);
  clear(b, 0);
  const Answer& after = b.read_cell(0, kVa, 6us);
  b.run_until(8us);
  CHECK(after.at[0] == 6us + b.hit() + b.ddr.latency);
}

TEST_CASE("HUPCF = 0, stall: the context is held on all TBUs until FSR reads zero", "[CB.SCTLR][CB.RESUME]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot, 39, kStallHupcfOff);
  b.map(kRoot, kVa, kPa);
  b.read_cell(0, kVa, 1us);
  b.read_cell(3, kVa, 1us);
  const Answer& faults = b.read_cell(0, kVa + kPage, 3us);
  const Answer& held = b.read_cell(0, kVa, 5us);
  const Answer& held_elsewhere = b.read_cell(3, kVa + 0x100, 5us);
  b.run_until(7us);
  CHECK(held.at[0] == sim::kNever);
  CHECK(held_elsewhere.at[0] == sim::kNever);
  CHECK(b.count("held_off") == 2);
  CHECK(b.count("stalls") == 1);
  // Clearing alone leaves SS, so they are held on.
  clear(b, 0);
  b.run_until(9us);
  CHECK(held.at[0] == sim::kNever);
  b.map(kRoot, kVa + kPage, kPa + kPage);
  resume(b, 0, reg::resume::kRetry);
  b.run_until(11us);
  CHECK(faults.at[0] == b.walk_done(9us + b.to_tbu(), 1) + b.ddr.latency);
  CHECK(held.at[0] == 9us + b.to_tbu() + b.hit() + b.ddr.latency);
  CHECK(held_elsewhere.at[0] == 9us + b.to_tbu() + b.hit() + b.ddr.latency);
}

TEST_CASE("HUPCF = 0, stall, RESUME first: the held ones wait for the clearing", "[CB.FSR]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot, 39, kStallHupcfOff);
  b.map(kRoot, kVa, kPa);
  b.read_cell(0, kVa, 1us);
  const Answer& faults = b.read_cell(0, kVa + kPage, 3us);
  const Answer& held = b.read_cell(0, kVa, 5us);
  b.run_until(7us);
  b.map(kRoot, kVa + kPage, kPa + kPage);
  resume(b, 0, reg::resume::kRetry);
  b.run_until(9us);
  CHECK(faults.at[0] == b.walk_done(7us + b.to_tbu(), 1) + b.ddr.latency);
  CHECK(held.at[0] == sim::kNever);
  clear(b, 0);
  b.run_until(11us);
  CHECK(held.at[0] == 9us + b.to_tbu() + b.hit() + b.ddr.latency);
}

TEST_CASE("HUPCF = 0, stall: what comes for the page of a stalled miss is held, not resumed", "[CB.SCTLR][CB.RESUME]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot, 39, kStallHupcfOff);
  b.map(kRoot, kVa + 8 * kPage, kPa);  // so that there are tables
  const Answer& stalled = b.read_cell(0, kVa, 1us);
  b.run_until(3us);
  const Answer& held = b.read_cell(0, kVa + 0x100, 3us);
  const Answer& also_held = b.read_cell(0, kVa + 0x200, 3us + 10ns);
  b.run_until(5us);
  CHECK(b.count("held_off") == 2);
  CHECK(b.count("stalls") == 1);
  b.map(kRoot, kVa, kPa);
  resume(b, 0, reg::resume::kRetry);  // FSR is not cleared
  b.run_until(7us);
  CHECK(stalled.at[0] == b.walk_done(5us + b.to_tbu(), 1) + b.ddr.latency);
  CHECK(held.at[0] == sim::kNever);
  clear(b, 0);
  b.run_until(9us);
  for (const Answer* answer : {&held, &also_held}) CHECK(answer->at[0] == 7us + b.to_tbu() + b.hit() + b.ddr.latency);
  // The TCU was asked for the stalled one; the others found the page in the TBU when they were looked up.
  CHECK(b.count("micro_tlb_misses") == 1);
  CHECK(b.count("micro_tlb_hits") == 2);
  CHECK(b.count("merged_misses") == 0);
}

TEST_CASE("HUPCF = 0, stall: a held burst faults on its own after RESUME has terminated its page", "[CB.RESUME]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot, 39, kStallHupcfOff);
  b.map(kRoot, kVa + 8 * kPage, kPa);
  const Answer& stalled = b.read_cell(0, kVa, 1us);
  b.run_until(3us);
  const Answer& held = b.read_cell(0, kVa + 0x100, 3us);
  b.run_until(5us);
  clear(b, 0);
  resume(b, 0, reg::resume::kTerminate);
  b.run_until(7us);
  CHECK(stalled.at[0] == 5us + b.to_tbu() + b.termination());
  CHECK(stalled.status == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(held.at[0] == sim::kNever);
  CHECK(record_of(b, 0) == Record{kTF | reg::fsr::kSS, kVa + 0x100, 3, smmu::stream_id(0, 0)});
  CHECK(b.count("micro_tlb_misses") == 2);
}

TEST_CASE("HUPCF = 0: bursts that are terminated while held never asked the TCU", "[CB.SCTLR]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot, 39, kStallHupcfOff);
  b.read_cell(0, kVa, 1us);
  b.run_until(3us);
  const Answer& held = b.read_cell(0, kVa + kPage, 3us);
  b.run_until(5us);
  CHECK(b.count("micro_tlb_misses") == 1);  // counted when it asked, long before it ends
  // The driver changes its mind: the stalled one faults again, terminated, while the held one comes to the TBU.
  b.write(b.cb(0, reg::cb::kSCTLR), kHupcfOff | reg::sctlr::kHUPCF);
  b.write(b.cb(0, reg::cb::kSCTLR), kHupcfOff);
  b.run_until(7us);
  CHECK(held.at[0] == 5us + b.to_tbu() + b.termination());
  CHECK(b.count("micro_tlb_misses") == 1);
  CHECK(b.count("micro_tlb_hits") == 0);
  CHECK(b.count("merged_misses") == 0);
}

TEST_CASE("HUPCF = 1, stall: what comes for the page of a stalled miss waits for RESUME with it",
          "[CB.SCTLR][CB.RESUME]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot, 39, SmmuBench::kStall);
  b.map(kRoot, kVa + 8 * kPage, kPa);
  const Answer& stalled = b.read_cell(0, kVa, 1us);
  b.run_until(3us);
  const Answer& shares = b.read_cell(0, kVa + 0x100, 3us);
  const Answer& other_tbu = b.read_cell(3, kVa, 3us);  // has no such miss: looks up, and faults
  b.run_until(5us);
  CHECK(b.count("held_off") == 0);
  CHECK(b.count("stalls") == 2);
  CHECK(b.read(b.cb(0, reg::cb::kFSR)) == (kTF | reg::fsr::kSS | reg::fsr::kMULTI));
  resume(b, 0, reg::resume::kTerminate);  // whatever FSR says
  b.run_until(7us);
  for (const Answer* answer : {&stalled, &shares, &other_tbu}) {
    CHECK(answer->at[0] == 5us + b.to_tbu() + b.termination());
    CHECK(answer->status == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  }
}

TEST_CASE("HUPCF = 0, terminate: a write does not slip through with a walk under way", "[CB.SCTLR]") {
  SmmuBench b;  // the buffer holds one burst of 256 bytes
  b.set_up_bank(0, 0, kRoot, 39, kHupcfOff);
  b.map(kRoot, kVa, kPa);
  b.read_cell(3, kVa + 8 * kPage, 1us);
  const Time in = b.walk_end(1us, 3) - 100ns;
  const Answer& under_way = b.send(0, true, kVa, TimeSequence::regular(in, 10ns, 2));
  const Answer& late = b.write_cell(0, kVa + 0x200, in + 150ns);
  const Answer& behind = b.write_cell(0, kVa + 0x300, in + 160ns);
  b.run_until(5us);
  CHECK(b.read(b.cb(0, reg::cb::kFSR)) == kTF);
  CHECK(under_way.status == tlm::TLM_OK_RESPONSE);
  // They stand behind the full buffer, and are held off when their turn comes.
  const Time turn = under_way.at[0] - b.ddr.latency;
  for (const Answer* answer : {&late, &behind}) {
    CHECK(answer->at[0] == turn + b.termination());
    CHECK(answer->status == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  }
  CHECK(b.count("held_off") == 2);
  CHECK(b.ddr.seen.size() == 1);
}

TEST_CASE("HUPCF = 0, terminate: cells that are held off are answered before those of their train that wait",
          "[CB.SCTLR]") {
  SmmuBench coarse({}, 16, "coarse_");
  SmmuBench fine({}, 1, "fine_");
  std::vector<const Answer*> trains;
  const Time fault = fine.walk_end(1us, 3);
  const Time in = fault - 100ns;
  for (SmmuBench* b : {&coarse, &fine}) {
    b->set_up_bank(0, 0, kRoot, 39, kHupcfOff);
    b->map(kRoot, kVa, kPa);
    b->read_cell(3, kVa + 8 * kPage, 1us);
    // The fault comes between the second cell and the third; their own walk of one read ends after it.
    trains.push_back(&b->send(0, false, kVa + kPage, TimeSequence::regular(in, 60ns, 16)));
  }
  fine.run_until(5us);
  const Time walked = fine.walk_done(in, 1) + fine.termination();
  for (const Answer* train : trains) {
    CHECK(train->at[0] == walked);
    CHECK(train->at[1] == walked);
    for (unsigned i = 2; i < 16; ++i) CHECK(train->at[i] == in + i * 60ns + fine.hit() + fine.termination());
    CHECK(train->at[2] < walked);
  }
  for (const SmmuBench* b : {&coarse, &fine}) {
    CHECK(b->count("held_off") == 14);
    CHECK(b->count("terminated") == 17);
  }
}

TEST_CASE("HUPCF = 0, stall: a write does not slip through with a walk under way", "[CB.SCTLR]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot, 39, kStallHupcfOff);
  b.map(kRoot, kVa, kPa);
  b.read_cell(3, kVa + 8 * kPage, 1us);
  const Time in = b.walk_end(1us, 3) - 100ns;
  const Answer& under_way = b.send(0, true, kVa, TimeSequence::regular(in, 10ns, 2));
  // The third overfills the buffer again, so the fourth joins it there.
  const Answer& late = b.send(0, true, kVa + 0x200, TimeSequence::regular(in + 150ns, 1ns, 2));
  const Answer& behind = b.write_cell(0, kVa + 0x400, in + 160ns);
  b.run_until(5us);
  CHECK(under_way.status == tlm::TLM_OK_RESPONSE);
  CHECK(b.ddr.seen.size() == 1);
  CHECK(b.count("held_off") == 3);
  CHECK(b.count("stalls") == 1);
  clear(b, 0);
  resume(b, 0, reg::resume::kTerminate);
  b.run_until(7us);
  const Time passed = 5us + b.to_tbu() + b.hit() + b.ddr.latency;
  CHECK(late.at[0] == passed);
  CHECK(late.at[1] == passed);
  CHECK(behind.at[0] == passed);
}

TEST_CASE("HUPCF = 0, stall: writes to the page of a stalled one wait for FSR, in the buffer or behind it",
          "[CB.RESUME]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot, 39, kStallHupcfOff);
  b.map(kRoot, kVa + 8 * kPage, kPa);  // so that there are tables
  const Answer& stalled = b.write_cell(0, kVa, 1us);
  b.run_until(3us);
  const Answer& held = b.write_cell(0, kVa + 0x100, 3us);  // overfills the buffer
  const Answer& joins = b.write_cell(0, kVa + 0x200, 3us + 5ns);
  const Answer& stands = b.write_cell(0, kVa + 8 * kPage, 3us + 10ns);
  b.run_until(5us);
  CHECK(b.count("held_off") == 2);
  b.map(kRoot, kVa, kPa + kPage);
  resume(b, 0, reg::resume::kRetry);
  b.run_until(7us);
  CHECK(stalled.at[0] == b.walk_done(5us + b.to_tbu(), 1) + b.ddr.latency);
  for (const Answer* answer : {&held, &joins, &stands}) CHECK(answer->at[0] == sim::kNever);
  clear(b, 0);
  b.run_until(9us);
  for (const Answer* answer : {&held, &joins}) CHECK(answer->at[0] == 7us + b.to_tbu() + b.hit() + b.ddr.latency);
  CHECK(stands.status == tlm::TLM_OK_RESPONSE);
}

TEST_CASE("a write that would not be translated any more does not share the miss before it", "[GR.SCR0]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot);
  b.map(kRoot, kVa, kPa);
  const Answer& under_way = b.send(0, true, kVa, TimeSequence::regular(1us, 10ns, 2));
  b.run_until(1us + 100ns);
  b.write(reg::kSCR0, reg::scr0::kCLIENTPD);
  b.write_cell(0, kVa + 0x200, 1us + 110ns);
  b.run_until(4us);
  REQUIRE(b.ddr.seen.size() == 2);
  CHECK(b.ddr.seen[0].address == kPa);
  CHECK(b.ddr.seen[1].address == kVa + 0x200);
  // It had to wait for its turn all the same.
  CHECK(b.ddr.seen[1].times.front() == b.walk_done(1us, 3));
  CHECK(under_way.status == tlm::TLM_OK_RESPONSE);
  CHECK(b.count("bypassed") == 1);
}
