// SPDX-License-Identifier: Apache-2.0
#include "src/results/html_report.hpp"

namespace faultline::results {
namespace {

std::string html_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      default: escaped += c;
    }
  }
  return escaped;
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
