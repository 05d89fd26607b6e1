// SPDX-License-Identifier: Apache-2.0
// Quantities as people write them in configuration files: "16 KiB", "38 us", "16 Gb/s".
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "models/sim/time.hpp"

namespace faultline::sim {

// Thrown by the parse_* functions; what() is one phrase that says what is wrong with the text.
struct BadQuantity : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Each accepts a decimal number and one unit, with or without a space, and throws BadQuantity when
// the unit is missing or unknown or when the value is no whole number of the smallest unit, which is
// decided exactly: 1.25 MiB are 1310720 B, 0.3 KiB are refused.
Time parse_time(std::string_view text);            // ps ns us ms s
std::uint64_t parse_bytes(std::string_view text);  // B KiB MiB GiB kB MB GB
BitRate parse_bit_rate(std::string_view text);     // b/s kb/s Mb/s Gb/s
ByteRate parse_byte_rate(std::string_view text);   // B/s kB/s MB/s GB/s KiB/s MiB/s GiB/s
Frequency parse_frequency(std::string_view text);  // Hz kHz MHz GHz

// 0.5, or in percent: 50 %, with or without the space. Throws BadQuantity for anything else.
double parse_fraction(std::string_view text);

// Exact text that the matching parse_* reads back to the same value, in the largest unit in which it is a whole
// number or, where a unit is a power of 1000, has at most three decimals: 1.5 us, but 1536 MiB.
std::string format_time(Time t);
std::string format_bytes(std::uint64_t bytes);
std::string format_bit_rate(BitRate rate);
std::string format_byte_rate(ByteRate rate);
std::string format_frequency(Frequency f);

}  // namespace faultline::sim
