// SPDX-License-Identifier: Apache-2.0
// Trains to a memory that speaks the base protocol and knows nothing of them.
#include "models/tlm/to_base.hpp"

#include <catch2/catch.hpp>

#include "tests/support/node.hpp"
#include "tests/tlm/data_path_mocks.hpp"
#include "tests/tlm/third_party_memory.hpp"

using namespace faultline;
using namespace faultline::sim;
using adapters::ToBaseConfig;
using test::CellAnswer;
using third_party::Style;
using third_party::Visit;

namespace {

constexpr std::size_t kSize = 1 << 16;
constexpr ToBaseConfig::Calls kBlocking = ToBaseConfig::Calls::blocking;
constexpr ToBaseConfig::Calls kNonBlocking = ToBaseConfig::Calls::non_blocking;
constexpr ToBaseConfig::Order kAsAnswered = ToBaseConfig::Order::as_answered;
constexpr ToBaseConfig::Order kInOrder = ToBaseConfig::Order::in_order;

third_party::Latency always(Time latency) {
  return [latency](std::uint64_t) { return to_sc_time(latency); };
}

template <typename Memory>
struct Bench {
  template <typename... Arguments>
  explicit Bench(const ToBaseConfig& config, Arguments... arguments)
      : adapter("adapter", config, node.context),
        sender("sender", node.context),
        memory("memory", kSize, arguments...) {
    sender.out.bind(adapter.in);
    adapter.out.bind(memory.socket);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  // The loop may run ahead of SystemC's clock.
  void run() { node.loop.run(1ms); }

  test::Node node;
  adapters::ToBase<> adapter;
  test::TrainSender sender;
  Memory memory;
};
using LooselyTimed = Bench<third_party::LooselyTimedMemory>;
using ApproximatelyTimed = Bench<third_party::ApproximatelyTimedMemory>;

Visit visit(std::uint64_t address, bool write, Time at, unsigned length = kCellBytes) {
  return {address, write, length, to_sc_time(at)};
}

Content bytes_of(const third_party::Storage& storage, std::size_t address, std::uint32_t length) {
  return Content::spelt_out(&storage.bytes[address], length);
}

TimeSequence every(Time gap, std::uint32_t cells, Time first) { return TimeSequence::regular(first, gap, cells); }

}  // namespace

TEMPLATE_TEST_CASE_SIG("a memory that waits in b_transport gets each cell at its instant, and each answer is final", "",
                       ((bool waits), waits), true, false) {
  LooselyTimed bench({kBlocking}, always(100ns), waits);
  const Content pattern = Content::pattern(7, 3, 4 * kCellBytes);
  bench.sender.write(0x1000, kCellBytes, every(10ns, 4, 1us), pattern);
  bench.sender.read(0x1000, kCellBytes, every(Time{1}, 4, 2us));
  bench.run();
  CHECK(bytes_of(bench.memory.storage, 0x1000, 4 * kCellBytes) == pattern);
  std::vector<Visit> visits;
  std::vector<CellAnswer> answers;
  for (int i = 0; i < 4; ++i) {
    visits.push_back(visit(0x1000 + 256U * i, true, 1us + i * 10ns));
    answers.push_back({0x1000 + 256U * i, 1100ns + i * 10ns});
  }
  for (int i = 0; i < 4; ++i) {
    visits.push_back(visit(0x1000 + 256U * i, false, 2us + i * Time{1}));
    answers.push_back({0x1000 + 256U * i, 2100ns + i * Time{1}});
    CHECK(bench.sender.data[0x1000 + 256U * i] == pattern.slice(256 * i, 256));
  }
  CHECK(bench.memory.storage.visits == visits);
  CHECK(bench.sender.answers == answers);
  CHECK(bench.sender.not_final == 0);
  CHECK(bench.node.payloads.in_use() == 0);
}

TEMPLATE_TEST_CASE_SIG("blocking accesses are bounded by their threads, and wait their turn", "", ((bool waits), waits),
                       true, false) {
  LooselyTimed bench({kBlocking, kAsAnswered, 2}, always(100ns), waits);
  bench.sender.write(0, kCellBytes, every(0ns, 5, 1us), Content::zeros(5 * kCellBytes));
  bench.run();
  CHECK(bench.sender.answers ==
        std::vector<CellAnswer>{{0, 1100ns}, {256, 1100ns}, {512, 1200ns}, {768, 1200ns}, {1024, 1300ns}});
  if (waits) CHECK(bench.memory.most_at_a_time == 2);
  for (std::size_t i = 0; i < 5; ++i) CHECK(bench.memory.storage.visits[i].address == 256 * i);
}

TEST_CASE("the number of threads has a range") {
  test::Node node;
  CHECK_THROWS_AS(adapters::ToBase<>("none", {kBlocking, kAsAnswered, 0}, node.context), std::invalid_argument);
  CHECK_THROWS_AS(adapters::ToBase<>("many", {kBlocking, kAsAnswered, 1025}, node.context), std::invalid_argument);
}

TEMPLATE_TEST_CASE_SIG("an answer that overtakes others comes at its own instant, or in order as AXI has it", "",
                       ((ToBaseConfig::Calls calls, ToBaseConfig::Order order), calls, order), (kBlocking, kAsAnswered),
                       (kBlocking, kInOrder), (kNonBlocking, kAsAnswered), (kNonBlocking, kInOrder)) {
  const auto latency = [](std::uint64_t address) {
    return address == 0 ? to_sc_time(300ns) : address == 256 ? to_sc_time(100ns) : to_sc_time(200ns);
  };
  const auto check = [](auto& bench) {
    bench.sender.write(0, kCellBytes, every(10ns, 3, 1us), Content::zeros(3 * kCellBytes));
    bench.run();
    if (order == kAsAnswered) {
      CHECK(bench.sender.answers == std::vector<CellAnswer>{{256, 1110ns}, {512, 1220ns}, {0, 1300ns}});
    } else {
      CHECK(bench.sender.answers == std::vector<CellAnswer>{{0, 1300ns}, {256, 1300ns}, {512, 1300ns}});
    }
    CHECK(bench.node.payloads.in_use() == 0);
  };
  if constexpr (calls == kBlocking) {
    LooselyTimed bench({calls, order}, latency, true);
    check(bench);
  } else {
    ApproximatelyTimed bench({calls, order}, Style::four_phases, to_sc_time(1ns), latency);
    check(bench);
  }
}

TEMPLATE_TEST_CASE_SIG("the memory keeps the next request back: by END_REQ, by its response, or by early completion",
                       "", ((Style style), style), Style::two_phases, Style::four_phases, Style::end_req_updated,
                       Style::resp_updated, Style::early) {
  constexpr Time kAccept = 30ns;
  constexpr Time kLatency = 100ns;
  ApproximatelyTimed bench({kNonBlocking}, style, to_sc_time(kAccept), always(kLatency));
  const Content pattern = Content::pattern(9, 0, 6 * kCellBytes);
  bench.sender.write(0x800, kCellBytes, every(10ns, 6, 1us), pattern);
  bench.sender.read(0x800, kCellBytes, every(500ns, 6, 5us));
  bench.run();
  const bool has_end_req = style == Style::four_phases || style == Style::end_req_updated;
  Time free{0};
  std::vector<Visit> visits;
  std::vector<CellAnswer> answers;
  for (int i = 0; i < 12; ++i) {
    const Time arrival = i < 6 ? 1us + i * 10ns : 5us + (i - 6) * 500ns;
    const std::uint64_t address = 0x800 + 256U * (i % 6);
    const Time sent = std::max(arrival, free);
    free = sent + (has_end_req ? kAccept : kLatency);
    visits.push_back(visit(address, i < 6, sent));
    answers.push_back({address, sent + kLatency});
    CHECK(bench.sender.data[address] == pattern.slice(256 * (i % 6), 256));
  }
  CHECK(bench.memory.storage.visits == visits);
  CHECK(bench.sender.answers == answers);
  CHECK(bench.sender.not_final == 0);
  CHECK(bench.node.payloads.in_use() == 0);
}

TEMPLATE_TEST_CASE_SIG("cells that are taken back before they go are not seen by the memory", "",
                       ((ToBaseConfig::Order order), order), kAsAnswered, kInOrder) {
  LooselyTimed bench({kBlocking, order}, always(100ns), true);
  bench.sender.write(0, kCellBytes, every(10ns, 8, 1us), Content::pattern(1, 0, 8 * kCellBytes));
  bench.node.loop.at(
      1030ns - Time{1}, 0, [](void* sender, std::uint64_t) { static_cast<test::TrainSender*>(sender)->take_back(768); },
      &bench.sender);
  bench.run();
  CHECK(bench.memory.storage.visits ==
        std::vector<Visit>{visit(0, true, 1us), visit(256, true, 1010ns), visit(512, true, 1020ns)});
  CHECK(bench.sender.answers == std::vector<CellAnswer>{{0, 1100ns}, {256, 1110ns}, {512, 1120ns}});
  CHECK(bytes_of(bench.memory.storage, 768, 256) == Content::zeros(256));
  CHECK(bench.node.payloads.in_use() == 0);
}

TEST_CASE("all cells of a train are taken back, and its payload goes on as another train") {
  LooselyTimed bench({kBlocking}, always(100ns), true);
  bench.sender.read(0, kCellBytes, every(10ns, 2, 2us));
  bench.sender.take_back(0);
  CHECK(bench.node.payloads.in_use() == 0);
  bench.sender.read(512, kCellBytes, every(10ns, 2, 1us));
  bench.run();
  CHECK(bench.sender.answers == std::vector<CellAnswer>{{512, 1100ns}, {768, 1110ns}});
}

TEST_CASE("of cells that arrive at one instant that of the first bound goes first") {
  test::Node node;
  adapters::ToBase<> adapter("adapter", {kNonBlocking}, node.context);
  test::TrainSender first("first", node.context);
  test::TrainSender second("second", node.context);
  third_party::ApproximatelyTimedMemory memory("memory", kSize, Style::four_phases, to_sc_time(7ns), always(50ns));
  first.out.bind(adapter.in);
  second.out.bind(adapter.in);
  adapter.out.bind(memory.socket);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  second.read(0, kCellBytes, every(10ns, 2, 1us));
  first.read(4096, kCellBytes, every(10ns, 2, 1us));
  sc_core::sc_start();
  CHECK(memory.storage.visits == std::vector<Visit>{visit(4096, false, 1us), visit(0, false, 1007ns),
                                                    visit(4352, false, 1014ns), visit(256, false, 1021ns)});
  CHECK(first.answers == std::vector<CellAnswer>{{4096, 1050ns}, {4352, 1064ns}});
}

TEST_CASE("the memory's errors are the cells' status") {
  LooselyTimed bench({kBlocking}, always(100ns), true);
  bench.sender.read(kSize - 256, kCellBytes, every(10ns, 2, 1us));
  bench.run();
  CHECK(bench.sender.answers == std::vector<CellAnswer>{{kSize - 256, 1100ns, tlm::TLM_OK_RESPONSE},
                                                        {kSize, 1110ns, tlm::TLM_ADDRESS_ERROR_RESPONSE}});
  CHECK_FALSE(bench.sender.data.contains(kSize));
}

TEST_CASE("a memory that says nothing of its success has failed") {
  Bench<third_party::ForgetfulMemory> bench({kBlocking});
  bench.sender.read(0, kCellBytes, every(0ns, 1, 1us));
  bench.run();
  CHECK(bench.sender.answers == std::vector<CellAnswer>{{0, 1us, tlm::TLM_GENERIC_ERROR_RESPONSE}});
}

TEST_CASE("a write of which only the timing matters leaves the bytes as they are") {
  LooselyTimed bench({kBlocking}, always(100ns), true);
  const Content pattern = Content::pattern(1, 0, kCellBytes);
  bench.sender.write(0, kCellBytes, every(0ns, 1, 1us), pattern);
  bench.sender.write(0, kCellBytes, every(0ns, 1, 2us), {});
  bench.run();
  CHECK(bench.sender.answers == std::vector<CellAnswer>{{0, 1100ns}, {0, 2100ns}});
  CHECK(bytes_of(bench.memory.storage, 0, 256) == pattern);
}

TEST_CASE("words of the data path are read and written without time") {
  LooselyTimed bench({kBlocking}, always(100ns), true);
  std::uint64_t value = 0x1122334455667788;
  tlm::tlm_generic_payload word;
  word.set_command(tlm::TLM_WRITE_COMMAND);
  word.set_address(64);
  word.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
  word.set_data_length(8);
  word.set_streaming_width(8);
  sc_core::sc_time delay;
  bench.sender.out->b_transport(word, delay);
  CHECK(word.is_response_ok());
  CHECK(bytes_of(bench.memory.storage, 64, 8) == Content::literal(value, 8));
  word.set_address(kSize);
  bench.sender.out->b_transport(word, delay);
  CHECK(word.get_response_status() == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(bench.node.now() == 0ns);
}

TEMPLATE_TEST_CASE_SIG("a reset answers what is open with an error, and what the memory says of it later is ignored",
                       "", ((ToBaseConfig::Calls calls, ToBaseConfig::Order order), calls, order),
                       (kBlocking, kAsAnswered), (kBlocking, kInOrder), (kNonBlocking, kAsAnswered),
                       (kNonBlocking, kInOrder)) {
  const auto check = [](auto& bench) {
    bench.sender.write(0, kCellBytes, every(40ns, 4, 1us), Content::pattern(1, 0, 4 * kCellBytes));
    bench.node.loop.at(
        1050ns, 0, [](void* adapter, std::uint64_t) { static_cast<adapters::ToBase<>*>(adapter)->reset(); },
        &bench.adapter);
    bench.run();
    const auto error = tlm::TLM_GENERIC_ERROR_RESPONSE;
    CHECK(bench.sender.answers ==
          std::vector<CellAnswer>{{0, 1050ns, error}, {256, 1050ns, error}, {512, 1180ns}, {768, 1220ns}});
    CHECK(bench.sender.open() == 0);
    CHECK(bench.node.payloads.in_use() == 0);
  };
  if constexpr (calls == kBlocking) {
    LooselyTimed bench({calls, order}, always(100ns), true);
    check(bench);
  } else {
    ApproximatelyTimed bench({calls, order}, Style::end_req_updated, to_sc_time(20ns), always(100ns));
    check(bench);
  }
}

TEST_CASE("cells that wait for END_REQ at a reset are not sent") {
  ApproximatelyTimed bench({kNonBlocking}, Style::two_phases, to_sc_time(0ns), always(100ns));
  bench.sender.read(0, kCellBytes, every(0ns, 3, 1us));
  bench.node.loop.at(
      1050ns, 0, [](void* adapter, std::uint64_t) { static_cast<adapters::ToBase<>*>(adapter)->reset(); },
      &bench.adapter);
  bench.run();
  CHECK(bench.memory.storage.visits.size() == 1);
  CHECK(bench.sender.answers.size() == 3);
  CHECK(bench.sender.answers.back() == CellAnswer{512, 1050ns, tlm::TLM_GENERIC_ERROR_RESPONSE});
  CHECK(bench.node.payloads.in_use() == 0);
}

TEMPLATE_TEST_CASE_SIG("after a reset of the adapter and the memory a cell goes at once", "", ((Style style), style),
                       Style::two_phases, Style::end_req_updated) {
  ApproximatelyTimed bench({kNonBlocking}, style, to_sc_time(100ns), always(200ns));
  bench.sender.read(0, kCellBytes, every(0ns, 1, 1us));
  bench.sender.read(256, kCellBytes, every(0ns, 1, 1060ns));
  const auto reset = [](void* of, std::uint64_t) {
    static_cast<ApproximatelyTimed*>(of)->adapter.reset();
    static_cast<ApproximatelyTimed*>(of)->memory.reset();
  };
  bench.node.loop.at(1050ns, 0, reset, &bench);
  bench.run();
  CHECK(bench.memory.storage.visits == std::vector<Visit>{visit(0, false, 1us), visit(256, false, 1060ns)});
  CHECK(bench.sender.answers == std::vector<CellAnswer>{{0, 1050ns, tlm::TLM_GENERIC_ERROR_RESPONSE}, {256, 1260ns}});
}

TEMPLATE_TEST_CASE_SIG("the simulation ends with calls open", "", ((ToBaseConfig::Calls calls), calls), kBlocking,
                       kNonBlocking) {
  const auto check = [](auto& bench) {
    bench.sender.write(0, kCellBytes, every(40ns, 40, 1us), Content::pattern(1, 0, 40 * kCellBytes));
    bench.node.loop.run(1100ns);
    CHECK_FALSE(bench.memory.storage.visits.empty());
    CHECK(bench.sender.answers.empty());
  };  // what is open dies with the bench, under the address sanitizer, too
  if constexpr (calls == kBlocking) {
    LooselyTimed bench({calls}, always(1us), true);
    check(bench);
  } else {
    ApproximatelyTimed bench({calls}, Style::four_phases, to_sc_time(7ns), always(1us));
    check(bench);
  }
}
