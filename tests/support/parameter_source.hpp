// SPDX-License-Identifier: Apache-2.0
// What every room's declaration test asks of the sources of its parameters.
#pragma once

#include <string>

#include "models/sim/parameters.hpp"

namespace faultline::test {

// A claim about a machine says where it comes from: a document, a figure, or a range and why. "assumed" alone
// says no more than the standing does.
inline bool says_where_it_is_from(const sim::Parameter& parameter) {
  const std::string& source = parameter.doc.source;
  if (parameter.doc.standing == sim::Standing::setting) return true;
  return source.size() > std::string("assumed: ").size();
}

}  // namespace faultline::test
