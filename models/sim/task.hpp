// SPDX-License-Identifier: Apache-2.0
// Simulated software (kernel, driver, library, firmware, workload) as C++20 coroutines: straight-line
// code with waits, a few hundred bytes each, resumed by the event loop.
//
//   Task<bool> Driver::resolve(Address page) {          // lazy: runs when awaited
//     co_await core.run(costs_.trap);
//     co_return co_await vm_.fault(page);
//   }
//   tasks_.start(serve());                              // a root; tasks_ owns it
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

#include "models/sim/event_loop.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::sim {

template <typename T = void>
class [[nodiscard]] Task;

namespace detail {

struct PromiseBase : Recycled {
  std::coroutine_handle<> continuation;  // its awaiter, as soon as it has waited itself
  std::exception_ptr error;

  std::suspend_always initial_suspend() noexcept { return {}; }
  struct Final {
    bool await_ready() noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
      const auto next = self.promise().continuation;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  Final final_suspend() noexcept { return {}; }
  void unhandled_exception() { error = std::current_exception(); }
};

template <typename T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  void return_value(T v) { value.emplace(std::move(v)); }
  T take() {
    if (error) std::rethrow_exception(error);
    return std::move(*value);
  }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() {}
  void take() {
    if (error) std::rethrow_exception(error);
  }
};

}  // namespace detail

// A coroutine that starts when it is awaited and resumes its awaiter when it ends.
template <typename T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  // False: it has ended at once, and its awaiter goes on by itself. If it resumed its awaiter instead, a loop over such
  // tasks would fill the stack of a build without tail calls.
  bool await_suspend(std::coroutine_handle<> awaiter) {
    handle_.resume();
    if (handle_.done()) return false;
    handle_.promise().continuation = awaiter;
    return true;
  }
  T await_resume() { return handle_.promise().take(); }

 private:
  friend promise_type;
  explicit Task(Handle handle) : handle_(handle) {}
  Handle handle_;
};

template <typename T>
Task<T> detail::Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
}
inline Task<void> detail::Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}

// Owns root coroutines: those still suspended when it dies (a daemon waiting for work at the end of a
// simulation) are destroyed with it. An exception that leaves a root leaves the event loop.
class TaskGroup {
 public:
  TaskGroup() = default;
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  ~TaskGroup() {
    const auto roots = std::move(roots_);
    for (void* frame : roots) std::coroutine_handle<>::from_address(frame).destroy();
  }

  // Runs the task at once, up to its first wait.
  void start(Task<void> task) { root(*this, std::move(task)); }
  std::size_t running() const { return roots_.size(); }

 private:
  struct Root {
    struct promise_type : Recycled {
      TaskGroup& group;
      promise_type(TaskGroup& g, Task<void>&) : group(g) {}
      Root get_return_object() {
        group.roots_.insert(std::coroutine_handle<promise_type>::from_promise(*this).address());
        return {};
      }
      std::suspend_never initial_suspend() noexcept { return {}; }
      std::suspend_never final_suspend() noexcept { return {}; }
      void return_void() {}
      void unhandled_exception() { throw; }
      ~promise_type() { group.roots_.erase(std::coroutine_handle<promise_type>::from_promise(*this).address()); }
    };
  };
  static Root root(TaskGroup&, Task<void> task) { co_await task; }

  HashSet<void*> roots_;
};

// Many may wait; notify_all() resumes, at the present instant, all that wait now.
class Signal {
 public:
  explicit Signal(EventLoop& loop) : loop_(loop) {}

  auto operator co_await() {
    struct Awaiter {
      Signal& signal;
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> h) const { signal.waiters_.push_back(h); }
      void await_resume() const {}
    };
    return Awaiter{*this};
  }
  void notify_all() {
    notified_from_ = loop_.running_port();
    for (const auto h : waiters_) loop_.resume_at(loop_.now(), h);
    waiters_.clear();
  }
  bool has_waiters() const { return !waiters_.empty(); }
  // The port of the event that has notified last.
  Port notified_from() const { return notified_from_; }

 private:
  EventLoop& loop_;
  Port notified_from_ = EventLoop::kNobodysPort;
  Deque<std::coroutine_handle<>> waiters_;
};

// A queue that one or more coroutines take from: `Message m = co_await queue.take();`
template <typename T>
class Queue {
 public:
  explicit Queue(EventLoop& loop) : filled_(loop) {}

  void push(T item) {
    items_.push_back(std::move(item));
    filled_.notify_all();
  }
  Task<T> take() {
    while (items_.empty()) co_await filled_;
    T item = std::move(items_.front());
    items_.pop_front();
    co_return item;
  }
  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }

 private:
  Deque<T> items_;
  Signal filled_;
};

// `co_await semaphore.acquire();` ... `semaphore.release();` First come, first served. Where what is between them may
// throw: `const Semaphore::Hold hold = co_await semaphore.hold();`
class Semaphore {
 public:
  // A unit, given back when the hold goes. The semaphore outlives it.
  class Hold {
   public:
    explicit Hold(Semaphore& of) : of_(&of) {}
    Hold(Hold&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    Hold& operator=(Hold&&) = delete;
    ~Hold() {
      if (of_ != nullptr) of_->release();
    }

   private:
    Semaphore* of_;
  };

  Semaphore(EventLoop& loop, unsigned available) : loop_(loop), available_(available) {}

  auto acquire() { return Acquiring{*this}; }
  [[nodiscard]] auto hold() {
    struct Holding : Acquiring {
      Hold await_resume() const { return Hold(this->semaphore); }
    };
    return Holding{{*this}};
  }
  // Hands the unit to the longest waiter, if any.
  void release() {
    if (waiters_.empty()) {
      ++available_;
      return;
    }
    loop_.resume_at(loop_.now(), waiters_.front());
    waiters_.pop_front();
  }

 private:
  struct Acquiring {
    Semaphore& semaphore;
    bool await_ready() const {
      if (semaphore.available_ == 0) return false;
      --semaphore.available_;
      return true;
    }
    void await_suspend(std::coroutine_handle<> h) const { semaphore.waiters_.push_back(h); }
    void await_resume() const {}
  };

  EventLoop& loop_;
  unsigned available_;
  Deque<std::coroutine_handle<>> waiters_;
};

}  // namespace faultline::sim
