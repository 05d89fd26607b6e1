// SPDX-License-Identifier: Apache-2.0
// What a kind of benchmark does not look at: refused where it is set, since it would be silently without effect, and
// shown with the results as if it had one.
#include <cstdint>

#include "workloads/configuration_checks.hpp"

namespace faultline::workloads {
namespace {

using W = TransferConfig;

// Kinds, as a set.
constexpr unsigned kPair = 1;  // write, read
constexpr unsigned kMessage = 2;
constexpr unsigned kFlows = 4;
constexpr unsigned kAllToAll = 8;
constexpr unsigned kOtherPattern = 16;
constexpr unsigned kProgram = 32;
constexpr unsigned kReuse = 64;
constexpr unsigned kPattern = kAllToAll | kOtherPattern;
constexpr unsigned kTransfers = kPair | kMessage | kFlows | kPattern | kReuse;

unsigned set_of(Kind kind) {
  switch (kind) {
    case Kind::write:
    case Kind::read: return kPair;
    case Kind::message: return kMessage;
    case Kind::flows: return kFlows;
    case Kind::all_to_all: return kAllToAll;
    case Kind::ring:
    case Kind::permutation: return kOtherPattern;
    case Kind::reuse: return kReuse;
    case Kind::kernel_cost: break;
  }
  return kProgram;
}

template <auto member>
bool differs(const W& w) {
  return w.*member != W{}.*member;
}

struct Ignored {
  unsigned kinds;
  const char* key;
  bool (*is_set)(const W&);
  const char* reason;
  const char* instead = nullptr;  // at_default()
};

constexpr const char* kOfFlow = "each flow has its own";
constexpr const char* kInFlow = "set it in workload.flows";
constexpr const char* kNoBuffers = "messages have no buffers";
constexpr const char* kNoClean = "there are no clean transfers";
constexpr const char* kOnlyPairsAdvise = "only the buffers of the kinds 'write' and 'read' are advised";
constexpr const char* kNoProgram = "only the kind 'kernel-cost' runs a program";
constexpr const char* kFlowsArrive = "each flow says when its transfers arrive";
constexpr const char* kNoArrivals = "only transfers between buffers arrive, or wait for a program to think";
constexpr const char* kOnePool = "a pool's transfers are measured one at a time";
constexpr const char* kWholePages = "buffers of a pool begin with a page";
constexpr const char* kEveryNode = "every node takes part in a pattern";

bool is_set_interval(const W& w) { return !w.is_open() && w.interval > sim::Time{0}; }
bool is_set_burst(const W& w) { return !w.is_open() && w.burst > 1; }
bool is_set_memory(const W& w) { return w.memory.backing != rdma::Backing::anonymous; }
bool is_limited(const W& w) { return w.memory.limit > 0; }
bool is_protected(const W& w) { return w.memory.never_killed; }
bool is_set_program(const W& w) { return w.program.kind != ProgramConfig{}.kind; }
bool is_set_processes(const W& w) { return w.program.processes != ProgramConfig{}.processes; }
bool is_set_written(const W& w) { return w.program.written_pages != ProgramConfig{}.written_pages; }

constexpr Ignored kIgnored[] = {
    {kFlows, "workload.size", differs<&W::size>, kOfFlow, kInFlow},
    {kFlows, "workload.iterations", differs<&W::iterations>, kOfFlow, "set transfers=... in workload.flows"},
    {kFlows, "workload.warmup", differs<&W::warmup>, "flows have no warm-up: all of their transfers are measured"},
    {kFlows, "workload.window", differs<&W::window>, kOfFlow, kInFlow},
    {kMessage, "workload.window", differs<&W::window>, "messages are measured one at a time"},
    {kProgram, "workload.window", differs<&W::window>, "a program does one thing at a time"},
    {kFlows, "workload.initiator", differs<&W::initiator>, kOfFlow, "set from=... in workload.flows"},
    {kFlows, "workload.target", differs<&W::target>, kOfFlow, "set to=... in workload.flows"},
    {kPattern, "workload.initiator", differs<&W::initiator>, kEveryNode},
    {kPattern, "workload.target", differs<&W::target>, kEveryNode},
    {kProgram, "workload.target", differs<&W::target>, "a program is on one node, the initiator"},
    {kFlows, "workload.source_offset", differs<&W::source_offset>, kOfFlow, kInFlow},
    {kFlows, "workload.destination_offset", differs<&W::destination_offset>, kOfFlow, kInFlow},
    {kMessage, "workload.source_offset", differs<&W::source_offset>, kNoBuffers},
    {kMessage, "workload.destination_offset", differs<&W::destination_offset>, kNoBuffers},
    {kProgram, "workload.source_offset", differs<&W::source_offset>, "a program has no source"},
    {kProgram, "workload.destination_offset", differs<&W::destination_offset>, "a program has no destination"},
    {kFlows, "workload.cold", differs<&W::cold>, "each flow says which of its ends is cold",
     "write cold=... into workload.flows"},
    {kMessage, "workload.cold", differs<&W::cold>, "messages have no buffers that could be cold"},
    {kProgram, "workload.cold", differs<&W::cold>, "a program's pages are as it uses them"},
    {kFlows, "workload.arrivals", differs<&W::arrivals>, kFlowsArrive, kInFlow},
    {kFlows, "workload.think_time", differs<&W::think_time>, kFlowsArrive, kInFlow},
    {kFlows, "workload.interval", is_set_interval, kFlowsArrive, kInFlow},
    {kFlows, "workload.burst", is_set_burst, kFlowsArrive, kInFlow},
    {kMessage | kProgram | kReuse, "workload.arrivals", differs<&W::arrivals>, kNoArrivals},
    {kMessage | kProgram | kReuse, "workload.think_time", differs<&W::think_time>, kNoArrivals},
    {kMessage | kProgram | kReuse, "workload.interval", is_set_interval, kNoArrivals},
    {kMessage | kProgram | kReuse, "workload.burst", is_set_burst, kNoArrivals},
    {kMessage, "workload.madvise_hugepage", differs<&W::madvise_hugepage>, kNoBuffers},
    {kFlows | kPattern | kReuse, "workload.madvise_hugepage", differs<&W::madvise_hugepage>, kOnlyPairsAdvise},
    {kMessage | kFlows | kPattern | kProgram | kReuse, "workload.advise_late", differs<&W::advise_late>,
     kOnlyPairsAdvise},
    {kProgram, "workload.memory", is_set_memory, "a program says itself what it maps"},
    {kProgram, "workload.memory_limit", is_limited, "a program is in no memory cgroup"},
    {kProgram, "workload.oom_protected", is_protected, "a program is not protected from the OOM killer"},
    {kFlows, "workload.clean_window", differs<&W::clean_window>, "each flow is a stream of its own",
     "say so by a further flow"},
    {kMessage, "workload.clean_window", differs<&W::clean_window>, "messages have no neighbours"},
    {kPattern, "workload.clean_window", differs<&W::clean_window>, "a pattern has no neighbours"},
    {kReuse, "workload.clean_window", differs<&W::clean_window>, "a pool has no neighbours"},
    {kProgram, "workload.clean_window", differs<&W::clean_window>, "a program has no transfers beside it"},
    {kMessage | kFlows | kPattern | kProgram | kReuse, "workload.clean_kind", differs<&W::clean_kind>, kNoClean},
    {kMessage | kFlows | kPattern | kProgram | kReuse, "workload.clean_size", differs<&W::clean_size>, kNoClean},
    {kPair | kMessage | kFlows | kOtherPattern | kReuse, "workload.peers", differs<&W::peers>,
     "only the kind 'all-to-all' has a choice of peers"},
    {kProgram, "workload.peers", differs<&W::peers>, "a program has no peers"},
    {kProgram, "workload.start_spread", differs<&W::start_spread>, "a program is alone, and begins at once"},
    {kReuse, "workload.window", differs<&W::window>, kOnePool},
    {kReuse, "workload.source_offset", differs<&W::source_offset>, kWholePages},
    {kReuse, "workload.destination_offset", differs<&W::destination_offset>, kWholePages},
    {kReuse, "workload.cold", differs<&W::cold>, "new memory is absent, and no other", "set reuse.again below 1"},
    {kReuse, "workload.memory", is_set_memory, "a pool is anonymous memory"},
    {kPair | kMessage | kPattern | kProgram | kReuse, "workload.flows", differs<&W::flows>,
     "only the kind 'flows' has any", "set workload.kind to flows"},
    {kTransfers, "workload.program", is_set_program, kNoProgram},
    {kTransfers, "workload.processes", is_set_processes, kNoProgram},
    {kTransfers, "workload.written_pages", is_set_written, kNoProgram},
};

}  // namespace

void check_ignored(const TransferConfig& w, const AddConflict& add) {
  const unsigned kind = set_of(w.kind);
  for (const Ignored& each : kIgnored) {
    if ((each.kinds & kind) == 0 || !each.is_set(w)) continue;
    add({each.key, "workload.kind"}, each.reason, each.instead == nullptr ? at_default(each.key) : each.instead);
  }
}

}  // namespace faultline::workloads
