// SPDX-License-Identifier: Apache-2.0
// Runs whose processes are killed at any moment, and runs whose disk is full: the same command goes on, and ends with
// the bytes of a run that nobody disturbed.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <csignal>
#include <filesystem>

#include "tests/fuzz/cases.hpp"
#include "tests/support/program.hpp"

using namespace faultline;
using namespace faultline::test;
namespace fs = std::filesystem;

namespace {

// The program in a process group of its own, so that its points can be killed with it.
class Process {
 public:
  explicit Process(const std::vector<std::string>& arguments, rlim_t largest_file = RLIM_INFINITY) : pid_(fork()) {
    if (pid_ < 0) throw std::runtime_error("no child");
    if (pid_ != 0) return;
    setpgid(0, 0);
    alarm(60);
    std::signal(SIGXFSZ, SIG_IGN);  // as src/main.cpp does
    const rlimit limit{largest_file, largest_file};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Ran ran = faultline_program(arguments);
    _exit(ran.code == 2 && ran.err.empty() ? 99 : ran.code);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { end(); }

  void kill(bool with_points) const {
    setpgid(pid_, pid_);  // whoever is first
    ::kill(with_points ? -pid_ : pid_, SIGKILL);
  }
  // The exit code; -1: killed.
  int end() {
    if (!ended_) waitpid(pid_, &status_, 0);
    ended_ = true;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  }

 private:
  pid_t pid_;
  int status_ = 0;
  bool ended_ = false;
};

void write_experiment() {
  std::ofstream("mine.toml") << "repetitions = 2\naxes.workload.size = [\"64 B\", \"4 KiB\", \"64 KiB\"]\n"
                                "parameters.workload.label = \"noisy\"\n";
}

const std::vector<std::string> kRun{"run", "mine.toml", "--out", "o", "--quiet"};

// What `run` without a disturbance makes of the folder; nothing, if it is what it should be.
std::string complaint_about_end(const std::string& history) {
  const Ran ran = faultline_program(kRun);
  if (ran.code != 0) return fmt::format("exit code {} after{}\n{}", ran.code, history, printable(ran.err));
  for (const char* file : {"results.json", "results.csv", "results.sqlite", "manifest.json", "effective.toml"}) {
    if (read_text(fs::path("o") / file) != read_text(fs::path("whole") / file)) {
      return fmt::format("{} differs after{}", file, history);
    }
  }
  return {};
}

}  // namespace

TEST_CASE("fuzz: kill -9 of runs, workers and points at any moment changes no byte") {
  const Sandbox sandbox;
  write_experiment();
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "whole", "--quiet"}).code == 0);
  try_cases("fuzz: kill -9 of runs, workers and points at any moment changes no byte", 12,
            [&](Dice& dice, std::uint64_t) {
              fs::remove_all("o");
              std::string history;
              if (dice.percent(50)) faultline_program({"run", "mine.toml", "--out", "o", "--quiet", "--prepare"});
              for (unsigned round = dice.from_to(1, 4); round > 0; --round) {
                std::vector<std::unique_ptr<Process>> processes;
                const unsigned others = fs::exists("o/manifest.json") ? dice.from_to(0, 4) : 0;
                for (unsigned n = 0; n < others; ++n)
                  processes.push_back(
                      std::make_unique<Process>(std::vector<std::string>{"worker", "o", "-j", "1", "--quiet"}));
                auto run = kRun;
                run.insert(run.end(), {"-j", std::to_string(dice.from_to(1, 3))});
                if (others == 0 || dice.percent(50)) processes.push_back(std::make_unique<Process>(run));
                history += fmt::format(" | {} processes:", processes.size());
                for (unsigned kills = dice.from_to(1, 4); kills > 0; --kills) {
                  const unsigned wait = static_cast<unsigned>(dice.below(60'000));
                  usleep(wait);
                  const std::size_t victim = dice.below(processes.size());
                  const bool with_points = dice.percent(50);
                  processes[victim]->kill(with_points);
                  history += fmt::format(" {} us, number {}{}", wait, victim, with_points ? " and its points" : "");
                }
              }
              return complaint_about_end(history);
            });
}

TEST_CASE("fuzz: a disk that is full at any byte is told, and the same command goes on") {
  const Sandbox sandbox;
  write_experiment();
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "whole", "--quiet"}).code == 0);
  const std::uint64_t largest = fs::file_size("whole/results.sqlite");
  try_cases("fuzz: a disk that is full at any byte is told, and the same command goes on", 12,
            [&](Dice& dice, std::uint64_t) -> std::string {
              fs::remove_all("o");
              std::string history;
              for (unsigned round = dice.few(3); round > 0; --round) {
                // No file may be larger: most of them are small, the database is not.
                const std::uint64_t room = dice.percent(50) ? dice.below(8192) : dice.below(largest + 4096);
                const int code = Process(kRun, room).end();
                history += fmt::format(" | {} bytes: exit code {}", room, code);
                if (code != 0 && code != 2) return "neither 0 nor 2 (99: without a reason):" + history;
              }
              return complaint_about_end(history);
            });
}
