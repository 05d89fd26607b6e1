// SPDX-License-Identifier: Apache-2.0
// A recorded transfer in sentences, and its time by cause.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/sim/trace.hpp"
#include "workloads/chain.hpp"
#include "workloads/story/recorder.hpp"

namespace faultline::workloads {

// Something that was done, or found.
struct Told {
  sim::Time at{0};    // when it was over
  sim::Time took{0};  // 0: it took no time, or nobody knows how long
  sim::NodeId node = 0;
  std::string who;
  std::string text;           // a sentence or two
  std::string label{};        // of its row of the fault breakdown; may be empty
  std::string cost{};         // the parameters that its time is made of
  std::uint32_t attempt = 0;  // of the part that was over last
  bool is_fault = false;      // of the device, in one of the transfer's buffers
};

struct CauseOfTime {
  std::string cause;
  sim::Time time;
  // Of answers to faults: the steps that it is made of, by their labels in the fault breakdown. They add up to it.
  std::vector<std::pair<std::string, sim::Time>> steps{};
};

class Telling {
 public:
  // `recorder` has finished, knows a transfer, and outlives this. `life` is that of the nodes' NIC.
  Telling(const StoryRecorder& recorder, const sim::TransferLife& life);

  // When the work began whose end a step reports: at the end of the step before it in the same message, or in the same
  // answer to a stalled access. Other steps take no time, and begin at their end.
  sim::Time began(const sim::StepRecord& record) const {
    return began_[static_cast<std::size_t>(&record - &recorder_.steps()[0])];
  }
  // See deciding_chain().
  const sim::Vector<sim::StepRecord>& chain() const { return chain_.steps; }
  const sim::Vector<IdleStep>& idle() const { return chain_.idle; }
  // Sorted by when each was over.
  std::vector<Told> told() const;
  // They add up to the time from the transfer's arrival, or its program's first step for it, to the end.
  std::vector<CauseOfTime> causes() const;

 private:
  static std::string who_of(const sim::Step& step);
  Told told_of(const sim::StepRecord& record) const;
  void tell_chain(std::vector<Told>& told) const;
  Told told_since(const sim::StepRecord& record, sim::Time since) const;
  void tell_messages(std::vector<Told>& told) const;
  void tell_node_steps(std::vector<Told>& told) const;
  void tell_calls(std::vector<Told>& told) const;
  static void tell_calls_of(const std::string& thread, std::vector<const StoryRecorder::Slice*>& calls,
                            const WatchedBuffer& buffer, std::vector<Told>& told);
  void tell_faults(std::vector<Told>& told) const;
  void tell_pages(std::vector<Told>& told) const;
  void tell_other_parts(std::vector<Told>& told) const;
  sim::Time add_stalls(sim::Time from, sim::Time to,
                       const std::function<void(const std::string&, sim::Time, const std::string&)>& add) const;
  using Intervals = std::vector<std::pair<sim::Time, sim::Time>>;  // apart from each other, in the order of time
  Intervals stalls() const;
  Intervals faults_of_others() const;
  const sim::StepRecord* deciding_part() const;
  bool is_other_part(const sim::StepRecord& record) const;
  std::vector<sim::Time> begins() const;
  sim::Time fault_before(const sim::StepRecord& record) const;
  std::pair<sim::Time, sim::Time> call_around(const WatchedBuffer& buffer, sim::Time at) const;
  // Whether the step belongs to the answer to a stalled access. Such steps name no transfer: an SMMU knows none.
  static bool answers_stall(const sim::StepRecord& record);
  const WatchedBuffer* buffer_at(sim::NodeId node, std::uint32_t process, std::uint64_t address) const;

  const StoryRecorder& recorder_;
  const sim::TransferLife& life_;
  const DecidingChain chain_;
  const std::vector<sim::Time> began_;
};

// The step's label in the fault breakdown; without one its name in words: "interrupt raised".
std::string label_of(const sim::Step& step);

// "0-3, 7"
std::string ranges_text(std::vector<std::uint32_t> numbers);

}  // namespace faultline::workloads
