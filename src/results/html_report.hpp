// SPDX-License-Identifier: Apache-2.0
// The pages that `faultline report` and `faultline explain --html` write: bundles of web/, built into the program,
// around data.
#pragma once

#include <string>
#include <string_view>

namespace faultline::results {

// The page's text before its title, between title and data, and behind the data. All empty in a program that was
// built without reports (FAULTLINE_REPORTS=OFF).
struct PageParts {
  std::string_view head;
  std::string_view body;
  std::string_view tail;
};
extern const PageParts kPage;         // of a run; made by the build from web/
extern const PageParts kExplainPage;  // of a story, or of two; likewise

// One file that needs no other. `data`: JSON.
std::string html_page(const PageParts& page, const std::string& title, const std::string& data);

}  // namespace faultline::results
