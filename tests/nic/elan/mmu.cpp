// SPDX-License-Identifier: Apache-2.0
// The NIC's own MMU: what it lets through and when, and what becomes of a train whose entry changes while it arrives.
#include "models/nic/elan/mmu.hpp"

#include <catch2/catch.hpp>

#include "tests/support/memory_master.hpp"
#include "tests/support/node.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace std::chrono_literals;
using elan::Mmu;
using sim::Time;
using sim::TimeSequence;

namespace {

constexpr std::uint64_t kVa = 0x40'0000;
constexpr std::uint64_t kFrame = 0x9'0000;
constexpr std::uint32_t kPdid = 5;

// Answers each cell `kLatency` after it has come, and remembers what came.
class Port : public sc_core::sc_module {
 public:
  static constexpr Time kLatency = 100ns;
  struct Seen {
    std::uint64_t address;
    std::uint64_t epoch;
    TimeSequence times;
    tlm::tlm_generic_payload* payload;
  };
  sim::TargetSocket<Port> in{"in"};
  std::vector<Seen> seen;
  explicit Port(sc_core::sc_module_name name) : sc_module(name) { in.register_nb_transport_fw(this, &Port::comes); }

 private:
  tlm::tlm_sync_enum comes(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time&) {
    const sim::Train& train = sim::train_of(payload);
    const auto known = std::ranges::find(seen, &payload, &Seen::payload);
    if (known != seen.end()) {
      known->times = train.times;
      return tlm::TLM_ACCEPTED;
    }
    seen.push_back(
        {payload.get_address(), sim::extension<soc::AxiAttributes>(payload).translation_epoch, train.times, &payload});
    sim::send_back(in, payload, sim::Answers{std::get<sim::Cells>(message).from, train.times.shifted(kLatency)});
    return tlm::TLM_ACCEPTED;
  }
};

struct Bench {
  explicit Bench(const elan::ElanConfig& wanted = {}) : config(wanted) {
    reader.socket.bind(mmu.reads);
    writer.socket.bind(mmu.writes);
    mmu.reads_out.bind(reads.in);
    mmu.writes_out.bind(writes.in);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  Time lookup() const { return config.clock.cycles(config.mmu_lookup); }
  Time refusal() const { return config.clock.cycles(config.mmu_lookup + config.mmu_refusal); }

  Node node;
  elan::ElanConfig config;
  Mmu mmu{"mmu", config, node.context};
  MemoryMaster reader{"reader", node.context};
  MemoryMaster writer{"writer", node.context};
  Port reads{"reads"};
  Port writes{"writes"};
};

// The master says whose an access is.
constexpr std::uint64_t kEpoch = 7;

}  // namespace

TEST_CASE("an entry leads to its frame after the lookup, and without one there is an error, later by the refusal") {
  Bench b;
  REQUIRE(b.mmu.load(0, kVa, {kFrame, false, false, kEpoch}));
  const TimeSequence times = TimeSequence::regular(1us, 50ns, 4);
  const auto& read = b.reader.read(kVa + 256, times, 256);
  const auto& write = b.writer.write(kVa + 256, times, 256, sim::Content::pattern(1, 0, 1024));
  const auto& absent = b.reader.read(kVa + 4096, times, 256);
  sc_core::sc_start();
  REQUIRE(b.reads.seen.size() == 1);
  CHECK(b.reads.seen[0].address == kFrame + 256);
  CHECK(b.reads.seen[0].epoch == kEpoch);
  CHECK(b.reads.seen[0].times == times.shifted(b.lookup()));
  CHECK(read.status == tlm::TLM_OK_RESPONSE);
  CHECK(read.responses == times.shifted(b.lookup() + Port::kLatency));
  CHECK(write.status == tlm::TLM_ADDRESS_ERROR_RESPONSE);  // it must not be written
  CHECK(write.responses == times.shifted(b.refusal()));
  CHECK(absent.status == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(b.writes.seen.empty());
  CHECK(b.node.counted("elan.translations") == 4);
  CHECK(b.node.counted("elan.refusals") == 8);
}

TEST_CASE("a block of 2 MiB leads to each of its pages, and goes whole") {
  Bench b;
  constexpr std::uint64_t kBlock = 0x20'0000;
  REQUIRE(b.mmu.load(0, kBlock, {0x60'0000, true, true, kEpoch}));
  CHECK(b.mmu.find(0, kBlock + 0x5000)->frame == 0x60'0000);
  b.writer.write(kBlock + 0x5000, TimeSequence::single(1us), 256, sim::Content::pattern(1, 0, 256));
  sc_core::sc_start();
  REQUIRE(b.writes.seen.size() == 1);
  CHECK(b.writes.seen[0].address == 0x60'5000);
  b.mmu.invalidate(0, kBlock + 0x7000);
  CHECK_FALSE(b.mmu.find(0, kBlock + 0x5000));
}

namespace {

// An entry goes when four of eight cells have arrived, and another one comes when six have.
void change_in_mid_train(bool comes_again) {
  Bench b;
  REQUIRE(b.mmu.load(0, kVa, {kFrame, true, false, kEpoch}));
  const TimeSequence times = TimeSequence::regular(1us, 100ns, 8);
  const auto& write = b.writer.write(kVa, times, 256, sim::Content::pattern(1, 0, 2048));
  b.node.loop.run(1us + 350ns);
  b.mmu.invalidate(0, kVa);
  if (comes_again) {
    b.node.loop.run(1us + 550ns);
    REQUIRE(b.mmu.load(0, kVa, {kFrame + 0x1000, true, false, kEpoch + 1}));
  }
  sc_core::sc_start();
  CHECK(b.writes.seen[0].times.size() == 4);
  CHECK(write.responses == times.slice(0, 4).shifted(b.lookup() + Port::kLatency));
  CHECK(write.status == tlm::TLM_OK_RESPONSE);
  REQUIRE(write.rest != nullptr);
  CHECK(write.rest->status == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(write.rest->responses.size() == (comes_again ? 2 : 4));
  if (comes_again) {
    REQUIRE(b.writes.seen.size() == 2);
    CHECK(b.writes.seen[1].address == kFrame + 0x1000 + 6 * 256);
    CHECK(b.writes.seen[1].epoch == kEpoch + 1);
  }
  CHECK(b.node.counted("elan.translations") == (comes_again ? 6 : 4));
  CHECK(b.node.counted("elan.refusals") == (comes_again ? 2 : 4));
}

// Two of four cells have been translated when their entry goes.
void drain_in_mid_train(bool waits) {
  elan::ElanConfig config;
  config.waits_for_accesses = waits;
  Bench b(config);
  REQUIRE(b.mmu.load(0, kVa, {kFrame, true, false, kEpoch}));
  b.writer.write(kVa, TimeSequence::regular(1us, 100ns, 4), 256, sim::Content::pattern(1, 0, 1024));
  b.node.loop.run(1us + 150ns);
  b.mmu.invalidate(0, kVa);
  b.mmu.drain();
  CHECK(b.mmu.drained() != waits);
  const Time last = 1us + 100ns + b.lookup() + Port::kLatency;
  b.node.loop.run(last - Time{1});
  CHECK(b.mmu.drained() != waits);
  b.node.loop.run(last);
  CHECK(b.mmu.drained());
}

}  // namespace

TEST_CASE("cells that arrive after their entry has gone are refused, those before are not") {
  change_in_mid_train(false);
}
TEST_CASE("cells that arrive when there is another entry go to its frame") { change_in_mid_train(true); }

TEST_CASE("a drain ends when what was translated before it is answered, to the picosecond") {
  drain_in_mid_train(true);
}
TEST_CASE("a drain that waits for nothing is over at once (a mutant)") { drain_in_mid_train(false); }

TEST_CASE("a table takes so many entries, of all processes, and a process's go together") {
  elan::ElanConfig config;
  config.table_entries = 3;
  Bench b(config);
  const Mmu::Entry entry{kFrame, true, false, kEpoch};
  CHECK(b.mmu.load(kPdid, kVa, entry));
  CHECK(b.mmu.load(kPdid, kVa + 4096, entry));
  CHECK(b.mmu.load(kPdid + 1, kVa, entry));
  CHECK_FALSE(b.mmu.load(kPdid + 1, kVa + 4096, entry));
  CHECK(b.mmu.load(kPdid, kVa, {kFrame + 4096, false, false, kEpoch}));  // in place of what was there
  CHECK(b.mmu.find(kPdid, kVa)->frame == kFrame + 4096);
  b.mmu.invalidate_all(kPdid);
  CHECK_FALSE(b.mmu.find(kPdid, kVa));
  CHECK(b.mmu.find(kPdid + 1, kVa));
  CHECK(b.mmu.load(kPdid + 1, kVa + 4096, entry));
  CHECK(b.node.counted("elan.invalidations") == 2);
}
