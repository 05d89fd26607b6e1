// SPDX-License-Identifier: Apache-2.0
// The kinds of questions. Each finds its answer twice: once from what the run has counted or from the configuration,
// once from the story.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "src/explain/story_text.hpp"
#include "src/quiz/forms.hpp"
#include "src/quiz/problem.hpp"
#include "src/quiz/story_facts.hpp"

namespace faultline::quiz {
namespace {

using explain::us_text;
using Answer = std::optional<Question>;

constexpr double kPsOfUs = 1e6;
constexpr const char* kNoEntry = "no entry";
constexpr double kPageBytes = 4096;
// Two values that are nearer to each other are a tie.
constexpr double kTie = 0.02;

std::uint64_t whole(std::optional<double> metric) {
  return static_cast<std::uint64_t>(std::llround(metric.value_or(0)));
}

Answer where(const Scene& scene, Draws& draws) {
  const Json& story = scene.told.story;
  const Texts ends = faulting_ends(story);
  // A node's fault thread is busy only with faults of that node's device.
  const auto had_faults = [&](const Json& buffer) {
    const std::string node = fmt::format("node {}", buffer.at("node").get<unsigned>());
    for (const auto& part : scene.told.result.parts) {
      if (part.part != node) continue;
      for (const auto& metric : part.metrics) {
        if (metric.name == "utilisation_fault_thread") return metric.value > 0;
      }
    }
    return false;
  };
  const auto text_of = [](const Texts& which) -> std::string {
    if (which.empty()) return "no, at neither end";
    return which.size() == 2 ? "yes, at both ends" : fmt::format("yes, at the {} alone", which.front());
  };
  Texts found;
  for (const Json& buffer : story.at("buffers")) {
    if (had_faults(buffer)) found.push_back(buffer.at("end"));
  }
  const std::string why =
      ends.empty()
          ? "Every page that the device uses has an entry in the table that the SMMU walks, with the rights that "
            "the access needs."
          : fmt::format("The first fault is found {} us after the post.", us_text(first_fault(story)));
  return choice(
      "Does the device meet a page fault in this transfer, and at which end?", text_of(found),
      {"no, at neither end", "yes, at the source alone", "yes, at the destination alone", "yes, at both ends"}, why,
      text_of(ends), draws, Order::given);
}

Answer cause(const Scene& scene, Draws& draws) {
  constexpr std::string_view kBegin = "of the faults, those ";
  Texts all;
  Texts met;
  for (const auto& metric : scene.told.result.metrics) {
    if (!metric.name.starts_with("faults_") || !metric.description.starts_with(kBegin)) continue;
    if (metric.name == "faults_injected") continue;
    all.push_back(metric.description.substr(kBegin.size()));
    if (metric.value > 0) met.push_back(all.back());
  }
  if (met.size() != 1) return {};
  Texts told;
  for (const Json& one : scene.told.story.at("told")) {
    if (!one.at("fault").get<bool>()) continue;
    for (const std::string& each : all) {
      if (one.at("text").get<std::string>().find("(" + each + ")") == std::string::npos) continue;
      if (std::find(told.begin(), told.end(), each) == told.end()) told.push_back(each);
    }
  }
  return one_of("Why may the SMMU not let the access through? The faults of this transfer are those ...", met.front(),
                all,
                fmt::format("The state of the page when the device came to it: the kernel knows of {} faults of this "
                            "kind here.",
                            faults(scene.told.story)),
                fmt::format("{}", fmt::join(told, " and ")), draws);
}

struct Bringer {
  std::string_view setting;  // of strategy.resolve
  std::string_view call;     // as the story tells it
  std::string_view text;
};
constexpr auto kBringers = std::to_array<Bringer>(
    {{"touch-a-page", "handles a page fault",
      "the fault thread touches the page, as any program would: an ordinary page fault"},
     {"touch-ahead", "executes get_user_pages", "the fault thread has the kernel call get_user_pages"},
     {"fixup-user-fault", "executes fixup_user_fault", "the fault thread has the kernel call fixup_user_fault"}});

Answer who(const Scene& scene, Draws& draws) {
  const Json& story = scene.told.story;
  if (faults(story) == 0 || scene.told.value("strategy.translate") == "mirrored") return {};
  const std::string& setting = scene.told.value("strategy.resolve");
  const auto known =
      std::find_if(kBringers.begin(), kBringers.end(), [&](const Bringer& b) { return b.setting == setting; });
  if (known == kBringers.end()) return {};
  Texts options{"the SMMU, which walks the table until it finds the page",
                "the program, which has waited for the transfer and touches the page when it is told of the error"};
  std::string told;
  for (const Bringer& each : kBringers) {
    options.emplace_back(each.text);
    const bool is_it = told.empty() || each.setting != "touch-a-page";
    if (is_it && calls(story, each.call, first_fault(story), story.at("end").get<std::int64_t>()) > 0) told = each.text;
  }
  return one_of("Who makes the page present, and how?", std::string(known->text), options,
                "The strategy names the call. The NIC cannot bring a page: it knows no files, swap devices or frames.",
                told, draws);
}

Answer walks(const Scene& scene, Draws& draws) {
  const Json& story = scene.told.story;
  const Json& events = story.at("events");
  const auto told = std::count_if(events.begin(), events.end(), [](const Json& event) {
    return event.at("kind") == "slice" && event.at("label").get<std::string>().starts_with("walk");
  });
  return count(
      "How many times do the two SMMUs walk a page table for this transfer?", whole(scene.told.metric("walks")),
      "A page is walked when neither TLB has its entry: pages of the buffers, and those of completion words and "
      "mailboxes. A walk that finds no page leaves nothing in the TLBs, so that the next access walks again.",
      static_cast<std::uint64_t>(told), draws);
}

Answer brought(const Scene& scene, Draws& draws) {
  // The run counts more faults than pages that become present where a page had to become a zero page first, and where
  // fixup_user_fault finds pages present.
  const Told& asked = scene.told;
  if (asked.value("workload.cold_destination_kind") == "zero-page") return {};
  if (faults(asked.story) > 0 && asked.value("strategy.resolve") == "fixup-user-fault") return {};
  const Json& story = scene.told.story;
  std::uint64_t told = 0;
  for (const char* end : {"source", "destination"}) {
    const auto before = pages_at(story, end, "entry", story.at("begin").get<std::int64_t>());
    const auto after = pages_at(story, end, "entry", story.at("end").get<std::int64_t>());
    for (const auto& [page, entry] : before) told += entry == kNoEntry && after.at(page) != kNoEntry ? 1 : 0;
  }
  return count(
      "How many pages of the two buffers does the kernel make present, from the program's first step to its last?",
      whole(scene.told.metric("minor_faults")),
      "Each page that was absent and is present afterwards took one page fault of the kernel, whoever asked for it.",
      told, draws);
}

Answer sends(const Scene& scene, Draws& draws) {
  const Json& story = scene.told.story;
  const auto bytes = story.at("bytes").get<double>();
  const auto resent = scene.told.metric("retransmitted_bytes");
  // Of a larger block some attempts send a part, and of one that faults at the source nothing.
  const Texts ends = faulting_ends(story);
  if (!resent || bytes > 64 || std::find(ends.begin(), ends.end(), "source") != ends.end()) return {};
  std::uint64_t attempts = 0;
  for (const Json& one : story.at("told")) attempts = std::max(attempts, one.at("attempt").get<std::uint64_t>());
  return count("How many times do the data leave the source?", 1 + whole(*resent / bytes),
               "A terminated access loses the block, and each request or timeout sends the block once more. A stalled "
               "access loses nothing.",
               1 + attempts, draws);
}

Answer timeouts(const Scene& scene, Draws& draws) {
  const Json& events = scene.told.story.at("events");
  const auto told = std::count_if(events.begin(), events.end(), [](const Json& event) {
    return event.at("kind") == "step" && event.at("label").get<std::string>().starts_with("timeout");
  });
  return count(
      "How many times does the timeout of a block expire?", whole(scene.told.metric("timeouts")),
      fmt::format("exanest.block_timeout is {}. It expires when no acknowledgement has come until then; a request "
                  "that comes earlier sends the block at once.",
                  scene.told.value("exanest.block_timeout")),
      static_cast<std::uint64_t>(told), draws);
}

// The longest row, and whether another one is about as long.
struct Longest {
  std::string name;
  bool is_tie = false;
};
Longest longest(const std::map<std::string, double>& rows) {
  Longest found;
  double most = 0;
  for (const auto& [name, time] : rows) {
    if (time > most) {
      found = {name, time < most * (1 + kTie)};
      most = time;
    } else if (time > most * (1 - kTie)) {
      found.is_tie = true;
    }
  }
  return found;
}

// Rows of what comes before the post and after the return.
const std::set<std::string> kAround{"wait for a buffer", "prepare", "release"};

Answer longest_step(const Scene& scene, Draws& draws) {
  std::map<std::string, double> counted;
  for (const auto& row : scene.told.result.breakdown) {
    if (!kAround.contains(row.step)) counted[row.step] += row.mean_us * static_cast<double>(row.samples);
  }
  std::map<std::string, double> told;
  for (const Json& event : scene.told.story.at("events")) {
    if (!event.value("main", false)) continue;
    const std::string label = event.at("label");
    told[label] += (event.at("to").get<double>() - event.at("from").get<double>()) / kPsOfUs;
  }
  const Longest found = longest(counted);
  if (found.is_tie || counted.size() < 4) return {};
  Texts others;
  std::string text;
  for (const auto& [name, time] : counted) {
    if (time > 0) others.push_back(name);
  }
  for (const auto& row : scene.told.result.breakdown) {
    if (row.step == found.name) text = row.description;
  }
  return one_of("From the post to the return: which step of the transfer's way takes longest?", found.name, others,
                fmt::format("It takes {:.3f} us ({}).", counted[found.name], text), longest(told).name, draws);
}

Answer faster(const Scene& scene, Draws& draws) {
  const auto a = scene.told.metric("latency_mean");
  const auto b = scene.other.metric("latency_mean");
  if (!a || !b || std::abs(*a - *b) < kTie * std::max(*a, *b)) return {};
  const std::string& first = scene.told.point.strategy;
  const std::string& second = scene.other.point.strategy;
  const bool told = length(scene.told.story) < length(scene.other.story);
  return choice(fmt::format("The same transfer under strategy {} ({}). Which of the two takes less time, preparing and "
                            "releasing included?",
                            second, scene.other.meaning),
                *a < *b ? first : second, {first, second},
                fmt::format("{} takes {:.3f} us, {} takes {:.3f} us. 'faultline explain --compare' shows why.", first,
                            *a, second, *b),
                told ? first : second, draws);
}

Answer pinned(const Scene& scene, Draws& draws) {
  // For a private table the library's own pages are pinned, too.
  if (scene.told.value("strategy.translate") != "shared") return {};
  const Json& story = scene.told.story;
  std::uint64_t told = 0;
  for (const char* end : {"source", "destination"}) {
    for (const auto& [page, pins] : pages_at(story, end, "pins", 0)) told += pins != "0" ? 1 : 0;
  }
  return count("How many pages of the two buffers are pinned when the transfer is posted?",
               whole(scene.told.metric("pinned_bytes_peak").value_or(0) / kPageBytes),
               "Only pins count: a touched page and a locked page (mlock) are present, and may still be moved.", told,
               draws);
}

Answer locked(const Scene& scene, Draws& draws) {
  if (scene.told.value("strategy.translate") != "shared") return {};
  const Json& story = scene.told.story;
  std::uint64_t told = 0;
  for (const char* end : {"source", "destination"}) {
    for (const auto& [page, is_locked] : pages_at(story, end, "VM_LOCKED", 0)) told += is_locked == "yes" ? 1 : 0;
  }
  return count("How many pages of the two buffers are locked (mlock) when the transfer is posted?",
               whole(scene.told.metric("locked_bytes_peak").value_or(0) / kPageBytes),
               "mlock keeps a page from reclaim. It is no pin: the kernel may still move the page.", told, draws);
}

// What still leads to the old frame at the instant at which the kernel has just changed an entry.
Answer stale(const Scene& scene, Draws& draws) {
  const Json& story = scene.told.story;
  const auto text_of = [](bool micro, bool macro) -> std::string {
    if (micro && macro) return "the micro-TLB and the macro TLB";
    if (micro) return "the micro-TLB alone";
    return macro ? "the macro TLB alone" : "neither TLB";
  };
  for (const Json& change : story.at("changes")) {
    const std::string key = change.at("key");
    if (!key.ends_with("/descriptor") || change.at("from").get<std::string>().starts_with("0x0 ")) continue;
    const std::string page = key.substr(0, key.size() - std::string("descriptor").size());
    const auto at = change.at("at").get<std::int64_t>();
    const auto end = std::string_view(page).substr(0, page.find('/'));
    const auto number = static_cast<std::uint32_t>(std::stoul(page.substr(end.size() + 1)));
    const auto holds = [&](const char* tlb) { return pages_at(story, end, tlb, at).at(number) != "-"; };
    // Whoever holds an entry forgets it later: nothing stale stays.
    const auto forgets = [&](const char* tlb) {
      for (const Json& later : story.at("changes")) {
        if (later.at("at").get<std::int64_t>() > at && later.at("key") == page + tlb)
          return later.at("from").get<std::string>() != "-";
      }
      return false;
    };
    if (!holds("micro-TLB") && !holds("macro TLB")) continue;
    return choice(
        fmt::format(
            "At {} us after the post the entry of page {} of the {} is changed in the table that the device uses. What "
            "still holds the old translation at that instant?",
            us_text(at), number, end),
        text_of(holds("micro-TLB"), holds("macro TLB")),
        {text_of(true, false), text_of(false, true), text_of(true, true), text_of(false, false)},
        "The kernel changes the entry first, then has the TLBs forget it, and waits for that. Until then the "
        "device may still use the old translation, and the old frame must not be given away.",
        text_of(forgets("micro-TLB"), forgets("macro TLB")), draws, Order::given);
  }
  return {};
}

Answer hits(const Scene& scene, Draws& draws) {
  const auto gets = scene.told.metric("cache_gets");
  const auto found = scene.told.metric("cache_hits_fast");
  if (!gets || !found || whole(gets) != 2) return {};
  const Json& story = scene.told.story;
  const std::size_t pins = calls(story, "executes pin_user_pages", story.at("begin").get<std::int64_t>(), 0);
  return choice("At how many of the two ends does the pin-down cache find the buffer?", std::to_string(whole(found)),
                {"0", "1", "2"},
                "Where it does not, the program pins the buffer before the post, and the cache keeps it.",
                std::to_string(2 - std::min<std::size_t>(2, pins)), draws, Order::given);
}

Answer prepared(const Scene& scene, Draws& draws) {
  const Json& story = scene.told.story;
  const bool told = story.at("begin").get<std::int64_t>() < 0;
  bool counted = false;
  for (const auto& row : scene.told.result.breakdown) counted = counted || row.step == "prepare";
  return choice("Does the program do anything about its buffers before it posts this transfer?", counted ? "yes" : "no",
                {"yes", "no"},
                told ? fmt::format("It begins {} us before the post.", us_text(-story.at("begin").get<std::int64_t>()))
                     : "It posts at once: the strategy prepares nothing for each transfer.",
                told ? "yes" : "no", draws, Order::given);
}

Answer answered(const Scene& scene, Draws& draws) {
  const Json& story = scene.told.story;
  const Texts ends = faulting_ends(story);
  if (ends.size() != 1) return {};
  const std::string& setting = scene.told.value(fmt::format("strategy.on_{}_fault", ends.front()));
  const std::string stalls = "it stalls the access until the page is present";
  const std::string terminates = "it ends the access with an error, and the block is sent again";
  const Json& told = story.at("told");
  const bool resumed = std::any_of(told.begin(), told.end(), [](const Json& one) {
    return one.at("text").get<std::string>().find("RESUME") != std::string::npos;
  });
  return choice("What does the SMMU do with the access that has faulted?", setting == "stall" ? stalls : terminates,
                {stalls, terminates}, "The strategy chooses; one bit of the context bank (SCTLR.CFCFG) tells the SMMU.",
                resumed ? stalls : terminates, draws, Order::given);
}

}  // namespace

const std::vector<QuestionKind>& question_kinds() {
  static const std::vector<QuestionKind> kinds{
      {"where", where},     {"cause", cause},       {"who", who},           {"walks", walks},
      {"brought", brought}, {"sends", sends},       {"timeouts", timeouts}, {"longest-step", longest_step},
      {"faster", faster},   {"pinned", pinned},     {"locked", locked},     {"stale", stale},
      {"hits", hits},       {"prepared", prepared}, {"answered", answered}};
  return kinds;
}

}  // namespace faultline::quiz
