// SPDX-License-Identifier: Apache-2.0
#include "models/network/path_choice.hpp"

#include <cassert>

namespace faultline::network {

using namespace sim;

std::int64_t OutputLoad::take_passed(std::vector<Ahead>& all, Time now) {
  std::int64_t count = 0;
  for (Ahead& ahead : all) {
    const std::uint32_t cells = ahead.times.count_by(now);
    count += cells;
    if (cells > 0) ahead.times.drop_front(cells);
  }
  std::erase_if(all, [](const Ahead& ahead) { return ahead.times.empty(); });
  return count;
}

// Where nobody asks for long, what has passed is counted before the list grows.
void OutputLoad::note(std::vector<Ahead>& all, Train train, const TimeSequence& times, Time now) {
  if (all.size() == all.capacity()) at(now);
  all.push_back({train, times});
}

void OutputLoad::strike(std::vector<Ahead>& all, Train train, std::uint32_t cells) {
  for (auto told = all.rbegin(); cells > 0; ++told) {
    assert(told != all.rend());
    if (told->train != train) continue;
    const std::uint32_t gone = std::min(cells, told->times.size());
    told->times.drop_back(gone);
    cells -= gone;
  }
}

std::int64_t OutputLoad::at(Time now) {
  cells_ += take_passed(arriving_, now) - take_passed(freeing_, now);
  return cells_;
}

PathChooser::PathChooser(const Topology& topology, const FailureSchedule* failures, const Context& context)
    : topology_(topology),
      failures_(topology.shape().reroute ? failures : nullptr),
      context_(context),
      here_(context.node),
      adaptive_(topology.shape().routing == Routing::adaptive),
      draws_(context.seed, "path", context.node),
      recent_(topology.ports(context.node)) {
  if (!adaptive_) return;
  loads_.resize(topology.ports(context.node));
  held_.resize(topology.ports(context.node));
}

void PathChooser::choose(unsigned port, PacketHeader& header) {
  const bool data = header.kind == PacketKind::data;
  const bool by_load = adaptive_ && data;
  if (by_load ? !topology_.is_entry(here_, port) : port != kLocalPort) return;
  Recent& recent = recent_[port];
  if (data) {
    for (const Choice& choice : recent.choices) {
      if (!choice.made || choice.block != header.key) continue;
      header.path = choice.path;
      return;
    }
  }
  header.path = round_failures(header.destination, by_load ? least_loaded(header.destination) : kFixedPath);
  if (data) {
    recent.choices[recent.next] = {true, header.key, header.path};
    recent.next = (recent.next + 1) % kRecent;
  }
}

Path PathChooser::least_loaded(NodeId destination) {
  topology_.candidates(here_, destination, draws_.next(), candidates_);
  const Candidate* best = nullptr;
  std::int64_t least = 0;
  for (const Candidate& candidate : candidates_) {
    if (candidates_.size() > 1 && !is_usable(destination, candidate.path)) continue;
    const std::int64_t load = loads_[candidate.port].at(context_.now()) * candidate.hops;
    if (best != nullptr && load >= least) continue;
    best = &candidate;
    least = load;
  }
  return best == nullptr ? kFixedPath : best->path;
}

bool PathChooser::is_usable(NodeId destination, Path path) const {
  return failures_ == nullptr || !failures_->knows_any(context_.now()) ||
         failures_->avoids_known(here_, destination, path, context_.now());
}

Path PathChooser::round_failures(NodeId destination, Path preferred) const {
  if (is_usable(destination, preferred)) return preferred;
  const unsigned paths = topology_.paths(here_, destination);
  for (unsigned number = 0; number < paths; ++number) {
    const Path path = topology_.path(here_, destination, number);
    if (is_usable(destination, path)) return path;
  }
  return preferred;  // no way round: the failure is met
}

tlm::tlm_generic_payload& PathChooser::take_held(unsigned port) {
  tlm::tlm_generic_payload& payload = *held_[port].front();
  held_[port].pop_front();
  return payload;
}

}  // namespace faultline::network
