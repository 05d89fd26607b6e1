// SPDX-License-Identifier: Apache-2.0
#include "workloads/background.hpp"

#include <algorithm>

#include "models/os/out_of_memory.hpp"
#include "models/os/reclaim/reclaim.hpp"

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
  table.add_bytes(
      "memory_limit", memory_limit, {0, kMost},
      {"memory that each of these and of the scanners may have at a time (memory.max of a cgroup of its own), what it "
       "has read of files included; 0: no limit",
       "",
       {}});
  table.add_choice("order", sequential, {{"random", false}, {"sequential", true}},
                   {"order in which they come to their pages", "", {}});
  table.add_count("write_percent", write_percent, {0u, 100u}, {"share of their accesses that write", "", {}});
  table.add_time(
      "pause", pause, {1us, 10s},
      {"mean time of each between two accesses, of which each is to a page: drawn, 0 to twice as long", "", {}});
  table.add_count("renew_after", renew_after, {std::uint64_t{0}, std::uint64_t{1'000'000'000}},
                  {"accesses after which a process gives its memory back and begins with new; 0: never", "", {}});
  table.add_count("scanners", scanners, {0u, 1000u},
                  {"other processes on each node that go through a file of their own, again and again", "", {}});
  table.add_bytes("file", file, {kPage, kMost}, {"size of each scanner's file", "", {}});
  table.add_bytes("file_part", file_part, {1, std::uint64_t{1} << 30},
                  {"what a scanner uses of its file at a time", "", {}});
  table.add_choice("file_use", file_use,
                   {{"read", FileUse::read},
                    {"write", FileUse::write},
                    {"map-read", FileUse::map_read},
                    {"map-write", FileUse::map_write}},
                   {"how: by read(2) or write(2), or by loads or stores to a shared mapping", "", {}});
  table.add_time("file_pause", file_pause, {1us, 10s},
                 {"mean time of a scanner between two parts: drawn, 0 to twice as long", "", {}});
  table.add_time("noise_period", noise_period, {0ns, 10s},
                 {"mean time between two times that something else needs a core, on every core; 0: never", "", {}});
  table.add_time("noise_time", noise_time, {100ns, 100ms}, {"how long it needs it, in the kernel", "", {}});
}

namespace {

constexpr std::uint64_t kFileSeed = std::uint64_t{1} << 52;  // of what is in files

[[noreturn]] void no_memory(const os::Vm& vm) {
  throw os::out_of_memory(vm, "no memory for the tables of background processes, or no room for what they want",
                          {"background.processes", "background.scanners", "os.user_memory", "ddr.size", "os.va_bits"});
}

Time drawn(sim::RandomStream& random, Time mean) {
  return Time{static_cast<std::int64_t>(random.below(2 * static_cast<std::uint64_t>(mean.count()) + 1))};
}

}  // namespace

Background::Background(const BackgroundConfig& config, platform::Cluster& cluster, sim::Seed seed)
    : config_(config), cluster_(cluster), seed_(seed) {}

void Background::start() {
  for (unsigned id = 0; id < cluster_.size(); ++id) {
    platform::Node& node = cluster_.node(id);
    for (unsigned i = 0; i < config_.processes; ++i) {
      os::Process& process = new_process(node, "background");
      const auto memory = node.vm.map(process, config_.memory);
      if (!memory.ok()) no_memory(node.vm);
      if (config_.memory_limit > 0) node.vm.limit_memory(process, config_.memory_limit);
      programs_.push_back({node, process, node.cpu.new_thread("background").use(process.id()), memory.value,
                           sim::RandomStream(seed_, "background", id * 1000 + i)});
    }
    for (unsigned i = 0; i < config_.scanners; ++i) add_scanner(node, id * 1000 + i);
    for (unsigned core = 0; config_.noise_period > Time{0} && core < node.cpu.config().cores; ++core) {
      tasks_.start(make_noise(node.cpu, core, sim::RandomStream(seed_, "noise", id * 1000 + core)));
    }
  }
  for (Program& program : programs_) {
    fill(program);
    tasks_.start(live(program));
  }
  for (Scanner& scanner : scanners_) tasks_.start(scan(scanner));
}

os::Process& Background::new_process(platform::Node& node, const char* name) const {
  os::Process* process = node.vm.create_process(name);
  if (process == nullptr) no_memory(node.vm);
  return *process;
}

bool Background::owns(const os::Process& process) const {
  const auto is_it = [&](const auto& program) { return &program.process == &process; };
  return std::any_of(programs_.begin(), programs_.end(), is_it) ||
         std::any_of(scanners_.begin(), scanners_.end(), is_it);
}

void Background::add_scanner(platform::Node& node, std::uint64_t number) {
  os::Process& process = new_process(node, "scanner");
  if (config_.memory_limit > 0) node.vm.limit_memory(process, config_.memory_limit);
  os::File* file = node.vm.page_cache().create(config_.file, kFileSeed + number);
  if (file == nullptr) no_memory(node.vm);
  os::VirtualAddress begin = 0;
  if (config_.file_use == FileUse::map_read || config_.file_use == FileUse::map_write) {
    const auto mapped = node.vm.map_file(process, *file, /*shared=*/true);
    if (!mapped.ok()) no_memory(node.vm);
    begin = mapped.value;
  }
  scanners_.push_back({node,
                       process,
                       node.cpu.new_thread("scanner").use(process.id()),
                       {.file = file},
                       begin,
                       sim::RandomStream(seed_, "scanner", number)});
}

Task<void> Background::scan(Scanner& scanner) {
  sim::EventLoop& loop = cluster_.loop;
  while (scanner.alive) {
    co_await loop.idle(drawn(scanner.random, config_.file_pause));
    const Time begin = loop.now();
    const auto used = co_await next_part(scanner);
    ++parts_;
    in_parts_ += loop.now() - begin;
    file_bytes_ += used.value;
    scanner.alive = used.ok();
  }
  ++ended_;
  faults_of_ended_ += scanner.process.faults();
  co_await scanner.node.vm.exit(scanner.thread, scanner.process);
}

Task<os::Result<std::uint64_t>> Background::next_part(Scanner& scanner) {
  os::Vm& vm = scanner.node.vm;
  const std::uint64_t at = scanner.at;
  const std::uint64_t bytes = std::min(config_.file_part, scanner.reader.file->bytes() - at);
  scanner.at = (at + bytes) % scanner.reader.file->bytes();
  if (config_.file_use == FileUse::read) {
    co_return co_await vm.page_cache().read(scanner.thread, scanner.process, scanner.reader, at, bytes);
  }
  if (config_.file_use == FileUse::write) {
    co_return co_await vm.page_cache().write(scanner.thread, scanner.process, *scanner.reader.file, at, bytes,
                                             kFileSeed + file_bytes_ + 1);
  }
  const bool write = config_.file_use == FileUse::map_write;
  const os::Error error = co_await vm.touch_range(scanner.thread, scanner.process, scanner.begin + at, bytes, write);
  co_return os::Result<std::uint64_t>{.error = error, .value = error == os::Error::none ? bytes : 0};
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
  std::uint64_t bytes = std::min(sim::page_begin(config_.memory), sim::page_begin(share - share / 256));
  if (config_.memory_limit > 0) bytes = std::min(bytes, sim::page_begin(config_.memory_limit));
  if (bytes > 0) vm.make_present(program.process, program.begin, bytes);
}

Task<void> Background::live(Program& program) {
  sim::EventLoop& loop = cluster_.loop;
  while (program.alive) {
    co_await loop.idle(drawn(program.random, config_.pause));
    const Time begin = loop.now();
    const os::Error error = co_await access(program);
    in_access_ += loop.now() - begin;
    access_times_.add(static_cast<std::uint64_t>((loop.now() - begin).count()));
    program.alive = error == os::Error::none;
  }
  ++ended_;
  faults_of_ended_ += program.process.faults();
  co_await program.node.vm.exit(program.thread, program.process);
}

Task<os::Error> Background::access(Program& program) {
  const std::uint64_t pages = sim::page_end(config_.memory) / kPage;
  const std::uint64_t step = program.steps++;
  const std::uint64_t page = config_.sequential ? step % pages : program.random.below(pages);
  const bool write = program.random.is_below(config_.write_percent, 100);
  os::Vm& vm = program.node.vm;
  if (config_.renew_after > 0 && program.steps % config_.renew_after == 0) {
    co_await vm.madvise(program.thread, program.process, program.begin, pages * kPage, os::Advice::dont_need);
  }
  co_return co_await vm.touch(program.thread, program.process, program.begin + page * kPage, write);
}

os::Process::Faults Background::faults() const {
  os::Process::Faults sum = faults_of_ended_;
  for (const Program& program : programs_) sum += program.alive ? program.process.faults() : os::Process::Faults{};
  for (const Scanner& scanner : scanners_) sum += scanner.alive ? scanner.process.faults() : os::Process::Faults{};
  return sum;
}

Task<void> Background::make_noise(cpu::Cpu& cpu, unsigned core, sim::RandomStream random) {
  cpu::Execution& thread = cpu.new_thread("noise", core).use(cpu::kUnmanagedSpace);
  for (;;) {
    co_await cluster_.loop.idle(
        Time{static_cast<std::int64_t>(random.below(2 * static_cast<std::uint64_t>(config_.noise_period.count())))});
    co_await cpu.run(thread, cpu::Work::system, config_.noise_time);
  }
}

}  // namespace faultline::workloads
