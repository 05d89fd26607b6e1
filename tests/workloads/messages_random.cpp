// SPDX-License-Identifier: Apache-2.0
// Random programs of messages that are safe: they end even if no message waits anywhere. So they must end with whatever
// slots and credits there are.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

#include "models/sim/random.hpp"
#include "tests/support/number_of_cases.hpp"
#include "tests/workloads/message_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using messages::RequestId;
using messages::Selector;
using sim::Task;
using workloads::Rank;

namespace {

// A step of a rank. Messages have one order in all; each rank makes its calls in that order, and waits for each before
// the next, but a receive may be made earlier and waited for at its place, and a send waited for later.
struct Step {
  enum class What { send, receive, wait } what;
  unsigned message;
};
struct Message {
  unsigned from, to;
  std::uint32_t tag;
  std::uint64_t bytes;
};
// What receives leave open. Of any source only where one rank receives and no other: a receive that takes another
// sender's message first can make a program unsafe.
enum class Open { nothing, tag, source };
struct Script {
  std::vector<Message> messages;
  std::vector<std::vector<Step>> steps;  // by rank
  Open open;
};

Script random_script(sim::Seed seed, unsigned ranks) {
  sim::RandomStream random(seed, "script");
  Script script{{}, std::vector<std::vector<Step>>(ranks), static_cast<Open>(random.below(3))};
  constexpr std::uint64_t kBytes[] = {0, 8, 32, 100, 3000, 4096, 5000, 20'000, 60'000};
  const auto count = 1 + random.below(60);
  for (unsigned i = 0; i < count; ++i) {
    auto from = static_cast<unsigned>(random.below(ranks));
    auto to = static_cast<unsigned>((from + 1 + random.below(ranks - 1)) % ranks);
    if (script.open == Open::source) {
      from = static_cast<unsigned>(1 + random.below(ranks - 1));
      to = 0;
    }
    const auto tag = static_cast<std::uint32_t>(random.below(3));
    script.messages.push_back({from, to, tag, kBytes[random.below(std::size(kBytes))]});
  }
  for (unsigned i = 0; i < count; ++i) {
    const Message& message = script.messages[i];
    auto& sender = script.steps[message.from];
    sender.push_back({Step::What::send, i});
    sender.push_back({Step::What::wait, i});
    auto& receiver = script.steps[message.to];
    // A receive that is made earlier must not overtake those before it: only waits and sends may come between.
    std::size_t at = receiver.size();
    while (at > 0 && receiver[at - 1].what != Step::What::receive && random.below(3) > 0) --at;
    receiver.insert(receiver.begin() + static_cast<std::ptrdiff_t>(at), {Step::What::receive, i});
    receiver.push_back({Step::What::wait, i});
  }
  // Waits for sends may come later.
  for (auto& steps : script.steps) {
    for (std::size_t i = steps.size(); i-- > 0;) {
      std::size_t at = i;
      const auto is_wait_for_send = [&] {
        return steps[at].what == Step::What::wait &&
               script.messages[steps[at].message].from == static_cast<unsigned>(&steps - script.steps.data());
      };
      while (is_wait_for_send() && at + 1 < steps.size() && random.below(3) > 0) {
        std::swap(steps[at], steps[at + 1]);
        ++at;
      }
    }
  }
  return script;
}

Talk::Code play(const Script& script) {
  return [script](Talk& talk, Rank& me) -> Task<void> {
    std::map<unsigned, RequestId> requests;
    for (const Step& step : script.steps[me.number()]) {
      const Message& message = script.messages[step.message];
      if (step.what == Step::What::send) {
        requests[step.message] = co_await talk.send(me, message.to, message.tag, talk.part(me, 0, message.bytes));
      } else if (step.what == Step::What::receive) {
        // Each receive has memory of its own in the second buffer, long enough for every message.
        const bool exact = script.open == Open::nothing;
        const messages::Span room = talk.part(me, 1, exact ? message.bytes : 65536);
        const messages::Span own{room.address + 65536 * step.message, room.bytes};
        const Selector from{script.open == Open::source ? messages::kAny : message.from,
                            exact ? message.tag : messages::kAny};
        requests[step.message] = co_await talk.receive(me, from, own);
      } else {
        const RequestId request = requests.at(step.message);
        const messages::Outcome outcome = co_await talk.wait(me, request);
        talk.facts["bad"] += outcome.ended == messages::Ended::well ? 0 : 1;
        ++talk.facts["ended"];
        talk.facts["at"] = talk.now().count();
      }
    }
  };
}

const Settings kCellByCell = {{"simulation.cells_per_train", 1}};

Settings random_settings(sim::Seed seed) {
  sim::RandomStream random(seed, "settings");
  const auto one_of = [&](auto... values) {
    const std::vector<std::string> all{values...};
    return all[random.below(all.size())];
  };
  Settings settings =
      preset(one_of("resident", "pin-per-transfer", "fault/touch-ahead", "pin-cache", "nic-mmu/pushed"));
  const std::string slot = one_of("64 B", "1 KiB", "4 KiB", "16 KiB");
  settings =
      settings + Settings{{"workload.size", "4 MiB"},
                          {"workload.cold", one_of("none", "both")},
                          {"messages.large", one_of("rendezvous-read", "rendezvous-write", "copies", "pipeline")},
                          {"messages.pipeline_copied", one_of("0 B", "4 KiB", "64 KiB")},
                          {"messages.pipeline_part", one_of("4 KiB", "16 KiB")},
                          {"messages.pipeline_depth", static_cast<std::int64_t>(1 + random.below(4))},
                          {"os.rlimit_memlock", one_of("32 KiB", "8 MiB")},
                          {"messages.progress", one_of("in-calls", "thread")},
                          {"messages.slot_bytes", slot},
                          {"messages.eager_bytes", random.below(2) == 0 ? slot : std::string("64 B")},
                          {"messages.chunk_first", "64 B"},
                          {"messages.chunk_last", slot},
                          {"messages.short_bytes", one_of("0 B", "8 B", "32 B")},
                          {"messages.slots", static_cast<std::int64_t>(2 + random.below(7))}};
  return settings;
}

}  // namespace

TEST_CASE("messages: safe programs end, whatever they are, and leave nothing", "[property]") {
  for (unsigned number = 1; number <= number_of_cases(40); ++number) {
    const sim::Seed seed(number);
    const unsigned ranks = 2 + number % 3;
    const Script script = random_script(seed, ranks);
    const Settings settings = random_settings(seed);
    INFO("seed " << number << ", " << script.messages.size() << " messages, " << to_string(settings));
    std::vector<unsigned> nodes;
    for (unsigned rank = 0; rank < ranks; ++rank) nodes.push_back(rank);
    Facts facts = run_talk(settings, nodes, play(script));
    check_well(facts);
    // Trains keep every time of them.
    if (number % 4 == 0) CHECK(run_talk(settings + kCellByCell, nodes, play(script)) == facts);
    CHECK(facts["bad"] == 0);
    CHECK(facts["ended"] == static_cast<std::int64_t>(2 * script.messages.size()));
    if (facts["finished"] != 1) break;
  }
}
