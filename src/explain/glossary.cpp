// SPDX-License-Identifier: Apache-2.0
#include "src/explain/glossary.hpp"

#include <algorithm>
#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <boost/algorithm/string/trim.hpp>
#include <cctype>
#include <regex>
#include <sstream>

namespace faultline::explain {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool stands_in(std::string_view text, std::string_view word) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; ++at) {
    const bool begins = at == 0 || !is_word(text[at - 1]);
    const std::size_t end = at + word.size();
    const bool plural = end < text.size() && text[end] == 's' && (end + 1 == text.size() || !is_word(text[end + 1]));
    if (begins && (end == text.size() || !is_word(text[end]) || plural)) return true;
  }
  return false;
}

}  // namespace

// As GitHub makes it of a heading.
std::string Term::anchor() const {
  std::string text = "#";
  for (const char c : name) {
    if (is_word(c)) text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (c == ' ' || c == '-') text += '-';
  }
  return text;
}

std::vector<Term> read_glossary(std::string_view page) {
  static const std::regex kLink(R"(\[([^\]]*)\]\([^)]*\))");
  std::vector<Term> terms;
  std::istringstream lines{std::string(page)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("### ")) {
      terms.push_back({line.substr(4), ""});
    } else if (terms.empty() || line.empty() || line.starts_with("## ") || line.starts_with("See also:")) {
      continue;
    } else if (line.starts_with("Also: ")) {
      std::vector<std::string> others;
      const std::string list = boost::trim_right_copy_if(line.substr(6), boost::is_any_of(". "));
      for (std::string& other : boost::split(others, list, boost::is_any_of(",")))
        terms.back().also.push_back(boost::trim_copy(other));
    } else {
      std::string& meaning = terms.back().meaning;
      meaning += (meaning.empty() ? "" : " ") + std::regex_replace(line, kLink, "$1");
    }
  }
  return terms;
}

const std::vector<Term>& glossary() {
  static const std::vector<Term> terms = read_glossary(kGlossaryPage);
  return terms;
}

std::vector<Term> terms_in(std::string_view text, const std::vector<Term>& terms) {
  std::vector<Term> found;
  std::ranges::copy_if(terms, std::back_inserter(found), [&](const Term& term) {
    return stands_in(text, term.name) ||
           std::ranges::any_of(term.also, [&](const std::string& other) { return stands_in(text, other); });
  });
  return found;
}

}  // namespace faultline::explain
