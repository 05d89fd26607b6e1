// SPDX-License-Identifier: Apache-2.0
#include "tests/support/source_tree.hpp"

namespace faultline::test {

std::filesystem::path source_tree() { return FAULTLINE_SOURCE_TREE; }

}  // namespace faultline::test
