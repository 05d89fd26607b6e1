// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, SIGTERM and a hang-up as something that a loop with poll() can wait for.
#pragma once

#include <array>
#include <csignal>

namespace faultline::runs {

// While one lives, the two signals are noted instead of ending the program. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool requested();
  // Becomes readable with the signal.
  int descriptor() const { return pipe_[0]; }

 private:
  int pipe_[2];
  std::array<struct sigaction, 3> before_{};
};

}  // namespace faultline::runs
