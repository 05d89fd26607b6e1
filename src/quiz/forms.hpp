// SPDX-License-Identifier: Apache-2.0
// The forms of a question: its options and their order.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/quiz/problem.hpp"

namespace faultline::quiz {

using Texts = std::vector<std::string>;

// In an order that is drawn.
template <typename T>
void shuffle(std::vector<T>& list, Draws& draws) {
  for (std::size_t left = list.size(); left > 1; --left) std::swap(list[left - 1], list[draws.below(left)]);
}

// Whether the options are shown in an order that is drawn, or as they are given.
enum class Order { drawn, given };

// Throws std::logic_error where `right` is none of the options.
Question choice(std::string text, const std::string& right, Texts options, std::string why, std::string check,
                Draws& draws, Order order = Order::drawn);
// The right option and at most three of the others, which are drawn.
Question one_of(std::string text, const std::string& right, Texts others, std::string why, std::string check,
                Draws& draws);
// A number, among others that one might find by a mistake.
Question count(std::string text, std::uint64_t right, std::string why, std::uint64_t check, Draws& draws);

}  // namespace faultline::quiz
