// SPDX-License-Identifier: Apache-2.0
// One of a list of descriptions that have names: a policy that is data, chosen by a parameter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace faultline::rdma {

// `List`: a function that gives all items, in the order in which they are shown; the first is the default. Items have
// a `name`, and are of static duration. `kWhat`: what an item is called, in a sentence.
template <typename Item, std::span<const Item> (*List)(), const char* kWhat>
class ListChoice {
 public:
  ListChoice() = default;
  // Throws std::invalid_argument when no item is called so.
  explicit ListChoice(std::string_view name) { *this = name; }
  ListChoice& operator=(std::string_view name) {
    const auto found = std::ranges::find(List(), name, &Item::name);
    if (found == List().end()) throw std::invalid_argument("no " + (kWhat + (" is called " + std::string(name))));
    chosen_ = static_cast<std::size_t>(found - List().begin());
    return *this;
  }

  const Item& operator*() const { return List()[chosen_]; }
  const Item* operator->() const { return &**this; }

 protected:
  static std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const Item& item : List()) all.emplace_back(item.name);
    return all;
  }
  std::size_t chosen_ = 0;
};

}  // namespace faultline::rdma
