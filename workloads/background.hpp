// SPDX-License-Identifier: Apache-2.0
// Other life on the nodes: processes that use memory of their own or go through files, so that memory runs short, and
// noise on the cores.
#pragma once

#include <cstdint>
#include <vector>

#include "models/platform/cluster.hpp"
#include "models/sim/histogram.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/random.hpp"
#include "models/sim/task.hpp"

namespace faultline::workloads {

using namespace std::chrono_literals;

enum class FileUse : std::uint8_t { read, write, map_read, map_write };

struct BackgroundConfig {
  unsigned processes = 0;
  std::uint64_t memory = std::uint64_t{256} << 20;
  std::uint64_t memory_limit = 0;
  bool sequential = false;
  unsigned write_percent = 50;
  sim::Time pause = 20us;
  std::uint64_t renew_after = 0;
  unsigned scanners = 0;
  std::uint64_t file = std::uint64_t{64} << 20;
  std::uint64_t file_part = std::uint64_t{64} << 10;
  FileUse file_use = FileUse::read;
  sim::Time file_pause = 1ms;
  sim::Time noise_period{0};
  sim::Time noise_time = 50us;

  void declare(sim::ParameterTable& table);
  bool uses_memory() const { return processes > 0 || scanners > 0; }
};

class Background {
 public:
  Background(const BackgroundConfig& config, platform::Cluster& cluster, sim::Seed seed);

  // From now on. What is free on a node, down to its high watermark, is in the processes' use at once; the rest of what
  // they want they have to take from each other, and from whoever else can do without it.
  void start();

  // Since the start.
  std::uint64_t accesses() const { return access_times_.count(); }
  const sim::Histogram& access_times() const { return access_times_; }  // ps
  sim::Time access_mean() const {
    return accesses() == 0 ? sim::Time{0} : in_access_ / static_cast<std::int64_t>(accesses());
  }
  sim::Time access_max() const { return sim::Time(static_cast<std::int64_t>(access_times_.max())); }
  // Processes that have met the end of memory, killed or refused: they gave everything back.
  unsigned ended() const { return ended_; }
  // Page faults of these processes.
  os::Process::Faults faults() const;
  // Of the scanners.
  std::uint64_t file_bytes() const { return file_bytes_; }
  std::uint64_t parts() const { return static_cast<std::uint64_t>(parts_); }
  sim::Time part_mean() const { return parts_ == 0 ? sim::Time{0} : in_parts_ / parts_; }

  // Whether the process is one of these.
  bool owns(const os::Process& process) const;

 private:
  struct Program {
    platform::Node& node;
    os::Process& process;
    cpu::Execution& thread;
    os::VirtualAddress begin;
    sim::RandomStream random;
    std::uint64_t steps = 0;
    bool alive = true;
  };
  // Goes through a file of its own, from its beginning to its end, again and again.
  struct Scanner {
    platform::Node& node;
    os::Process& process;
    cpu::Execution& thread;
    os::FileReader reader;
    os::VirtualAddress begin;  // where it is mapped, if it is
    sim::RandomStream random;
    std::uint64_t at = 0;
    bool alive = true;
  };
  os::Process& new_process(platform::Node& node, const char* name) const;
  void add_scanner(platform::Node& node, std::uint64_t number);
  sim::Task<void> scan(Scanner& scanner);
  sim::Task<os::Result<std::uint64_t>> next_part(Scanner& scanner);
  void fill(Program& program) const;
  sim::Task<void> live(Program& program);
  sim::Task<os::Error> access(Program& program);
  sim::Task<void> make_noise(cpu::Cpu& cpu, unsigned core, sim::RandomStream random);

  const BackgroundConfig config_;
  platform::Cluster& cluster_;
  const sim::Seed seed_;
  std::vector<Program> programs_;
  std::vector<Scanner> scanners_;
  sim::Time in_access_{0};
  sim::Histogram access_times_;
  unsigned ended_ = 0;
  os::Process::Faults faults_of_ended_;
  std::uint64_t file_bytes_ = 0;
  std::int64_t parts_ = 0;
  sim::Time in_parts_{0};
  sim::TaskGroup tasks_;
};

}  // namespace faultline::workloads
