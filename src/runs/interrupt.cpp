// SPDX-License-Identifier: Apache-2.0
#include "src/runs/interrupt.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>

namespace faultline::runs {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

// Only a signal handler needs these: it can be handed nothing.
volatile std::sig_atomic_t interrupted = 0;
volatile std::sig_atomic_t wake_descriptor = -1;

void on_signal(int) {
  const int saved = errno;
  interrupted = 1;
  const char byte = 0;
  // A full pipe is as readable as one with this byte.
  if (write(wake_descriptor, &byte, 1) < 0) errno = saved;
  errno = saved;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  if (pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
  interrupted = 0;
  wake_descriptor = pipe_[1];
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &before_[i]);
    // Under nohup the run is meant to outlive the terminal.
    if (kSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN) sigaction(SIGHUP, &before_[i], nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  wake_descriptor = -1;
  close(pipe_[0]);
  close(pipe_[1]);
}

bool InterruptGuard::requested() { return interrupted != 0; }

}  // namespace faultline::runs
