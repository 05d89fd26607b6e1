// SPDX-License-Identifier: Apache-2.0
// The policies that make up a strategy: what may be written in a file, what fits together, and that what
// ships does.
#include "models/rdma/strategy.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>

#include "tests/support/preset_files.hpp"

using namespace faultline;
using rdma::OnFault;
using rdma::Prepare;
using rdma::Resolve;
using rdma::Strategy;
using rdma::Translate;

namespace {

constexpr Prepare kEachPrepare[] = {Prepare::nothing,  Prepare::ideal, Prepare::touch,
                                    Prepare::populate, Prepare::mlock, Prepare::pin_per_transfer,
                                    Prepare::pin_once};

}  // namespace

TEST_CASE("each choice of a strategy has its name, and no other") {
  Strategy strategy;
  sim::ParameterTable table;
  strategy.declare(table);
  const auto refuses = [&table](const char* name, const sim::ParameterValue& value) {
    const sim::Parameter& parameter = *table.find(name);
    const std::string before = parameter.get();
    std::string allowed = "accepted";
    try {
      parameter.set(value);
    } catch (const sim::BadParameterValue& error) {
      allowed = error.allowed();
    }
    CHECK(parameter.get() == before);
    return allowed;
  };
  const auto set = [&table](const char* name, const char* value) { table.find(name)->set(std::string(value)); };

  const char* prepares[] = {"nothing", "ideal", "touch", "populate", "mlock", "pin-per-transfer", "pin-once"};
  for (std::size_t i = 0; i < std::size(prepares); ++i) {
    set("strategy.registration", prepares[i]);
    CHECK(strategy.prepare == kEachPrepare[i]);
  }
  set("strategy.translate", "private");
  CHECK(strategy.translate == Translate::private_);
  set("strategy.on_source_fault", "stall");
  CHECK(strategy.on_source_fault == OnFault::stall);
  CHECK(strategy.on_destination_fault == OnFault::terminate);
  set("strategy.on_destination_fault", "stall");
  CHECK(strategy.on_destination_fault == OnFault::stall);
  set("strategy.resolve", "touch-a-page");
  CHECK(strategy.resolve == Resolve::touch_a_page);
  table.find("strategy.touch_ahead_pages")->set(std::int64_t{512});
  CHECK(strategy.touch_ahead_pages == 512);
  table.find("strategy.call_pages")->set(std::int64_t{4});
  CHECK(strategy.call_pages == 4);

  CHECK(refuses("strategy.registration", std::string("pin")) ==
        "nothing, ideal, touch, populate, mlock, pin-per-transfer, pin-once");
  CHECK(refuses("strategy.translate", std::string("pinned")) == "shared, private, mirrored");
  CHECK(refuses("strategy.on_source_fault", std::string("retry")) == "terminate, stall");
  CHECK(refuses("strategy.on_destination_fault", std::string("retry")) == "terminate, stall");
  CHECK(refuses("strategy.resolve", std::string("touch")) == "touch-a-page, touch-ahead, fixup-user-fault");
  CHECK(refuses("strategy.touch_ahead_pages", std::int64_t{0}) == "1 to 512");
  CHECK(refuses("strategy.touch_ahead_pages", std::int64_t{513}) == "1 to 512");
  CHECK(refuses("strategy.call_pages", std::int64_t{0}) == "1 to 512");
  CHECK(table.all().size() == 7);
}

TEST_CASE("a private table goes with the policies that pin or lock, and with no other") {
  for (const Prepare prepare : kEachPrepare) {
    Strategy strategy;
    strategy.prepare = prepare;
    const bool pins = prepare == Prepare::pin_once || prepare == Prepare::pin_per_transfer;
    CHECK(strategy.pins() == pins);
    CHECK(conflicts(strategy).empty());
    strategy.translate = Translate::private_;
    const auto found = conflicts(strategy);
    REQUIRE(found.size() == (pins || prepare == Prepare::mlock ? 0 : 1));
    if (found.empty()) continue;
    CHECK(found[0].keys == std::vector<std::string>{"strategy.translate", "strategy.registration"});
    CHECK(found[0].instead.find("pin-once or pin-per-transfer") != std::string::npos);
  }
}

TEST_CASE("every combination of the other policies is possible") {
  for (const OnFault source : {OnFault::terminate, OnFault::stall}) {
    for (const OnFault destination : {OnFault::terminate, OnFault::stall}) {
      for (const Resolve resolve : {Resolve::touch_a_page, Resolve::touch_ahead}) {
        for (const Prepare prepare : kEachPrepare) {
          const Strategy strategy{prepare, Translate::shared, source, destination, resolve, 4};
          CHECK(conflicts(strategy).empty());
        }
      }
    }
  }
}

TEST_CASE("the target is asked to prepare each transfer where that is work for it") {
  for (const Prepare prepare : kEachPrepare) {
    Strategy strategy;
    strategy.prepare = prepare;
    CHECK(strategy.prepares_per_transfer() == (prepare == Prepare::touch || prepare == Prepare::pin_per_transfer));
  }
}

TEST_CASE("each strategy that ships is legal and has no conflict") {
  std::map<Prepare, unsigned> used;
  for (const auto& [file, settings] : test::all_preset_texts()) {
    INFO(file);
    Strategy strategy;
    sim::ParameterTable table;
    strategy.declare(table);
    CHECK(settings.contains("strategy.registration"));
    for (const auto& [name, value] : settings) {
      INFO(name << " = " << value);
      REQUIRE(table.find(name) != nullptr);
      CHECK_NOTHROW(table.find(name)->set(value));
      CHECK(table.find(name)->get() == value);
    }
    CHECK(conflicts(strategy).empty());
    ++used[strategy.prepare];
  }
  for (const Prepare prepare : kEachPrepare) {
    CHECK(used[prepare] > 0);
  }
}
