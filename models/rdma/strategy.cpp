// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/strategy.hpp"

#include <fmt/format.h>

#include <utility>

#include "models/sim/units.hpp"

namespace faultline::rdma {

void Strategy::declare(sim::ParameterTable& table) {
  const auto group = table.group("strategy");
  registration.declare(table);
  unpin.declare(table);
  pipeline.declare(table);
  table.add_flag("deferred", deferred,
                 {"a thread of the library prepares each transfer and posts it, while the program goes on (deferred "
                  "pinning); else the program's own thread does",
                  "",
                  {}});
  translate.declare(table);
  on_source_fault.declare(table, End::source);
  on_destination_fault.declare(table, End::destination);
  table.add_choice("resolve", resolve,
                   {{"touch-a-page", Resolve::touch_a_page},
                    {"touch-ahead", Resolve::touch_ahead},
                    {"fixup-user-fault", Resolve::fixup_user_fault}},
                   {"how the library's fault thread makes pages present: one access, get_user_pages over several, or a "
                    "page fault in the kernel for each of several (fixup_user_fault), which also sets access flags",
                    "",
                    {}});
  table.add_count(
      "touch_ahead_pages", touch_ahead_pages, sim::kAnyEntries,
      {"pages that touch-ahead and fixup-user-fault make present, from the faulting one on; does not follow "
       "the NIC's unit of retransmission",
       "4 pages are ExaNeSt's block of 16 KiB (derived)", sim::Standing::derived});
  table.add_count(
      "call_pages", call_pages, sim::kAnyEntries,
      {"pages of touch-ahead or fixup-user-fault in one call at most. A fault is answered when the first call is done; "
       "the others follow, unless further faults have come, which go first. From touch_ahead_pages on: all in one call",
       "assumed: the thesis (Psistakis) names one get_user_pages call a fault; that its library split it is not known",
       sim::Standing::assumed});
}

namespace {

// What a strategy makes of faults: accesses of the device that find no usable entry in the table that the device walks.
enum class Faults {
  usual,   // pages come to the device by faults
  rare,    // pages are held, but the kernel may change an entry for a while, or make it old (docs/fault-matrix.md)
  never,   // pages are always present; a fault ends the whole run with an error
  ending,  // a fault ends its transfer with an error: only registrations fill the table
};

Faults faults_of(const Strategy& s) {
  const Abilities abilities = s.registration->abilities();
  if (abilities.pins_late) return Faults::usual;
  if (s.translate->registered) return Faults::ending;
  if (s.translate->follows || !abilities.keeps_present()) return Faults::usual;
  return abilities.is_bound ? Faults::never : Faults::rare;
}

constexpr const char* kNeverFaults = "never used: pages are always present";
const std::string kRareFaults = "only where the kernel changes the entry of a pinned or locked page: ";

PolicyChoice table_of(const Translation& t) {
  return {"strategy.translate", std::string(t.name), std::string(t.walks), std::string(t.adds)};
}

PolicyChoice end_of_fault(const Strategy& s, End end) {
  const AbsentPage& answer = s.on_fault(end);
  const std::string key = end == End::source ? "strategy.on_source_fault" : "strategy.on_destination_fault";
  const std::string choice(answer.name);
  const std::string access(answer.access);
  const std::string meaning = access + std::string(answer.follows(end));
  switch (faults_of(s)) {
    case Faults::never: return {key, choice, kNeverFaults, ""};
    case Faults::ending: return {key, choice, access + ", and the transfer fails: no fault fills a private table", ""};
    case Faults::rare: return {key, choice, kRareFaults + meaning, ""};
    case Faults::usual: break;
  }
  return {key, choice, meaning, std::string(answer.adds)};
}

std::string pages_text(std::uint64_t pages) { return pages == 1 ? "1 page" : fmt::format("{} pages", pages); }

// The choice of strategy.resolve, and what is called.
std::pair<std::string, std::string> name_and_call(const Strategy& s) {
  const Translation& t = *s.translate;
  const auto call = [&t](const char* of_process) {
    return t.loaded ? "handle_mm_fault" : t.follows ? "mirror_pages" : of_process;
  };
  switch (s.resolve) {
    case Resolve::touch_a_page: return {"touch-a-page", call("touch")};
    case Resolve::touch_ahead: return {"touch-ahead", call("get_user_pages")};
    case Resolve::fixup_user_fault: break;
  }
  return {"fixup-user-fault", call("fixup_user_fault")};
}

PolicyChoice resolution(const Strategy& s) {
  const std::string key = "strategy.resolve";
  const auto [name, call] = name_and_call(s);
  const Faults faults = faults_of(s);
  if (faults == Faults::never) return {key, name, kNeverFaults, ""};
  if (faults == Faults::ending) return {key, name, "never used: no fault fills a private table", ""};
  if (s.translate->registered) return {key, name, "never used: the fault thread waits until the page is pinned", ""};
  const std::uint64_t pages = s.resolve == Resolve::touch_a_page ? 1 : s.touch_ahead_pages;
  std::string meaning = faults == Faults::rare ? kRareFaults : "";
  if (call == "touch") {
    meaning += "the fault thread touches the page";
  } else {
    const char* who = s.translate->loaded ? "the NIC's driver" : "the fault thread";
    meaning += fmt::format("{} calls {} for {} from the fault on", who, call, pages_text(pages));
  }
  if (s.call_pages < pages && !s.translate->loaded) {
    meaning += fmt::format(", {} a call; the fault is answered after the first call", pages_text(s.call_pages));
  }
  const bool is_ahead = pages > 1 && faults == Faults::usual;
  return {key, name, meaning, is_ahead ? "pages that no access has asked for" : ""};
}

// Those of the registration that is chosen, with their values. A table refers to what it declares, so a copy of the
// strategy is declared.
void add_own_parameters(const Strategy& s, std::vector<PolicyChoice>& made) {
  Strategy copy = s;
  sim::ParameterTable table;
  copy.declare(table);
  const std::string group = "strategy." + parameter_group(*s.registration) + ".";
  for (const sim::Parameter& parameter : table.all()) {
    if (parameter.name.starts_with(group)) made.push_back({parameter.name, parameter.get(), parameter.doc.meaning, ""});
  }
}

// "a", "a or b", "a, b or c".
std::string joined_by_or(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return text;
}

// What to do instead where the registration cannot fill a private table: it names each one that can.
std::string instead_of_unfilled_table(const RegistrationChoice& registration) {
  std::vector<std::string> pinning, locking, others;
  for (const auto& policy : registration.all()) {
    const Abilities abilities = policy->abilities();
    if (!abilities.fills_private_table()) continue;
    (abilities.pins ? pinning : abilities.locks ? locking : others).emplace_back(policy->name());
  }
  std::string text = "set strategy.registration to " + joined_by_or(pinning);
  if (!locking.empty()) {
    text += fmt::format(", or to {} if locked pages are believed to keep their frames", joined_by_or(locking));
  }
  if (!others.empty()) {
    text += fmt::format(", or to {} to see what comes of frames that nothing keeps", joined_by_or(others));
  }
  return text + "; or set strategy.translate to shared or mirrored";
}

// The registrations with an ability.
std::string able(const RegistrationChoice& registration, bool Abilities::*ability) {
  std::vector<std::string> names;
  for (const auto& policy : registration.all()) {
    if (policy->abilities().*ability) names.emplace_back(policy->name());
  }
  return joined_by_or(names);
}

// Empty where the program's thread prepares the whole of a transfer.
std::vector<PolicyChoice> preparing(const Strategy& s) {
  std::vector<PolicyChoice> made;
  if (s.pipeline.is_used()) {
    const bool grows = s.pipeline.chunks == Chunks::growing;
    made.push_back(
        {"strategy.pipeline", grows ? "growing" : "fixed",
         fmt::format("parts of {}{} at most, {} of them prepared at an end at a time, cross the network while "
                     "others are prepared",
                     grows ? sim::format_bytes(s.pipeline.first) + " first and " : "",
                     sim::format_bytes(s.pipeline.chunk), s.pipeline.depth),
         "two small messages and a descriptor for each part"});
  }
  if (s.deferred) {
    made.push_back(
        {"strategy.deferred", "true", "a thread of the library prepares and posts each transfer", "a thread"});
  }
  return made;
}

// Empty where a pin is let go of as soon as no transfer needs it.
std::vector<PolicyChoice> unpinning(const Strategy& s) {
  if (s.unpin.time == UnpinTime::batched) {
    return {{"strategy.unpin", "batched",
             fmt::format("{} pins that no transfer needs are let go of in one call", s.unpin.batch),
             "memory that stays pinned until then"}};
  }
  if (s.unpin.time == UnpinTime::helper) {
    return {{"strategy.unpin", "helper", "a thread of the library lets go of pins that no transfer needs",
             "a thread; memory that stays pinned until it runs"}};
  }
  return {};
}

}  // namespace

std::vector<PolicyChoice> made_of(const Strategy& s) {
  const RegistrationPolicy& registration = *s.registration;
  std::vector<PolicyChoice> made{{"strategy.registration", std::string(registration.name()),
                                  std::string(registration.meaning()), std::string(registration.adds())}};
  add_own_parameters(s, made);
  for (PolicyChoice& choice : preparing(s)) made.push_back(std::move(choice));
  for (PolicyChoice& choice : unpinning(s)) made.push_back(std::move(choice));
  made.push_back(table_of(*s.translate));
  made.push_back(end_of_fault(s, End::source));
  made.push_back(end_of_fault(s, End::destination));
  made.push_back(resolution(s));
  return made;
}

std::vector<sim::Conflict> conflicts(const Strategy& s) {
  std::vector<sim::Conflict> found;
  if (s.maps_only_registered() && !s.registration->abilities().fills_private_table()) {
    found.push_back({{"strategy.translate", "strategy.registration"},
                     "a private table is filled with the frames of pages that the registration has prepared",
                     instead_of_unfilled_table(s.registration)});
  }
  if (s.unpin.time != UnpinTime::now && !s.registration->abilities().lets_go) {
    found.push_back(
        {{"strategy.unpin", "strategy.registration"},
         "the registration lets go of no pin while the program runs",
         "set strategy.unpin to now, or strategy.registration to " + able(s.registration, &Abilities::lets_go)});
  }
  if ((s.pipeline.is_used() || s.deferred) && !s.asks_target()) {
    found.push_back({{s.pipeline.is_used() ? "strategy.pipeline" : "strategy.deferred", "strategy.registration"},
                     "the registration does not prepare both ends for each transfer",
                     "set strategy.registration to " + able(s.registration, &Abilities::asks_target)});
  }
  for (sim::Conflict& conflict : s.pipeline.conflicts()) found.push_back(std::move(conflict));
  for (sim::Conflict& conflict : s.registration->conflicts(s)) found.push_back(std::move(conflict));
  return found;
}

}  // namespace faultline::rdma
