// SPDX-License-Identifier: Apache-2.0
// Threads that wait for each other in pipes and sockets: what the calls cost, who wakes whom, and where it runs then.
#include "models/os/ipc.hpp"

#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using cpu::Execution;
using cpu::Work;
using os::Pipe;

namespace {

// A byte there and back, once to begin with and once timed.
struct Echo {
  Echo(OsBench& bench, Pipe::Kind kind, std::optional<unsigned> core = {})
      : b(bench), there(kind, b.config, b.cpu), back(kind, b.config, b.cpu), other(b.cpu.new_thread("echo", core)) {
    b.tasks.start(answer());
  }
  Task<void> answer() {
    bool more = co_await there.read(other);
    while (more) {
      co_await back.write(other);
      more = co_await there.read(other);
    }
    ended = true;
  }
  Task<bool> round() {
    co_await there.write(b.thread);
    co_return co_await back.read(b.thread);
  }

  OsBench& b;
  Pipe there;
  Pipe back;
  Execution& other;
  bool ended = false;
};

Time one_way(const OsBench& b, Pipe::Kind kind) {
  const os::OsConfig& c = b.config;
  const Time calls = kind == Pipe::Kind::pipe ? c.pipe_write + c.pipe_read : c.socket_write + c.socket_read;
  return calls + c.wake_up + kSwitch;
}

void check_round(Pipe::Kind kind) {
  OsBench b;
  Echo echo(b, kind);
  b.run(echo.round());
  const auto round = b.run(echo.round());
  CHECK(round.value);
  CHECK(round.took == 2 * one_way(b, kind));
  b.tasks.start(echo.there.close(b.thread));
  sc_core::sc_start();
  CHECK(echo.ended);
}

Task<void> busy_at(OsBench& b, Execution& thread, Time when, Time cost) {
  co_await b.node.loop.until(when - kSwitch);
  co_await b.cpu.run(thread, Work::system, cost);
}

// How long a round takes that begins when kernel work, which gives way to nobody, has just begun on the other's core.
Time beside_busy(OsBench& b, Echo& echo) {
  b.run(echo.round());
  const Time from = b.node.now() + 100us;
  b.tasks.start(busy_at(b, b.cpu.new_thread("busy", echo.other.core()), from, 1ms));
  Outcome<bool> outcome;
  b.tasks.start(at_core(b, b.thread, from, echo.round(), outcome));
  sc_core::sc_start();
  CHECK(outcome.value);
  return outcome.at - from;
}

}  // namespace

TEST_CASE("a byte through a pipe and back costs each end a write, a wake-up, a context switch and a read") {
  check_round(Pipe::Kind::pipe);
}

TEST_CASE("a byte through a socket and back does so, too") { check_round(Pipe::Kind::unix_socket); }

TEST_CASE("nobody is woken who does not sleep: a message that is there costs a read alone") {
  OsBench b;
  Pipe pipe(Pipe::Kind::pipe, b.config, b.cpu);
  const auto both = [](OsBench& of, Pipe& through) -> Task<bool> {
    co_await through.write(of.thread);
    co_await through.write(of.thread);
    co_await through.read(of.thread);
    co_return co_await through.read(of.thread);
  };
  const auto done = b.run(both(b, pipe));
  CHECK(done.value);
  CHECK(done.took == 2 * (b.config.pipe_write + b.config.pipe_read));
}

TEST_CASE("a thread whose core has become busy while it slept is woken on another") {
  OsBench b;
  b.cpu.new_thread("core 1 is the bench's");
  Echo echo(b, Pipe::Kind::pipe);
  REQUIRE(echo.other.core() != b.thread.core());
  const unsigned core = echo.other.core();
  CHECK(beside_busy(b, echo) == 2 * one_way(b, Pipe::Kind::pipe));
  CHECK(echo.other.core() != core);
  CHECK(b.counted("cpu.migrations") == 1);
}

TEST_CASE("a thread that may not leave its core waits for it when it is woken") {
  OsBench b;
  Echo echo(b, Pipe::Kind::pipe, 2);
  // The other thread's work ends, and then there are a context switch, the read and the way back.
  const Time rest =
      kSwitch + b.config.pipe_read + b.config.pipe_write + b.config.wake_up + kSwitch + b.config.pipe_read;
  CHECK(beside_busy(b, echo) == 1ms + rest);
  CHECK(b.counted("cpu.migrations") == 0);
}

TEST_CASE("a parent that waits is woken by its child's end, or finds that it has ended") {
  OsBench b;
  Execution& child = b.cpu.new_thread("child");
  const auto end = [](OsBench& of, Execution& thread, os::ChildStatus& status, Time when) -> Task<void> {
    co_await of.node.loop.until(when);
    co_await status.ended(thread);
  };
  os::ChildStatus later(b.config, b.cpu);
  b.tasks.start(end(b, child, later, 50us));
  Outcome<bool> waited;
  const auto wait = [](OsBench& of, os::ChildStatus& status) -> Task<bool> {
    co_await status.wait(of.thread);
    co_return true;
  };
  b.tasks.start(at(b, 10us, wait(b, later), waited));
  sc_core::sc_start();
  CHECK(waited.at == 50us + kSwitch + b.config.wake_up + kSwitch);

  os::ChildStatus before(b.config, b.cpu);
  b.tasks.start(end(b, child, before, b.node.now()));
  CHECK(b.run(wait(b, before)).took == b.config.syscall);
}

TEST_CASE("a signal to oneself costs the call, and its handler if it is not 0") {
  OsBench b;
  for (const bool caught : {false, true}) {
    const auto send = [](OsBench& of, bool with_handler) -> Task<bool> {
      co_await os::send_signal_to_self(of.thread, of.config, of.cpu, with_handler);
      co_return true;
    };
    CHECK(b.run(send(b, caught)).took == b.config.syscall + (caught ? b.config.signal_catch : Time{0}));
  }
}
