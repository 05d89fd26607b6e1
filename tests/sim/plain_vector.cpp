// SPDX-License-Identifier: Apache-2.0
#include "models/sim/plain_vector.hpp"

#include <rapidcheck.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

using faultline::sim::PlainVector;

namespace {

using Values = PlainVector<int, 2>;

bool holds(const Values& list, const std::vector<int>& expected) {
  return list.size() == expected.size() && list.empty() == expected.empty() &&
         std::equal(list.begin(), list.end(), expected.begin(), expected.end());
}

}  // namespace

TEST_CASE("a plain list holds what a vector holds, whether it fits into its own place or not") {
  CHECK(rc::check([] {
    Values list;
    std::vector<int> expected;
    for (int step = 0; step < 40; ++step) {
      const auto what = *rc::gen::inRange(0, 8);
      if (what < 3 || expected.empty()) {
        list.push_back(step);
        expected.push_back(step);
        RC_ASSERT(list.back() == step);
      } else if (what == 3) {
        list.push_back(list.front());
        expected.push_back(expected.front());
      } else if (what == 4) {
        list.pop_back();
        expected.pop_back();
      } else if (what == 5) {
        const auto gone = *rc::gen::inRange<std::uint32_t>(0, list.size() + 1);
        list.drop_front(gone);
        expected.erase(expected.begin(), expected.begin() + gone);
      } else {
        Values other;
        for (int i = *rc::gen::inRange(0, 6); i > 0; --i) other.push_back(-i);
        if (what == 6) {
          const Values copy(list);
          other = copy;
          RC_ASSERT(holds(copy, expected));
        } else {
          other = std::move(list);
          list = Values(std::move(other));
          other = std::as_const(list);
        }
        list = std::as_const(list);
        std::swap(list, other);
      }
      RC_ASSERT(holds(list, expected));
    }
  }));
}

TEST_CASE("a plain list that was moved from is empty") {
  for (const int values : {1, 2, 3, 9}) {
    Values list;
    for (int i = 0; i < values; ++i) list.push_back(i);
    const Values other(std::move(list));
    CHECK(other.size() == static_cast<unsigned>(values));
    CHECK(list.empty());  // NOLINT(bugprone-use-after-move)
    list.push_back(7);
    CHECK(list.front() == 7);
    CHECK(other.front() == 0);
  }
}
