// SPDX-License-Identifier: Apache-2.0
// The table of what changed between kernels, and the tests that its rows name.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>

#include "models/cpu/kernel.hpp"
#include "tests/support/source_tree.hpp"

using namespace faultline;
using namespace faultline::test;
using cpu::Change;
using cpu::KernelVersion;

namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  REQUIRE(file.good());
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string readme_of_os() { return content_of(source_tree() / "models/os/README.md"); }

// The change's row in the README, from the newline before it to the one behind it. What follows the name may be given,
// too.
std::string row_of(const std::string& readme, const cpu::ChangeRow& row, std::string_view after_name = "") {
  const std::size_t begin = readme.find(fmt::format("\n| `{}` |{}", row.name, after_name));
  REQUIRE(begin != std::string::npos);
  return readme.substr(begin, readme.find('\n', begin + 1) - begin);
}

}  // namespace

TEST_CASE("each change has a row in the README, and two kernels that differ by it") {
  const std::string readme = readme_of_os();
  std::size_t last = 0;  // by release there, too
  for (const auto& row : cpu::kChanges) {
    INFO(row.name);
    const std::size_t at = readme.find(row_of(readme, row, fmt::format(" {}.{} |", row.since / 100, row.since % 100)));
    CHECK(at > last);
    last = at;
    CHECK_FALSE(cpu::Kernel{KernelVersion::linux_4_9}.has(row.change));
    CHECK(cpu::Kernel{KernelVersion::linux_6_12}.has(row.change));
  }
}

TEST_CASE("each change has a test where its row says, which is tagged with its name") {
  const std::string readme = readme_of_os();
  for (const auto& row : cpu::kChanges) {
    INFO(row.name);
    const std::string line = row_of(readme, row);
    REQUIRE(line.ends_with(" |"));
    const std::size_t cell = line.rfind("| ", line.size() - 3) + 2;
    std::istringstream files(line.substr(cell, line.size() - 2 - cell));
    unsigned named = 0;
    for (std::string file; std::getline(files >> std::ws, file, ','); ++named) {
      INFO(file);
      const std::string tests = content_of(source_tree() / "tests/os" / file);
      CHECK(tests.find(fmt::format("[{}]", row.name)) != std::string::npos);
    }
    CHECK(named > 0);
  }
}

TEST_CASE("a kernel has what came up to its release") {
  CHECK_FALSE(cpu::Kernel{KernelVersion::linux_5_4}.has(Change::fork_copies_pinned));
  CHECK(cpu::Kernel{KernelVersion::linux_5_10}.has(Change::fork_copies_pinned));
  CHECK_FALSE(cpu::Kernel{KernelVersion::linux_6_1}.has(Change::vma_locks));
  CHECK(cpu::Kernel{KernelVersion::linux_6_6}.has(Change::vma_locks));
}
