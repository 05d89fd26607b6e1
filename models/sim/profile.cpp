// SPDX-License-Identifier: Apache-2.0
#include "models/sim/profile.hpp"

#include <algorithm>

namespace faultline::sim {
namespace {

// Filled before main() by initialisers in no particular order, and only read afterwards.
struct Registry {
  std::vector<std::string> names;
  std::unordered_map<Profile::EventFunction, PartId> events;
};

Registry& registry() {
  static Registry all;
  return all;
}

PartId numbered(std::vector<std::string>& names, std::string_view name) {
  const auto it = std::find(names.begin(), names.end(), name);
  const auto id = static_cast<PartId>(it - names.begin());
  if (it == names.end()) names.emplace_back(name);
  return id;
}

const ProfiledPart kSoftware{"software, resumed by a signal or a delay"};

std::string without_numbers(std::string name) {
  std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
  while (name.ends_with(' ')) name.pop_back();
  return name;
}

}  // namespace

ProfiledPart::ProfiledPart(std::string_view name) : id_(numbered(registry().names, name)) {}

Profile::Profile(const ProfiledPart& part)
    : names_(registry().names),
      tallies_(names_.size()),
      events_(registry().events),
      current_(part.id()),
      since_(Clock::now()) {
  ++tallies_[current_].calls;
}

void Profile::turn_to(PartId part) {
  const Clock::time_point now = Clock::now();
  tallies_[current_].time += now - since_;
  since_ = now;
  current_ = part;
}

PartId Profile::enter_event(EventFunction callback) {
  const PartId before = current_;
  const auto known = events_.find(callback);
  const PartId part = known == events_.end() ? kSoftware.id() : known->second;
  ++tallies_[part].events;
  turn_to(part);
  return before;
}

PartId Profile::enter(PartId part) {
  const PartId before = current_;
  if (part != before) ++tallies_[part].calls;
  turn_to(part);
  return before;
}

void Profile::leave(PartId before) { turn_to(before); }

PartId Profile::part_of_thread(const std::string& name) {
  const auto known = threads_.find(name);
  if (known != threads_.end()) return known->second;
  const PartId id = numbered(names_, "software, " + without_numbers(name));
  tallies_.resize(names_.size());
  return threads_[name] = id;
}

std::vector<Profile::Row> Profile::rows() const {
  std::vector<Row> rows;
  for (PartId id = 0; id < names_.size(); ++id) {
    const Tally& tally = tallies_[id];
    if (tally.events + tally.calls == 0) continue;
    const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(tally.time).count();
    rows.push_back({names_[id], tally.events, tally.calls, static_cast<std::uint64_t>(time)});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.host_ns > b.host_ns; });
  return rows;
}

bool Profile::register_event(EventFunction callback, std::string_view signature) {
  registry().events[callback] = numbered(registry().names, class_in(signature));
  return true;
}

std::string Profile::class_in(std::string_view signature) {
  // The last method named is the innermost: that of the class which a wake-up wakes.
  const std::size_t at = signature.rfind('&');
  std::string_view name = at == std::string_view::npos ? signature : signature.substr(at + 1);
  name = name.substr(0, name.find_first_of("<>;,]"));
  name = name.substr(0, name.rfind("::"));
  constexpr std::string_view kHouse = "faultline::";
  if (name.starts_with(kHouse)) name.remove_prefix(kHouse.size());
  // Room and class; what is inside a class is of the same part.
  const std::size_t room = name.find("::");
  return std::string(name.substr(0, room == std::string_view::npos ? room : name.find("::", room + 2)));
}

}  // namespace faultline::sim
