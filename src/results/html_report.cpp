// SPDX-License-Identifier: Apache-2.0
#include "src/results/html_report.hpp"

#include <boost/algorithm/string/replace.hpp>

namespace faultline::results {
namespace {

std::string html_text(std::string text) {
  boost::replace_all(text, "&", "&amp;");
  boost::replace_all(text, "<", "&lt;");
  boost::replace_all(text, ">", "&gt;");
  return text;
}

}  // namespace

std::string html_page(const PageParts& page, const std::string& title, const std::string& data) {
  std::string text;
  text.reserve(page.head.size() + page.body.size() + page.tail.size() + data.size() + title.size() + 1024);
  text += page.head;
  text += html_text(title);
  text += page.body;
  // "<" stands in JSON's strings only, where it may be written so: no text ends the element that holds it.
  for (const char c : data) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text += page.tail;
}

}  // namespace faultline::results
