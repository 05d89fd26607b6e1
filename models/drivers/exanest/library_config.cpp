// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/exanest/library_config.hpp"

namespace faultline::exanest {

void LibraryConfig::declare(sim::ParameterTable& table) {
  using sim::Standing;
  const auto group = table.group("exanest_library");
  table.add_time("post", post, sim::kAnyTime,
                 {"user code of a post around its seven register writes and one read (with them 1.5 us)",
                  "assumed: A53 at 1.2 GHz, 0.5-2 us",
                  Standing::assumed,
                  {"100 ns", "1.43 us"}});
  table.add_time("completion", completion, sim::kAnyTime,
                 {"user code from the poll's hit to the return (with the polling load 0.5 us)",
                  "assumed: 0.1-1 us",
                  Standing::assumed,
                  {"100 ns", "1 us"}});
  table.add_time("message_send", message_send, sim::kAnyTime,
                 {"user code to send a small message",
                  "fitted to the NI + library share of 0.47 us (ExaNeSt prototype)", Standing::fitted});
  table.add_time("message_receive", message_receive, sim::kAnyTime,
                 {"user code to take a small message from the mailbox",
                  "fitted to the NI + library share of 0.47 us (ExaNeSt prototype)", Standing::fitted});
  table.add_time("parse_fault", parse_fault, sim::kAnyTime,
                 {"fault thread: decoding one netlink message",
                  "0.5 to 2 us; fitted with the rest of the fault path to the 38 us that a small transfer's fault "
                  "takes (PART, TPDS 2022)",
                  Standing::fitted,
                  {"500 ns", "2 us"}});
  table.add_time("post_retry", post_retry, sim::kAnyTime,
                 {"fault thread: user code around the register writes of one retry request (with them 0.9 us)",
                  "0.5 to 1 us; fitted as exanest_library.parse_fault",
                  Standing::fitted,
                  {"280 ns", "780 ns"}});
  table.add_choice(
      "fault_thread", fault_thread,
      {{"process", FaultThreadClass::process},
       {"interrupt-thread", FaultThreadClass::interrupt_thread},
       {"kworker-bound", FaultThreadClass::kworker_bound},
       {"kworker-unbound", FaultThreadClass::kworker_unbound}},
      {"how the thread that resolves page faults is scheduled, which decides what it waits for: as the program's own "
       "threads; as the thread of an interrupt (SCHED_FIFO: before all of them; since 4.19 on the interrupt's core "
       "alone); as a kernel worker of the core that "
       "takes interrupts, or of any. Its costs are the same",
       "ExaNeSt's fault library is a thread of the process; the others are what drivers use",
       Standing::derived,
       {"process", "interrupt-thread", "kworker-bound"}});
  table.add_time("scan_word", scan_word, {1ns, 1us},
                 {"a program that polls the words of many others: the load and test of one that has not changed",
                  "assumed: a hit in the L1 cache and a loop of a few instructions; those that other caches hold take "
                  "longer",
                  Standing::assumed,
                  {"3 ns", "20 ns"}});
  table.add_time("signal", signal, sim::kAnyTime,
                 {"the kernel calls a handler of the program, which returns by sigreturn()",
                  "assumed: as lmbench's signal handler overhead on cores of that class, 1 to 5 us",
                  Standing::assumed,
                  {"1 us", "5 us"}});
  table.add_count(
      "event_entries", event_entries, {1u, 65536u},
      {"places of a process's event queue, of 16 B; a notice that finds none free is given when its block is "
       "sent again",
       "assumed: a page of them",
       Standing::assumed,
       {"64", "1024"}});
}

}  // namespace faultline::exanest
