// SPDX-License-Identifier: Apache-2.0
// The policies that make up a strategy: what may be written in a file, what fits together, and that what
// ships does.
#include "models/rdma/strategy.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/rdma/registration/list.hpp"
#include "tests/support/preset_files.hpp"

using namespace faultline;
using rdma::Resolve;
using rdma::Strategy;

namespace {

// In the order of the list.
std::vector<std::string> registrations() {
  std::vector<std::string> names;
  for (const auto& policy : rdma::registration_policies()) names.emplace_back(policy->name());
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Strategy with(const std::string& registration) {
  Strategy strategy;
  strategy.registration = registration;
  return strategy;
}

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

  for (const std::string& name : registrations()) {
    set("strategy.registration", name.c_str());
    CHECK(strategy.registration->name() == name);
  }
  set("strategy.translate", "private");
  CHECK(strategy.translate->name == "private");
  set("strategy.on_source_fault", "stall");
  CHECK(strategy.on_source_fault->name == "stall");
  CHECK(strategy.on_destination_fault->name == "terminate");
  set("strategy.on_destination_fault", "stall");
  CHECK(strategy.on_destination_fault->name == "stall");
  set("strategy.resolve", "touch-a-page");
  CHECK(strategy.resolve == Resolve::touch_a_page);
  table.find("strategy.touch_ahead_pages")->set(std::int64_t{512});
  CHECK(strategy.touch_ahead_pages == 512);
  table.find("strategy.call_pages")->set(std::int64_t{4});
  CHECK(strategy.call_pages == 4);

  CHECK(refuses("strategy.registration", std::string("pin")) == joined(registrations()));
  CHECK(refuses("strategy.translate", std::string("pinned")) ==
        "shared, private, mirrored, pushed, on-demand, vetoing");
  CHECK_THROWS_AS(strategy.on_source_fault = "retry", std::invalid_argument);
  CHECK(refuses("strategy.on_source_fault", std::string("retry")) == "terminate, stall, park, nak");
  CHECK(refuses("strategy.on_destination_fault", std::string("retry")) == "terminate, stall, park, nak");
  CHECK(refuses("strategy.resolve", std::string("touch")) == "touch-a-page, touch-ahead, fixup-user-fault");
  CHECK(refuses("strategy.touch_ahead_pages", std::int64_t{0}) == "1 to 1048576");
  CHECK(refuses("strategy.touch_ahead_pages", std::int64_t{1'048'577}) == "1 to 1048576");
  CHECK(refuses("strategy.call_pages", std::int64_t{0}) == "1 to 1048576");
  std::size_t of_policies = 0;
  for (const auto& policy : rdma::registration_policies()) {
    sim::ParameterTable own;
    policy->declare(own);
    of_policies += own.all().size();
  }
  CHECK(table.all().size() == 14 + of_policies);
}

TEST_CASE("the device's first access finds out, unless another policy is chosen") {
  CHECK(Strategy().registration->name() == "nothing");
  CHECK(registrations().front() == "nothing");
}

TEST_CASE("a private table goes with the policies that pin, lock or know the frames, and with no other") {
  const auto by_or = [](const std::vector<std::string>& names) {
    std::string text = joined(names);
    if (const auto last = text.rfind(", "); last != std::string::npos) text.replace(last, 2, " or ");
    return text;
  };
  std::vector<std::string> pinning, locking, knowing;
  for (const auto& policy : rdma::registration_policies()) {
    if (policy->abilities().pins) pinning.emplace_back(policy->name());
    if (policy->abilities().locks) locking.emplace_back(policy->name());
    if (policy->abilities().knows_frames) knowing.emplace_back(policy->name());
  }
  CHECK(by_or({"a", "b", "c"}) == "a, b or c");
  for (const std::string& name : registrations()) {
    Strategy strategy = with(name);
    const rdma::Abilities abilities = strategy.registration->abilities();
    if (name.starts_with("pin-")) CHECK(abilities.pins);
    if (name == "mlock") CHECK(abilities.locks);
    CHECK(conflicts(strategy).size() == (abilities.pins_late ? 1 : 0));  // it needs one
    strategy.translate = "private";
    const auto found = conflicts(strategy);
    REQUIRE(found.size() == (abilities.pins || abilities.locks || abilities.knows_frames ? 0 : 1));
    if (found.empty()) continue;
    CHECK(found[0].keys == std::vector<std::string>{"strategy.translate", "strategy.registration"});
    // Names all those that fill one.
    CHECK(found[0].instead == "set strategy.registration to " + by_or(pinning) + ", or to " + by_or(locking) +
                                  " if locked pages are believed to keep their frames, or to " + by_or(knowing) +
                                  " to see what comes of frames that nothing keeps; or set strategy.translate to "
                                  "shared or mirrored");
  }
}

TEST_CASE("every combination of the other policies is possible") {
  for (const rdma::AbsentPage& source : rdma::absent_pages()) {
    for (const rdma::AbsentPage& destination : rdma::absent_pages()) {
      for (const Resolve resolve : {Resolve::touch_a_page, Resolve::touch_ahead}) {
        for (const std::string& name : registrations()) {
          Strategy strategy = with(name);
          strategy.on_source_fault = source.name;
          strategy.on_destination_fault = destination.name;
          strategy.resolve = resolve;
          if (strategy.registration->abilities().pins_late) strategy.translate = "private";
          CHECK(conflicts(strategy).empty());
          CHECK(strategy.on_fault(rdma::End::source).name == source.name);
          CHECK(strategy.on_fault(rdma::End::destination).name == destination.name);
        }
      }
    }
  }
}

TEST_CASE("what a strategy is made of says what the strategy uses, and adds nothing for what it does not use") {
  const auto line = [](const Strategy& strategy, const std::string& key) {
    for (const rdma::PolicyChoice& each : made_of(strategy)) {
      if (each.key == "strategy." + key) return each;
    }
    return rdma::PolicyChoice{};
  };
  const auto resolve = [&](const Strategy& strategy) { return line(strategy, "resolve"); };

  Strategy nothing = with("nothing");
  CHECK(line(nothing, "on_source_fault").adds == "payload that crosses the network twice");
  CHECK(line(nothing, "on_destination_fault").adds == "payload that crosses the network twice");
  CHECK(resolve(nothing).meaning == "the fault thread calls get_user_pages for 4 pages from the fault on");
  CHECK(resolve(nothing).adds == "pages that no access has asked for");
  nothing.call_pages = 3;
  CHECK(resolve(nothing).meaning ==
        "the fault thread calls get_user_pages for 4 pages from the fault on, 3 pages a call; the fault is answered "
        "after the first call");
  nothing.touch_ahead_pages = 1;
  CHECK(resolve(nothing).meaning == "the fault thread calls get_user_pages for 1 page from the fault on");
  CHECK(resolve(nothing).adds.empty());
  nothing.resolve = Resolve::touch_a_page;
  CHECK(resolve(nothing).meaning == "the fault thread touches the page");
  nothing.translate = "mirrored";
  CHECK(resolve(nothing).choice == "touch-a-page");
  CHECK(resolve(nothing).meaning == "the fault thread calls mirror_pages for 1 page from the fault on");

  Strategy late = with("pin-overlapped");
  late.translate = "private";
  CHECK(line(late, "on_destination_fault").adds == "payload that crosses the network twice");
  CHECK(resolve(late).meaning == "never used: the fault thread waits until the page is pinned");

  Strategy cut = with("pin-per-transfer");
  for (const char* key : {"pipeline", "deferred", "unpin"}) CHECK(line(cut, key).key.empty());
  cut.pipeline.chunks = rdma::Chunks::growing;
  cut.deferred = true;
  cut.unpin.time = rdma::UnpinTime::batched;
  CHECK(
      line(cut, "pipeline").meaning ==
      "parts of 64 KiB first and 1 MiB at most, 4 of them prepared at an end at a time, cross the network while others "
      "are prepared");
  CHECK(line(cut, "deferred").adds == "a thread");
  CHECK(line(cut, "unpin").meaning == "16 pins that no transfer needs are let go of in one call");

  for (const std::string& name : registrations()) {
    INFO(name);
    Strategy strategy = with(name);
    const rdma::Abilities abilities = strategy.registration->abilities();
    if (abilities.pins_late) continue;
    for (const char* key : {"on_source_fault", "on_destination_fault", "resolve"}) {
      CHECK(line(strategy, key).adds.empty() == abilities.keeps_present());
      CHECK(line(strategy, key).meaning.starts_with("only where the kernel changes") ==
            (abilities.pins || abilities.locks));
      CHECK(line(strategy, key).meaning.starts_with("never used") == abilities.is_bound);
    }
    strategy.translate = "private";
    CHECK(resolve(strategy).meaning == "never used: no fault fills a private table");
    CHECK(resolve(strategy).adds.empty());
    CHECK(line(strategy, "on_source_fault").meaning ==
          "the access gets an error, and the transfer fails: no fault fills a private table");
    CHECK(line(strategy, "on_source_fault").adds.empty());
    // A mirror is empty at first, whatever is registered.
    strategy.translate = "mirrored";
    CHECK(resolve(strategy).meaning == "the fault thread calls mirror_pages for 4 pages from the fault on");
    CHECK_FALSE(resolve(strategy).adds.empty());
  }

  CHECK(line(with("pin-cache"), "pin_cache.budget").choice == "4 MiB");
  CHECK(line(with("pin-once"), "pin_cache.budget").key.empty());
}

TEST_CASE("the target is asked to register where that is work for it") {
  for (const char* name : {"touch", "pin-per-transfer", "pin-cache"}) CHECK(with(name).asks_target());
  for (const char* name : {"nothing", "ideal", "populate", "mlock", "pin-once"}) CHECK_FALSE(with(name).asks_target());
}

TEST_CASE("a copy of a strategy has parameters of its own") {
  Strategy one = with("mlock");
  const Strategy copy = one;
  one.registration = "touch";
  CHECK(copy.registration->name() == "mlock");
  one = copy;
  CHECK(one.registration->name() == "mlock");
  CHECK_THROWS_AS(one.registration = "pinning", std::invalid_argument);
}

TEST_CASE("each strategy that ships is legal and has no conflict") {
  std::map<std::string, unsigned> used;
  for (const auto& [file, settings] : test::all_preset_texts()) {
    INFO(file);
    Strategy strategy;
    sim::ParameterTable table;
    strategy.declare(table);
    CHECK(settings.contains("strategy.registration"));
    for (const auto& [name, value] : settings) {
      INFO(name << " = " << value);
      if (!name.starts_with("strategy.")) continue;  // of the NIC that the strategy needs
      REQUIRE(table.find(name) != nullptr);
      CHECK_NOTHROW(table.find(name)->set(value));
      CHECK(table.find(name)->get() == value);
    }
    CHECK(conflicts(strategy).empty());
    ++used[std::string(strategy.registration->name())];
  }
  for (const std::string& name : registrations()) CHECK(used[name] > 0);
}
