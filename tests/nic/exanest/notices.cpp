// SPDX-License-Identifier: Apache-2.0
// What a write tells the process at its target: when, how often, and what becomes of it when it cannot be told.
#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <map>
#include <set>
#include <tuple>

#include "models/nic/exanest/steps.hpp"
#include "models/nic/path/notice_record.hpp"
#include "models/nic/path/reassembly.hpp"
#include "tests/nic/exanest/prediction.hpp"

using namespace faultline;
using namespace faultline::test;
using exanest::EngineConfig;
using exanest::Notice;
using exanest::NoticeKind;
using exanest::NoticeRecord;
using network::PacketHeader;
using network::PacketKind;
namespace reg = exanest::reg;
namespace step = exanest::step;
using State = NoticeRecord::State;

namespace {

constexpr std::uint64_t kWords = 0x9200'0000;
constexpr std::uint64_t kQueue = 0x9300'0000;

// Node 1's process has words and an event queue.
void set_up(DmaBench& bench, std::uint64_t entries = 4) {
  bench.set_up();
  bench.privileged_write(1, reg::kChannelSelect, 0);
  bench.privileged_write(1, reg::kNoticeWords, kWords);
  bench.privileged_write(1, reg::kNoticeWordCount, 8);
  bench.privileged_write(1, reg::kEventQueue, kQueue);
  bench.privileged_write(1, reg::kEventEntries, entries);
}

DmaPost with_notice(NoticeKind kind, std::uint64_t index = 0, std::uint64_t length = 4096) {
  DmaPost post{kSource, kDestination, length};
  post.notice = kind;
  post.notice_index = index;
  return post;
}

std::uint64_t counter(DmaBench& bench, unsigned index = 0) {
  return bench.mmio[1]->read(reg::kEventCounter0 + 8 * index);
}

Notice notice(std::uint64_t number, std::uint64_t first_open, std::uint8_t channel = 0) {
  return {NoticeKind::counter, 0, channel, 1, number, first_open};
}

struct Line : cpu::InterruptSink, sc_core::sc_module {
  explicit Line(sc_core::sc_module_name name) : sc_module(name) {}
  void set_level(unsigned line, bool level) override {
    number = line;
    high = level;
    rises += level ? 1 : 0;
  }
  unsigned number = 0;
  bool high = false;
  int rises = 0;
};

}  // namespace

TEST_CASE("a notice survives being packed into a header") {
  CHECK(rc::check([] {
    const Notice sent{static_cast<NoticeKind>(*rc::gen::inRange(1, 4)),
                      *rc::gen::arbitrary<std::uint16_t>(),
                      *rc::gen::arbitrary<std::uint8_t>(),
                      *rc::gen::arbitrary<std::uint32_t>(),
                      *rc::gen::inRange<std::uint64_t>(100, std::uint64_t{1} << 55),
                      0};
    Notice whole = sent;
    whole.first_open = sent.number - *rc::gen::inRange<std::uint64_t>(0, exanest::kNoticeWindow);
    const auto [first, second] = exanest::pack(whole);
    const Notice got = exanest::unpack_notice(first, second);
    RC_ASSERT(got.kind == whole.kind && got.index == whole.index && got.channel == whole.channel);
    RC_ASSERT(got.blocks == whole.blocks && got.number == whole.number && got.first_open == whole.first_open);
  }));
  CHECK_FALSE(exanest::unpack_notice(0, 0));
}

TEST_CASE("the record knows what was given until the source has ended it, and refuses it from then on") {
  NoticeRecord record(true);
  record.hear(3, notice(1, 1));
  CHECK(record.state(3, notice(1, 1)) == State::open);
  record.give(3, notice(1, 1));
  CHECK(record.state(3, notice(1, 1)) == State::given);
  CHECK(record.state(4, notice(1, 1)) == State::open);
  CHECK(record.state(3, notice(1, 1, 1)) == State::open);
  record.hear(3, notice(2, 2));
  CHECK(record.state(3, notice(1, 1)) == State::late);
  CHECK(record.state(3, notice(2, 2)) == State::open);
  // What was given up at the source, and never given, is late, too.
  record.hear(3, notice(70, 7));
  CHECK(record.state(3, notice(6, 2)) == State::late);
  CHECK(record.state(3, notice(7, 7)) == State::open);
  record.give(3, notice(70, 7));
  CHECK(record.state(3, notice(70, 7)) == State::given);
  // Old news changes nothing.
  record.hear(3, notice(70, 2));
  CHECK(record.state(3, notice(70, 2)) == State::given);
  CHECK(record.channels() == 1);
}

TEST_CASE("the record agrees with one that forgets nothing, whatever the order") {
  CHECK(rc::check([] {
    NoticeRecord record(true);
    std::set<std::uint64_t> given;
    std::uint64_t first_open = 1;
    for (int i = 0; i < 200; ++i) {
      first_open += *rc::gen::inRange<std::uint64_t>(0, 3);
      const std::uint64_t number = first_open + *rc::gen::inRange<std::uint64_t>(0, exanest::kNoticeWindow);
      record.hear(1, notice(number, first_open));
      const State expected = given.contains(number) ? State::given : State::open;
      RC_ASSERT(record.state(1, notice(number, first_open)) == expected);
      if (expected == State::open && *rc::gen::arbitrary<bool>()) {
        record.give(1, notice(number, first_open));
        given.insert(number);
      }
      const std::uint64_t late = *rc::gen::inRange<std::uint64_t>(0, first_open);
      RC_ASSERT(record.state(1, notice(late, late)) == State::late);
    }
  }));
}

TEST_CASE("a counter goes one on when all blocks are placed, whichever comes last") {
  DmaBench bench;
  set_up(bench);
  bench.resolve_after = 30us;
  bench.memory[0]->fill(kSource, 65536, 1);
  bench.memory[1]->missing = {kDestination / sim::kPageBytes + 5};  // in the second block of four
  const auto id = bench.post(0, with_notice(NoticeKind::counter, 3, 65536));
  REQUIRE(bench.run_to_notification(0));
  CHECK(arrived_whole(bench, 65536));
  CHECK(counter(bench, 3) == 1);
  CHECK(counter(bench, 2) == 0);
  const Time notified = bench.at(step::kTargetNotified, {id, 0, 0});
  const Time placed = bench.at(step::kBlockPlaced, {id, 1, 1});
  const Time accepted = bench.at(step::kBlockAccepted, {id, 1, 1});
  CHECK(accepted < placed);
  CHECK(notified == placed);
  for (std::uint32_t block : {0u, 2u, 3u}) CHECK(bench.at(step::kBlockPlaced, {id, block, 0}) < notified);
  CHECK(notified < bench.at(step::kNotified, {id, 0, 0}));
}

TEST_CASE("a word gets another value with each notice, and the event queue says which transfer it was") {
  DmaBench bench;
  set_up(bench);
  std::set<std::uint64_t> values{0};
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto id = bench.post(0, with_notice(NoticeKind::word, 5));
    REQUIRE(bench.run_to_notification(0));
    CHECK(values.insert(bench.memory[1]->word(kWords + 5 * reg::kNoticeWordBytes)).second);
    CHECK(bench.at(step::kTargetNotified, {id, 0, 0}) > bench.at(step::kBlockPlaced, {id, 0, 0}));
  }
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto id = bench.post(0, with_notice(NoticeKind::queue, 0xab0 + i));
    REQUIRE(bench.run_to_notification(0));
    CHECK(bench.memory[1]->word(kQueue + i * reg::kEventBytes) == id);
    CHECK(bench.memory[1]->word(kQueue + i * reg::kEventBytes + 8) == ((0xab0 + i) << reg::kEventIndexShift | (i + 1)));
  }
}

TEST_CASE("the next post carries no notice, and a read cannot carry one") {
  DmaBench bench;
  set_up(bench);
  bench.post(0, with_notice(NoticeKind::counter));
  REQUIRE(bench.run_to_notification(0));
  bench.post(0, {kSource, kDestination, 4096});
  REQUIRE(bench.run_to_notification(0));
  CHECK(counter(bench) == 1);
  DmaPost read = with_notice(NoticeKind::counter);
  read.command = reg::kCommandRead;
  CHECK(bench.post(0, read) == 0);
  CHECK(bench.post(0, with_notice(static_cast<NoticeKind>(4))) == 0);
  CHECK(bench.counted(0, "dma.refused_posts") == 2);
}

TEST_CASE("an event queue that is full takes the notice when its block is sent again") {
  EngineConfig config;
  config.block_timeout = 50us;
  DmaBench bench(config);
  set_up(bench, 2);
  for (int i = 0; i < 2; ++i) {
    bench.post(0, with_notice(NoticeKind::queue));
    REQUIRE(bench.run_to_notification(0));
  }
  const auto id = bench.post(0, with_notice(NoticeKind::queue));
  bench.run(120us);
  CHECK(bench.at(step::kBlockPlaced, {id, 0, 0}) != sim::kNever);
  CHECK(bench.at(step::kTargetNotified, {id, 0, 0}) == sim::kNever);
  CHECK(bench.counted(1, "dma.notices_refused") == 3);
  CHECK(bench.counted(0, "dma.acknowledgements") == 2);
  bench.mmio[1]->write(reg::kEventTaken, 1);
  REQUIRE(bench.run_to_notification(0));
  CHECK(bench.memory[1]->word(kQueue) == id);
  CHECK(bench.counted(1, "dma.notices") == 3);
}

TEST_CASE("a notice to a process that is there no more, or to a word that it does not have, ends the transfer") {
  EngineConfig config;
  config.block_timeout = 50us;
  config.retry_limit = 2;
  DmaBench bench(config);
  set_up(bench);
  bench.post(0, with_notice(NoticeKind::word, 8));
  REQUIRE(bench.run_to_notification(0));
  CHECK(bench.memory[0]->word(DmaBench::kNotify) == (1 << 8 | reg::kNotifyError));
  bench.privileged_write(1, reg::kChannelClose, 0);
  bench.post(0, with_notice(NoticeKind::counter));
  REQUIRE(bench.run_to_notification(0));
  CHECK(bench.memory[0]->word(DmaBench::kNotify) == (1 << 8 | reg::kNotifyError));
  CHECK(bench.counted(1, "dma.notices") == 0);
}

namespace {

// Many small transfers that lose two acknowledgements of three, beside others that drive them out of the receive unit's
// memory.
struct Forgetful {
  Forgetful(bool remembers, const char* name) : bench(config(remembers), 16, name) {}
  static EngineConfig config(bool remembers) {
    EngineConfig made;
    made.block_timeout = 30us;
    made.completed_transfers = 1;
    made.remembers_notices = remembers;
    return made;
  }
  void post() {
    set_up(bench);
    bench.fabric->loses = [this](const PacketHeader& h) {
      return h.kind == PacketKind::acknowledge && acknowledgements++ % 3 != 2;
    };
    for (int i = 0; i < 8; ++i) {
      times[bench.post(0, with_notice(NoticeKind::counter, 0, 64))] = 0;
      DmaPost other{kSource, kDestination + 0x10000, 64};
      other.channel = 1;
      bench.post(0, other);
    }
  }
  // How often the target was told of each.
  int most_told() {
    for (const auto& record : bench.all(step::kTargetNotified)) ++times.at(record.key.transfer);
    CHECK(counter(bench) == bench.all(step::kTargetNotified).size());
    int most = 0;
    for (const auto& [transfer, count] : times) {
      CHECK(count >= 1);
      most = std::max(most, count);
    }
    return most;
  }

  DmaBench bench;
  int acknowledgements = 0;
  std::map<std::uint64_t, int> times;
};

}  // namespace

TEST_CASE("whatever is sent again, the target is told of each write once") {
  Forgetful with_record(true, "remembers");
  Forgetful mutant(false, "forgets");
  with_record.post();
  mutant.post();
  with_record.bench.run(5ms);
  CHECK(with_record.most_told() == 1);
  CHECK(with_record.bench.counted(1, "dma.evicted_records") + with_record.bench.counted(1, "dma.duplicate_blocks") > 0);
  CHECK(mutant.most_told() > 1);
}

TEST_CASE("a transfer whose notice is open is not forgotten, however many others come") {
  NoticeRecord notices(true);
  sim::Statistics statistics;
  sim::Counter& evicted = statistics.counter("evicted", "count", "");
  exanest::Reassembly blocks(2, notices, evicted);
  Notice open = notice(1, 1);
  open.blocks = 2;
  notices.hear(0, open);
  CHECK(blocks.judge(0, {100, 0, 0}, open) == exanest::Reassembly::Verdict::write);
  CHECK(blocks.written(0, {100, 0, 0}, 64, 64));
  for (std::uint64_t other = 1; other < 10; ++other) {
    blocks.judge(0, {other, 0, 0});
    blocks.written(0, {other, 0, 0}, 64, 64);
  }
  CHECK(blocks.transfers() == 2);
  CHECK(blocks.judge(0, {100, 0, 1}, open) == exanest::Reassembly::Verdict::duplicate);
  CHECK_FALSE(blocks.is_whole(0, 100, 2));
  blocks.judge(0, {100, 1, 0}, open);
  blocks.written(0, {100, 1, 0}, 64, 64);
  CHECK(blocks.is_whole(0, 100, 2));
  // Given, it may go; what comes of it still is a copy, and late once its source has ended it.
  notices.give(0, open);
  for (std::uint64_t other = 11; other < 14; ++other) blocks.judge(0, {other, 0, 0});
  CHECK_FALSE(blocks.is_whole(0, 100, 2));
  CHECK(blocks.judge(0, {100, 1, 1}, open) == exanest::Reassembly::Verdict::duplicate);
  notices.hear(0, notice(2, 2));
  CHECK(blocks.judge(0, {100, 1, 1}, open) == exanest::Reassembly::Verdict::late);
}

TEST_CASE("a copy of a write that its source has ended is refused, not applied, in trains and in single cells") {
  EngineConfig config;
  config.block_timeout = 50us;
  config.retry_limit = 1;
  DmaBench trains(config);
  DmaBench cells(config, 1, "cells");
  for (DmaBench* bench : {&trains, &cells}) {
    set_up(*bench);
    bench->memory[0]->fill(kSource, 4096, 1);
  }
  for (DmaBench* bench : {&trains, &cells}) {
    for (int i = 0; i < 2; ++i) {
      bench->post(0, with_notice(NoticeKind::counter));
      REQUIRE(bench->run_to_notification(0));
    }
    // What a third one sends comes as an attempt of the first.
    bench->fabric->alters = [](PacketHeader& header) {
      if (header.kind != PacketKind::data) return;
      header.key = {1, 0, 9};
      std::tie(header.words[0], header.words[1]) = exanest::pack({NoticeKind::counter, 0, 0, 1, 1, 1});
    };
    DmaPost copy = with_notice(NoticeKind::counter);
    copy.destination += 0x10000;
    bench->post(0, copy);
    REQUIRE(bench->run_to_notification(0));
    CHECK(bench->counted(0, "dma.failed_transfers") == 1);
    CHECK(bench->counted(1, "dma.late_cells") == 2 * 16);
    CHECK(bench->memory[1]->word(copy.destination) == 0);
    CHECK(bench->counted(1, "dma.acknowledgements_sent") == 2);
    CHECK(counter(*bench) == 2);
  }
}

TEST_CASE("a notice on its way to a process that goes does not meet the next one of its number") {
  EngineConfig config;
  config.block_timeout = 50us;
  DmaBench bench(config);
  set_up(bench);
  // The words' page is absent: the notice waits to be written.
  bench.memory[1]->missing = {kWords / sim::kPageBytes};
  bench.post(0, with_notice(NoticeKind::word, 0, 64));
  REQUIRE(bench.run_to_notification(0));
  bench.run(20us);
  CHECK(bench.counted(1, "dma.control_write_faults") >= 1);
  bench.privileged_write(1, reg::kChannelClose, 0);
  bench.privileged_write(1, reg::kChannelClose, 1);
  set_up(bench);
  bench.memory[1]->missing.clear();
  bench.run(1ms);
  CHECK(bench.memory[1]->word(kWords) == 0);
  CHECK(bench.all(step::kTargetNotified).empty());
  // The next one's own come.
  bench.post(0, with_notice(NoticeKind::word, 0, 64));
  REQUIRE(bench.run_to_notification(0));
  CHECK(bench.memory[1]->word(kWords) != 0);
}

namespace {

// A hundred writes with notices, of which the first is not acknowledged in the first 5 ms.
struct ManyOpen {
  ManyOpen(bool keeps_window, const char* name) : bench(config(keeps_window), 16, name) {}
  static EngineConfig config(bool keeps_window) {
    EngineConfig made;
    made.channel_queue = 128;
    made.block_timeout = 10ms;
    made.keeps_notice_window = keeps_window;
    return made;
  }
  void post() {
    set_up(bench);
    bench.fabric->loses = [this](const PacketHeader& h) {
      return h.kind == PacketKind::acknowledge && h.key.transfer == 1 && loses;
    };
    for (std::uint64_t i = 0; i < 100; ++i) REQUIRE(bench.post(0, with_notice(NoticeKind::counter, 0, 64)) == i + 1);
  }

  DmaBench bench;
  bool loses = true;
};

}  // namespace

TEST_CASE("a channel begins no notice that is further than the window from an open one") {
  ManyOpen within(true, "within");
  ManyOpen mutant(false, "beyond");
  within.post();
  mutant.post();
  within.bench.run(5ms);
  CHECK(counter(within.bench) == exanest::kNoticeWindow);
  within.loses = mutant.loses = false;
  within.bench.run(20ms);
  CHECK(counter(within.bench) == 100);
  CHECK(within.bench.all(step::kNotified).size() == 100);
  // Beyond it a write has the bit of one that was told of: it is taken for a copy, and is done though nobody is told.
  CHECK(mutant.bench.all(step::kNotified).size() == 100);
  CHECK(counter(mutant.bench) < 100);
}

TEST_CASE("a counter goes round, and who has taken all is woken for the next") {
  EngineConfig config;
  config.event_counter_bits = 2;
  DmaBench bench(config);
  Line line("line");
  bench.engine[1]->interrupt.bind(line);
  set_up(bench);
  const auto arm = [&](std::uint64_t count) {
    bench.mmio[1]->write(reg::kEventCount, count);
    bench.mmio[1]->write(reg::kEventArm, static_cast<std::uint64_t>(NoticeKind::counter));
  };
  const auto write = [&] {
    bench.post(0, with_notice(NoticeKind::counter, 0, 64));
    REQUIRE(bench.run_to_notification(0));
  };
  for (std::uint64_t i = 1; i <= 9; ++i) {
    arm((i - 1) % 4);
    CHECK_FALSE(line.high);
    CHECK(bench.privileged_read(1, reg::kEventPending) == reg::kNoEvent);
    write();
    CHECK(counter(bench) == i % 4);
    CHECK(line.high);
    CHECK(line.number == config.interrupt_line);
    CHECK(bench.privileged_read(1, reg::kEventPending) == DmaBench::pdid_of(1));
    bench.privileged_write(1, reg::kEventAck, DmaBench::pdid_of(1));
    CHECK_FALSE(line.high);
  }
  // Who has not taken all is woken at once, and once.
  arm(0);
  CHECK(line.high);
  bench.privileged_write(1, reg::kEventAck, DmaBench::pdid_of(1));
  write();
  CHECK_FALSE(line.high);
}
