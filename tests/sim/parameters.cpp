// SPDX-License-Identifier: Apache-2.0
#include "models/sim/parameters.hpp"

#include <catch2/catch.hpp>

#include "models/sim/units.hpp"

using namespace faultline::sim;

namespace {

enum class Mode { terminate, stall };

struct Config {
  bool on = false;
  unsigned entries = 64;
  Time latency = 300ns;
  std::uint64_t size = 16384;
  Mode mode = Mode::terminate;
  double share = 0.5;

  void declare(ParameterTable& table) {
    const auto group = table.group("unit");
    table.add_flag("on", on, {"switch", "", Standing::setting});
    table.add_count("entries", entries, {1, 512}, {"entries", "guess", Standing::assumed});
    table.add_time("latency", latency, {1ns, 1us}, {"latency", "guess", Standing::assumed});
    table.add_bytes("size", size, {4096, 65536}, {"size", "guess", Standing::assumed});
    table.add_choice("mode", mode, {{"terminate", Mode::terminate}, {"stall", Mode::stall}}, {"mode", "", {}});
    table.add_fraction("share", share, {0.0, 1.0}, {"share", "", {}});
  }
};

}  // namespace

TEST_CASE("quantities are read exactly and written back") {
  CHECK(parse_time("38 us") == 38us);
  CHECK(parse_time("0.1us") == 100ns);
  CHECK(parse_time("1.5 ns") == Time{1500});
  CHECK(parse_bytes("16 KiB") == 16384);
  CHECK(parse_bit_rate("16 Gb/s") == BitRate{16'000'000'000});
  CHECK(parse_byte_rate("12.8 GB/s") == ByteRate{12'800'000'000});
  CHECK(parse_frequency("150 MHz") == Frequency{150'000'000});
  for (const char* text : {"38 us", "1.5 ns", "1 ps", "0 ps", "999 ms", "1.001 s"}) {
    CHECK(format_time(parse_time(text)) == text);
  }
  CHECK(format_bytes(16384) == "16 KiB");
  CHECK(parse_bytes(format_bytes(12345)) == 12345);
  for (const char* text : {"38", "us", "", "38 parsecs", "0.0001 ps", "1e3 us", "-1 us", "99999999999 s", "1..2 us",
                           "1.2.3 us", ". us", "9223372036854775808 ps"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_time(text), BadQuantity);
  }
}

TEST_CASE("a quantity with decimals is read if and only if it is a whole number of the smallest unit") {
  CHECK(parse_bytes("0.25 KiB") == 256);
  CHECK(parse_bytes("2.25 KiB") == 2304);
  CHECK(parse_bytes("1.25 MiB") == 1'310'720);
  CHECK(parse_bytes("0.0009765625 KiB") == 1);
  CHECK(parse_bytes("1.000000000931322574615478515625 GiB") == (1u << 30) + 1);
  CHECK(parse_bytes("5. kB") == 5000);
  CHECK(parse_bytes(".5 kB") == 500);
  CHECK(parse_bytes("0.50000000000000000000000000000000000 KiB") == 512);
  CHECK(parse_time("9223372.036854775807 s") == Time{INT64_MAX});
  for (const char* text : {"0.3 KiB", "0.0009765624 KiB", "1.000000000931322574615478515626 GiB", "0.5 B",
                           "0.00000000000000000000000000000000000001 GiB"}) {
    INFO(text);
    CHECK_THROWS_WITH(parse_bytes(text), Catch::Contains("finer than the smallest unit"));
  }
  CHECK_THROWS_AS(parse_time("9223372.036854775808 s"), BadQuantity);
}

TEST_CASE("a share is a number, or one in percent") {
  CHECK(parse_fraction("0.5") == 0.5);
  CHECK(parse_fraction("50%") == 0.5);
  CHECK(parse_fraction("12.5 %") == 0.125);
  CHECK(parse_fraction("1e-3") == 0.001);
  for (const char* text : {"", "%", " %", "half", "50  %", "50 % ", "50 %%", "0.5x"}) {
    INFO(text);
    CHECK_THROWS_WITH(parse_fraction(text), "'" + std::string(text) + "' is not a number");
  }
}

TEST_CASE("quantities are written in the largest unit in which they are short") {
  CHECK(format_time(1500ns) == "1.5 us");
  CHECK(format_time(Time{1'000'100}) == "1000.1 ns");
  CHECK(format_bytes(std::uint64_t{3} << 29) == "1536 MiB");
  CHECK(format_bytes(1'500'000'000) == "1.5 GB");
  CHECK(format_bytes(1025) == "1.025 kB");
}

TEST_CASE("rates give whole picoseconds, rounded up") {
  CHECK(BitRate{16'000'000'000}.time_for(288) == 144ns);
  CHECK(Frequency{150'000'000}.cycles(3) == 20ns);
  CHECK(Frequency{533'000'000}.cycles(2) == Time{3753});
  CHECK(ByteRate{6'000'000'000}.time_for(4096) == Time{682667});
}

TEST_CASE("a declared parameter is set, shown and refused with the legal range") {
  Config config;
  ParameterTable table;
  config.declare(table);
  REQUIRE(table.find("unit.entries") != nullptr);
  table.find("unit.entries")->set(std::int64_t{128});
  CHECK(config.entries == 128);
  table.find("unit.entries")->set(std::string("32"));
  CHECK(config.entries == 32);
  CHECK(table.find("unit.entries")->initial == "64");
  table.find("unit.latency")->set(std::string("450 ns"));
  CHECK(config.latency == 450ns);
  CHECK(table.find("unit.latency")->get() == "450 ns");
  table.find("unit.mode")->set(std::string("stall"));
  CHECK(config.mode == Mode::stall);
  table.find("unit.share")->set(std::string("25 %"));
  CHECK(config.share == 0.25);

  const auto refused = [&](const char* name, ParameterValue value) {
    try {
      table.find(name)->set(value);
    } catch (const BadParameterValue& error) {
      return std::string(error.what()) + " | " + error.allowed();
    }
    return std::string("accepted");
  };
  CHECK(refused("unit.entries", std::int64_t{513}) == "513 is out of range | 1 to 512");
  CHECK(refused("unit.entries", std::string("many")) == "'many' is not a whole number | 1 to 512");
  CHECK(refused("unit.latency", std::int64_t{300}) == "300 has no unit | 1 ns to 1 us");
  CHECK(refused("unit.latency", std::string("2 us")) == "'2 us' is out of range | 1 ns to 1 us");
  CHECK(refused("unit.mode", std::string("stal")) == "'stal' is not one of the choices | terminate, stall");
  CHECK(refused("unit.mode", std::int64_t{4}) ==
        "4, a number, is not one of the choices: they are texts, in quotes | terminate, stall");
  CHECK(refused("unit.on", std::int64_t{1}) == "1 is neither true nor false | true or false");
  CHECK(config.entries == 32);
  CHECK(table.nearest("unit.entrys") == "unit.entries");
  CHECK(table.nearest("completely.different.words").empty());
}

TEST_CASE("every choice and both ends of a range can be set") {
  Config config;
  ParameterTable table;
  config.declare(table);
  std::string text = "any";
  table.add_text("text", text, {"a text", "", {}});
  using Texts = std::vector<std::string>;
  CHECK(samples(*table.find("unit.on")) == Texts{"true", "false"});
  CHECK(samples(*table.find("unit.entries")) == Texts{"1", "512"});
  CHECK(samples(*table.find("unit.latency")) == Texts{"1 ns", "1 us"});
  CHECK(samples(*table.find("unit.size")) == Texts{"4 KiB", "64 KiB"});
  CHECK(samples(*table.find("unit.mode")) == Texts{"terminate", "stall"});
  CHECK(samples(*table.find("unit.share")) == Texts{"0", "1"});
  CHECK(samples(*table.find("text")).empty());
  for (const Parameter& parameter : table.all()) {
    for (const std::string& value : samples(parameter)) {
      CHECK_NOTHROW(parameter.set(value));
      CHECK(parameter.get() == value);
    }
  }
}

TEST_CASE("the nearest name is that of the fewest insertions, deletions and replacements") {
  const std::vector<std::string> names{"cpu.cores", "cpu.clock", "os.thp", "smmu.walk_slots"};
  CHECK(nearest_name("cpu.core", names) == "cpu.cores");
  CHECK(nearest_name("cpu.ccores", names) == "cpu.cores");
  CHECK(nearest_name("cpu.clocks", names) == "cpu.clock");
  CHECK(nearest_name("cpu.klock", names) == "cpu.clock");
  CHECK(nearest_name("mmu.walk_slot", names) == "smmu.walk_slots");
  CHECK(nearest_name("abc", {"abcd", "ab", "abc"}) == "abc");
  CHECK(nearest_name("xbcdefgh", {"bcdefgh", "xbcdefg_"}) == "bcdefgh");
  CHECK(nearest_name("entirely.different", names).empty());
}

TEST_CASE("text of a form of its own is checked before the field changes") {
  std::string list = "a";
  ParameterTable table;
  const auto check = [](const std::string& text) {
    if (text.size() != 1) throw BadParameterValue("'" + text + "' is no letter", "a letter");
  };
  table.add_text("list", list, "a letter", check, {"a letter", "", Standing::setting});
  table.find("list")->set(std::string("b"));
  CHECK(list == "b");
  CHECK(table.find("list")->allowed == "a letter");
  CHECK_THROWS_AS(table.find("list")->set(std::string("bc")), BadParameterValue);
  CHECK_THROWS_AS(table.find("list")->set(std::int64_t{3}), BadParameterValue);
  CHECK(list == "b");
}
