// SPDX-License-Identifier: Apache-2.0
// The register file: identification, stream mapping, global faults, what is only stored, and the
// compliance table in models/smmu/README.md, which must say all this.
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/support/smmu_bench.hpp"
#include "tests/support/source_tree.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr std::uint64_t kRoot = 0x10000;
constexpr std::uint64_t kVa = 0x12'3456'7000;
constexpr std::uint64_t kPa = 0x4000'0000;

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  REQUIRE(in);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("it identifies itself as ZynqMP's", "[GR.IDR0][GR.IDR1][GR.IDR2][GR.IDR7]") {
  SmmuBench b;
  CHECK(b.read(reg::kIDR0) == 0xfc013e30);
  CHECK(b.read(reg::kIDR1) == 0x30000f10);
  CHECK(b.read(reg::kIDR2) == 0x5555);
  CHECK(b.read(reg::kIDR7) == 0x21);
  CHECK(b.read(reg::kIDR0, 8) == 0x30000f10'fc013e30);
  smmu::SmmuConfig config;
  config.context_banks = 4;
  config.stream_match_groups = 8;
  SmmuBench small(config, 16, "small_");
  CHECK(small.read(reg::kIDR0) == 0xfc013e08);
  CHECK(small.read(reg::kIDR1) == 0x30000f04);
}

TEST_CASE("out of reset everything bypasses and banks have HUPCF", "[GR.SCR0][CB.SCTLR]") {
  SmmuBench b;
  CHECK(b.read(reg::kSCR0) == 0x00200001);
  CHECK(b.read(b.cb(15, reg::cb::kSCTLR)) == 0x100);
  CHECK(b.read(b.cb(15, reg::cb::kACTLR)) == 0x3);
  CHECK(b.read(reg::kSACR) == 0x0400001c);
  CHECK(b.read(reg::cbfrsynra(15)) == 0);
  const Answer& answer = b.write_cell(2, 0x1000, 1us, 0x3ff);
  b.run_until(3us);
  CHECK(answer.at[0] == 1us + b.hit() + b.ddr.latency);
  CHECK(b.ddr.seen[0].address == 0x1000);
  CHECK(b.ddr.seen[0].epoch == soc::AxiAttributes::kUntranslated);
  CHECK(b.count("bypassed") == 1);
}

TEST_CASE("streams match by identity, mask and validity", "[GR.SMR0][GR.S2CR0][GR.SCR0]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot);
  b.map(kRoot, kVa, kPa);
  // Group 40: HPC0's 64 master ids of TBU 0 to bank 0.
  b.write(reg::smr(0), 0);
  b.write(reg::smr(40), reg::smr_field::kValid | 0x3fu << 16 | 0x200);
  b.write(reg::s2cr(40), reg::s2cr_field::kTypeTranslate | 0);
  CHECK(b.read(reg::smr(40)) == (reg::smr_field::kValid | 0x3fu << 16 | 0x200));
  const Answer& inside = b.read_cell(0, kVa, 1us, 0x23f);
  const Answer& other_master = b.read_cell(0, kVa, 3us, 0x240);
  const Answer& other_tbu = b.read_cell(3, kVa, 5us, 0x200);
  b.run_until(7us);
  CHECK(inside.status == tlm::TLM_OK_RESPONSE);
  CHECK(b.ddr.seen.at(0).address == kPa);
  CHECK(other_master.status == tlm::TLM_GENERIC_ERROR_RESPONSE);
  CHECK(other_tbu.status == tlm::TLM_GENERIC_ERROR_RESPONSE);
  // Without the valid bit the group matches nothing; USFCFG = 0 lets strangers bypass.
  b.write(reg::smr(40), 0x3fu << 16 | 0x200);
  b.write(reg::kSCR0, 0);
  b.read_cell(0, 0x3000, 7us, 0x200);
  b.run_until(9us);
  CHECK(b.ddr.seen.back().address == 0x3000);
  // S2CR may say bypass, too.
  b.write(reg::smr(40), reg::smr_field::kValid | 0x200);
  b.write(reg::s2cr(40), reg::s2cr_field::kTypeBypass);
  b.write(reg::kSCR0, reg::scr0::kUSFCFG);
  b.read_cell(0, 0x4000, 9us, 0x200);
  b.run_until(11us);
  CHECK(b.ddr.seen.back().address == 0x4000);
}

TEST_CASE("global faults are recorded, reported and interrupt",
          "[GR.SGFSR][GR.SGFAR][GR.SGFSYNR0][GR.SGFSYNR1][GR.S2CR0][GR.CBAR0][GR.CBA2R0]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot);
  const auto clear = [&] {
    b.write(reg::kSGFSR, b.read(reg::kSGFSR));
    CHECK(b.read(reg::kSGFSR) == 0);
    CHECK_FALSE(b.line.high());
  };
  const auto expect = [&](std::uint32_t bit) {
    const Time in = b.context.now();
    const Answer& answer = b.write_cell(3, kVa + 0x80, in, 0);
    b.run(1us);
    CHECK(answer.at[0] == in + b.hit() + b.termination());
    CHECK(answer.status == tlm::TLM_GENERIC_ERROR_RESPONSE);
    CHECK(b.read(reg::kSGFSR) == bit);
    CHECK(b.read(reg::kSGFAR, 8) == kVa + 0x80);
    CHECK(b.read(reg::kSGFSYNR0) == reg::sgfsynr0::kWNR);
    CHECK(b.read(reg::kSGFSYNR1) == smmu::stream_id(3, 0));
    CHECK(b.line.high());
    clear();
  };
  b.write(reg::smr(1), reg::smr_field::kValid | smmu::stream_id(3, 0));
  expect(reg::sgfsr::kSMCF);
  b.write(reg::smr(1), 0);
  b.write(reg::s2cr(0), reg::s2cr_field::kTypeFault);
  expect(reg::sgfsr::kICF);
  b.write(reg::s2cr(0), 16);
  expect(reg::sgfsr::kUCBF);
  b.write(reg::s2cr(0), 0);
  b.write(reg::cbar(0), 0);  // stage 2
  expect(reg::sgfsr::kICF);
  b.write(reg::cbar(0), reg::cbar_field::kTypeStage1);
  b.write(reg::cba2r(0), 0);  // AArch32 tables
  expect(reg::sgfsr::kICF);
  b.write(reg::smr(0), 0);
  expect(reg::sgfsr::kUSF);

  // Two faults: MULTI; GFIE and GFRE gate the line and the error.
  b.write(reg::kSCR0, reg::scr0::kUSFCFG);
  const Answer& quiet = b.read_cell(3, kVa, b.context.now());
  b.read_cell(3, kVa + 0x100, b.context.now() + 1ns);
  b.run(1us);
  CHECK(quiet.status == tlm::TLM_OK_RESPONSE);
  CHECK(quiet.content == sim::Content::zeros(256));
  CHECK(b.read(reg::kSGFSR) == (reg::sgfsr::kUSF | reg::sgfsr::kMULTI));
  CHECK(b.read(reg::kSGFAR, 8) == kVa);
  CHECK_FALSE(b.line.high());
  b.write(reg::kSCR0, reg::scr0::kUSFCFG | reg::scr0::kGFIE);
  CHECK(b.line.high());
  b.write(reg::kSCR0, reg::scr0::kUSFCFG);
  clear();
  CHECK(b.count("global_faults") == 8);
}

TEST_CASE("what TCR cannot ask for faults at level 0", "[CB.TCR]") {
  SmmuBench b;
  b.set_up_bank(0, 0, kRoot);
  b.map(kRoot, kVa, kPa);
  for (const std::uint32_t tcr : {25u | reg::tcr::kEPD0, 25u | 1u << 14, 40u, 15u}) {
    b.write(b.cb(0, reg::cb::kTCR), tcr);
    b.read_cell(0, kVa, b.context.now());
    b.run(2us);
    CHECK(b.read(b.cb(0, reg::cb::kFSR)) == (reg::fsr::kTF | reg::fsr::kFormatAArch64));
    CHECK(b.read(b.cb(0, reg::cb::kFSYNR0)) == 0);
    b.write(b.cb(0, reg::cb::kFSR), UINT32_MAX);
  }
  CHECK(b.tables.seen.empty());
}

TEST_CASE("registers that are only stored read back", "[stored]") {
  SmmuBench b;
  for (const auto at : {reg::kSCR1, reg::kSCR2, reg::kSACR}) {
    b.write(at, 0x5a5a0000 + static_cast<std::uint32_t>(at));
    CHECK(b.read(at) == 0x5a5a0000 + at);
  }
  for (const auto at : {reg::cb::kACTLR, reg::cb::kTCR2, reg::cb::kCONTEXTIDR, reg::cb::kMAIR0, reg::cb::kMAIR1}) {
    b.write(b.cb(2, at), 0xa5a50000 + static_cast<std::uint32_t>(at));
    CHECK(b.read(b.cb(2, at)) == 0xa5a50000 + at);
    CHECK(b.read(b.cb(3, at)) != 0xa5a50000 + at);
  }
  b.write(b.cb(2, reg::cb::kTTBR1), 0x1122'3344'5566'7788, 8);
  CHECK(b.read(b.cb(2, reg::cb::kTTBR1), 8) == 0x1122'3344'5566'7788);
  b.write(b.cb(2, reg::cb::kTTBR0) + 4, 0x0001'0000);
  CHECK(b.read(b.cb(2, reg::cb::kTTBR0), 8) == 0x0001'0000'0000'0000);
}

TEST_CASE("accesses that mean nothing are answered and counted", "[window]") {
  SmmuBench b;
  for (const auto at : {reg::kSGFSRRESTORE, reg::kCBAR0 + 4 * 16, reg::cb::kPAR + reg::context_bank(0)}) {
    b.write(at, 0xffffffff);
    CHECK(b.read(at) == 0);
  }
  CHECK(b.count("register_errors") == 6);
  std::uint64_t value = 0;
  CHECK(b.access(tlm::TLM_READ_COMMAND, reg::kWindowBytes, value, 4) == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(b.access(tlm::TLM_READ_COMMAND, 2, value, 4) == tlm::TLM_BURST_ERROR_RESPONSE);
  CHECK(b.access(tlm::TLM_READ_COMMAND, 0, value, 2) == tlm::TLM_BURST_ERROR_RESPONSE);
  CHECK(b.access(tlm::TLM_WRITE_COMMAND, b.cb(0, reg::cb::kTLBIVA), value, 4) == tlm::TLM_BURST_ERROR_RESPONSE);
  CHECK(b.count("tlb_invalidations") == 0);
}

TEST_CASE("a bank that does not exist is written to no purpose, which is counted", "[window]") {
  smmu::SmmuConfig config;
  config.context_banks = 4;
  SmmuBench b(config);
  b.write(b.cb(3, reg::cb::kSCTLR), reg::sctlr::kM);
  CHECK(b.count("register_errors") == 0);
  b.write(b.cb(4, reg::cb::kSCTLR), reg::sctlr::kM);
  CHECK(b.count("register_errors") == 1);
}

TEST_CASE("there are no more banks than the window holds, and the last one translates", "[window][parameters]") {
  smmu::SmmuConfig config;
  sim::ParameterTable table;
  config.declare(table);
  const auto set = [&](std::int64_t banks) { table.find("smmu.context_banks")->set(banks); };
  CHECK(reg::context_bank(reg::kMaxContextBanks) == reg::kWindowBytes);
  CHECK_THROWS_AS(set(reg::kMaxContextBanks + 1), sim::BadParameterValue);
  set(reg::kMaxContextBanks);
  SmmuBench b(config);
  b.set_up_bank(reg::kMaxContextBanks - 1, 0, kRoot);
  b.map(kRoot, kVa, kPa);
  b.read_cell(0, kVa, 1us);
  b.run_until(3us);
  REQUIRE(b.ddr.seen.size() == 1);
  CHECK(b.ddr.seen[0].address == kPa);
  CHECK(b.count("register_errors") == 0);
}

TEST_CASE("every parameter is declared with a source", "[parameters]") {
  smmu::SmmuConfig config;
  sim::ParameterTable table;
  config.declare(table);
  CHECK(table.find("smmu.tlb_sync") != nullptr);
  CHECK(table.find("smmu.walk_cache_entries_level2") != nullptr);
  CHECK(table.all().size() == 26);
  // "assumed" alone tells nobody what else would be plausible.
  const std::regex bare(R"(\s*(assumed\W*)?)");
  for (const sim::Parameter& parameter : table.all()) {
    CAPTURE(parameter.name);
    CHECK_FALSE(std::regex_match(parameter.doc.source, bare));
  }
}

TEST_CASE("the compliance table is complete, and tests name what it calls functional", "[readme]") {
  const std::filesystem::path here = test::source_tree() / "tests/smmu";
  const std::filesystem::path model = test::source_tree() / "models/smmu";
  std::string tests;
  for (const auto& entry : std::filesystem::directory_iterator(here)) tests += text_of(entry.path());

  // | [CB.FSR] | 0x058 | functional | RW | ... |
  struct Row {
    std::uint64_t offset;
    std::string status;
    std::string access;
  };
  std::map<std::string, Row> rows;
  const std::string readme = text_of(model / "README.md");
  const std::regex line(
      R"(\| \[([A-Z0-9.]+)\] \| (0x[0-9a-f]+) \| (functional|stored only|missing) \| (RW|R|W|none) \|)");
  for (std::sregex_iterator i(readme.begin(), readme.end(), line), end; i != end; ++i) {
    CHECK(
        rows.emplace((*i)[1].str(), Row{std::stoull((*i)[2].str(), nullptr, 16), (*i)[3].str(), (*i)[4].str()}).second);
  }
  SmmuBench b;
  for (const auto& [id, row] : rows) {
    CAPTURE(id);
    if (row.status == "functional") CHECK(tests.find("[" + id + "]") != std::string::npos);
    CHECK((row.status == "missing") == (row.access == "none"));
    // An access counts as an error just when the table does not name it.
    const std::uint64_t at = id.starts_with("CB.") ? b.cb(1, row.offset) : row.offset;
    const bool by_address = id.starts_with("CB.TLBIVA");
    const std::uint64_t before = b.count("register_errors");
    b.read(at);
    const std::uint64_t between = b.count("register_errors");
    b.write(at, 0, by_address ? 8 : 4);
    CHECK((between == before) == row.access.starts_with("R"));
    CHECK((b.count("register_errors") == between) == row.access.ends_with("W"));
  }

  const std::string constants = text_of(model / "registers.hpp");
  const std::size_t banks = constants.find("namespace cb {");
  const std::regex constant(R"(constexpr Offset k([A-Z0-9]+) = (0x[0-9a-f]+);)");
  std::size_t found = 0;
  for (std::sregex_iterator i(constants.begin(), constants.end(), constant), end; i != end; ++i, ++found) {
    const bool in_bank = static_cast<std::size_t>(i->position()) > banks;
    const std::string id = (in_bank ? "CB." : "GR.") + (*i)[1].str();
    CAPTURE(id);
    REQUIRE(rows.contains(id));
    CHECK(rows.at(id).offset == std::stoull((*i)[2].str(), nullptr, 16));
  }
  CHECK(found == rows.size());
  CHECK(found > 40);
}
