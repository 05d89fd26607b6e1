// SPDX-License-Identifier: Apache-2.0
// What a part of the machine shows of itself beside its counters. Each room describes its own parts in its
// instruments.hpp, and models/platform/instruments.hpp has all of them. Code that measures knows nothing of a machine
// but these descriptions.
#pragma once

#include "models/sim/trace.hpp"

namespace faultline::sim {

// A part that is busy or idle, and so may limit transfers.
struct BusyPart {
  const char* metric;  // in % of the measured time, for which it is busy: "utilisation_ddr"
  const char* description;
  const char* called;           // in a sentence, before "of node 3": "the DDR controller"
  bool software = false;        // its work includes waiting, or that of other programs
  bool transfers_only = false;  // nothing but transfers keeps it busy, on whichever node
};

// Something that waits in a part, and whose number is a time series.
struct QueueDepth {
  const char* series;
  const char* description;
};

// A kind of track whose level is a signal of a waveform, too.
struct SignalInfo {
  TrackKind kind;
  const char* name;  // follows "node3."; {} stands for the track's number
};

}  // namespace faultline::sim
