// SPDX-License-Identifier: Apache-2.0
// Random networks: who is wired to whom, how paths are chosen, what fails.
#pragma once

#include "tests/properties/case.hpp"
#include "tests/support/dice.hpp"

namespace faultline::test {

struct Network {
  Settings settings;
  bool all_to_all;  // pairs that share no nodes share no links

  unsigned nodes() const;
};

Network any_network(const Domain& domain, Dice& dice);

// Links and routers of the case's network that fail, most of them for a while.
Settings any_failures(const Case& c, Dice& dice);

}  // namespace faultline::test
