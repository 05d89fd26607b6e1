// SPDX-License-Identifier: Apache-2.0
#include "src/runs/point_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <utility>

#include "src/experiment/diagnostics.hpp"
#include "src/runs/host.hpp"
#include "src/runs/point_result_json.hpp"

// _exit() skips gcov's own exit handler, and what a child covers would be lost. Null without coverage.
extern "C" void __gcov_dump() __attribute__((weak));  // NOLINT: the name is gcov's

namespace faultline::runs {
namespace {

using Json = nlohmann::ordered_json;

std::string errno_text(const std::string& what) { return what + ": " + std::strerror(errno); }

void write_all(int descriptor, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = write(descriptor, text.data() + at, text.size() - at);
    if (n < 0 && errno != EINTR) return;  // the parent is gone: nobody is left to tell
    if (n > 0) at += static_cast<std::size_t>(n);
  }
}

std::string simulate(std::size_t index, const PointFunction& point, const Heartbeat& heartbeat) {
  // Invalid UTF-8 in a text of a model must not cost the point.
  const auto text = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  try {
    return text({{"result", to_json(point(index, heartbeat))}});
  } catch (const std::bad_alloc&) {
    return "{\"no_memory\": true}";
  } catch (const std::exception& error) {
    return text({{"exception", error.what()}});
  } catch (...) {
    return "{\"exception\": \"of an unknown type\"}";
  }
}

[[noreturn]] void be_child(std::size_t index, const PointFunction& point, const Heartbeat& heartbeat, int result,
                           int output, pid_t parent) {
  // Ctrl-C, a batch system's SIGTERM and a hang-up reach the whole group; the parent decides when a child ends.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  // Standard output is the parent's table or JSON.
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  write_all(result, simulate(index, point, heartbeat));
  std::cout.flush();
  if (__gcov_dump != nullptr) __gcov_dump();
  _exit(0);
}

// The end of what the child printed, as one line: a failed assertion, a sanitizer's report.
std::string last_words(int output) {
  std::string text(2048, '\0');
  const off_t size = lseek(output, 0, SEEK_END);
  const off_t from = size > static_cast<off_t>(text.size()) ? size - static_cast<off_t>(text.size()) : 0;
  const ssize_t n = pread(output, text.data(), text.size(), from);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  const std::string said = experiment::joined_lines(text);
  return said.empty() ? "" : "; it last said: " + said;
}

PointOutcome read_outcome(const std::string& text) {
  PointOutcome outcome;
  const Json json = Json::parse(text);
  if (json.contains("result")) {
    outcome.result = point_result_from_json(json.at("result"));
    outcome.error = outcome.result.error;
    outcome.status = outcome.error.empty() ? PointStatus::complete : PointStatus::misconfigured;
  } else if (json.contains("no_memory")) {
    outcome.status = PointStatus::host_failed;
    outcome.error = "the host has no memory left; fewer --jobs need less";
  } else {
    outcome.status = PointStatus::bug;
    outcome.error = "exception: " + experiment::joined_lines(json.at("exception").get<std::string>());
  }
  return outcome;
}

PointOutcome ended_by(int status, int output) {
  PointOutcome outcome;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    // The kernel ends a process this way when memory runs out; nothing of ours raises it.
    outcome.status = PointStatus::host_failed;
    outcome.error = "killed: the host ran out of memory, or somebody killed it; fewer --jobs need less memory";
  } else {
    outcome.status = PointStatus::bug;
    outcome.error = WIFSIGNALED(status)
                        ? fmt::format("crashed: {} (signal {})", strsignal(WTERMSIG(status)), WTERMSIG(status))
                        : fmt::format("ended without a result (exit code {})", WEXITSTATUS(status));
    outcome.error += last_words(output);
  }
  return outcome;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

void PointProcess::Beat::tell(const workloads::Totals& totals) {
  cell_hops.store(totals.cell_hops, std::memory_order_relaxed);
  simulated_ps.store(totals.simulated_ps, std::memory_order_relaxed);
  draws.store(totals.draws, std::memory_order_relaxed);
  seconds_in_all.store(totals.seconds_in_all, std::memory_order_relaxed);
  // Last, and read first: who sees these events sees the rest of their beat, or of a later one.
  events.store(totals.events, std::memory_order_release);
}

workloads::Totals PointProcess::last_beat() const {
  const std::uint64_t events = beat_->events.load(std::memory_order_acquire);
  return {events, beat_->cell_hops.load(std::memory_order_relaxed), beat_->simulated_ps.load(std::memory_order_relaxed),
          beat_->draws.load(std::memory_order_relaxed), beat_->seconds_in_all.load(std::memory_order_relaxed)};
}

PointProcess::PointProcess(std::size_t index, const PointFunction& point) : index_(index) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(errno_text("cannot make a pipe"));
  void* shared = mmap(nullptr, sizeof(Beat), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    const std::string why = errno_text("cannot share memory with a process");
    close(ends[0]);
    close(ends[1]);
    throw std::runtime_error(why);
  }
  beat_ = new (shared) Beat{};
  output_ = memfd_create("faultline-point", MFD_CLOEXEC);
  // What is buffered here would be written twice.
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t parent = getpid();
  process_ = output_ < 0 ? -1 : fork();
  if (process_ < 0) {
    const std::string why = errno_text("cannot start a process");
    close(ends[0]);
    close(ends[1]);
    if (output_ >= 0) close(output_);
    munmap(shared, sizeof(Beat));
    throw std::runtime_error(why);
  }
  if (process_ == 0) {
    be_child(
        index, point, [this](const workloads::Totals& totals) { beat_->tell(totals); }, ends[1], output_, parent);
  }
  close(ends[1]);
  result_ = ends[0];
  fcntl(result_, F_SETFL, O_NONBLOCK);
}

PointProcess::PointProcess(PointProcess&& other) noexcept
    : index_(other.index_),
      process_(other.process_),
      result_(other.result_),
      output_(other.output_),
      beat_(std::exchange(other.beat_, nullptr)),
      text_(std::move(other.text_)),
      start_(other.start_) {
  other.process_ = other.result_ = other.output_ = -1;
}

PointProcess::~PointProcess() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (result_ >= 0) close(result_);
  if (output_ >= 0) close(output_);
  if (beat_ != nullptr) munmap(beat_, sizeof(Beat));
}

bool PointProcess::drain() {
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t n = read(result_, buffer.data(), buffer.size());
    if (n == 0) return true;
    if (n > 0) {
      text_.append(buffer.data(), static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      return errno != EAGAIN;
    }
  }
}

double PointProcess::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

double PointProcess::resident_mib() const { return runs::resident_mib(process_); }

PointOutcome PointProcess::stop(std::chrono::seconds limit) {
  kill(process_, SIGKILL);
  PointOutcome outcome = finish();
  outcome.status = PointStatus::timed_out;
  outcome.error = fmt::format("took longer than {} s (--timeout)", limit.count());
  return outcome;
}

PointOutcome PointProcess::finish() {
  int status = 0;
  rusage used{};
  while (wait4(process_, &status, 0, &used) < 0 && errno == EINTR) {
  }
  process_ = -1;
  PointOutcome outcome;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    try {
      outcome = read_outcome(text_);
    } catch (const std::exception& error) {
      outcome.status = PointStatus::bug;
      outcome.error = std::string("its result cannot be read: ") + error.what();
    }
  } else {
    outcome = ended_by(status, output_);
  }
  const workloads::PointResult& result = outcome.result;
  outcome.totals = outcome.status == PointStatus::complete
                       ? workloads::Totals{result.events, result.cell_hops, result.simulated_ps}
                       : last_beat();
  outcome.cpu_seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
  outcome.peak_mib = static_cast<double>(used.ru_maxrss) / 1024;  // Linux: KiB
  outcome.host_seconds = seconds();
  return outcome;
}

}  // namespace faultline::runs
