// SPDX-License-Identifier: Apache-2.0
// Where the sources lie that these tests were built from.
#pragma once

#include <filesystem>

namespace faultline::test {

std::filesystem::path source_tree();

// A configs folder made for tests.
inline std::filesystem::path test_configs() { return source_tree() / "tests/support/data/configs"; }

}  // namespace faultline::test
