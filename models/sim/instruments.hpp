// SPDX-License-Identifier: Apache-2.0
// What a part shows of itself beside its counters. Each room describes its own parts in its instruments.hpp; who
// measures knows of a machine what these descriptions say and no more. models/platform/instruments.hpp has all of them.
#pragma once

#include "models/sim/trace.hpp"

namespace faultline::sim {

// A part that is busy or idle, and so may limit transfers.
struct BusyPart {
  const char* metric;  // of the share of time for which it is busy: "utilisation_ddr"
  const char* description;
  const char* called;           // in a sentence, before "of node 3"
  bool software = false;        // its work includes waiting, or that of other programs
  bool transfers_only = false;  // nothing but transfers keeps it busy, on whichever node
};

// Something that waits in a part: a time series.
struct QueueDepth {
  const char* series;
  const char* description;
};

// A track that is a signal of a waveform, too.
struct SignalInfo {
  TrackKind kind;
  const char* name;  // behind "node3."; {} stands for the track's number
};

}  // namespace faultline::sim
