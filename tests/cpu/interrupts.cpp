// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/cpu/r5.hpp"
#include "tests/cpu/bench.hpp"
#include "tests/support/parameter_source.hpp"

using namespace faultline;
using namespace faultline::test;
using cpu::InterruptController;
using cpu::Tasklet;

namespace {

constexpr Time kEntry = 3us;
constexpr Time kTasklet = 2us;

// The test's own costs: the machine's are fitted, and may be fitted again.
cpu::CpuConfig full_clock() {
  cpu::CpuConfig config;
  config.irq_to_handler = kEntry;
  config.tasklet_delay = kTasklet;
  return config;
}

cpu::CpuConfig half_clock() {
  cpu::CpuConfig config = full_clock();
  config.clock = sim::Frequency{600'000'000};
  return config;
}

// A device with a wire.
struct Device : sc_core::sc_module {
  sc_core::sc_port<cpu::InterruptSink> interrupt{"interrupt"};
  Device(sc_core::sc_module_name name, CpuBench& b) : sc_module(name), bench(b) {}
  void drive(unsigned line, bool high, Time at) { bench.tasks.start(drive_at(*this, line, high, at)); }
  static Task<void> drive_at(Device& device, unsigned line, bool high, Time at) {
    co_await device.bench.node.loop.until(at);
    device.interrupt->set_level(line, high);
  }
  CpuBench& bench;
};

struct WiredBench : CpuBench {
  Device device{"device", *this};
  InterruptController gic{"gic", cpu, node.context};
  std::vector<std::pair<Time, unsigned>> handled;  // first instruction, line

  explicit WiredBench(const cpu::CpuConfig& wanted = full_clock()) : CpuBench(wanted) {
    device.interrupt.bind(gic.lines);
  }

  // A handler of `cost` that lowers the line at its end if told to.
  void handle(unsigned line, Time cost, bool lowers) {
    gic.connect(line, [this, line, cost, lowers] { return handler(*this, line, cost, lowers); });
  }
  static Task<void> handler(WiredBench& b, unsigned line, Time cost, bool lowers) {
    b.handled.emplace_back(b.node.now(), line);
    co_await b.cpu.run(b.cpu.irq_context(), Work::irq, cost);
    if (lowers) b.device.interrupt->set_level(line, false);
  }
};

using Handled = std::vector<std::pair<Time, unsigned>>;

struct TaskletBench : CpuBench {
  explicit TaskletBench(const cpu::CpuConfig& wanted = full_clock()) : CpuBench(wanted) {}
  std::vector<Time> began;
  Time body_cost = 4us;
  Tasklet tasklet{cpu, [this] { return body(*this); }};

  static Task<void> body(TaskletBench& b) {
    b.began.push_back(b.node.now());
    co_await b.cpu.run(b.cpu.softirq_context(), Work::softirq, b.body_cost);
  }
  void schedule(Time at) { tasks.start(schedule_at(*this, at)); }
  static Task<void> schedule_at(TaskletBench& b, Time at) {
    co_await b.node.loop.until(at);
    b.tasklet.schedule();
  }
};

}  // namespace

TEST_CASE("interrupt: the handler's first instruction comes after the entry path, in irq time") {
  WiredBench b;
  b.handle(155, 1500ns, true);
  b.device.drive(155, true, 10us);
  sc_core::sc_start();
  CHECK(b.handled == Handled{{10us + kEntry, 155}});
  CHECK(b.cpu.charged(0, Work::irq) == kEntry + 1500ns);
  CHECK(b.node.counted("cpu.interrupts") == 1);
  CHECK(b.node.counted("cpu.context_switches") == 0);
}

TEST_CASE("interrupt: the entry path scales with the clock") {
  WiredBench b(half_clock());
  b.handle(155, 1us, true);
  b.device.drive(155, true, 10us);
  sc_core::sc_start();
  CHECK(b.handled == Handled{{10us + 2 * kEntry, 155}});
  CHECK(b.cpu.charged(0, Work::irq) == 2 * kEntry + 2us);
}

TEST_CASE("tasklet: its delay scales with the clock") {
  TaskletBench b(half_clock());
  b.schedule(10us);
  sc_core::sc_start();
  CHECK(b.began == std::vector<Time>{10us + 2 * kTasklet});
  CHECK(b.cpu.charged(0, Work::softirq) == 2 * (kTasklet + b.body_cost));
}

TEST_CASE("interrupt: at the instant at which work would end it goes first") {
  WiredBench b;
  const sim::Port wire = b.node.loop.new_port();
  b.handle(155, 1us, true);
  b.run(b.cpu.new_thread("hit", 0), Work::user, 20us);
  b.node.loop.at(
      kSwitch + 20us, wire,
      [](void* gic, std::uint64_t) { static_cast<InterruptController*>(gic)->lines->set_level(155, true); }, &b.gic);
  sc_core::sc_start();
  CHECK(b.handled == Handled{{kSwitch + 20us + kEntry, 155}});
  CHECK(b.done[0] == kSwitch + 20us + kEntry + 1us);
}

TEST_CASE("interrupt: the core that takes it is a parameter, and its user work waits") {
  cpu::CpuConfig config = full_clock();
  config.interrupt_core = 2;
  WiredBench b(config);
  b.handle(155, 1us, true);
  b.run(b.cpu.new_thread("hit", 2), Work::user, 20us);
  b.run(b.cpu.new_thread("spared", 1), Work::user, 20us);
  b.device.drive(155, true, 10us);
  sc_core::sc_start();
  CHECK(b.done[0] == kSwitch + 20us + kEntry + 1us);
  CHECK(b.done[1] == kSwitch + 20us);
}

TEST_CASE("interrupt: a level that stays high is taken again, one that was lowered in between is not") {
  WiredBench b;
  b.handle(155, 1us, false);
  b.device.drive(155, true, 10us);
  // Within the second run of the handler.
  b.device.drive(155, false, 10us + 2 * kEntry + 1500ns);
  sc_core::sc_start();
  CHECK(b.handled == Handled{{10us + kEntry, 155}, {11us + 2 * kEntry, 155}});
  CHECK(b.node.counted("cpu.interrupts") == 2);
}

TEST_CASE("interrupt: one rise while the handler runs is one more interrupt") {
  WiredBench b;
  b.handle(155, 1us, false);
  b.device.drive(155, true, 10us);
  b.device.drive(155, false, 10us + kEntry + 100ns);
  b.device.drive(155, true, 10us + kEntry + 200ns);
  b.device.drive(155, false, 11us + 2 * kEntry + 500ns);
  sc_core::sc_start();
  CHECK(b.handled == Handled{{10us + kEntry, 155}, {11us + 2 * kEntry, 155}});
}

TEST_CASE("interrupt: a line that falls before its handler is a spurious interrupt") {
  WiredBench b;
  b.handle(155, 1us, false);
  b.device.drive(155, true, 10us);
  b.device.drive(155, false, 12us);
  sc_core::sc_start();
  CHECK(b.handled.empty());
  CHECK(b.cpu.charged(0, Work::irq) == kEntry);
  CHECK(b.node.counted("cpu.spurious_interrupts") == 1);
  CHECK(b.node.counted("cpu.interrupts") == 0);
}

TEST_CASE("interrupt: one at a time, the lowest line first") {
  WiredBench b;
  for (const unsigned line : {40U, 41U, 42U}) b.handle(line, 1us, true);
  b.device.drive(42, true, 10us);
  b.device.drive(41, true, 11us);
  b.device.drive(40, true, 11us);
  sc_core::sc_start();
  CHECK(b.handled == Handled{{10us + kEntry, 42}, {11us + 2 * kEntry, 40}, {12us + 3 * kEntry, 41}});
}

TEST_CASE("interrupt: a line that is high when its handler is connected is taken at once") {
  WiredBench b;
  b.device.drive(7, true, 1us);
  b.run(b.cpu.new_thread("idle", 1), Work::user, 10us);
  sc_core::sc_start();
  CHECK(b.handled.empty());
  const Time connected = b.node.now();
  b.handle(7, 1us, true);
  sc_core::sc_start();
  CHECK(b.handled == Handled{{connected + kEntry, 7}});
}

TEST_CASE("tasklet: runs in softirq time after its delay, and behind interrupt work") {
  TaskletBench b;
  b.schedule(10us);
  b.run(b.cpu.irq_context(), Work::irq, 5us, 9us);
  sc_core::sc_start();
  CHECK(b.began == std::vector<Time>{14us + kTasklet});
  CHECK(b.cpu.charged(0, Work::softirq) == kTasklet + 4us);
  CHECK(b.node.counted("cpu.tasklets") == 1);
}

TEST_CASE("tasklet: scheduling it again before it begins changes nothing") {
  TaskletBench b;
  b.schedule(10us);
  b.schedule(10us + kTasklet - Time{1});
  sc_core::sc_start();
  CHECK(b.began == std::vector<Time>{10us + kTasklet});
}

TEST_CASE("tasklet: scheduled while it runs, it runs once more") {
  TaskletBench b;
  b.schedule(10us);
  b.schedule(10us + kTasklet + 1us);
  b.schedule(10us + kTasklet + 2us);
  sc_core::sc_start();
  CHECK(b.began == std::vector<Time>{10us + kTasklet, 14us + 2 * kTasklet});
}

TEST_CASE("tasklet: scheduled after it has run, it runs again") {
  TaskletBench b;
  b.schedule(10us);
  b.schedule(50us);
  sc_core::sc_start();
  CHECK(b.began == std::vector<Time>{10us + kTasklet, 50us + kTasklet});
}

TEST_CASE("tasklet: two of them run one after the other") {
  TaskletBench b;
  std::vector<Time> began;
  Tasklet other(b.cpu, [&]() -> Task<void> {
    began.push_back(b.node.now());
    co_return;
  });
  b.schedule(10us);
  b.tasks.start([](TaskletBench& bench, Tasklet& second) -> Task<void> {
    co_await bench.node.loop.until(10us + 1ns);
    second.schedule();
  }(b, other));
  sc_core::sc_start();
  CHECK(b.began == std::vector<Time>{10us + kTasklet});
  CHECK(began == std::vector<Time>{14us + 2 * kTasklet});
}

namespace {

// Three pieces of work, two of them asked for at once, on an R5 of 250 MHz.
void run_on_r5(sim::Frequency stated_clock, Time cost) {
  CpuBench b;
  cpu::R5Config config;
  config.clock = sim::Frequency{250'000'000};
  config.stated_clock = stated_clock;
  cpu::R5Core r5("r5", config, b.node.context);
  std::vector<Time> done;
  for (const Time at : {1us, 1us, 20us}) {
    b.tasks.start([](CpuBench& bench, cpu::R5Core& core, Time from, Time takes, std::vector<Time>& out) -> Task<void> {
      co_await bench.node.loop.until(from);
      co_await core.run(takes);
      out.push_back(bench.node.now());
    }(b, r5, at, cost, done));
  }
  sc_core::sc_start();
  CHECK(done == std::vector<Time>{2600ns, 4200ns, 21600ns});
  CHECK(b.node.counted("r5.time_busy") == 3 * 1'600'000);
}

}  // namespace

TEST_CASE("R5: work is serial, in the order asked, and scales with the clock") {
  run_on_r5(cpu::R5Config{}.stated_clock, 800ns);
}
TEST_CASE("R5: costs may be stated at another clock") { run_on_r5(sim::Frequency{1'000'000'000}, 400ns); }

TEST_CASE("cpu: every parameter is declared, with its default in range") {
  cpu::CpuConfig config;
  cpu::R5Config r5;
  sim::ParameterTable table;
  config.declare(table);
  r5.declare(table);
  CHECK(table.all().size() == 25);
  for (const auto& parameter : table.all()) {
    INFO(parameter.name);
    CHECK(test::says_where_it_is_from(parameter));
    CHECK_NOTHROW(parameter.set(parameter.initial));
    CHECK(parameter.get() == parameter.initial);
  }
  CHECK_THROWS(table.find("cpu.cores")->set(std::int64_t{257}));
  cpu::CpuConfig impossible;
  impossible.cores = 1;
  impossible.interrupt_core = 1;
  test::Node node;
  CHECK_THROWS_AS(cpu::Cpu("cpu", impossible, node.context), std::invalid_argument);
}
