// SPDX-License-Identifier: Apache-2.0
#include "workloads/background.hpp"

#include <algorithm>

#include "models/os/reclaim.hpp"
#include "models/sim/failure.hpp"

namespace faultline::workloads {

using os::kPage;
using sim::Task;
using sim::Time;

void BackgroundConfig::declare(sim::ParameterTable& table) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  const auto group = table.group("background");
  table.add_count("processes", processes, {0u, 1000u},
                  {"other processes on each node, from the first measured transfer on", "", {}});
  table.add_bytes("memory", memory, {kPage, kMost}, {"memory that each of them uses", "", {}});
  table.add_choice("order", sequential, {{"random", false}, {"sequential", true}},
                   {"order in which they come to their pages", "", {}});
  table.add_count("write_percent", write_percent, {0u, 100u}, {"share of their accesses that write", "", {}});
  table.add_time(
      "pause", pause, {1us, 10s},
      {"mean time of each between two accesses, of which each is to a page: drawn, 0 to twice as long", "", {}});
  table.add_count("renew_after", renew_after, {std::uint64_t{0}, std::uint64_t{1'000'000'000}},
                  {"accesses after which a process gives its memory back and begins with new; 0: never", "", {}});
  table.add_time("noise_period", noise_period, {0ns, 10s},
                 {"mean time between two times that something else needs a core, on every core; 0: never", "", {}});
  table.add_time("noise_time", noise_time, {100ns, 100ms}, {"how long it needs it, in the kernel", "", {}});
}

Background::Background(const BackgroundConfig& config, platform::Cluster& cluster, std::uint64_t seed)
    : config_(config), cluster_(cluster), seed_(seed) {}

void Background::start() {
  for (unsigned id = 0; id < cluster_.size(); ++id) {
    platform::Node& node = cluster_.node(id);
    for (unsigned i = 0; i < config_.processes; ++i) {
      os::Process* process = node.vm.create_process("background");
      const auto memory = process == nullptr ? os::Result<os::VirtualAddress>{os::Error::no_memory, 0}
                                             : node.vm.map(*process, config_.memory);
      if (!memory.ok()) {
        throw sim::RunFailure("no memory for the tables of background processes",
                              {"background.processes", "os.user_memory", "ddr.size"});
      }
      programs_.push_back({node, *process, node.cpu.new_thread("background"), memory.value,
                           sim::RandomStream(seed_, "background", id * 1000 + i)});
    }
    for (unsigned core = 0; config_.noise_period > Time{0} && core < node.cpu.config().cores; ++core) {
      tasks_.start(make_noise(node.cpu, core, sim::RandomStream(seed_, "noise", id * 1000 + core)));
    }
  }
  for (Program& program : programs_) {
    fill(program);
    tasks_.start(live(program));
  }
}

// Each process of a node as much of its memory as the others.
void Background::fill(Program& program) const {
  os::Vm& vm = program.node.vm;
  const std::uint64_t kept = std::max<std::uint64_t>(vm.reclaim().high_watermark(), 64);
  const std::uint64_t free = vm.frames().free_pages();
  const auto peers = std::count_if(programs_.begin(), programs_.end(), [&](const Program& other) {
    return &other.node == &program.node && &other >= &program;  // that have not been filled
  });
  const std::uint64_t share = (free > kept ? free - kept : 0) / static_cast<std::uint64_t>(peers) * kPage;
  // Less what its tables take.
  const std::uint64_t bytes = std::min(sim::page_begin(config_.memory), sim::page_begin(share - share / 256));
  if (bytes > 0) vm.make_present(program.process, program.begin, bytes);
}

Task<void> Background::live(Program& program) {
  sim::EventLoop& loop = cluster_.loop;
  while (program.alive) {
    co_await loop.idle(Time{
        static_cast<std::int64_t>(program.random.below(2 * static_cast<std::uint64_t>(config_.pause.count()) + 1))});
    const Time begin = loop.now();
    const os::Error error = co_await access(program);
    ++accesses_;
    in_access_ += loop.now() - begin;
    access_max_ = std::max(access_max_, loop.now() - begin);
    program.alive = error == os::Error::none;
  }
  ++ended_;
  co_await program.node.vm.exit(program.thread, program.process);
}

Task<os::Error> Background::access(Program& program) {
  const std::uint64_t pages = sim::page_end(config_.memory) / kPage;
  const std::uint64_t step = program.steps++;
  const std::uint64_t page = config_.sequential ? step % pages : program.random.below(pages);
  const bool write = program.random.below(100) < config_.write_percent;
  os::Vm& vm = program.node.vm;
  if (config_.renew_after > 0 && program.steps % config_.renew_after == 0) {
    co_await vm.madvise(program.thread, program.process, program.begin, pages * kPage, os::Advice::dont_need);
  }
  co_return co_await vm.touch(program.thread, program.process, program.begin + page * kPage, write);
}

Task<void> Background::make_noise(cpu::Cpu& cpu, unsigned core, sim::RandomStream random) {
  cpu::Execution& thread = cpu.new_thread("noise", core);
  for (;;) {
    co_await cluster_.loop.idle(
        Time{static_cast<std::int64_t>(random.below(2 * static_cast<std::uint64_t>(config_.noise_period.count())))});
    co_await cpu.run(thread, cpu::Work::system, config_.noise_time);
  }
}

}  // namespace faultline::workloads
