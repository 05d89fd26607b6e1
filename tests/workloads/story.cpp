// SPDX-License-Identifier: Apache-2.0
// The story of one transfer: it changes nothing, leaves nothing out, and adds up to what the run has measured.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "models/platform/nics.hpp"
#include "tests/support/point.hpp"
#include "workloads/story/telling.hpp"

using namespace faultline;
using namespace faultline::test;
using Json = nlohmann::json;

namespace {

Json told(const Settings& settings, std::uint64_t transfer = 0, std::uint64_t seed = 1) {
  INFO(to_string(settings));
  const workloads::Configuration c = configuration(settings);
  REQUIRE(workloads::conflicts(c).empty());
  return Json::parse(text_from_child([&] {
    workloads::Watch watch;
    watch.story = workloads::StoryRequest{transfer};
    const auto result = workloads::run_point(c, seed, watch);
    return result.error.empty() ? result.story : Json{{"error", result.error}}.dump();
  }));
}

std::int64_t length(const Json& story) { return story["end"].get<std::int64_t>() - story["begin"].get<std::int64_t>(); }

std::int64_t sum_of_totals(const Json& story) {
  std::int64_t sum = 0;
  for (const Json& total : story["totals"]) {
    sum += total["ps"].get<std::int64_t>();
    std::int64_t steps = 0;
    for (const Json& step : total["steps"]) steps += step["ps"].get<std::int64_t>();
    const bool answers = total["cause"].get<std::string>().starts_with("answering faults: ");
    CHECK(steps == (answers ? total["ps"].get<std::int64_t>() : 0));
  }
  return sum;
}

std::int64_t faults(const Json& story) {
  return std::count_if(story["told"].begin(), story["told"].end(), [](const Json& t) { return t["fault"]; });
}

bool says(const Json& story, const std::string& words) {
  return std::any_of(story["told"].begin(), story["told"].end(),
                     [&](const Json& t) { return t["text"].get<std::string>().find(words) != std::string::npos; });
}

// What is watched changes from what it was.
void check_changes(const Json& story) {
  Json state = story["state"];
  std::int64_t last = story["begin"];
  for (const Json& change : story["changes"]) {
    CHECK(change["at"] >= last);
    last = change["at"];
    CHECK(state.at(change["key"].get<std::string>()) == change["from"]);
    CHECK(change["from"] != change["to"]);
    state[change["key"].get<std::string>()] = change["to"];
  }
  CHECK(last <= story["end"]);
}

// Of the events that decide the time each begins where the one before ends, from the post on.
void check_chain(const Json& story) {
  std::int64_t at = 0;
  for (const Json& event : story["events"]) {
    CHECK(event["from"] >= story["begin"]);
    CHECK(event["to"] >= event["from"]);
    CHECK(event["to"] <= story["end"]);
    if (!event.value("main", false) || event["from"] == event["to"]) continue;
    CHECK(event["from"] == at);
    at = event["to"];
  }
  CHECK(at <= story["end"]);
}

void check_sentences(const Json& story) {
  std::int64_t last = story["begin"];
  for (const Json& one : story["told"]) {
    INFO(one.dump());
    CHECK(one["at"] >= last);
    last = one["at"];
    CHECK(one["who"] != "");
    const std::string text = one["text"];
    CHECK((text.ends_with('.') || text.ends_with("?")));
    CHECK(text.find("{") == std::string::npos);
  }
}

std::vector<int> numbers_of(std::string text) {
  std::vector<int> numbers;
  std::istringstream list(text);
  for (std::string range; std::getline(list, range, ',');) {
    const int first = std::stoi(range);
    const std::size_t dash = range.find('-');
    for (int n = first; n <= (dash == std::string::npos ? first : std::stoi(range.substr(dash + 1))); ++n)
      numbers.push_back(n);
  }
  return numbers;
}

// As told, each entry of a page table becomes something else than it was told to be before.
void check_page_sentences(const Json& story) {
  const std::regex sentence(R"(Pages? ([0-9, -]+) of the (\w+): (.+) -> (.+?)( \(by .*\))?\.)");
  std::map<std::string, std::string> entries;
  for (const Json& one : story["told"]) {
    const std::string text = one["text"];
    std::smatch part;
    if (one["who"] != "page table") continue;
    REQUIRE(std::regex_match(text, part, sentence));
    if (part[3].str().starts_with("pins ") || part[3].str().starts_with("VM_LOCKED ")) continue;
    for (const int page : numbers_of(part[1])) {
      const std::string key = part[2].str() + "/" + std::to_string(page) + "/entry";
      INFO(key << ": " << text);
      CHECK(entries.try_emplace(key, story["state"][key].get<std::string>()).first->second == part[3]);
      entries[key] = part[4];
    }
  }
}

Settings cold(const std::string& end, const std::string& size) {
  return {{"workload.cold", end}, {"workload.size", size}};
}

}  // namespace

TEST_CASE("a story takes as long as the transfer, by cause and in all, under every strategy that ships") {
  for (const auto& [name, settings] : presets()) {
    for (const char* end : {"none", "destination", "both"}) {
      const Settings all = settings + cold(end, "20000 B");
      INFO(name << " " << end);
      const Json story = told(all);
      const Point point = run_well(all);
      CHECK(story["outcome"] == "done");
      CHECK(length(story) == point.latency());
      CHECK(sum_of_totals(story) == point.latency());
      // The metric counts blocks that were cut: accesses of one block may meet several pages.
      CHECK(faults(story) >= point.count("faults"));
      CHECK((faults(story) == 0) == (point.count("faults") == 0));
      check_changes(story);
      check_chain(story);
      check_sentences(story);
      check_page_sentences(story);
    }
  }
}

TEST_CASE("the story of a read has the target's buffer for its source") {
  const Settings read = preset("fault/touch-ahead") + cold("both", "8 KiB") + Settings{{"workload.kind", "read"}};
  const Json story = told(read);
  CHECK(story["operation"] == "read");
  CHECK(story["initiator"] == 0);
  CHECK(story["buffers"][0]["end"] == "source");
  CHECK(story["buffers"][0]["node"] == 1);
  CHECK(length(story) == run_well(read).latency());
  CHECK(sum_of_totals(story) == length(story));
}

TEST_CASE("transfers are numbered as programs begin them, warm-up and all") {
  const Settings three =
      preset("resident") + cold("none", "64 B") + Settings{{"workload.warmup", 2}, {"workload.iterations", 3}};
  const Json first = told(three);
  CHECK(first["number"] == 3);
  CHECK(first["planned"] == 3);
  CHECK(told(three, 1)["number"] == 1);
  CHECK(told(three, 5)["number"] == 5);
  const Json none = told(three, 6);
  CHECK(none["outcome"] == "not begun");
  CHECK(none["begun"] == 5);
}

TEST_CASE("a transfer that meets no fault is told without one") {
  const Json story = told(preset("resident") + cold("none", "4 KiB"));
  CHECK(faults(story) == 0);
  CHECK_FALSE(says(story, "PAGE FAULT"));
  CHECK(story["changes"].empty() == false);  // TLBs are filled
}

TEST_CASE("a transfer that does not end is told as far as it came") {
  const Json story =
      told(preset("fault/touch-ahead") + cold("destination", "64 B") + Settings{{"workload.time_limit", "30 us"}});
  CHECK(story["outcome"] == "unfinished");
  CHECK(story["why"] != "");
  CHECK(faults(story) == 1);
  CHECK(sum_of_totals(story) == length(story));
}

TEST_CASE("a transfer that fails is told up to its error") {
  const Json story = told(preset("fault/touch-a-page") + cold("destination", "64 KiB") +
                          Settings{{"exanest.refault_limit", 1}, {"workload.checks", "count"}});
  CHECK(story["outcome"] == "failed");
  CHECK(story["why"] == "the NIC has given up, and completed it with an error");
  CHECK(faults(story) > 0);
  CHECK(sum_of_totals(story) == length(story));
  check_changes(story);
  check_sentences(story);
}

TEST_CASE("a story of an open loop begins with the arrival: its program may have waited for a buffer") {
  const Settings loop =
      preset("fault/touch-ahead") + cold("destination", "64 KiB") +
      Settings{{"workload.arrivals", "periodic"}, {"workload.interval", "50 us"}, {"workload.iterations", 2}};
  const Json first = told(loop);
  const Json second = told(loop, first["number"].get<std::uint64_t>() + 1);
  const Point point = run_well(loop);
  CHECK(second["totals"][0]["cause"] == "wait for a buffer, since the transfer's arrival");
  CHECK(second["totals"][0]["ps"] == std::llround(2 * point["queueing_mean"] * 1e6));
  CHECK(length(first) + length(second) == std::llround(2 * point["latency_mean"] * 1e6));
  CHECK(sum_of_totals(second) == length(second));
}

TEST_CASE("of a long buffer the first pages are watched, and the story says so") {
  const Json story = told(preset("resident") + cold("none", "4 MiB"));
  CHECK(story["buffers"][0]["pages"].size() == 512);
  CHECK(story["buffers"][0]["page_count"] == 1024);
  CHECK(story["cut"].get<std::string>().find("the first 512 are watched, 512 are not") != std::string::npos);
}

TEST_CASE("page states follow a fault: no entry, then a frame, then a TLB entry that leads to it") {
  const Json story = told(preset("fault/touch-ahead") + cold("destination", "64 B"));
  const std::string page = "destination/0/";
  CHECK(story["state"][page + "device's access"].get<std::string>().starts_with("faults"));
  CHECK(story["state"][page + "frame"] == "-");
  CHECK(story["state"][page + "micro-TLB"] == "-");
  std::map<std::string, Json> last;
  for (const Json& change : story["changes"]) last[change["key"]] = change;
  const std::string frame = last.at(page + "frame")["to"];
  CHECK(last.at(page + "device's access")["to"] == "goes through");
  CHECK(last.at(page + "micro-TLB")["to"].get<std::string>().starts_with(frame));
  CHECK(last.at(page + "micro-TLB")["at"] > last.at(page + "frame")["at"]);
  CHECK(last.at("destination/FSR")["to"] == "0x0");  // cleared
  CHECK(says(story, "page 0 of the destination"));
}

TEST_CASE("of a NIC with an MMU of its own its table is watched: a page that has a frame may lack its entry") {
  const Json story = told(preset("nic-mmu/on-demand") + cold("none", "64 B"));
  std::map<std::string, Json> last;
  for (const Json& change : story["changes"]) last[change["key"]] = change;
  for (const char* end : {"source", "destination"}) {
    const std::string page = std::string(end) + "/0/";
    const std::string frame = story["state"][page + "frame"];
    INFO(page);
    CHECK(story["state"][page + "entry"] == "present");
    CHECK(story["state"][page + "device's access"] == "faults: mirror");
    CHECK(story["state"][page + "NIC's table"] == "-");
    CHECK_FALSE(story["state"].contains(page + "micro-TLB"));
    CHECK_FALSE(story["state"].contains(std::string(end) + "/FSR"));
    CHECK(last.at(page + "NIC's table")["to"].get<std::string>().starts_with(frame));
    CHECK(last.at(page + "device's access")["to"] == "goes through");
    CHECK(last.at(page + "device's access")["at"] == last.at(page + "NIC's table")["at"]);
    CHECK(says(story, "PAGE FAULT of the device. The NIC's MMU may not let a "));
  }
  CHECK_FALSE(says(story, "SMMU"));
}

TEST_CASE("every step of every NIC has a sentence, but for faults, which are told otherwise") {
  for (const auto& kind : platform::nic_kinds()) {
    const sim::TransferLife& life = kind->life();
    for (const sim::Step& step : life.steps) {
      INFO(step->name);
      if (step->mark != sim::Mark::told_as_fault) CHECK(step->told.ends_with("."));
    }
  }
}

TEST_CASE("a page that comes and goes is told each time") {
  const Json story = told(preset("mlock-private") + cold("none", "64 KiB") +
                          Settings{{"workload.checks", "count"},
                                   {"inject.mechanism", "compaction"},
                                   {"inject.after", "0 us"},
                                   {"inject.period", "2 us"},
                                   {"inject.count", 1000}});
  CHECK(says(story, "present -> migrating."));
  CHECK(says(story, "migrating -> present"));
  check_page_sentences(story);
}

TEST_CASE("stalled accesses that are answered together are told once, and nobody works at two of them at a time") {
  const Json story = told(preset("fault/stall") + cold("destination", "64 KiB"));
  std::set<std::string> known;
  std::int64_t until = 0;
  unsigned lines = 0;
  for (const Json& one : story["told"]) {
    INFO(one.dump());
    CHECK(known.insert(one["at"].dump() + one["node"].dump() + one["text"].dump()).second);
    if (one["who"] != "fault thread") continue;
    CHECK(one["at"].get<std::int64_t>() - one["took"].get<std::int64_t>() >= until);
    until = one["at"];
    ++lines;
  }
  CHECK(lines > 16);
  CHECK_FALSE(says(story, "none met a fault"));
}

TEST_CASE("a transfer that was never posted, or that nothing answers, is told without causes that it does not have") {
  const Json refused =
      told(preset("pin-per-transfer") + Settings{{"os.rlimit_memlock", "0 B"}, {"workload.checks", "count"}});
  CHECK(refused["outcome"] != "done");
  REQUIRE(refused["totals"].size() == 1);
  CHECK(refused["totals"][0]["cause"] == "preparing the buffers before the post");
  const Json lost = told(preset("fault/touch-ahead") + cold("destination", "64 B") +
                         Settings{{"network.failures", "link 0-1 at 0 us"}, {"workload.checks", "count"}});
  CHECK(lost["outcome"] == "failed");
  for (const Json& total : lost["totals"])
    CHECK_FALSE(total["cause"].get<std::string>().starts_with("answering faults"));
}

TEST_CASE("a call that waits says for what, and how long") {
  const Json story = told(preset("fault/touch-ahead") + cold("destination", "64 B") +
                          Settings{{"workload.cold_destination_kind", "swapped"}, {"os.swap_bytes", "64 MiB"}});
  CHECK(says(story, "for 'target', with 1 page fault. For "));
  CHECK(says(story, " us of this time it waits for the swap device."));
}

TEST_CASE("who holds the lock that a call waits for is told") {
  const Json story = told(preset("mlock") + Settings{{"workload.size", "2 MiB"},
                                                     {"workload.warmup", 1},
                                                     {"os.kernel", "6.12"},
                                                     {"os.thp", "madvise"},
                                                     {"os.thp_alloc", "50 us"},
                                                     {"os.rlimit_memlock", "64 MiB"},
                                                     {"inject.mechanism", "collapse"},
                                                     {"inject.after", "0 us"},
                                                     {"inject.period", "200 us"},
                                                     {"inject.count", 1}});
  CHECK(says(story, " us of this time it waits for mmap_lock, which 'injection' holds."));
}

TEST_CASE("numbers of pages are told as ranges") {
  CHECK(workloads::ranges_text({3}) == "3");
  CHECK(workloads::ranges_text({2, 0, 1, 1, 7}) == "0-2, 7");
  CHECK(workloads::ranges_text({}).empty());
}

TEST_CASE("the wait of a block for the faults of those before it is a cause of its own") {
  const Json story = told(preset("fault/touch-a-page") + cold("destination", "128 KiB"));
  std::int64_t beside = 0;
  for (const Json& total : story["totals"]) {
    if (total["cause"] == "the transfer, while faults of other blocks are answered") beside = total["ps"];
  }
  // Eight blocks, of which four are under way at a time: the last waits for most of the time.
  CHECK(beside > length(story) / 4);
  CHECK(sum_of_totals(story) == length(story));
}

// By what carries the first message, or the first one of a call: a small message, a slot, a rendezvous.
TEST_CASE("messages between ranks are told by the transfers that carry them") {
  struct Case {
    const char* kind;
    Settings more;
    const char* operation;
    std::uint64_t bytes;
    bool faults;
  };
  const std::vector<Case> cases = {
      {"send-receive", {{"workload.size", "8 B"}}, "message", 8, false},
      {"send-receive", {{"workload.size", "4 KiB"}}, "write", 4096 + 32, false},
      {"send-receive", {{"workload.size", "64 KiB"}}, "read", 65536, true},
      {"send-receive", {{"workload.size", "64 KiB"}, {"messages.large", "rendezvous-write"}}, "write", 65536, true},
      {"send-receive", {{"workload.size", "64 KiB"}, {"messages.large", "copies"}}, "write", 4096 + 32, false},
      {"collective", {{"collective.call", "barrier"}, {"workload.cold", "none"}}, "message", 0, false},
      {"collective", {{"collective.call", "broadcast"}, {"workload.size", "64 KiB"}}, "read", 65536, true},
  };
  for (const Case& each : cases) {
    const Settings all = preset("fault/touch-ahead") +
                         Settings{{"workload.kind", each.kind},
                                  {"workload.cold", "both"},
                                  {"workload.warmup", 1},
                                  {"workload.iterations", 2}} +
                         each.more;
    INFO(to_string(all));
    const Json story = told(all);
    CHECK(story["outcome"] == "done");
    CHECK(story["operation"] == each.operation);
    CHECK(story["bytes"] == each.bytes);
    CHECK(story["of_message"] == (each.operation != std::string("message")));
    CHECK((faults(story) > 0) == each.faults);
    CHECK(sum_of_totals(story) == length(story));
    check_changes(story);
    check_chain(story);
    check_sentences(story);
    check_page_sentences(story);
  }
  // What a socket sends is its kernels'.
  const Json socket = told({{"workload.kind", "send-receive"}, {"messages.way", "sockets"}});
  CHECK(socket["outcome"] == "not begun");
  CHECK(socket["begun"] == 0);
}
