// SPDX-License-Identifier: Apache-2.0
// Where host time goes, by part of the model. While a Profile is attached to the event loop, every moment is charged to
// exactly one part: the one whose event runs, or into which it has called through a socket, or the loop, or SystemC's
// kernel. So the parts' times add up to the whole. Without one, each place that asks costs a branch.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace faultline::sim {

// A part's number, the same in all of the program.
using PartId = std::uint32_t;

// Of a part that others call. At namespace scope, so that all are known before main().
class ProfiledPart {
 public:
  // The name of its class, as events have it: "network::Router". Parts of one name are one.
  explicit ProfiledPart(std::string_view name);
  PartId id() const { return id_; }

 private:
  PartId id_;
};

class Profile {
 public:
  using Clock = std::chrono::steady_clock;
  using EventFunction = void (*)(void* object, std::uint64_t argument);

  struct Row {
    std::string part;
    std::uint64_t events = 0;  // of its own
    std::uint64_t calls = 0;   // by other parts
    std::uint64_t host_ns = 0;
  };

  // Begins now, in `part`.
  explicit Profile(const ProfiledPart& part);

  // Charges up to now to the part that had the turn, which is handed back for leave().
  PartId enter_event(EventFunction callback);
  PartId enter(PartId part);
  void leave(PartId before);
  // Of a part that is only known at run time: a thread, by its name. Numbers in it do not tell parts apart.
  PartId part_of_thread(const std::string& name);

  // Up to the last enter or leave, the most time first. The times add up to all time since the beginning.
  std::vector<Row> rows() const;

  // What at<&Class::method>() calls is known by the name of its class. True, for an initialiser.
  static bool register_event(EventFunction callback, std::string_view signature);
  // "smmu::Tbu" of "... [with auto Method = &smmu::Tbu::answered; ...]", the compiler's words; of a wake-up the class
  // that it wakes.
  static std::string class_in(std::string_view signature);

 private:
  struct Tally {
    std::uint64_t events = 0;
    std::uint64_t calls = 0;
    Clock::duration time{0};
  };

  void turn_to(PartId part);

  std::vector<std::string> names_;  // by PartId
  std::vector<Tally> tallies_;      // likewise
  std::unordered_map<EventFunction, PartId> events_;
  std::unordered_map<std::string, PartId> threads_;
  PartId current_;
  Clock::time_point since_;
};

// Until the end of the scope, host time is this part's.
class ProfileScope {
 public:
  ProfileScope(Profile* profile, const ProfiledPart& part) : profile_(profile) {
    if (profile_ != nullptr) [[unlikely]]
      before_ = profile_->enter(part.id());
  }
  ProfileScope(Profile* profile, const std::string& thread) : profile_(profile) {
    if (profile_ != nullptr) [[unlikely]]
      before_ = profile_->enter(profile_->part_of_thread(thread));
  }
  ~ProfileScope() {
    if (profile_ != nullptr) [[unlikely]]
      profile_->leave(before_);
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  Profile* profile_;
  PartId before_ = 0;
};

}  // namespace faultline::sim
