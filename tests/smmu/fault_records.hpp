// SPDX-License-Identifier: Apache-2.0
// What the tests of faults have in common: a context at kRoot, its settings, and what a bank records.
#pragma once

#include <ostream>

#include "tests/support/smmu_bench.hpp"

namespace faultline::test {

inline constexpr std::uint64_t kRoot = 0x10000;
inline constexpr std::uint64_t kVa = 0x12'3456'7000;
inline constexpr std::uint64_t kPa = 0x4000'0000;
inline constexpr std::uint64_t kPage = sim::kPageBytes;
inline constexpr std::uint32_t kTF = reg::fsr::kFormatAArch64 | reg::fsr::kTF;
inline constexpr std::uint32_t kHupcfOff = SmmuBench::kTerminate & ~reg::sctlr::kHUPCF;
inline constexpr std::uint32_t kStallHupcfOff = SmmuBench::kStall & ~reg::sctlr::kHUPCF;

struct Record {
  std::uint64_t fsr, far, fsynr0, cbfrsynra;
  bool operator==(const Record&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Record& r) {
  return out << std::hex << r.fsr << ' ' << r.far << ' ' << r.fsynr0 << ' ' << r.cbfrsynra;
}
inline Record record_of(SmmuBench& b, unsigned bank) {
  return {b.read(b.cb(bank, reg::cb::kFSR)), b.read(b.cb(bank, reg::cb::kFAR), 8), b.read(b.cb(bank, reg::cb::kFSYNR0)),
          b.read(reg::cbfrsynra(bank))};
}
inline void clear(SmmuBench& b, unsigned bank) {
  b.write(b.cb(bank, reg::cb::kFSR), b.read(b.cb(bank, reg::cb::kFSR)));
}
inline void resume(SmmuBench& b, unsigned bank, std::uint32_t how) { b.write(b.cb(bank, reg::cb::kRESUME), how); }

}  // namespace faultline::test
