// SPDX-License-Identifier: Apache-2.0
// How a transfer is cut into parts.
#include "models/rdma/pipeline.hpp"

#include <catch2/catch.hpp>

#include "models/rdma/strategy.hpp"

using namespace faultline;
using rdma::Chunks;
using rdma::Part;
using rdma::Pipeline;

namespace {

constexpr std::uint64_t kKiB = 1024;

std::vector<std::uint64_t> lengths(const Pipeline& pipeline, std::uint64_t bytes) {
  std::vector<std::uint64_t> all;
  std::uint64_t end = 0;
  for (const Part& part : pipeline.parts(bytes)) {
    CHECK(part.offset == end);
    end += part.bytes;
    all.push_back(part.bytes);
  }
  CHECK(end == bytes);
  return all;
}

}  // namespace

TEST_CASE("parts follow each other and make up the transfer") {
  using Lengths = std::vector<std::uint64_t>;
  CHECK(lengths({}, 100 * kKiB) == Lengths{100 * kKiB});
  const Pipeline fixed{.chunks = Chunks::fixed, .chunk = 32 * kKiB};
  CHECK(lengths(fixed, 1) == Lengths{1});
  CHECK(lengths(fixed, 32 * kKiB) == Lengths{32 * kKiB});
  CHECK(lengths(fixed, 32 * kKiB + 1) == Lengths{32 * kKiB, 1});
  CHECK(lengths(fixed, 70 * kKiB) == Lengths{32 * kKiB, 32 * kKiB, 6 * kKiB});
  const Pipeline growing{.chunks = Chunks::growing, .chunk = 32 * kKiB, .first = 8 * kKiB};
  CHECK(lengths(growing, 100 * kKiB) == Lengths{8 * kKiB, 16 * kKiB, 32 * kKiB, 32 * kKiB, 12 * kKiB});
  CHECK(lengths(growing, 5 * kKiB) == Lengths{5 * kKiB});
}

TEST_CASE("a pipeline needs a registration that has something to prepare, and parts that do not shrink") {
  rdma::Strategy strategy;
  strategy.pipeline.chunks = Chunks::growing;
  const auto keys = [&] {
    std::vector<std::string> all;
    for (const sim::Conflict& conflict : rdma::conflicts(strategy)) all.push_back(conflict.keys.front());
    return all;
  };
  CHECK(keys() == std::vector<std::string>{"strategy.pipeline"});
  strategy.registration = "touch";
  CHECK(keys().empty());
  strategy.pipeline.first = 2 * strategy.pipeline.chunk;
  CHECK(keys() == std::vector<std::string>{"strategy.pipeline_first"});
  strategy.pipeline.chunks = Chunks::fixed;
  CHECK(keys().empty());
  strategy = {};
  strategy.deferred = true;
  CHECK(keys() == std::vector<std::string>{"strategy.deferred"});
}

TEST_CASE("a transfer that is cut holds as much as its parts at a time") {
  rdma::Strategy strategy;
  CHECK(strategy.most_held(1 << 30) == 1 << 30);
  strategy.pipeline.chunks = Chunks::fixed;
  strategy.pipeline.chunk = 64 * kKiB;
  strategy.pipeline.depth = 3;
  CHECK(strategy.most_held(1 << 30) == 3 * (64 * kKiB + 2 * 4096));
  CHECK(strategy.most_held(64 * kKiB) == 64 * kKiB);
  CHECK(strategy.most_posted(64 * kKiB) == 1);
  CHECK(strategy.most_posted(65 * kKiB) == 2);
  CHECK(strategy.most_asked(65 * kKiB) == 3);
  CHECK(strategy.most_asked(1 << 30) == 4);
}
