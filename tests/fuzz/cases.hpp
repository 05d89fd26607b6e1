// SPDX-License-Identifier: Apache-2.0
// Cases by seed and number, many in a child process: one that crashes, or does not end, is told by its number.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tests/support/dice.hpp"

namespace faultline::test {

// The random choices of case `number`, of FAULTLINE_FUZZ_SEED (default 1).
Dice dice_of(const std::string& name, std::uint64_t number);

// Tries `cases` cases (times FAULTLINE_CASES_TIMES; with FAULTLINE_FUZZ_CASE only that one). `complaint` says what is
// wrong with the case of these choices, or nothing. A case may use 10 s of processor time and a minute.
// Throws std::runtime_error: which case, and how to repeat it.
void try_cases(const std::string& name, std::uint64_t cases,
               const std::function<std::string(Dice& dice, std::uint64_t number)>& complaint);

// As the program's own messages would show it.
std::string printable(const std::string& text);

// Whether nothing in it tells a terminal something: control characters but tabs and line ends, and broken UTF-8.
bool is_clean(const std::string& text);

}  // namespace faultline::test
