// SPDX-License-Identifier: Apache-2.0
// What a fault records, when it is answered, and what it does to everybody else of its context.
#include "models/smmu/tracks.hpp"
#include "tests/smmu/fault_records.hpp"
#include "tests/support/levels.hpp"

using namespace faultline;
using namespace faultline::test;

TEST_CASE("each kind of fault leaves its record and its response", "[CB.FSR][CB.FAR][CB.FSYNR0][GR.CBFRSYNRA0]") {
  SmmuBench b;
  b.set_up_bank(3, 5, kRoot);
  const std::uint64_t not_accessed = smmu::descriptor::kUser;
  const std::uint64_t read_only = SmmuBench::kUserPage | smmu::descriptor::kReadOnly;
  const std::uint64_t privileged = smmu::descriptor::kAccessed;
  b.map(kRoot, kVa, kPa, read_only);
  b.map(kRoot, kVa + kPage, kPa, not_accessed);
  b.map(kRoot, kVa + 2 * kPage, kPa, privileged);
  b.map(kRoot, 0x4020'0000, 0x6020'0000, read_only, 2);
  // A table beyond the end of memory: the walker's read is refused.
  b.frames.write_word(b.descriptor_at(kRoot, 0x7'c000'0000, 1), SmmuBench::kMemoryBytes | 3);

  struct Case {
    std::uint64_t va;
    bool write;
    std::uint32_t bit;
    unsigned level;
    unsigned reads;
    tlm::tlm_response_status status;
  };
  const std::vector<Case> cases{
      {kVa + 5 * kPage + 0x340, false, reg::fsr::kTF, 3, 3, tlm::TLM_ADDRESS_ERROR_RESPONSE},
      {kVa + 0x100, true, reg::fsr::kPF, 3, 1, tlm::TLM_COMMAND_ERROR_RESPONSE},
      {kVa + kPage, false, reg::fsr::kAFF, 3, 1, tlm::TLM_ADDRESS_ERROR_RESPONSE},
      {kVa + 2 * kPage, false, reg::fsr::kPF, 3, 1, tlm::TLM_COMMAND_ERROR_RESPONSE},
      {0x4020'1200, true, reg::fsr::kPF, 2, 2, tlm::TLM_COMMAND_ERROR_RESPONSE},
      {0x4060'0000, true, reg::fsr::kTF, 2, 1, tlm::TLM_ADDRESS_ERROR_RESPONSE},
      {0x60'0000'0000, false, reg::fsr::kTF, 1, 1, tlm::TLM_ADDRESS_ERROR_RESPONSE},
      {std::uint64_t{1} << 39, true, reg::fsr::kTF, 0, 0, tlm::TLM_ADDRESS_ERROR_RESPONSE},
      {0x7'c000'0000, false, reg::fsr::kEF, 2, 2, tlm::TLM_GENERIC_ERROR_RESPONSE},
  };
  for (const Case& c : cases) {
    CAPTURE(std::hex, c.va);
    const Time in = b.context.now() + 100ns;
    const Answer& answer = b.send(4, c.write, c.va, TimeSequence::single(in), 5, 64);
    // Up to the end of the walk (sc_start leaves out the last instant) there is no record, and then there is.
    const Time recorded = b.walk_end(in, c.reads);
    b.run_until(recorded);
    REQUIRE(b.read(b.cb(3, reg::cb::kFSR)) == 0);
    REQUIRE_FALSE(b.line.high());
    b.run(Time{1});
    CHECK(record_of(b, 3) == Record{reg::fsr::kFormatAArch64 | c.bit, c.va,
                                    c.level | (c.write ? reg::fsynr0::kWNR : 0u), smmu::stream_id(4, 5)});
    REQUIRE_FALSE(b.line.edges.empty());
    CHECK(b.line.edges.back() == LineRecorder::Edge{recorded, 155, true});
    b.run(1us);
    CHECK(answer.at[0] == b.walk_done(in, c.reads) + b.termination());
    CHECK(answer.status == c.status);
    clear(b, 3);
    CHECK(b.read(b.cb(3, reg::cb::kFSR)) == 0);
    CHECK_FALSE(b.line.high());
  }
  CHECK(b.ddr.seen.empty());
  CHECK(b.count("translation_faults") == 4);
  CHECK(b.count("access_flag_faults") == 1);
  CHECK(b.count("permission_faults") == 3);
  CHECK(b.count("external_faults") == 1);
  CHECK(b.count("terminated") == cases.size());
}

TEST_CASE("a fault is never cached and a read-only entry does not answer a write") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot);
  b.map(kRoot, kVa + kPage, kPa, SmmuBench::kUserPage);
  b.read_cell(0, kVa + kPage, 1us);  // so that the tables are known
  b.read_cell(0, kVa, 3us);
  b.run_until(5us);
  b.map(kRoot, kVa, kPa, SmmuBench::kUserPage | smmu::descriptor::kReadOnly);
  const Answer& read = b.read_cell(0, kVa, 5us);
  b.run_until(7us);
  CHECK(read.at[0] == b.walk_done(5us, 1) + b.ddr.latency);
  const Answer& refused = b.write_cell(0, kVa, 7us);
  b.run_until(9us);
  CHECK(refused.at[0] == b.walk_done(7us, 1) + b.termination());
  CHECK(refused.status == tlm::TLM_COMMAND_ERROR_RESPONSE);
  b.map(kRoot, kVa, kPa);
  const Answer& write = b.write_cell(0, kVa, 9us);
  b.run_until(11us);
  CHECK(write.at[0] == b.walk_done(9us, 1) + b.ddr.latency);
}

TEST_CASE("AFFD turns access-flag faults off, CFRE turns errors into zeros, CFIE gates the line", "[CB.SCTLR]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot, 39, SmmuBench::kTerminate | reg::sctlr::kAFFD);
  b.map(kRoot, kVa, kPa, smmu::descriptor::kUser);
  const Answer& unaccessed = b.read_cell(0, kVa, 1us);
  b.run_until(3us);
  CHECK(unaccessed.status == tlm::TLM_OK_RESPONSE);
  CHECK(b.ddr.seen.size() == 1);

  b.write(b.cb(0, reg::cb::kSCTLR), SmmuBench::kTerminate & ~(reg::sctlr::kCFRE | reg::sctlr::kCFIE));
  const Answer& zeros = b.read_cell(0, kVa + kPage, 3us);
  const Answer& ignored = b.write_cell(0, kVa + 2 * kPage, 3us);
  b.run_until(5us);
  CHECK(zeros.status == tlm::TLM_OK_RESPONSE);
  CHECK(zeros.content == sim::Content::zeros(256));
  CHECK(zeros.at[0] == b.walk_done(3us, 1) + b.termination());
  CHECK(ignored.status == tlm::TLM_OK_RESPONSE);
  CHECK(b.ddr.seen.size() == 1);
  CHECK(b.line.edges.empty());
  b.write(b.cb(0, reg::cb::kSCTLR), SmmuBench::kTerminate);
  CHECK(b.line.high());
  // M = 0: untranslated.
  b.write(b.cb(0, reg::cb::kSCTLR), 0);
  CHECK_FALSE(b.line.high());
  const Answer& bypassed = b.read_cell(0, 0x5000, 5us);
  b.run_until(7us);
  CHECK(bypassed.at[0] == 5us + b.hit() + b.ddr.latency);
  CHECK(b.ddr.seen.back().address == 0x5000);
}

TEST_CASE("further faults only set MULTI, and clearing takes all bits", "[CB.FSR]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot);
  b.map(kRoot, kVa + 8 * kPage, kPa);  // so that there are tables
  b.read_cell(0, kVa, 1us);
  b.write_cell(3, kVa + kPage, 3us);
  b.run_until(5us);
  const std::uint32_t both = kTF | reg::fsr::kMULTI;
  CHECK(record_of(b, 0) == Record{both, kVa, 3, smmu::stream_id(0, 0)});
  CHECK(b.count("multi") == 1);
  b.write(b.cb(0, reg::cb::kFSR), reg::fsr::kTF);
  CHECK(b.read(b.cb(0, reg::cb::kFSR)) == (reg::fsr::kMULTI | reg::fsr::kFormatAArch64));
  CHECK(b.line.high());
  b.write(b.cb(0, reg::cb::kFSR), reg::fsr::kMULTI);
  CHECK(b.read(b.cb(0, reg::cb::kFSR)) == 0);
  CHECK_FALSE(b.line.high());
  b.read_cell(0, kVa + 2 * kPage, 5us);
  b.run_until(7us);
  CHECK(record_of(b, 0) == Record{kTF, kVa + 2 * kPage, 3, smmu::stream_id(0, 0)});
}

TEST_CASE("one line stays high until the last bank is cleared") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot);
  b.set_up_bank(1, 1, kRoot, 39, SmmuBench::kTerminate, 2);
  b.read_cell(0, kVa, 1us, 0);
  b.read_cell(0, kVa, 2us, 1);
  b.run_until(4us);
  CHECK(b.line.edges.size() == 1);
  clear(b, 0);
  CHECK(b.line.high());
  clear(b, 1);
  CHECK_FALSE(b.line.high());
  CHECK(b.line.edges.size() == 2);
}

TEST_CASE("a stalled fault waits for RESUME and retries", "[CB.RESUME][CB.FSR]") {
  SmmuBench b;
  const Levels stalls(b.trace, smmu::track::kStalls, 0);
  b.set_up_bank(0, 0, kRoot, 39, SmmuBench::kStall);
  b.map(kRoot, kVa + kPage, kPa);
  b.write_cell(0, kVa + kPage, 1us);
  const Answer& stalled = b.send(0, true, kVa, TimeSequence::regular(3us, 1ns, 2));
  const Answer& behind = b.write_cell(0, kVa + kPage, 4us);  // two bursts of beats fill the write buffer
  const Answer& read = b.read_cell(0, kVa + kPage, 4us);
  b.run_until(6us);
  const std::uint32_t status = kTF | reg::fsr::kSS;
  CHECK(record_of(b, 0) == Record{status, kVa, 3 | reg::fsynr0::kWNR, smmu::stream_id(0, 0)});
  CHECK(stalled.at[0] == sim::kNever);
  CHECK(behind.at[0] == sim::kNever);
  CHECK(read.at[0] == 4us + b.hit() + b.ddr.latency);  // the other channel goes on
  CHECK(b.count("stalls") == 1);

  // Still not there: faults again, recorded again because FSR was cleared. SS goes with RESUME only.
  clear(b, 0);
  CHECK(b.read(b.cb(0, reg::cb::kFSR)) == (reg::fsr::kSS | reg::fsr::kFormatAArch64));
  CHECK_FALSE(b.line.high());
  resume(b, 0, reg::resume::kRetry);
  CHECK(b.read(b.cb(0, reg::cb::kFSR)) == 0);
  const Time again = b.context.now() + b.to_tbu();  // when the TBU looks it up once more
  b.run_until(b.walk_end(again, 1));
  CHECK(b.read(b.cb(0, reg::cb::kFSR)) == 0);
  b.run(Time{1});
  CHECK(b.read(b.cb(0, reg::cb::kFSR)) == status);

  b.map(kRoot, kVa, kPa + kPage);
  b.run_until(8us);
  clear(b, 0);
  resume(b, 0, reg::resume::kRetry);
  b.run(2us);
  const Time done = b.walk_done(8us + b.to_tbu(), 1);
  CHECK(stalled.at[0] == done + b.ddr.latency);
  CHECK(stalled.at[1] == done + b.ddr.latency);
  CHECK(behind.at[0] == done + b.ddr.latency);
  CHECK(stalled.status == tlm::TLM_OK_RESPONSE);
  CHECK(b.count("resumes") == 2);
  CHECK(stalls.told == std::vector<std::uint64_t>{1, 0, 1, 0});
}

TEST_CASE("RESUME terminates all stalled transactions of the bank, on every TBU, and of no other", "[CB.RESUME]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot, 39, SmmuBench::kStall);
  b.set_up_bank(1, 1, kRoot, 39, SmmuBench::kStall, 2);
  const Answer& first = b.read_cell(0, kVa, 1us);
  const Answer& second = b.write_cell(3, kVa + kPage, 2us);
  const Answer& other = b.read_cell(0, kVa, 2us, 1);
  b.run_until(5us);
  CHECK(b.read(b.cb(0, reg::cb::kFSR)) == (kTF | reg::fsr::kSS | reg::fsr::kMULTI));
  clear(b, 0);
  resume(b, 0, reg::resume::kTerminate);
  b.run_until(7us);
  for (const Answer* answer : {&first, &second}) {
    CHECK(answer->at[0] == 5us + b.to_tbu() + b.termination());
    CHECK(answer->status == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  }
  CHECK(other.at[0] == sim::kNever);
  CHECK(b.read(b.cb(0, reg::cb::kFSR)) == 0);
  CHECK(b.count("resumes") == 2);
}

TEST_CASE("RESUME before FSR is cleared: the retried fault is lost to MULTI", "[CB.RESUME][CB.FSR]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot, 39, SmmuBench::kStall);
  b.read_cell(0, kVa, 1us);
  b.run_until(3us);
  resume(b, 0, reg::resume::kRetry);
  b.run_until(5us);
  CHECK(b.read(b.cb(0, reg::cb::kFSR)) == (kTF | reg::fsr::kSS | reg::fsr::kMULTI));
}

TEST_CASE("stalled misses keep their slots") {
  smmu::SmmuConfig config;
  config.misses_per_tbu = 1;
  SmmuBench b(config);
  b.set_up_bank(0, 0, kRoot, 39, SmmuBench::kStall);
  b.map(kRoot, kVa + kPage, kPa);
  b.read_cell(0, kVa, 1us);
  const Answer& no_slot = b.read_cell(0, kVa + kPage, 3us);
  b.run_until(5us);
  CHECK(no_slot.at[0] == sim::kNever);
  clear(b, 0);
  resume(b, 0, reg::resume::kTerminate);
  b.run_until(8us);
  CHECK(no_slot.at[0] == b.walk_done(5us + b.to_tbu() - b.hit(), 1) + b.ddr.latency);
}

TEST_CASE("a platform may let the stall itself hold the line", "[CB.FSR]") {
  smmu::SmmuConfig config;
  config.stall_holds_interrupt = true;
  SmmuBench b(config);
  b.set_up_bank(0, 0, kRoot, 39, SmmuBench::kStall);
  b.read_cell(0, kVa, 1us);
  b.run_until(3us);
  clear(b, 0);
  CHECK(b.line.high());
  resume(b, 0, reg::resume::kTerminate);
  CHECK_FALSE(b.line.high());
}
