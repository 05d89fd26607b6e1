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
    case Step::block_written: return "block_written";
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
    case Step::access_faulted: return "access_faulted";
    case Step::interrupt_raised: return "interrupt_raised";
    case Step::interrupt_taken: return "interrupt_taken";
    case Step::stall_resumed: return "stall_resumed";
    case Step::message_begin: return "message_begin";
    case Step::message_composed: return "message_composed";
    case Step::message_posted: return "message_posted";
    case Step::message_injected: return "message_injected";
    case Step::message_arrived: return "message_arrived";
    case Step::message_delivered: return "message_delivered";
    case Step::message_seen: return "message_seen";
    case Step::message_received: return "message_received";
    case Step::message_returned: return "message_returned";
  }
  return "?";
}

}  // namespace faultline::sim
