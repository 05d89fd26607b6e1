// SPDX-License-Identifier: Apache-2.0
// Records all that happens around one transfer, from the instant at which its program begins to prepare it to the one
// at which the program is done with it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/platform/cluster.hpp"
#include "models/trace/link_plans.hpp"
#include "workloads/experiment_point.hpp"
#include "workloads/story/page_watch.hpp"

namespace faultline::workloads {

class StoryRecorder : public sim::Timeline {
 public:
  // So many slices and steps are kept; left_out() counts the others.
  static constexpr std::size_t kMostSlices = 20'000;
  static constexpr std::size_t kMostSteps = 100'000;

  struct Slice {
    sim::Track track;
    sim::Time begin;
    sim::Time end;
    std::string name;
    std::string category;
    sim::PartKey key;
  };
  struct Fault {
    sim::Time at;
    sim::NodeId node;
    std::uint32_t process;
    std::uint64_t address;
    bool write;
    std::string cause;
    std::string state;
    std::string by;
    bool injected;
  };
  enum class Outcome {
    not_begun,   // there is no transfer of this number
    unfinished,  // the run has ended before it
    refused,     // the device's queue was full
    failed,      // it ended with an error
    done,
  };

  // Before the cluster boots. `over` is called when the transfer is. `cluster` outlives the recorder.
  StoryRecorder(const StoryRequest& request, platform::Cluster& cluster, std::function<void()> over);
  ~StoryRecorder() override;

  void measurement_begins() { measured_ = true; }
  // To be called between events.
  void look();

  void on_begin(std::uint64_t number, const sim::TransferBegin& begin) override;
  void on_posted(std::uint64_t number, std::uint64_t transfer) override;
  void on_end(std::uint64_t number, sim::Time at, bool done) override;
  void on_step(const sim::StepRecord& record) override;
  void on_slice(const sim::Slice& slice) override;
  void on_level(sim::Time, const sim::Track&, std::uint64_t) override {}
  void on_link(const sim::Slice& plan, const void* train) override;
  void on_fault(const sim::PageFault& fault) override;

  // What was recorded, once the run has ended.
  void finish();
  Outcome outcome() const { return outcome_; }
  std::uint64_t begun() const { return begun_; }  // transfers, in all
  std::uint64_t number() const { return number_; }
  std::uint64_t transfer() const { return transfer_; }
  const sim::TransferBegin& begin() const { return begin_; }
  sim::Time end() const { return end_; }
  // The transfer's own, those of both nodes, and those of messages between them.
  const std::vector<sim::StepRecord>& steps() const { return steps_; }
  const std::vector<Slice>& slices() const { return slices_; }
  const std::vector<Fault>& faults() const { return faults_; }
  const PageWatch& pages() const { return *pages_; }
  std::uint64_t left_out() const { return left_out_; }

 private:
  bool records() const { return pages_ != nullptr && outcome_ == Outcome::unfinished; }
  bool is_end(sim::NodeId node) const { return node == begin_.initiator.node || node == begin_.target.node; }
  void add(Slice slice);
  void add_plan(const sim::Track& link, const trace::LinkPlans::Plan& plan);

  const std::uint64_t wanted_;
  platform::Cluster& cluster_;
  const std::function<void()> over_;
  bool measured_ = false;
  Outcome outcome_ = Outcome::not_begun;
  std::uint64_t begun_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t transfer_ = 0;  // its id, once it is posted
  sim::TransferBegin begin_;
  sim::Time end_{0};
  std::vector<sim::StepRecord> steps_;
  std::vector<Slice> slices_;
  std::vector<Fault> faults_;
  std::map<sim::Track, trace::LinkPlans> links_;
  std::unique_ptr<PageWatch> pages_;
  std::uint64_t left_out_ = 0;
};

}  // namespace faultline::workloads
