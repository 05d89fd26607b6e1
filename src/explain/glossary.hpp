// SPDX-License-Identifier: Apache-2.0
// docs/glossary.md, built into the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace faultline::explain {

struct Term {
  std::string name;                    // as the glossary's heading writes it: "RAPF"
  std::string meaning;                 // its paragraph, without links
  std::vector<std::string> also = {};  // other ways to write it
  std::string anchor() const;          // in docs/glossary.md: "#rapf"
};

// In the order of the page.
const std::vector<Term>& glossary();
// Reads such a page: "### TERM", its paragraph, "Also: ..." and "See also: ..." in lines of their own. "## ..." groups
// terms, and is passed over.
std::vector<Term> read_glossary(std::string_view page);
// Those that a text uses, as whole words.
std::vector<Term> terms_in(std::string_view text, const std::vector<Term>& terms);

extern const std::string_view kGlossaryPage;  // made by the build from docs/

}  // namespace faultline::explain
