// SPDX-License-Identifier: Apache-2.0
// The numbers behind the values of parameters, so that one can compute with them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/sim/parameters.hpp"

namespace faultline::experiment {

// Digits alone, below 2^64; nothing for any other text.
std::optional<std::uint64_t> whole(std::string_view text);

// Counts, fractions, and quantities with a unit; not flags, choices and texts.
bool is_number(sim::ParameterKind kind);

// What such a value, written as a parameter's get() writes it, is in the smallest unit of its kind: ps, B, b/s, B/s,
// Hz; counts and fractions as they are. Exact up to 2^53. Throws sim::BadQuantity.
double number_of(sim::ParameterKind kind, const std::string& text);

// The unit in which results give such numbers: us, B, b/s, B/s, Hz, and 1 for counts and fractions; empty for what is
// no number.
std::string plain_unit(sim::ParameterKind kind);
// number_of() in that unit.
double plain_number(sim::ParameterKind kind, const std::string& text);

// The value nearest to a number in that unit: whole for all kinds but fractions.
sim::ParameterValue value_of(sim::ParameterKind kind, double number);

}  // namespace faultline::experiment
