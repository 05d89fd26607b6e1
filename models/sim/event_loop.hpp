// SPDX-License-Identifier: Apache-2.0
// The cluster's event loop: one SC_METHOD that drains a heap of (time, port, sequence, callback).
// SystemC promises no order among events of one instant; this loop has a total one over all nodes. The SystemC
// kernel sees a single pending event (one costs 45 ns alone but 900 ns among 100 000), and inside run() the loop goes
// on from instant to instant by itself as long as no other SystemC process has anything to do before.
#pragma once

#include <algorithm>
#include <boost/heap/d_ary_heap.hpp>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <optional>
#include <systemc>

#include "models/sim/failure.hpp"
#include "models/sim/profile.hpp"
#include "models/sim/time.hpp"

namespace faultline::sim {

// Decides ties: of the events of one instant the one with the lowest port goes first, and within a
// port the one scheduled first. A part asks for its ports while it is constructed.
using Port = std::uint32_t;

class EventLoop : public sc_core::sc_module {
 public:
  using Callback = void (*)(void* object, std::uint64_t argument);

  explicit EventLoop(sc_core::sc_module_name name);

  // While events run, their instant, which SystemC's clock may not have reached yet.
  Time now() const { return draining_ ? instant_ : std::max(instant_, from_sc_time(sc_core::sc_time_stamp())); }
  Port new_port() { return next_port_++; }
  // For what others send, maybe at the instant of its arrival: its events come after all other hardware of the instant,
  // which may still take it back.
  Port new_arrival_port() { return next_arrival_port_++; }
  // Of a processor core: its events come after all hardware of the instant and before what resume_at() resumes, so
  // that software goes on after the hardware, whether it waited for its core or elsewhere.
  Port new_core_port() { return next_core_port_++; }
  // Of the event that runs: who does what is done now. Outside of events: nobody's.
  Port running_port() const { return running_port_; }
  static constexpr Port kNobodysPort = UINT32_MAX;
  // What a part with this port does by then is done, whatever else comes at the present instant: that of the instant
  // itself, too, from the part's turn on. Software's turn comes after all hardware's, also where it is the event of a
  // part with a lower port that software sets going at once.
  Time settled(Port port) const { return running_port_ >= port || software_runs() ? now() : now() - Time{1}; }
  // Arrivals by then are in: those of the present instant, too, once it is software's turn.
  Time settled() const { return settled(kNobodysPort); }

  // Calls callback(object, argument) at `when`, which must not lie in the past.
  void at(Time when, Port port, Callback callback, void* object, std::uint64_t argument = 0);

  // Calls (object.*Method)() or (object.*Method)(argument) at `when`.
  template <auto Method, typename T>
  void at(Time when, Port port, T& object, std::uint64_t argument = 0) {
    static_cast<void>(&EventOf<Method, T>::kRegistered);
    at(when, port, &EventOf<Method, T>::run, &object, argument);
  }

  // Resumes a coroutine at `when`, after the hardware's events of that instant.
  void resume_at(Time when, std::coroutine_handle<> handle);

  // co_await loop.delay(3us)
  auto delay(Time duration) { return Sleep{*this, now() + duration}; }
  // co_await loop.until(t); does not suspend when t has passed.
  auto until(Time when) { return Sleep{*this, when}; }
  // As delay(), for daemons that sleep for ever in turn: a simulation in which nothing else is left is over.
  auto idle(Time duration) { return Sleep{*this, now() + duration, true}; }

  // Simulates until stop(), a failure, `limit` (whose events are left, as sc_start does) or the last event, whatever
  // comes first.
  // An event that calls into a module with SystemC processes of its own hands it now() as an absolute instant or as
  // an offset from SystemC's clock.
  void run(Time limit);
  // Ends run() behind the present event. Another run() goes on from there.
  void stop();
  // True when events are left, before or behind run()'s limit, other than daemons' wake-ups.
  bool pending() const { return events_.size() > idle_; }
  std::uint64_t events_run() const { return events_run_; }

  // Calls `watcher` between events, every so many of them. It may look and must not touch.
  void watch(std::uint64_t every, std::function<void()> watcher);
  // Calls `sampler` with the instant `first`, when all events before it have run and none of its own, and then with
  // each instant that it returns, which lies later; kNever: no more. It may look and must not touch, and is no event.
  void sample(Time first, std::function<Time(Time)> sampler);
  // From now on host time is charged to parts; null ends that. It outlives the loop or is taken away.
  void set_profile(Profile* profile) { profile_ = profile; }
  Profile* profile() const { return profile_; }

  bool failed() const { return failure_.has_value(); }
  // Throws the RunFailure that ended the simulation, if one did. It leaves the models here, because
  // SystemC would replace an exception that reaches its kernel by a report of its own.
  void rethrow_failure() const;

 private:
  static constexpr Port kFirstArrivalPort = Port{1} << 30;
  static constexpr Port kFirstCorePort = Port{1} << 31;
  static constexpr Port kSoftwarePort = kNobodysPort;

  struct Sleep {
    EventLoop& loop;
    Time when;
    bool is_daemon = false;
    bool await_ready() const { return when <= loop.now(); }
    void await_suspend(std::coroutine_handle<> handle) const {
      is_daemon ? loop.wake_daemon_at(when, handle) : loop.resume_at(when, handle);
    }
    void await_resume() const {}
  };

  template <auto Method, typename T>
  struct EventOf {
    static void run(void* self, [[maybe_unused]] std::uint64_t argument) {
      if constexpr (requires(T & t) { (t.*Method)(argument); }) {
        (static_cast<T*>(self)->*Method)(argument);
      } else {
        (static_cast<T*>(self)->*Method)();
      }
    }
    static const bool kRegistered;  // at() names it: thus it exists, and is initialised before main()
  };
  template <auto Method>
  static constexpr std::string_view signature() {
    return __PRETTY_FUNCTION__;
  }

  struct Event {
    Time when;
    Port port;
    std::uint64_t sequence;
    Callback callback;
    void* object;
    std::uint64_t argument;
  };
  // The heap's top is its greatest element.
  struct RunsLater {
    bool operator()(const Event& a, const Event& b) const {
      if (a.when != b.when) return a.when > b.when;
      if (a.port != b.port) return a.port > b.port;
      return a.sequence > b.sequence;
    }
  };

  void wake_daemon_at(Time when, std::coroutine_handle<> handle);
  void drain();
  // Whether it is software's turn in the present instant.
  bool software_runs() const { return !draining_ || software_at_ == instant_; }
  bool may_go_on_to(Time when) const;
  void wake_for(Time when);
  void take_samples(Time until);
  void call(const Event& event);

  // Four children a parent: fewer cache lines a pop than a binary heap.
  boost::heap::d_ary_heap<Event, boost::heap::arity<4>, boost::heap::compare<RunsLater>> events_;
  std::size_t idle_ = 0;  // of the events, those that wake daemons
  sc_core::sc_event wake_;
  Time wake_at_ = kNever;
  Time instant_{0};  // of the events that run
  Time limit_{-1};   // of run(); outside of it SystemC's clock decides
  bool draining_ = false;
  bool stopped_ = false;
  Port running_port_ = kNobodysPort;
  Port next_port_ = 0;
  Port next_arrival_port_ = kFirstArrivalPort;
  Port next_core_port_ = kFirstCorePort;
  Time software_at_{-1};  // instant of its last event
  std::uint64_t next_sequence_ = 0;
  std::uint64_t events_run_ = 0;
  std::uint64_t watch_at_ = 0;  // number of the event behind which to look; 0: none
  std::uint64_t watch_every_ = 0;
  std::function<void()> watcher_;
  Time sample_at_ = kNever;
  std::function<Time(Time)> sampler_;
  Profile* profile_ = nullptr;
  std::optional<RunFailure> failure_;
};

template <auto Method, typename T>
const bool EventLoop::EventOf<Method, T>::kRegistered = Profile::register_event(&EventOf<Method, T>::run,
                                                                                signature<Method>());

}  // namespace faultline::sim
