// SPDX-License-Identifier: Apache-2.0
// Initiators that speak the base protocol alone, and the data path's memory behind the adapter.
#include "models/tlm/from_base.hpp"

#include <catch2/catch.hpp>

#include <numeric>

#include "tests/support/node.hpp"
#include "tests/tlm/data_path_mocks.hpp"
#include "tests/tlm/third_party_initiator.hpp"

using namespace faultline;
using namespace faultline::sim;
using adapters::FromBaseConfig;
using third_party::Reply;
using third_party::Request;

namespace {

constexpr std::uint32_t kSize = 1 << 16;
constexpr std::uint32_t kMaster = 0x2a;

std::vector<unsigned char> some_bytes(std::size_t length, unsigned char first = 1) {
  std::vector<unsigned char> bytes(length);
  std::iota(bytes.begin(), bytes.end(), first);
  return bytes;
}
Request write(Time start, std::uint64_t address, std::size_t length) {
  return {.start = to_sc_time(start), .write = true, .address = address, .bytes = some_bytes(length)};
}
Request read(Time start, std::uint64_t address, std::size_t length) {
  return {.start = to_sc_time(start), .address = address, .bytes = std::vector<unsigned char>(length)};
}

template <typename Initiator>
struct Bench {
  template <typename Work, typename... Arguments>
  explicit Bench(const FromBaseConfig& config, Work work, Arguments... arguments)
      : initiator("initiator", std::move(work), arguments...),
        adapter("adapter", config, node.context),
        memory("memory", kSize, 100ns, node.context) {
    initiator.socket.bind(adapter.in);
    adapter.reads.bind(memory.in);
    adapter.writes.bind(memory.in);
  }
  // Nothing of what was open is left.
  void check_over() {
    CHECK(adapter.trains_on_their_way() == 0);
    CHECK(node.payloads.in_use() == 0);
  }
  void at(Time when, void (*what)(Bench&)) {
    doings.push_back(what);
    node.loop.at<&Bench::act>(when, 0, *this, doings.size() - 1);
  }
  void act(std::uint64_t index) { doings[index](*this); }

  test::Node node;
  Initiator initiator;
  adapters::FromBase<> adapter;
  test::CellMemory memory;
  std::vector<void (*)(Bench&)> doings;
};
using LooselyTimed = Bench<third_party::LooselyTimedInitiator>;
using ApproximatelyTimed = Bench<third_party::ApproximatelyTimedInitiator>;
using Programs = std::vector<std::vector<Request>>;
using Requests = std::vector<Request>;

struct Ended {
  Time at;
  tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;
  bool operator==(const Ended&) const = default;
};
std::vector<Ended> ended(const Requests& requests) {
  std::vector<Ended> all;
  for (const Request& request : requests) all.push_back({from_sc_time(request.ended), request.status});
  return all;
}

TimeSequence at(Time when, std::uint32_t cells = 1) { return TimeSequence::regular(when, 0ns, cells); }

}  // namespace

TEMPLATE_TEST_CASE_SIG("a blocking call returns at the instant of its last burst's answer, with the bytes", "",
                       ((bool runs_ahead), runs_ahead), false, true) {
  LooselyTimed bench({kMaster}, Programs{{write(1us, 0x1f0, 0x230), read(2us, 0x1f0, 0x230), read(2us, 0x1f1, 3)}},
                     runs_ahead);
  sc_core::sc_start();
  const Requests& done = bench.initiator.programs[0];
  CHECK(ended(done) == std::vector<Ended>{{1100ns}, {2100ns}, {2200ns}});
  CHECK(done[1].bytes == done[0].bytes);
  CHECK(done[2].bytes == std::vector<unsigned char>{2, 3, 4});
  // Bursts end where those of AXI must.
  using Sent = test::CellMemory::Request;
  CHECK(bench.memory.requests == std::vector<Sent>{{0x1f0, true, 0x10, kMaster, at(1us)},
                                                   {0x200, true, 0x100, kMaster, at(1us, 2)},
                                                   {0x400, true, 0x20, kMaster, at(1us)},
                                                   {0x1f0, false, 0x10, kMaster, at(2us)},
                                                   {0x200, false, 0x100, kMaster, at(2us, 2)},
                                                   {0x400, false, 0x20, kMaster, at(2us)},
                                                   {0x1f1, false, 3, kMaster, at(2100ns)}});
  bench.check_over();
}

TEST_CASE("trains end with their page and have no more cells than the context allows") {
  LooselyTimed bench({kMaster, 64, 64}, Programs{{read(1us, 0xe00, 0x1800)}});
  bench.node.context.cells_per_train = 12;
  sc_core::sc_start();
  std::vector<std::pair<std::uint64_t, std::uint32_t>> trains;
  for (const auto& sent : bench.memory.requests) trains.emplace_back(sent.address, sent.times.size());
  CHECK(trains ==
        std::vector<std::pair<std::uint64_t, std::uint32_t>>{{0xe00, 2}, {0x1000, 12}, {0x1c00, 4}, {0x2000, 6}});
}

TEST_CASE("an answer that is taken back before its instant is not given") {
  LooselyTimed bench({kMaster}, Programs{{write(1us, 0, 512), read(2us, 0, 512)}});
  bench.memory.latency = 120ns;
  bench.memory.too_early = 70ns;
  sc_core::sc_start();
  CHECK(ended(bench.initiator.programs[0]) == std::vector<Ended>{{1120ns}, {2120ns}});
  CHECK(bench.initiator.programs[0][1].bytes == some_bytes(512));
  bench.check_over();
}

TEST_CASE("cells that part from their train are the same access") {
  LooselyTimed bench({kMaster}, Programs{{write(1us, 0, 1024), read(2us, 0, 1024)}});
  bench.memory.parts = true;
  sc_core::sc_start();
  CHECK(ended(bench.initiator.programs[0]) == std::vector<Ended>{{1100ns}, {2100ns}});
  CHECK(bench.initiator.programs[0][1].bytes == some_bytes(1024));
  bench.check_over();
}

TEST_CASE("bursts on their way are bounded, reads and writes each, and END_REQ keeps the initiator back") {
  ApproximatelyTimed bench(
      {kMaster, 2, 3}, Requests{read(1us, 0, 1024), read(1us, 1024, 256), write(1us, 4096, 512), read(1us, 8192, 256)},
      Reply::completed);
  sc_core::sc_start();
  const Requests& done = bench.initiator.requests;
  // The first read's last burst goes when its first two have been answered; then there is a slot for the next.
  CHECK(from_sc_time(done[0].accepted) == 1100ns);
  CHECK(from_sc_time(done[1].accepted) == 1200ns);
  CHECK(from_sc_time(done[2].accepted) == 1200ns);
  CHECK(from_sc_time(done[3].accepted) == 1200ns);
  CHECK(ended(done) == std::vector<Ended>{{1200ns}, {1300ns}, {1300ns}, {1300ns}});
  bench.check_over();
  CHECK(bench.initiator.transactions.in_use() == 0);
}

TEMPLATE_TEST_CASE_SIG("one response at a time: the initiator ends it, and so keeps the next back", "",
                       ((Reply reply), reply), Reply::completed, Reply::updated, Reply::later) {
  ApproximatelyTimed bench({kMaster}, Requests{read(1us, 0, 256), read(1us, 256, 256), read(1us, 512, 256)}, reply,
                           to_sc_time(30ns));
  sc_core::sc_start();
  CHECK(ended(bench.initiator.requests) == std::vector<Ended>{{1100ns}, {1130ns}, {1160ns}});
  for (const Request& request : bench.initiator.requests) CHECK(from_sc_time(request.accepted) == 1us);
  bench.check_over();
  CHECK(bench.initiator.transactions.in_use() == 0);
}

namespace {

Request with_byte_enables() {
  Request request = write(1us, 0, 16);
  request.byte_enables = {TLM_BYTE_ENABLED, TLM_BYTE_DISABLED};
  return request;
}
// Of 8 bytes, which come twice.
Request streaming() {
  Request request = read(1us, 0, 16);
  request.streaming_width = 8;
  return request;
}

}  // namespace

TEST_CASE("what the data path cannot do is answered at once") {
  Request ignored = read(1us, 0, 16);
  ignored.is_other = true;
  const Requests bad{with_byte_enables(), streaming(), read(1us, 0, 0), read(1us, UINT64_MAX - 7, 16), ignored};
  const std::vector<Ended> expected{{1us, tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE},
                                    {1us, tlm::TLM_BURST_ERROR_RESPONSE},
                                    {1us, tlm::TLM_BURST_ERROR_RESPONSE},
                                    {1us, tlm::TLM_ADDRESS_ERROR_RESPONSE},
                                    {1us, tlm::TLM_COMMAND_ERROR_RESPONSE}};
  SECTION("non-blocking: early completion") {
    ApproximatelyTimed bench({kMaster}, bad, Reply::completed);
    sc_core::sc_start();
    CHECK(ended(bench.initiator.requests) == expected);
    CHECK(bench.initiator.early == bad.size());
    CHECK(bench.memory.requests.empty());
    CHECK(bench.initiator.transactions.in_use() == 0);
  }
}

TEST_CASE("a blocking call that the data path cannot do returns at once") {
  LooselyTimed bench({kMaster}, Programs{{with_byte_enables(), streaming(), write(1us, 0, 16)}});
  sc_core::sc_start();
  CHECK(ended(bench.initiator.programs[0]) ==
        std::vector<Ended>{{1us, tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE}, {1us, tlm::TLM_BURST_ERROR_RESPONSE}, {1100ns}});
  CHECK(bench.memory.requests.size() == 1);
}

TEST_CASE("the status is that of the first burst that failed, and comes with the last answer") {
  LooselyTimed bench({kMaster, 1, 1}, Programs{{read(1us, 0, 1024), write(2us, 0, 1024), read(3us, 0, 256)}});
  bench.memory.bad = {{256, tlm::TLM_GENERIC_ERROR_RESPONSE}, {512, tlm::TLM_ADDRESS_ERROR_RESPONSE}};
  sc_core::sc_start();
  CHECK(ended(bench.initiator.programs[0]) == std::vector<Ended>{{1400ns, tlm::TLM_GENERIC_ERROR_RESPONSE},
                                                                 {2400ns, tlm::TLM_GENERIC_ERROR_RESPONSE},
                                                                 {3100ns}});
  bench.check_over();
}

TEST_CASE("direct access to memory is refused, for good") {
  LooselyTimed bench({kMaster}, Programs{{read(1us, 0, 16)}});
  sc_core::sc_start();
  CHECK_FALSE(bench.initiator.programs[0][0].dmi_allowed);
  tlm::tlm_generic_payload payload;
  tlm::tlm_dmi region;
  region.allow_read_write();
  CHECK_FALSE(bench.initiator.socket->get_direct_mem_ptr(payload, region));
  CHECK(region.is_none_allowed());
  CHECK(region.get_start_address() == 0);
  CHECK(region.get_end_address() == UINT64_MAX);
}

TEST_CASE("an access waits for those before it that it overlaps and that go the other way") {
  ApproximatelyTimed bench({kMaster},
                           Requests{write(1us, 0, 256), read(1us, 255, 2), write(1us, 256, 256), write(1us, 512, 256)},
                           Reply::completed);
  sc_core::sc_start();
  const Requests& done = bench.initiator.requests;
  CHECK(ended(done) == std::vector<Ended>{{1100ns}, {1200ns}, {1300ns}, {1300ns}});
  CHECK(done[1].bytes == std::vector<unsigned char>{0, 0});
  bench.check_over();
}

TEST_CASE("calls of several threads go in the order in which they come") {
  LooselyTimed bench({kMaster, 1, 1},
                     Programs{{read(1us + Time{2}, 0, 256)}, {read(1us, 256, 256)}, {read(1us + Time{1}, 512, 256)}});
  sc_core::sc_start();
  CHECK(bench.initiator.programs[1][0].ended == to_sc_time(1100ns));
  CHECK(bench.initiator.programs[2][0].ended == to_sc_time(1200ns));
  CHECK(bench.initiator.programs[0][0].ended == to_sc_time(1300ns));
}

TEST_CASE("a reset answers non-blocking transactions that are open with an error") {
  ApproximatelyTimed bench({kMaster, 2, 2}, Requests{read(1us, 0, 1024), read(1us, 1024, 256), read(2us, 0, 256)},
                           Reply::later, to_sc_time(10ns));
  bench.at(1050ns, [](ApproximatelyTimed& b) { b.adapter.reset(); });
  sc_core::sc_start();
  const auto error = tlm::TLM_GENERIC_ERROR_RESPONSE;
  // The bursts of the first one are still on their way when the second one comes.
  CHECK(ended(bench.initiator.requests) == std::vector<Ended>{{1050ns, error}, {1200ns}, {2100ns}});
  bench.check_over();
  CHECK(bench.initiator.transactions.in_use() == 0);
}

TEST_CASE("a reset does not wait for an END_RESP") {
  ApproximatelyTimed bench({kMaster}, Requests{read(1us, 0, 256), read(1us, 256, 256), read(2us, 0, 256)}, Reply::later,
                           to_sc_time(500ns));
  bench.at(1200ns, [](ApproximatelyTimed& b) {
    b.adapter.reset();
    b.initiator.forget_response();
  });
  bench.node.loop.run(1ms);  // which is ahead of SystemC's clock at the reset
  CHECK(ended(bench.initiator.requests) == std::vector<Ended>{{1100ns}, {1200ns}, {2100ns}});
  CHECK(bench.initiator.transactions.in_use() == 0);
}

TEST_CASE("a reset ends a call that lies ahead of SystemC's clock") {
  LooselyTimed bench({kMaster}, Programs{{read(2us, 0, 256), read(3us, 0, 256)}}, true);
  bench.at(1us, [](LooselyTimed& b) { b.adapter.reset(); });
  sc_core::sc_start();
  CHECK(ended(bench.initiator.programs[0]) == std::vector<Ended>{{1us, tlm::TLM_GENERIC_ERROR_RESPONSE}, {3100ns}});
  CHECK(bench.memory.requests.size() == 1);
  bench.check_over();
}

TEST_CASE("a reset lets blocking calls return with an error") {
  LooselyTimed bench({kMaster, 2, 2}, Programs{{read(1us, 0, 1024), read(2us, 0, 256)}, {write(1us, 0, 4)}});
  bench.at(1050ns, [](LooselyTimed& b) { b.adapter.reset(); });
  sc_core::sc_start();
  const auto error = tlm::TLM_GENERIC_ERROR_RESPONSE;
  CHECK(ended(bench.initiator.programs[0]) == std::vector<Ended>{{1050ns, error}, {2100ns}});
  CHECK(ended(bench.initiator.programs[1]) == std::vector<Ended>{{1050ns, error}});
  CHECK(bench.memory.requests.size() == 2);
  bench.check_over();
}

TEST_CASE("a thread that is killed in its call leaves nothing, and others go on") {
  LooselyTimed bench({kMaster, 2, 2}, Programs{{write(1us, 0, 2048)}, {read(1us, 0, 256)}});
  bench.at(1050ns, [](LooselyTimed& b) { b.initiator.threads[0].kill(); });
  sc_core::sc_start();
  CHECK_FALSE(bench.initiator.programs[0][0].done);
  CHECK(bench.initiator.programs[1][0].ended == to_sc_time(1150ns));
  bench.check_over();
}

TEST_CASE("the simulation is stopped with transactions open: the initiator gets all of them back") {
  ApproximatelyTimed bench({kMaster, 2, 2}, Requests{read(1us, 0, 1024), read(1us, 1024, 256)}, Reply::completed);
  bench.at(1050ns, [](ApproximatelyTimed&) { sc_core::sc_stop(); });
  sc_core::sc_start();
  CHECK_FALSE(bench.initiator.requests[0].done);
  bench.initiator.give_up();
  CHECK(bench.initiator.transactions.in_use() == 0);
}

TEMPLATE_TEST_CASE_SIG("what is open at the end of the program dies with it", "", ((Time::rep end), end), 1000'000,
                       1050'000, 1100'000, 1150'000) {
  ApproximatelyTimed bench({kMaster, 2, 2}, Requests{read(1us, 0, 1024), write(1us, 1024, 256)}, Reply::later,
                           to_sc_time(1us));
  bench.node.loop.run(Time{end});
  CHECK_FALSE(bench.initiator.requests[1].done);
}

TEST_CASE("blocking calls that are open at the end of the program die with it") {
  LooselyTimed bench({kMaster, 2, 2}, Programs{{read(1us, 0, 1024)}, {write(1us, 1024, 256)}});
  bench.node.loop.run(1050ns);
  CHECK_FALSE(bench.initiator.programs[0][0].done);
}

TEST_CASE("an initiator that breaks the protocol is told so") {
  test::Node node;
  third_party::ApproximatelyTimedInitiator initiator("initiator", {}, Reply::completed);
  adapters::FromBase<> adapter("adapter", {kMaster}, node.context);
  test::CellMemory memory("memory", kSize, 100ns, node.context);
  initiator.socket.bind(adapter.in);
  adapter.reads.bind(memory.in);
  adapter.writes.bind(memory.in);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  const auto call = [&initiator](tlm::tlm_generic_payload& payload, tlm::tlm_phase phase) {
    sc_core::sc_time delay;
    return initiator.socket->nb_transport_fw(payload, phase, delay);
  };
  Request request = read(0ns, 0, 16);
  auto& payload = initiator.transactions.take();
  third_party::fill(payload, request);
  CHECK(call(payload, tlm::BEGIN_REQ) == tlm::TLM_ACCEPTED);
  CHECK_THROWS_AS(call(payload, tlm::BEGIN_REQ), sc_core::sc_report);
  CHECK_THROWS_AS(call(payload, tlm::BEGIN_RESP), sc_core::sc_report);
}

TEST_CASE("numbers of the configuration have ranges") {
  test::Node node;
  CHECK_THROWS_AS(adapters::FromBase<>("a", {1024, 1, 1}, node.context), std::invalid_argument);
  CHECK_THROWS_AS(adapters::FromBase<>("b", {0, 0, 1}, node.context), std::invalid_argument);
  CHECK_THROWS_AS(adapters::FromBase<>("c", {0, 1, 65537}, node.context), std::invalid_argument);
}
