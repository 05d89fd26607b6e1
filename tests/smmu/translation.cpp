// SPDX-License-Identifier: Apache-2.0
// What a translation costs: TLB hits, walks, merged misses, the bounds on misses, hit under miss. Every
// instant is computed from the configuration and must be met to the picosecond.
#include "tests/support/smmu_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr std::uint64_t kRoot = 0x10000;
constexpr std::uint64_t kVa = 0x12'3456'7000;  // within 39 bits
constexpr std::uint64_t kPa = 0x4000'0000;
constexpr std::uint64_t kPage = sim::kPageBytes;

TimeSequence back_to_back(Time first, Time gap, std::uint32_t cells = 16) {
  return TimeSequence::regular(first, gap, cells);
}

// Pages of `kVa` on, at `kPa` on.
void map_pages(SmmuBench& b, unsigned pages) {
  for (unsigned n = 0; n < pages; ++n) b.map(kRoot, kVa + n * kPage, kPa + n * kPage);
}

}  // namespace

TEST_CASE("a cold page costs a walk, then the micro-TLB answers", "[CB.TTBR0][CB.TCR]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot);
  map_pages(b, 1);
  const Answer& cold = b.read_cell(0, kVa + 0x80, 1us);
  const Answer& warm = b.read_cell(0, kVa + 0x300, 3us);
  b.run_until(5us);

  REQUIRE(b.ddr.seen.size() == 2);
  CHECK(b.ddr.seen[0].address == kPa + 0x80);
  CHECK(b.ddr.seen[0].times == TimeSequence::single(b.walk_done(1us, 3)));
  CHECK(b.ddr.seen[1].address == kPa + 0x300);
  CHECK(b.ddr.seen[1].times == TimeSequence::single(3us + b.hit()));
  CHECK(cold.at[0] == b.walk_done(1us, 3) + b.ddr.latency);
  CHECK(warm.at[0] == 3us + b.hit() + b.ddr.latency);
  CHECK(cold.status == tlm::TLM_OK_RESPONSE);
  CHECK(b.ddr.seen[0].epoch == b.frames.epoch());

  REQUIRE(b.tables.seen.size() == 3);
  const Time first_read = b.walk_done(1us, 0) - b.to_tbu();
  for (unsigned n = 0; n < 3; ++n) {
    CHECK(b.tables.seen[n].address == b.descriptor_at(kRoot, kVa, n + 1));
    CHECK(b.tables.seen[n].times == TimeSequence::single(first_read + n * b.table_read()));
  }
  CHECK(b.count("walks") == 1);
  CHECK(b.count("walk_reads") == 3);
  CHECK(b.count("micro_tlb_misses") == 1);
  CHECK(b.count("micro_tlb_hits") == 1);
  CHECK(b.count("translations") == 2);
  CHECK(b.count("walk_time") == static_cast<std::uint64_t>((b.cycles(4) + 3 * b.table_read()).count()));
}

TEST_CASE("48-bit addresses cost one descriptor more", "[CB.TCR]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot, 48);
  const std::uint64_t va = 0xabcd'1234'5000;
  b.map(kRoot, va, kPa);
  const Answer& answer = b.read_cell(0, va, 1us);
  b.run_until(5us);
  CHECK(answer.at[0] == b.walk_done(1us, 4) + b.ddr.latency);
  CHECK(b.count("walk_reads") == 4);
}

TEST_CASE("the walk cache leaves the levels that it does not know") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot, 48);
  const std::uint64_t va = 0x1234'5678'9000;
  const auto shares_level = [&](unsigned level) { return va ^ smmu::level_bytes(level); };
  b.map(kRoot, va, kPa);
  for (unsigned level = 0; level <= 3; ++level) b.map(kRoot, shares_level(level), kPa + kPage);
  b.read_cell(0, va, 1us);
  // An address that differs at level n shares the tables above: n descriptors are known already.
  std::vector<Answer*> answers;
  for (unsigned level = 0; level <= 3; ++level) {
    answers.push_back(&b.read_cell(0, shares_level(level), Time{3us} + level * Time{3us}));
  }
  b.run_until(20us);
  for (unsigned level = 0; level <= 3; ++level) {
    CHECK(answers[level]->at[0] == b.walk_done(Time{3us} + level * Time{3us}, 4 - level) + b.ddr.latency);
  }
}

TEST_CASE("blocks of 2 MiB and 1 GiB end the walk early and fill one entry") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot);
  const std::uint64_t two_mib = 0x4020'0000;
  const std::uint64_t one_gib = 0x8000'0000;
  b.map(kRoot, two_mib, 0x6020'0000, SmmuBench::kUserPage, 2);
  b.map(kRoot, one_gib, 0x4000'0000, SmmuBench::kUserPage, 1);
  const Answer& mib_cold = b.read_cell(0, two_mib + 0x3000, 1us);
  const Answer& mib_warm = b.read_cell(0, two_mib + 0x1f'f000, 3us);
  const Answer& gib_cold = b.read_cell(0, one_gib + 0x1234'5000, 5us);
  const Answer& gib_warm = b.read_cell(0, one_gib + 0x3fff'f000, 7us);
  b.run_until(10us);
  CHECK(mib_cold.at[0] == b.walk_done(1us, 2) + b.ddr.latency);
  CHECK(mib_warm.at[0] == 3us + b.hit() + b.ddr.latency);
  CHECK(gib_cold.at[0] == b.walk_done(5us, 1) + b.ddr.latency);
  CHECK(gib_warm.at[0] == 7us + b.hit() + b.ddr.latency);
  CHECK(b.ddr.seen[0].address == 0x6020'3000);
  CHECK(b.ddr.seen[1].address == 0x603f'f000);
  CHECK(b.ddr.seen[2].address == 0x5234'5000);
  CHECK(b.ddr.seen[3].address == 0x7fff'f000);
  CHECK(b.count("walks") == 2);
}

TEST_CASE("another TBU finds the page in the macro TLB") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot);
  map_pages(b, 1);
  b.read_cell(0, kVa, 1us);
  const Answer& other = b.read_cell(3, kVa, 3us);
  b.run_until(5us);
  CHECK(other.at[0] == b.macro_done(3us) + b.ddr.latency);
  CHECK(b.count("macro_tlb_hits") == 1);
  CHECK(b.count("walks") == 1);
}

TEST_CASE("TLBs replace the least recently used entry and keep no more than they have") {
  smmu::SmmuConfig config;
  config.micro_tlb_entries_other = 2;
  SmmuBench b(config);
  b.set_up_bank(0, 0, kRoot);
  map_pages(b, 3);
  // TBU 1 has the small TLB: pages 0, 1, then 0 again, then 2, which replaces 1.
  for (const auto& [page, at] : {std::pair{0, 1}, {1, 3}, {0, 5}, {2, 7}})
    b.read_cell(1, kVa + page * kPage, Time{at * 1us});
  const Answer& kept = b.read_cell(1, kVa, 9us);
  const Answer& replaced = b.read_cell(1, kVa + kPage, 11us);
  b.run_until(13us);
  CHECK(kept.at[0] == 9us + b.hit() + b.ddr.latency);
  CHECK(replaced.at[0] == b.macro_done(11us) + b.ddr.latency);
}

TEST_CASE("an entry that does not allow an access has been used by it") {
  smmu::SmmuConfig config;
  config.micro_tlb_entries_other = 2;
  SmmuBench b(config);
  b.set_up_bank(0, 0, kRoot);
  map_pages(b, 3);
  b.map(kRoot, kVa, kPa, SmmuBench::kUserPage | smmu::descriptor::kReadOnly);
  b.read_cell(1, kVa, 1us);
  b.read_cell(1, kVa + kPage, 3us);
  b.send(1, false, kVa + kPage, TimeSequence::regular(4us, 50ns, 16));
  b.write_cell(1, kVa, 5us);             // refused, after all cells of that train
  b.read_cell(1, kVa + 2 * kPage, 7us);  // replaces page 1
  const Answer& kept = b.read_cell(1, kVa, 9us);
  b.run_until(11us);
  CHECK(kept.at[0] == 9us + b.hit() + b.ddr.latency);
}

TEST_CASE("misses to one page merge, within a TBU and between TBUs") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot);
  map_pages(b, 1);
  const Answer& first = b.read_cell(0, kVa, 1us);
  const Answer& second = b.read_cell(0, kVa + 0x100, 1us + 20ns);
  const Answer& write = b.write_cell(0, kVa + 0x200, 1us + 30ns);
  const Answer& other = b.read_cell(4, kVa + 0x300, 1us + 40ns);
  b.run_until(5us);
  const Time done = b.walk_done(1us, 3);
  for (const Answer* answer : {&first, &second, &write, &other}) CHECK(answer->at[0] == done + b.ddr.latency);
  CHECK(b.count("walks") == 1);
  CHECK(b.count("merged_misses") == 1);
  CHECK(b.count("micro_tlb_misses") == 3);
}

TEST_CASE("the ninth page to miss waits for one of the TBU's eight misses") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot);
  map_pages(b, 10);
  std::vector<Answer*> reads;
  for (unsigned n = 0; n < 9; ++n) reads.push_back(&b.read_cell(0, kVa + n * kPage, 1us + n * Time{1ns}));
  // Behind it: in order on its channel, although its page is pending.
  const Answer& behind = b.read_cell(0, kVa + 0x100, 1us + 10ns);
  // Another TBU has its own.
  const Answer& elsewhere = b.read_cell(3, kVa + 9 * kPage, 1us + 9ns);
  b.run_until(5us);
  for (unsigned n = 0; n < 8; ++n) CHECK(reads[n]->at[0] == b.walk_done(1us + n * Time{1ns}, 3) + b.ddr.latency);
  const Time freed = b.walk_done(1us, 3);
  // The lookup was done while it waited; the tables are known by now, the leaf is not.
  CHECK(reads[8]->at[0] == b.walk_done(freed - b.hit(), 1) + b.ddr.latency);
  CHECK(behind.at[0] == freed + b.ddr.latency);
  CHECK(elsewhere.at[0] == b.walk_done(1us + 9ns, 3) + b.ddr.latency);
}

TEST_CASE("walks beyond the TCU's slots queue there") {
  smmu::SmmuConfig config;
  config.walk_slots = 1;
  SmmuBench b(config);
  b.set_up_bank(0, 0, kRoot);
  map_pages(b, 2);
  b.read_cell(0, kVa, 1us);
  const Answer& second = b.read_cell(0, kVa + kPage, 1us);
  const Answer& same = b.read_cell(3, kVa + kPage, 1us + 5ns);
  b.run_until(5us);
  const Time end_of_first = b.walk_end(1us, 3);
  const Time done = end_of_first + b.cycles(4) + b.table_read() + b.to_tbu();
  CHECK(second.at[0] == done + b.ddr.latency);
  CHECK(same.at[0] == done + b.ddr.latency);
  CHECK(b.count("walks") == 2);
}

TEST_CASE("a walk whose answer is withdrawn waits for the one that takes its place") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot);
  b.map(kRoot, kVa, kPa);
  const Answer& answer = b.read_cell(0, kVa, 1us);
  b.run_until(b.walk_end(1us, 3) - Time{1});
  b.tables.withdraw_answer();
  b.run_until(3us);
  CHECK(b.ddr.seen.empty());
  b.tables.answer_again(4us);
  b.run_until(6us);
  CHECK(answer.at[0] == 4us + b.config.walk_read_path + b.to_tbu() + b.ddr.latency);
}

TEST_CASE("reads hit under a miss") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot);
  map_pages(b, 2);
  b.read_cell(0, kVa, 1us);
  const Answer& miss = b.read_cell(0, kVa + kPage, 3us);
  const Answer& hit = b.read_cell(0, kVa, 3us + 10ns);
  b.run_until(5us);
  CHECK(miss.at[0] == b.walk_done(3us, 1) + b.ddr.latency);
  CHECK(hit.at[0] == 3us + 10ns + b.hit() + b.ddr.latency);
}

TEST_CASE("writes hit under a miss while the buffer holds the missed beats") {
  SmmuBench b;  // 16 beats: one burst of 256 bytes
  b.set_up_bank(0, 0, kRoot);
  map_pages(b, 4);
  b.write_cell(0, kVa, 1us);
  const Answer& held = b.write_cell(0, kVa + kPage, 3us);
  const Answer& passes = b.write_cell(0, kVa, 3us + 10ns);
  const Answer& too_much = b.write_cell(0, kVa + 2 * kPage, 3us + 20ns);
  const Answer& waits = b.write_cell(0, kVa, 3us + 30ns);
  const Answer& waits_to_miss = b.write_cell(0, kVa + 3 * kPage, 3us + 40ns);
  const Answer& read = b.read_cell(0, kVa, 3us + 50ns);
  b.run_until(6us);
  CHECK(held.at[0] == b.walk_done(3us, 1) + b.ddr.latency);
  CHECK(passes.at[0] == 3us + 10ns + b.hit() + b.ddr.latency);
  // Its walk begins at once; what stands behind it moves when the first missed burst leaves the buffer.
  CHECK(too_much.at[0] == b.walk_done(3us + 20ns, 1) + b.ddr.latency);
  CHECK(waits.at[0] == b.walk_done(3us, 1) + b.ddr.latency);
  CHECK(waits_to_miss.at[0] == b.walk_done(b.walk_done(3us, 1) - b.hit(), 1) + b.ddr.latency);
  // The read channel is another one.
  CHECK(read.at[0] == 3us + 50ns + b.hit() + b.ddr.latency);
}

TEST_CASE("without a write buffer nothing passes a missed write") {
  smmu::SmmuConfig config;
  config.write_buffer_beats = 0;
  SmmuBench b(config);
  b.set_up_bank(0, 0, kRoot);
  map_pages(b, 2);
  b.write_cell(0, kVa, 1us);
  b.write_cell(0, kVa + kPage, 3us);
  const Answer& waits = b.write_cell(0, kVa, 3us + 10ns);
  b.run_until(5us);
  CHECK(waits.at[0] == b.walk_done(3us, 1) + b.ddr.latency);
}

TEST_CASE("cells that come during a miss wait for it, later ones do not") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot);
  map_pages(b, 1);
  const Time gap = Time{53'333};
  const Answer& train = b.send(0, false, kVa, back_to_back(1us, gap));
  b.run_until(5us);
  const Time done = b.walk_done(1us, 3);
  unsigned hits = 0;
  for (unsigned i = 0; i < 16; ++i) {
    const Time in = 1us + i * gap;
    CHECK(train.at[i] == std::max(in + b.hit(), done) + b.ddr.latency);
    hits += in >= done ? 1 : 0;
  }
  CHECK(b.ddr.seen.size() == 1);
  CHECK(b.count("micro_tlb_hits") == hits);
  CHECK(b.count("merged_misses") == 16 - hits - 1);
}

TEST_CASE("trains of one cell and of sixteen meet the same instants") {
  SmmuBench coarse({}, 16, "coarse_");
  SmmuBench fine({}, 1, "fine_");
  std::array<std::vector<Answer*>, 2> answers;
  std::array<SmmuBench*, 2> benches{&coarse, &fine};
  const Time gap = Time{106'667};
  for (unsigned n = 0; n < 2; ++n) {
    SmmuBench& b = *benches[n];
    b.set_up_bank(0, 0, kRoot);
    b.set_up_bank(1, 1, kRoot, 39, SmmuBench::kTerminate, 2);
    b.set_up_bank(2, 2, kRoot, 39, SmmuBench::kStall, 3);
    map_pages(b, 24);
    for (unsigned page = 0; page < 12; ++page) {
      // Twelve pages of reads and of writes, faster than the walks; then the reads once more, warm.
      answers[n].push_back(&b.send(0, false, kVa + page * kPage, back_to_back(1us + page * 160ns, 10ns)));
      answers[n].push_back(&b.send(3, true, kVa + (12 + page) * kPage, back_to_back(1us + page * 16 * gap, gap)));
      answers[n].push_back(&b.send(0, false, kVa + page * kPage, back_to_back(40us + page * 160ns, 10ns)));
    }
    // A fault that all cells meet, one terminated and one stalled until RESUME.
    answers[n].push_back(&b.send(0, true, kVa + 30 * kPage, back_to_back(60us, 1ns), 1));
    answers[n].push_back(&b.send(0, true, kVa + 31 * kPage, back_to_back(70us, 20ns), 2));
  }
  coarse.run_until(80us);
  for (SmmuBench* b : benches) {
    map_pages(*b, 32);
    b->write(SmmuBench::cb(2, reg::cb::kFSR), UINT32_MAX);
    b->write(SmmuBench::cb(2, reg::cb::kRESUME), reg::resume::kRetry);
  }
  coarse.run(20us);
  for (std::size_t i = 0; i < answers[0].size(); ++i) {
    CAPTURE(i);
    CHECK(answers[0][i]->at == answers[1][i]->at);
    CHECK(answers[0][i]->status == answers[1][i]->status);
    CHECK(answers[0][i]->at.back() < sim::kNever);
  }
  for (const char* counter : {"translations", "micro_tlb_hits", "micro_tlb_misses", "merged_misses", "walks",
                              "walk_reads", "translation_faults", "multi", "stalls", "terminated"}) {
    CAPTURE(counter);
    CHECK(coarse.count(counter) == fine.count(counter));
  }
}
