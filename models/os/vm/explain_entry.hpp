// SPDX-License-Identifier: Apache-2.0
// What the entries of a process's table say of an access: read from the page states, which know who changed them.
#pragma once

#include "models/os/vm/fault_reason.hpp"

namespace faultline::os {

class Process;

// Of a page that somebody has taken away, or is at work on.
FaultCause cause_of(Taker taker);
// What stands against an access in the process's own table: the cause, and who took what it needs. `reason` has the
// page's state.
void explain_entry(const Process& process, VirtualAddress va, bool write, FaultReason& reason);

}  // namespace faultline::os
