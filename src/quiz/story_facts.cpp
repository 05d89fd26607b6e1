// SPDX-License-Identifier: Apache-2.0
#include "src/quiz/story_facts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace faultline::quiz {
namespace {

std::int64_t number(const Json& json, const char* key) { return json.at(key).get<std::int64_t>(); }

}  // namespace

std::map<std::uint32_t, std::string> pages_at(const Json& story, std::string_view end, std::string_view key,
                                              std::int64_t at) {
  std::map<std::uint32_t, std::string> values;
  std::map<std::string, std::uint32_t> pages;
  for (const Json& each : story.at("keys")) {
    if (each.at("end") != end || each.at("name") != key || each.at("page").is_null()) continue;
    const std::string name = each.at("key");
    pages[name] = each.at("page");
    values[pages[name]] = story.at("state").at(name);
  }
  for (const Json& change : story.at("changes")) {
    const auto page = pages.find(change.at("key").get<std::string>());
    if (number(change, "at") <= at && page != pages.end()) values[page->second] = change.at("to");
  }
  return values;
}

std::size_t calls(const Json& story, std::string_view call, std::int64_t from, std::int64_t to) {
  const std::string begin = fmt::format("The kernel {}", call);
  const Json& told = story.at("told");
  return static_cast<std::size_t>(std::count_if(told.begin(), told.end(), [&](const Json& one) {
    const std::int64_t over = number(one, "at");
    return one.at("text").get<std::string>().starts_with(begin) && over > from && over - number(one, "took") <= to;
  }));
}

std::vector<std::string> faulting_ends(const Json& story) {
  std::vector<std::string> ends;
  for (const Json& buffer : story.at("buffers")) {
    const Json& told = story.at("told");
    const bool faulted = std::any_of(told.begin(), told.end(), [&](const Json& one) {
      return one.at("fault").get<bool>() && one.at("node") == buffer.at("node");
    });
    if (faulted) ends.push_back(buffer.at("end"));
  }
  return ends;
}

std::size_t faults(const Json& story) {
  const Json& told = story.at("told");
  return static_cast<std::size_t>(
      std::count_if(told.begin(), told.end(), [](const Json& one) { return one.at("fault").get<bool>(); }));
}

std::int64_t length(const Json& story) { return number(story, "end") - number(story, "begin"); }

std::int64_t first_fault(const Json& story) {
  for (const Json& one : story.at("told")) {
    if (one.at("fault").get<bool>()) return number(one, "at");
  }
  return number(story, "end");
}

}  // namespace faultline::quiz
