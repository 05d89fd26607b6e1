// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <systemc>
#include <vector>

#include "src/application.hpp"
#include "src/cluster_simulator.hpp"

namespace faultline::app {
namespace {

// Wide enough for a full row on a pipe; a narrow terminal gets fewer columns.
std::size_t width_of(int descriptor) {
  winsize size{};
  const bool terminal = isatty(descriptor) != 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return terminal ? std::clamp<std::size_t>(size.ws_col, 60, 160) : 160;
}

}  // namespace
}  // namespace faultline::app

int sc_main(int argc, char* argv[]) {
  using namespace faultline::app;
  const Console console{std::cout, std::cerr, isatty(STDERR_FILENO) != 0, width_of(STDOUT_FILENO),
                        width_of(STDERR_FILENO)};
  return run_application({argv + 1, argv + argc}, ClusterSimulator{}, console);
}

namespace {

// A file that took a closed standard stream's number would get what is meant for the stream. What is written to these
// fails, and is told so, as it would to the closed one.
void open_standard_streams() {
  int descriptor = open("/dev/null", O_RDONLY);
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = dup(descriptor);
  if (descriptor > STDERR_FILENO) close(descriptor);
}

}  // namespace

// Ours instead of the library's, to keep its banner out of every message.
int main(int argc, char* argv[]) {
  open_standard_streams();        // before anything opens a file
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is told as a full disk is
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
