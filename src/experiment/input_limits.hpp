// SPDX-License-Identifier: Apache-2.0
// How much the program takes from files that people write, and says about them. More is a slip, a wrong file or an
// attack: each limit keeps reading it, and the answer to it, short. None is a limit of the simulator.
#pragma once

#include <cstddef>
#include <cstdint>

namespace faultline::experiment {

inline constexpr std::uintmax_t kMostInputBytes = 16 << 20;
inline constexpr std::size_t kMostKeyParts = 16;         // of a dotted key; those of parameters have up to five
inline constexpr std::size_t kMostNesting = 32;          // tables and lists within each other
inline constexpr std::uint64_t kMostValues = 1'000'000;  // of a list, of an axis
inline constexpr std::size_t kMostAxes = 1000;           // there are fewer parameters
inline constexpr std::size_t kMostStrategies = 1000;
inline constexpr std::size_t kMostBases = 16;            // of a strategy or platform, each based on the next
inline constexpr std::size_t kMostLabelCharacters = 60;  // of a value on an axis: a table has a column for it
inline constexpr std::uint64_t kMostRepetitions = 10'000;
inline constexpr std::size_t kMostMistakes = 50;          // told of one command; then people know enough
inline constexpr std::size_t kMostMessageBytes = 10'000;  // of each
// The greatest seed. What reads results with doubles alone, JavaScript and spreadsheets first of all, has whole numbers
// exactly up to here.
inline constexpr std::uint64_t kMostSeed = (std::uint64_t{1} << 53) - 1;

}  // namespace faultline::experiment
