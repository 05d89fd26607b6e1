// SPDX-License-Identifier: Apache-2.0
#include "src/quiz/forms.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace faultline::quiz {

Question choice(std::string text, const std::string& right, Texts options, std::string why, std::string check,
                Draws& draws, Order order) {
  if (order == Order::drawn) shuffle(options, draws);
  Question made{std::move(text), std::move(options), 0, std::move(why), std::move(check)};
  const auto place = std::find(made.options.begin(), made.options.end(), right);
  if (place == made.options.end()) throw std::logic_error("the right option is none of those: " + right);
  made.right = static_cast<std::size_t>(place - made.options.begin());
  return made;
}

Question one_of(std::string text, const std::string& right, Texts others, std::string why, std::string check,
                Draws& draws) {
  std::erase(others, right);
  shuffle(others, draws);
  others.resize(std::min<std::size_t>(others.size(), 3));
  others.push_back(right);
  return choice(std::move(text), right, std::move(others), std::move(why), std::move(check), draws);
}

Question count(std::string text, std::uint64_t right, std::string why, std::uint64_t check, Draws& draws) {
  // At least three besides the right one, or the number of options would tell of a 0.
  std::set<std::uint64_t> others{0, 1, right + 1, right + 2, right + 3, 2 * right, 2 * right + 1};
  if (right > 1) others.insert({right - 1, right / 2});
  Texts texts;
  for (const std::uint64_t other : others) texts.push_back(std::to_string(other));
  return one_of(std::move(text), std::to_string(right), std::move(texts), std::move(why), std::to_string(check), draws);
}

}  // namespace faultline::quiz
