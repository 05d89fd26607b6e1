// SPDX-License-Identifier: Apache-2.0
// SystemC's kernel elaborates once in a process, so a test that compares simulations runs each in a child.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace faultline::test {

// Work that runs in a forked child, beside the parent and other children.
class Child {
 public:
  // `cpu_seconds`, if not 0: SIGXCPU ends a child that uses more, however busy the machine is.
  explicit Child(const std::function<std::string()>& work, unsigned cpu_seconds = 0) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe for a child");
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("no child");
    if (pid_ == 0) {
      close(ends[0]);
      if (cpu_seconds > 0) limit_cpu(cpu_seconds);
      run(work, ends[1]);
    }
    close(ends[1]);
    from_ = ends[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (from_ < 0) return;
    close(from_);
    waitpid(pid_, nullptr, 0);
  }

  // What work() returned. Throws std::runtime_error when it threw, or the child died. Once.
  std::string text() {
    std::string text;
    char buffer[4096];
    for (ssize_t n = 0; (n = read(from_, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
    close(std::exchange(from_, -1));
    int status = 0;
    waitpid(pid_, &status, 0);
    if (WIFSIGNALED(status)) throw std::runtime_error("the child died of signal " + std::to_string(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0) throw std::runtime_error("in the child: " + text);
    return text;
  }

 private:
  static void limit_cpu(unsigned seconds) {
    const rlimit limit{seconds, seconds + 1};
    setrlimit(RLIMIT_CPU, &limit);
  }
  [[noreturn]] static void run(const std::function<std::string()>& work, int to) {
    int code = 0;
    std::string text;
    try {
      text = work();
    } catch (const std::exception& error) {
      code = 1;
      text = error.what();
    }
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t n = write(to, text.data() + sent, text.size() - sent);
      if (n <= 0) _exit(2);
      sent += static_cast<std::size_t>(n);
    }
    _exit(code);  // not exit(): what is in the parent's buffers is the parent's to write
  }

  pid_t pid_ = -1;
  int from_ = -1;
};

// What work() returns in a forked child. Throws std::runtime_error when it threw there, or the child died.
inline std::string text_from_child(const std::function<std::string()>& work) { return Child(work).text(); }

// Named whole numbers, for tests that look at a hand-made simulation.
using Facts = std::map<std::string, std::int64_t>;

inline Facts facts_from_child(const std::function<Facts()>& work) {
  std::istringstream lines(text_from_child([&work] {
    std::ostringstream out;
    for (const auto& [name, value] : work()) out << name << '\t' << value << '\n';
    return out.str();
  }));
  Facts facts;
  std::string name;
  while (std::getline(lines, name, '\t')) {
    std::int64_t value = 0;
    lines >> value;
    lines.ignore();
    facts[name] = value;
  }
  return facts;
}

}  // namespace faultline::test
