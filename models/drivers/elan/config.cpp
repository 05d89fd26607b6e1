// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/elan/config.hpp"

namespace faultline::elan {

using sim::Standing;

LibraryConfig::LibraryConfig() {
  post = 100ns;
  completion = 80ns;
  message_send = 100ns;
  message_receive = 100ns;
}

void DriverConfig::declare(sim::ParameterTable& table) {
  const auto group = table.group("elan_driver");
  const auto time = [&table](const char* name, sim::Time& value, const char* meaning) {
    table.add_time(name, value, sim::kAnyTime, {meaning, "assumed", Standing::assumed});
  };
  time("trap_handler", trap_handler, "handler of the NIC's interrupt, besides five register reads and a write a trap");
  time("trap_service", trap_service,
       "driver's thread: one trap, besides the page fault, the entry's load and the restart of what is parked");
  time("load", load, "driver: one entry of the NIC's table, besides two register writes");
  time("unload", unload, "driver: an entry that goes from the NIC's table, besides a register write");
  time("push_delay", push_delay,
       "until the driver's thread loads an entry that became usable by other than a page fault, which loads its own");
  time("event_call", event_call, "system call that sleeps until a notice comes, besides its register writes");
  time("event_handler", event_handler, "handler of the NIC's interrupt for a notice, besides its register accesses");
}

void LibraryConfig::declare(sim::ParameterTable& table) {
  const auto group = table.group("elan_library");
  const auto time = [&table](const char* name, sim::Time& value, sim::Range<sim::Time> range, const char* meaning) {
    table.add_time(name, value, range, {meaning, "assumed", Standing::assumed});
  };
  const auto fitted = [&table](const char* name, sim::Time& value, const char* meaning) {
    table.add_time(name, value, sim::kAnyTime,
                   {meaning, "fitted to the 1.22 us of a small message with Elan4 (V18a)", Standing::fitted});
  };
  fitted("post", post, "user code of a post around its register accesses");
  fitted("completion", completion, "user code from the poll's hit to the return");
  time("message_send", message_send, sim::kAnyTime, "user code to send a small message");
  time("message_receive", message_receive, sim::kAnyTime, "user code to take a small message");
  time("scan_word", scan_word, {1ns, 1us},
       "a program that polls the words of many others: the load and test of one that has not changed");
  time("signal", signal, sim::kAnyTime, "the kernel calls a handler of the program, which returns by sigreturn()");
  table.add_count("event_entries", event_entries, {1u, 65536u},
                  {"places of a process's event queue, of 16 B", "assumed", Standing::assumed});
}

}  // namespace faultline::elan
