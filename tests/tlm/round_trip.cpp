// SPDX-License-Identifier: Apache-2.0
// An initiator of somebody else's at a memory of somebody else's, once directly and once by way of the data path: same
// visits, same bytes, same instants.
#include <catch2/catch.hpp>

#include <random>

#include "models/tlm/from_base.hpp"
#include "models/tlm/to_base.hpp"
#include "tests/support/node.hpp"
#include "tests/tlm/third_party_initiator.hpp"
#include "tests/tlm/third_party_memory.hpp"

using namespace faultline;
using adapters::ToBaseConfig;
using sim::Time;
using third_party::Reply;
using third_party::Request;
using third_party::Style;

namespace {

constexpr std::size_t kSize = 1 << 14;

// An access inside a cell. Cells lie in this half of the memory, and some behind its end.
Request random_request(std::mt19937_64& random, Time start, bool write, bool upper_half) {
  const auto below = [&random](std::uint64_t n) { return random() % n; };
  const std::uint64_t cell = upper_half ? 32 + below(33) : below(32);
  const std::uint64_t offset = below(4) == 0 ? 0 : below(256);
  Request request{.start = sim::to_sc_time(start), .write = write, .address = cell * 256 + offset};
  request.bytes.resize(1 + below(256 - offset));
  for (unsigned char& byte : request.bytes) byte = static_cast<unsigned char>(random());
  return request;
}

// Reads and writes that go on at one time do not overlap.
std::vector<Request> random_work(unsigned seed, unsigned requests) {
  std::mt19937_64 random(seed);
  std::vector<Request> work;
  Time start{1000};
  for (unsigned i = 0; i < requests; ++i) {
    start += Time{1 + static_cast<Time::rep>(random() % (random() % 4 == 0 ? 400'000 : 20'000))};
    const bool write = random() % 2 == 0;
    work.push_back(random_request(random, start, write, !write));
  }
  return work;
}

// Of 50 to 250 ns, the address decides.
sc_core::sc_time latency(std::uint64_t address) {
  return sim::to_sc_time(Time{50'000 + static_cast<Time::rep>(address * 2654435761U % 200'001)});
}

void fill(third_party::Storage& storage) {
  for (std::size_t i = 0; i < storage.bytes.size(); ++i) storage.bytes[i] = static_cast<unsigned char>(i * 7 + i / 256);
}

// Bind them first.
struct Adapters {
  explicit Adapters(ToBaseConfig::Calls calls)
      : from("from", {0, 64, 64}, node.context), to("to", {calls, ToBaseConfig::Order::as_answered, 64}, node.context) {
    from.reads.bind(to.in);
    from.writes.bind(to.in);
  }
  test::Node node;
  adapters::FromBase<> from;
  adapters::ToBase<> to;
};

void compare(const third_party::Storage& direct, const third_party::Storage& adapted) {
  CHECK(direct.visits.size() > 100);
  CHECK((adapted.visits == direct.visits));  // in brackets: without a page of both
  CHECK((adapted.bytes == direct.bytes));
}
void compare(const std::vector<Request>& direct, const std::vector<Request>& adapted) {
  for (std::size_t i = 0; i < direct.size(); ++i) {
    CAPTURE(i);
    CHECK(adapted[i].done);
    CHECK(adapted[i].status == direct[i].status);
    CHECK(adapted[i].ended == direct[i].ended);
    if (direct[i].status == tlm::TLM_OK_RESPONSE) CHECK((adapted[i].bytes == direct[i].bytes));
  }
}

}  // namespace

TEMPLATE_TEST_CASE_SIG("non-blocking calls by way of the data path take place as if it were not there", "",
                       ((Style style, Reply reply, unsigned hold), style, reply, hold),
                       (Style::two_phases, Reply::completed, 0), (Style::four_phases, Reply::completed, 0),
                       (Style::four_phases, Reply::updated, 31), (Style::four_phases, Reply::later, 31),
                       (Style::end_req_updated, Reply::later, 17), (Style::resp_updated, Reply::completed, 0),
                       (Style::early, Reply::completed, 0)) {
  const std::vector<Request> work = random_work(11 * hold + static_cast<unsigned>(style), 200);
  const sc_core::sc_time accept(13, sc_core::SC_NS);
  const sc_core::sc_time held(hold, sc_core::SC_NS);
  third_party::ApproximatelyTimedInitiator direct("direct", work, reply, held);
  third_party::ApproximatelyTimedInitiator adapted("adapted", work, reply, held);
  third_party::ApproximatelyTimedMemory direct_memory("direct_memory", kSize, style, accept, latency);
  third_party::ApproximatelyTimedMemory adapted_memory("adapted_memory", kSize, style, accept, latency);
  Adapters adapters(ToBaseConfig::Calls::non_blocking);
  direct.socket.bind(direct_memory.socket);
  adapted.socket.bind(adapters.from.in);
  adapters.to.out.bind(adapted_memory.socket);
  fill(direct_memory.storage);
  fill(adapted_memory.storage);
  sc_core::sc_start();
  compare(direct_memory.storage, adapted_memory.storage);
  compare(direct.requests, adapted.requests);
  CHECK(adapters.node.payloads.in_use() == 0);
  CHECK(adapted.transactions.in_use() == 0);
}

TEMPLATE_TEST_CASE_SIG("blocking calls by way of the data path take place as if it were not there", "",
                       ((bool runs_ahead, bool waits, unsigned threads), runs_ahead, waits, threads), (false, false, 3),
                       (false, true, 3), (true, false, 1), (true, true, 3)) {
  std::vector<std::vector<Request>> work;
  for (unsigned thread = 0; thread < threads; ++thread) work.push_back(random_work(thread, 120));
  third_party::LooselyTimedInitiator direct("direct", work, runs_ahead);
  third_party::LooselyTimedInitiator adapted("adapted", work, runs_ahead);
  third_party::LooselyTimedMemory direct_memory("direct_memory", kSize, latency, waits);
  third_party::LooselyTimedMemory adapted_memory("adapted_memory", kSize, latency, waits);
  Adapters adapters(ToBaseConfig::Calls::blocking);
  direct.socket.bind(direct_memory.socket);
  adapted.socket.bind(adapters.from.in);
  adapters.to.out.bind(adapted_memory.socket);
  fill(direct_memory.storage);
  fill(adapted_memory.storage);
  sc_core::sc_start();
  // Those that run ahead of SystemC's clock call in another order than they take place.
  const auto by_instant = [](const third_party::Visit& a, const third_party::Visit& b) { return a.at < b.at; };
  std::stable_sort(direct_memory.storage.visits.begin(), direct_memory.storage.visits.end(), by_instant);
  compare(direct_memory.storage, adapted_memory.storage);
  for (std::size_t thread = 0; thread < threads; ++thread) {
    compare(direct.programs[thread], adapted.programs[thread]);
  }
  CHECK(adapters.node.payloads.in_use() == 0);
}
