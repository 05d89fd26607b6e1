// SPDX-License-Identifier: Apache-2.0
#include "models/sim/recycling.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>

using namespace faultline::sim;

namespace {

// As whole numbers: a pointer to what was given back may not be looked at.
std::uintptr_t number(void* block) { return reinterpret_cast<std::uintptr_t>(block); }

// Where a block of this size is, which is given back at once.
std::uintptr_t place_of(std::size_t bytes) {
  void* block = take_block(bytes);
  const std::uintptr_t place = number(block);
  give_block(block, bytes);
  return place;
}

}  // namespace

TEST_CASE("a block that was given back is the next one of its size") {
  if (!kRecycles) return;
  const std::uintptr_t first = place_of(160);
  CHECK(place_of(129) == first);
  CHECK(place_of(128) != first);
  CHECK(place_of(161) != first);
  // The last one that was given back comes first, and none is in two hands.
  void* a = take_block(150);
  void* b = take_block(150);
  CHECK(number(a) == first);
  CHECK(number(b) != first);
  const std::uintptr_t second = number(b);
  give_block(a, 150);
  give_block(b, 150);
  CHECK(place_of(150) == second);
}

TEST_CASE("blocks of any size have room for what they are asked for, and a quarter more at most") {
  for (std::size_t bytes = 0; bytes < 100'000; ++bytes) {
    const auto size = detail::SizeClass::of(bytes);
    REQUIRE(size.bytes >= bytes);
    REQUIRE(size.bytes <= std::max<std::size_t>(64, bytes + bytes / 4 + 1));
    REQUIRE(detail::SizeClass::of(size.bytes).index == size.index);
  }
}

TEST_CASE("containers and objects give back what they took") {
  if (!kRecycles) return;
  struct Object : Recycled {
    std::uint64_t words[40] = {};
  };
  auto* object = new Object;
  const std::uintptr_t first = number(object);
  delete object;
  CHECK(place_of(sizeof(Object)) == first);

  const std::uintptr_t of_vector = [] {
    Vector<std::uint64_t> vector(300);
    return number(vector.data());
  }();
  CHECK(place_of(300 * sizeof(std::uint64_t)) == of_vector);
}
