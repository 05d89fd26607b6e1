// SPDX-License-Identifier: Apache-2.0
#include "models/sim/trace.hpp"

namespace faultline::sim {

std::string_view to_string(Step step) {
  switch (step) {
    case Step::post_begin: return "post_begin";
    case Step::posted: return "posted";
    case Step::transfer_started: return "transfer_started";
    case Step::block_scheduled: return "block_scheduled";
    case Step::read_issued: return "read_issued";
    case Step::cell_sent: return "cell_sent";
    case Step::cell_arrived: return "cell_arrived";
    case Step::fault_detected: return "fault_detected";
    case Step::fault_logged: return "fault_logged";
    case Step::handler_entered: return "handler_entered";
    case Step::handler_done: return "handler_done";
    case Step::tasklet_run: return "tasklet_run";
    case Step::message_sent: return "message_sent";
    case Step::library_woken: return "library_woken";
    case Step::resolve_begin: return "resolve_begin";
    case Step::resolve_end: return "resolve_end";
    case Step::retry_requested: return "retry_requested";
    case Step::retry_received: return "retry_received";
    case Step::block_requeued: return "block_requeued";
    case Step::block_acknowledged: return "block_acknowledged";
    case Step::notified: return "notified";
    case Step::completed: return "completed";
    case Step::timed_out: return "timed_out";
  }
  return "?";
}

}  // namespace faultline::sim
