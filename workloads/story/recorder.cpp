// SPDX-License-Identifier: Apache-2.0
#include "workloads/story/recorder.hpp"

#include <algorithm>
#include <utility>

namespace faultline::workloads {

using sim::Scope;

StoryRecorder::StoryRecorder(const StoryRequest& request, platform::Cluster& cluster, std::function<void()> over)
    : wanted_(request.transfer), cluster_(cluster), over_(std::move(over)) {
  cluster_.steps().record(*this);
}

StoryRecorder::~StoryRecorder() { cluster_.steps().stop_recording(); }

void StoryRecorder::look() {
  if (records()) pages_->look();
}

void StoryRecorder::on_begin(std::uint64_t number, const sim::TransferBegin& begin) {
  begun_ = number;
  const bool is_it = wanted_ == 0 ? measured_ && !begin.bystander : number == wanted_;
  if (!is_it || outcome_ != Outcome::not_begun) return;
  number_ = number;
  begin_ = begin;
  outcome_ = Outcome::unfinished;
  pages_ = std::make_unique<PageWatch>(cluster_, begin);
}

void StoryRecorder::on_posted(std::uint64_t number, std::uint64_t transfer) {
  if (number != number_ || !records()) return;
  transfer_ = transfer;
  // Before the post the transfer had no id, so the steps of all transfers were kept. Messages and nodes' steps stay.
  std::erase_if(steps_, [&](const sim::StepRecord& r) { return r.key.transfer != 0 && r.key.transfer != transfer; });
}

void StoryRecorder::on_end(std::uint64_t number, sim::Time at, bool done) {
  if (number != number_ || !records()) return;
  pages_->look();
  const bool message = begin_.initiator.address == 0;
  outcome_ = done ? Outcome::done : transfer_ == 0 && !message ? Outcome::refused : Outcome::failed;
  end_ = at;
  over_();
}

void StoryRecorder::on_step(const sim::StepRecord& record) {
  if (!records()) return;
  const bool own = record.key.transfer != 0 && (transfer_ == 0 || record.key.transfer == transfer_);
  const bool of_node = record.key.transfer == 0 && is_end(record.node);
  if (!own && !of_node) return;
  if (steps_.size() < kMostSteps) {
    steps_.push_back(record);
    steps_.back().step = cluster_.life().own(record.step);
  } else {
    ++left_out_;
  }
}

void StoryRecorder::on_slice(const sim::Slice& slice) {
  if (!records() || !is_end(slice.track.node)) return;
  add({slice.track, slice.begin, slice.end, std::string(slice.name), std::string(slice.category), slice.key});
}

void StoryRecorder::add(Slice slice) {
  // A thread that goes on with the same work makes one slice, not two.
  if (slice.track.kind->shape == sim::Shape::thread) {
    const auto last =
        std::find_if(slices_.rbegin(), slices_.rend(), [&](const Slice& s) { return s.track == slice.track; });
    if (last != slices_.rend() && last->end == slice.begin && last->name == slice.name &&
        last->category == slice.category) {
      last->end = slice.end;
      return;
    }
  }
  if (slices_.size() < kMostSlices) {
    slices_.push_back(std::move(slice));
  } else {
    ++left_out_;
  }
}

void StoryRecorder::add_plan(const sim::Track& link, const trace::LinkPlans::Plan& plan) {
  if (transfer_ == 0 || plan.key.transfer != transfer_) return;
  add({link, plan.begin, plan.end, plan.name, "link", plan.key});
}

void StoryRecorder::on_link(const sim::Slice& plan, const void* train) {
  if (!records()) return;
  trace::LinkPlans& plans = links_[plan.track];
  plans.over(cluster_.loop.now(), [&](const trace::LinkPlans::Plan& p) { add_plan(plan.track, p); });
  plans.announce(plan, train, cluster_.loop.now());
}

void StoryRecorder::on_fault(const sim::PageFault& fault) {
  if (!records() || !is_end(fault.node)) return;
  faults_.push_back({fault.at, fault.node, fault.process, fault.address, fault.write, std::string(fault.cause),
                     std::string(fault.state), std::string(fault.by), fault.injected});
}

void StoryRecorder::finish() {
  cluster_.steps().stop_recording();
  if (outcome_ == Outcome::not_begun) return;
  if (outcome_ == Outcome::unfinished) end_ = cluster_.loop.now();
  for (auto& [track, plans] : links_) {
    plans.over(sim::kNever, [&, &link = track](const trace::LinkPlans::Plan& p) { add_plan(link, p); });
  }
  // Slices that are announced ahead may begin after the end; others were over before the transfer began.
  std::erase_if(slices_, [&](const Slice& s) { return s.begin > end_ || s.end < begin_.at; });
  for (Slice& slice : slices_) {
    slice.begin = std::max(slice.begin, begin_.at);
    slice.end = std::min(slice.end, end_);
  }
  std::stable_sort(slices_.begin(), slices_.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::erase_if(steps_, [&](const auto& s) { return s.at > end_ || s.at < begin_.at; });
  std::stable_sort(steps_.begin(), steps_.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
}

}  // namespace faultline::workloads
