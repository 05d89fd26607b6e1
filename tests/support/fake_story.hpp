// SPDX-License-Identifier: Apache-2.0
// The story that the simulator of the tests tells: a fault where faults end transfers, and as many tries as are asked
// for.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace faultline::test {

struct FakeStory {
  std::uint64_t number = 1;
  std::uint64_t bytes = 4096;
  bool faults = true;
  unsigned tries = 1;
  std::string outcome = "done";
  std::string why;

  nlohmann::ordered_json json() const {
    using Json = nlohmann::ordered_json;
    Json told = Json::array();
    const auto add = [&](std::int64_t at, std::int64_t took, unsigned node, const char* who, const std::string& text,
                         const char* cost = "", unsigned attempt = 0, bool fault = false) {
      Json costs = Json::array();
      if (*cost != 0) costs.push_back(cost);
      told.push_back({{"at", at},
                      {"took", took},
                      {"node", node},
                      {"who", who},
                      {"label", ""},
                      {"text", text},
                      {"cost", costs},
                      {"attempt", attempt},
                      {"fault", fault}});
    };
    add(0, 0, 0, "library", "The program posts the transfer.");
    std::int64_t at = 120'000;
    for (unsigned n = 0; n < tries; ++n, at += 2'000'000) {
      if (faults) add(at, 0, 1, "SMMU", "PAGE FAULT of the device, number " + std::to_string(n + 1) + ".", "", n, true);
      add(at + 1'000'000, 1'000'000, 1, "kernel", "The page is brought.", "7 cpu.cores", n);
    }
    add(at, 120'000, 1, "link", "All has arrived at the SMMU.", "network.internal_latency", tries);
    return {{"number", number},
            {"planned", 3},
            {"operation", "write"},
            {"bytes", bytes},
            {"initiator", 0},
            {"target", 1},
            {"outcome", outcome},
            {"why", why},
            {"begin", -500'000},
            {"post", 0},
            {"end", at},
            {"cut", ""},
            {"buffers",
             {{{"end", "source"},
               {"node", 0},
               {"process", "sender"},
               {"asid", 1},
               {"address", "0x1000"},
               {"bytes", bytes},
               {"va_bits", 39},
               {"table", "the process's own page table"},
               {"page_count", 1},
               {"pages", {"0x1000"}}}}},
            {"lanes", {{{"node", 0}, {"name", "program"}}}},
            {"events", Json::array()},
            {"keys", Json::array()},
            {"state", Json::object()},
            {"changes", Json::array()},
            {"totals",
             {{{"cause", "the transfer itself"}, {"ps", at}, {"share", 80.0}, {"steps", Json::array()}},
              {{"cause", "preparing the buffers before the post"},
               {"ps", 500'000},
               {"share", 20.0},
               {"steps", Json::array()}}}},
            {"told", told}};
  }
};

}  // namespace faultline::test
