// SPDX-License-Identifier: Apache-2.0
// `faultline report`: where the page goes, and what keeps it from being written. In a browser: tests/scripts/report.sh.
#include <catch2/catch.hpp>

#include "src/results/html_report.hpp"
#include "tests/support/program.hpp"

using namespace faultline::app;
using namespace faultline::results;
using namespace faultline::test;
namespace fs = std::filesystem;

TEST_CASE("a program that was built without reports says how to get them") {
  if (!kPage.head.empty()) return;
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o"}).code == 0);
  const Ran ran = faultline_program({"report", "o"});
  CHECK(ran.code == kUsage);
  CHECK_THAT(ran.err, Catch::Contains("built without reports") && Catch::Contains("-DFAULTLINE_REPORTS=ON"));
}

TEST_CASE("report writes one page into the run folder or where --out says, the same each time") {
  if (kPage.head.empty()) return;
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o"}).code == 0);
  const Ran ran = faultline_program({"report", "o"});
  CHECK(ran.code == 0);
  CHECK(ran.out == "o/report.html\n");
  const std::string page = read_text("o/report.html");
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.ends_with("</html>\n"));
  // Nothing is fetched from anywhere.
  CHECK(page.find("<link rel=\"stylesheet\"") == std::string::npos);
  CHECK(page.find("<script src") == std::string::npos);
  CHECK(faultline_program({"report", "o", "--out", "p.html"}).out == "p.html\n");
  CHECK(read_text("p.html") == page);
  // A run goes on in a folder that has a page.
  CHECK(faultline_program({"run", "sizes", "--out", "o"}).code == 0);
  CHECK(fs::exists("o/report.html"));
}

TEST_CASE("what keeps a page from being written is said, and nothing is left behind") {
  const Sandbox sandbox;
  CHECK_THAT(faultline_program({"report"}).err, Catch::Contains("'faultline report' needs a run folder"));
  if (kPage.head.empty()) return;
  CHECK(faultline_program({"report", "none"}).err == "none: no such folder\n");
  CHECK(faultline_program({"report", "."}).err == ".: holds no run: it has no manifest.json\n");
  REQUIRE(faultline_program({"run", "sizes", "--out", "o"}).code == 0);
  CHECK_THAT(faultline_program({"report", "o", "--out", "o"}).err,
             Catch::Contains("o: --out: is a folder; name a file"));
  const std::string results = read_text("o/results.json");
  CHECK(faultline_program({"report", "o", "--out", "o/results.json"}).err ==
        "o/results.json: --out: is there and is no page; name another file\n");
  CHECK(read_text("o/results.json") == results);
  CHECK(faultline_program({"report", "o", "--out", "/dev/null"}).err ==
        "/dev/null: --out: is no regular file; name another\n");
  CHECK_THAT(faultline_program({"report", "o", "--out", "none/p.html"}).err, Catch::Contains("none: no such folder"));
  fs::remove("o/effective.toml");
  const Ran ran = faultline_program({"report", "o"});
  CHECK(ran.code == kUsage);
  CHECK_THAT(ran.err, Catch::Contains("o: has no effective.toml"));
  CHECK_FALSE(fs::exists("o/report.html"));
}
