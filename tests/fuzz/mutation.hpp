// SPDX-License-Identifier: Apache-2.0
// Texts that are nearly right.
#pragma once

#include <string>
#include <vector>

#include "tests/support/dice.hpp"

namespace faultline::test {

// The text with one to four changes: of bytes, or of lines, keys and values as TOML has them. `others`: texts whose
// lines may come in.
std::string mutated(const std::string& text, const std::vector<std::string>& others, Dice& dice);

// The text with a byte changed, gone, doubled or new.
void change_byte(std::string& text, Dice& dice);

}  // namespace faultline::test
