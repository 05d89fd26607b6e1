// SPDX-License-Identifier: Apache-2.0
#include "src/runs/interrupt.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace faultline::runs {
namespace {

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
  sigaction(SIGINT, &action, &old_interrupt_);
  sigaction(SIGTERM, &action, &old_terminate_);
  sigaction(SIGHUP, &action, &old_hang_up_);
  // Under nohup the run is meant to outlive the terminal.
  if (old_hang_up_.sa_handler == SIG_IGN) sigaction(SIGHUP, &old_hang_up_, nullptr);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
  sigaction(SIGHUP, &old_hang_up_, nullptr);
  wake_descriptor = -1;
  close(pipe_[0]);
  close(pipe_[1]);
}

bool InterruptGuard::requested() { return interrupted != 0; }

}  // namespace faultline::runs
