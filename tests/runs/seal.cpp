// SPDX-License-Identifier: Apache-2.0
// Seals: what is sealed is whole, and no byte of it can be another.
#include <catch2/catch.hpp>

#include <sys/resource.h>

#include <csignal>

#include "src/runs/seal.hpp"
#include "tests/support/sandbox.hpp"

using namespace faultline::runs;
using namespace faultline::test;
using Catch::Matchers::Contains;
using Json = nlohmann::ordered_json;

TEST_CASE("the checksum is zlib's, in one piece or several") {
  CHECK(checksum_of("123456789") == 0xcbf43926);  // the check value of CRC-32
  CHECK(checksum_of("6789", checksum_of("12345")) == 0xcbf43926);
  const Sandbox sandbox;
  CHECK(checksum_of_file(sandbox.write("nine", "123456789")) == 0xcbf43926);
  CHECK(sealed("123456789", kTomlSeal) == "123456789# checksum cbf43926\n");
}

TEST_CASE("of sealed text no bit can be another, none can be missing and none be added") {
  const Sandbox sandbox;
  for (const Seal& seal : {kJsonSeal, kTomlSeal, kDatabaseSeal}) {
    const std::string whole = sealed("some text\nof two lines", seal);
    CHECK(is_sealed(whole, seal));
    CHECK(is_file_sealed(sandbox.write("whole", whole), seal));
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      CHECK_FALSE(is_sealed(flipped, seal));
      CHECK_FALSE(is_file_sealed(sandbox.write("flipped", flipped), seal));
    }
    for (std::size_t size = 0; size < whole.size(); ++size) {
      CHECK_FALSE(is_sealed(whole.substr(0, size), seal));
      CHECK_FALSE(is_file_sealed(sandbox.write("cut", whole.substr(0, size)), seal));
    }
    CHECK_FALSE(is_sealed(whole + "\n", seal));
  }
  CHECK_FALSE(is_file_sealed("nowhere", kTomlSeal));
}

TEST_CASE("a file is sealed in its place, larger than a block, too") {
  const Sandbox sandbox;
  const std::string content(200'000, 'x');
  sandbox.write("large", content);
  seal_file("large", kDatabaseSeal);
  CHECK(read_text("large") == sealed(content, kDatabaseSeal));
  CHECK(is_file_sealed("large", kDatabaseSeal));
}

TEST_CASE("a file that cannot take its seal is told with the reason") {
  const Sandbox sandbox;
  const std::string content(1000, 'x');
  sandbox.write("full", content);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{content.size() + 3, RLIM_INFINITY};  // as a disk with three bytes left
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  CHECK_THROWS_WITH(seal_file("full", kDatabaseSeal), "full: cannot be written: File too large");
  CHECK_THROWS_WITH(seal_file("there/is/none", kDatabaseSeal), Contains("No such file or directory"));
  const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &none);
}

TEST_CASE("a file has a seal whatever it seals") {
  const Sandbox sandbox;
  const std::string whole = sealed("a = 1\n", kTomlSeal);
  CHECK(has_seal(sandbox.write("whole", whole), kTomlSeal));
  CHECK(has_seal(sandbox.write("changed", "b" + whole.substr(1)), kTomlSeal));
  CHECK_FALSE(is_file_sealed("changed", kTomlSeal));
  CHECK_FALSE(has_seal(sandbox.write("none", "a = 1\n# checksum\n# of nothing at all, which is long\n"), kTomlSeal));
  CHECK_FALSE(has_seal(sandbox.write("short", "a"), kTomlSeal));
  CHECK_FALSE(has_seal("nowhere", kTomlSeal));
}

TEST_CASE("a sealed object is JSON with one more member") {
  const Json object{{"a", {{"b", {{"c", {1, 2}}}}}}};
  for (const int indent : {-1, 2}) {
    const std::string text = sealed_json(object, indent);
    CHECK(is_sealed(text, kJsonSeal));
    CHECK(Json::parse(text).size() == object.size() + 1);
    CHECK(*unsealed_json(text) == object);
    CHECK(sealed_json(*unsealed_json(text), indent) == text);  // one seal, again
  }
  CHECK_FALSE(unsealed_json(object.dump()));
}

TEST_CASE("JSON of anybody is looked at to a depth that recursion bears") {
  std::string deep = "{\"format\": ";
  for (int i = 0; i < 1'000'000; ++i) deep += "[{\"a\":";
  CHECK(shallow_json(deep).is_null());  // no JSON
  deep += "1";
  for (int i = 0; i < 1'000'000; ++i) deep += "}]";
  CHECK(shallow_json(deep + "}").at("format").dump().size() < 20);
  CHECK(shallow_json("{\"format\": 7}") == Json{{"format", 7}});
}
