// SPDX-License-Identifier: Apache-2.0
// The glossary's page, read; and the terms that a text uses.
#include "src/explain/glossary.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

using namespace faultline::explain;

namespace {

constexpr const char* kPage = R"(# Glossary

Words before the first term are nobody's.

## Memory

### TLB

A cache of [translations](#page-table).
It stands in the SMMU.

Also: TLB entry, translation cache.
See also: [page table](#page-table).

## The NIC

### page table

Leads from virtual to physical addresses.
)";

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  for (const Term& term : terms_in(text, read_glossary(kPage))) names.push_back(term.name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a glossary's page is headings, paragraphs and other names") {
  const std::vector<Term> terms = read_glossary(kPage);
  REQUIRE(terms.size() == 2);
  CHECK(terms[0].name == "TLB");
  CHECK(terms[0].meaning == "A cache of translations. It stands in the SMMU.");
  CHECK(terms[0].also == Names{"TLB entry", "translation cache"});
  CHECK(terms[1].meaning == "Leads from virtual to physical addresses.");
  CHECK(terms[1].anchor() == "#page-table");
}

TEST_CASE("a text uses a term as a whole word, in the plural, or by another name") {
  CHECK(names_in("Both TLBs miss.") == Names{"TLB"});
  CHECK(names_in("the translation cache") == Names{"TLB"});
  CHECK(names_in("a page table's entry") == Names{"page table"});
  CHECK(names_in("STLB, TLBx and pages tables") == Names{});
}

TEST_CASE("the program's own glossary has a meaning for each term, and no term twice") {
  std::set<std::string> seen;
  CHECK(glossary().size() > 20);
  for (const Term& term : glossary()) {
    INFO(term.name);
    CHECK_FALSE(term.meaning.empty());
    CHECK(term.meaning.find("](") == std::string::npos);
    CHECK(seen.insert(term.anchor()).second);
    for (const std::string& other : term.also) CHECK(seen.insert(other).second);
  }
}

TEST_CASE("the glossary knows the terms without which no story is told") {
  for (const char* term : {"MPSoC", "QFDB", "R5", "TBU", "RAPF", "HUPCF", "SMMU", "TLB"}) {
    INFO(term);
    CHECK_FALSE(terms_in(term, glossary()).empty());
  }
}
