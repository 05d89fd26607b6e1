// SPDX-License-Identifier: Apache-2.0
// Facts that the questions read off a story.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/quiz/problem.hpp"

namespace faultline::quiz {

// Of each watched page of an end the value of a key, at an instant (ps since the post), changes at it included.
std::map<std::uint32_t, std::string> pages_at(const Json& story, std::string_view end, std::string_view key,
                                              std::int64_t at);
// How many sentences begin with "The kernel CALL", such as "executes mlock". Calls that were over at `from` or before,
// or begun after `to`, are not counted.
std::size_t calls(const Json& story, std::string_view call, std::int64_t from, std::int64_t to);
// Ends at which the device has met a page fault: "source", "destination".
std::vector<std::string> faulting_ends(const Json& story);
std::size_t faults(const Json& story);
std::int64_t length(const Json& story);       // ps
std::int64_t first_fault(const Json& story);  // ps since the post; the end where there is none

}  // namespace faultline::quiz
