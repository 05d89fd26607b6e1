// SPDX-License-Identifier: Apache-2.0
#include "models/sim/event_queue.hpp"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include <set>
#include <tuple>
#include <vector>

using namespace faultline::sim;

namespace {

using Key = std::tuple<Time, Port, std::uint64_t>;

Key key_of(const Event& event) { return {event.when, event.port, event.sequence}; }

}  // namespace

TEST_CASE("event queue: the least of instant, port and number comes first, however many wait") {
  CHECK(rc::check([] {
    // Around a few instants, so that many are equal; some far ahead, as timeouts are.
    const auto instants = *rc::gen::inRange<std::int64_t>(1, 100);
    const auto share_of_pops = *rc::gen::inRange(1, 9);
    std::uint64_t number = 0;
    EventQueue queue;
    std::set<Key> waiting;
    for (const int draw : *rc::gen::container<std::vector<int>>(200, rc::gen::inRange(0, 1'000'000))) {
      RC_ASSERT(queue.size() == waiting.size());
      if (!waiting.empty()) RC_ASSERT(key_of(queue.top()) == *waiting.begin());
      if (draw % 10 >= share_of_pops) {
        const std::int64_t far = draw % 7 == 0 ? 1000 : 0;
        const Event event{Time{draw / 10 % instants + far}, static_cast<Port>(draw % 3), number++, nullptr, nullptr,
                          static_cast<std::uint64_t>(draw)};
        queue.push(event);
        waiting.insert(key_of(event));
      } else if (!waiting.empty()) {
        queue.pop();
        waiting.erase(waiting.begin());
      }
    }
    for (; !waiting.empty(); queue.pop(), waiting.erase(waiting.begin())) {
      RC_ASSERT(key_of(queue.top()) == *waiting.begin());
    }
    RC_ASSERT(queue.size() == 0);
  }));
}
