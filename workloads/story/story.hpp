// SPDX-License-Identifier: Apache-2.0
// A recorded transfer as JSON, of which `faultline explain` makes a text and a page. All times are whole picoseconds
// since the post; what comes before it is negative.
//
//   number, planned, operation, bytes, of_message, outcome, why, begin, post, end, cut
//   buffers   of both ends: where they are, whose, how many pages (page_count), which of them are watched (pages)
//   lanes     who can be at work: node (or router) and name, from top to bottom
//   events    from, to, lane, label, text, cost, part, attempt; main: it decides how long all takes; kind: program,
//             step, slice, fault, instant
//   keys      what is watched of pages and registers; state: the values at `begin`; changes: at, key, from, to, text
//   totals    the time by cause; steps: of a cause "answering faults: ...", its time by step
//   told      the sentences: at, took, node, who, label, text, cost, attempt, fault
#pragma once

#include <cstdint>
#include <string>

#include "models/platform/cluster.hpp"
#include "workloads/story/recorder.hpp"

namespace faultline::workloads {

// What the recorder does not know of its run. planned: how many transfers are measured; of_messages: transfers carry
// messages between ranks, whose programs wait for none of them alone; why: of a transfer that did not end well, as far
// as the run knows.
struct StoryFacts {
  std::uint64_t planned = 0;
  bool of_messages = false;
  std::string why;
};

// `recorder` has finished.
std::string story_json(const StoryRecorder& recorder, const platform::Cluster& cluster, const StoryFacts& facts);

}  // namespace faultline::workloads
