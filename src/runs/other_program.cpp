// SPDX-License-Identifier: Apache-2.0
#include "src/runs/other_program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "src/experiment/diagnostics.hpp"

extern char** environ;  // NOLINT: POSIX's name

namespace faultline::runs {
namespace {

// A file in memory: what is printed into it never makes the program wait.
class Captured {
 public:
  Captured() : file_(memfd_create("faultline-printed", MFD_CLOEXEC)) {
    if (file_ < 0) throw std::runtime_error(std::string("memfd_create: ") + std::strerror(errno));
  }
  ~Captured() { close(file_); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  int descriptor() const { return file_; }
  std::string text() const {
    std::string text(static_cast<std::size_t>(lseek(file_, 0, SEEK_END)), '\0');
    const ssize_t n = pread(file_, text.data(), text.size(), 0);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }

 private:
  int file_;
};

// As posix_spawn takes them.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

std::optional<int> run(const std::vector<std::string>& words, char* const* environment,
                       const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes) {
  pid_t process = -1;
  const std::vector<char*> arguments = pointers(words);
  const int error = posix_spawnp(&process, arguments[0], actions, attributes, arguments.data(), environment);
  if (error == ENOENT) return {};
  if (error != 0) throw UserError(words.at(0) + ": cannot be started: " + std::strerror(error));
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// How a program is started whose words are caught: nothing to read, and a process group of its own.
struct Apart {
  Apart(int out, int err) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
  }
  ~Apart() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

}  // namespace

std::optional<Printed> run_program(const std::vector<std::string>& words) {
  const Captured out, err;
  const Apart apart(out.descriptor(), err.descriptor());
  const auto code = run(words, environ, &apart.actions, &apart.attributes);
  if (!code) return {};
  return Printed{*code, out.text(), err.text()};
}

std::optional<int> run_attached(const std::vector<std::string>& words, const std::vector<std::string>& environment) {
  return run(words, pointers(environment).data(), nullptr, nullptr);
}

}  // namespace faultline::runs
