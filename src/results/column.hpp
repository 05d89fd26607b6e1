// SPDX-License-Identifier: Apache-2.0
// A column of numbers as a page carries it: the smallest type that holds all of them, as bytes in base64.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

namespace faultline::results {

// NaN where there is no value. {"value": 3} (or null for NaN) when all are equal and there is at least one; otherwise
// {"type": "u8", "u16", "i32", "f32" or "f64", "data": "..."}, little-endian.
// Exact, or with seven digits: as floats where it would need doubles.
enum class Digits { all, seven };
nlohmann::ordered_json encode_column(const std::vector<double>& values, Digits digits = Digits::all);

}  // namespace faultline::results
