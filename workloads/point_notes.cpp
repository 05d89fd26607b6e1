// SPDX-License-Identifier: Apache-2.0
#include "workloads/point_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "workloads/cold_pages.hpp"
#include "workloads/flows/flow.hpp"
#include "workloads/kinds.hpp"

namespace faultline::workloads {
namespace {

void add_injection_notes(const InjectionConfig& config, const Program& transfers, std::vector<std::string>& notes) {
  if (transfers.injection() == nullptr) return;
  notes.emplace_back("what the kernel does to pages was injected (inject.*): how often it happens is not Linux's");
  if (transfers.injection()->in_vain() > 0) {
    notes.emplace_back(config.mechanism == Mechanism::collapse
                           ? "injections had nothing to collapse: the buffer holds no whole 2 MiB range"
                           : "injections had nothing to split: the buffer holds no whole 2 MiB range");
    return;
  }
  if (transfers.injection()->injections() > 0) return;
  notes.emplace_back(
      config.mechanism == Mechanism::lock_on_fault
          ? "lock-on-fault happens to buffers that are mlocked: with another preparation it is nothing"
          : "no injection came to pass before the last transfer had ended: see inject.after and .period");
}

// What the configuration's defaults and names may make a reader believe. `cools`: pages were made absent.
void add_notes_on_meaning(const Configuration& configuration, bool cools, std::vector<std::string>& notes) {
  const TransferConfig& w = configuration.workload;
  const std::vector<Flow> flows = flows_of(w);
  const bool cold_source =
      cools && (w.cold_source() || std::any_of(flows.begin(), flows.end(), std::mem_fn(&ColdConfig::cold_source)));
  const ColdKind kind = kind_of_written(w.cold_source_kind, w.memory.backing, configuration.machine.os.swap_bytes);
  if (cold_source && !kind_of(w).puts_pages_away) {
    notes.emplace_back(
        "the absent pages of the source were never written, so that zeros were sent: this kind of program puts no "
        "pages "
        "away on a swap device or a file");
  } else if (cold_source && w.cold_source_kind == ColdKind::written && kind == ColdKind::never_written) {
    notes.emplace_back(
        "the absent pages of the source were never written, so that zeros were sent: those that a program has written "
        "are absent on a swap device only (os.swap_bytes) and cost a read of the disk");
  }
  const bool is_bound = configuration.strategy.registration->abilities().is_bound;
  if (w.cold != Cold::none && !cools && !is_bound) {
    notes.emplace_back("workload.cold makes no page absent again: the strategy keeps those that it has prepared");
  }
  const bool meets_others = kind_of(w).meets_others || flows.size() > 1 || w.window > 1 ||
                            std::any_of(flows.begin(), flows.end(), [](const Flow& flow) { return flow.window > 1; });
  if (is_bound && meets_others) {
    notes.emplace_back(
        "pages that are always there (strategy.registration = ideal) bound each transfer by itself: where several are "
        "under "
        "way, one that waits for its pages leaves link and engine to the others, so that a mean may be below this "
        "one's");
  }
}

// Who sends, and how.
struct Sender {
  std::string name;  // "flow 3"; "" where there is one
  bool is_open;
  ColdConfig cold;
  std::uint64_t transfers;
  unsigned window;
};

std::vector<Sender> senders_of(const TransferConfig& w, const Program& transfers) {
  const std::vector<Flow> flows = flows_of(w);
  std::vector<Sender> all;
  for (const PartResult& part : transfers.senders()) {
    all.push_back({part.part, w.is_open(), w, w.iterations, w.window});
    if (flows.empty()) continue;
    const Flow& flow = flows[all.size() - 1];
    all.back() = {part.part, flow.is_open(), flow, flow.transfers, flow.window};
  }
  if (all.empty()) all.push_back({"", w.is_open(), w, w.iterations, w.window});
  return all;
}

// Where transfers are no whole number of rounds through cold and warm uses, shares are not what cold_every says.
void add_cold_notes(const std::vector<Sender>& senders, std::vector<std::string>& notes) {
  for (const Sender& sender : senders) {
    const std::uint64_t every = sender.cold.cold_every;
    if (sender.cold.cold == Cold::none || every <= 1) continue;
    const std::uint64_t round = sender.window * every;
    const std::uint64_t cold =
        sender.transfers / round * sender.window + std::min<std::uint64_t>(sender.transfers % round, sender.window);
    if (cold * every == sender.transfers) continue;
    std::string note = fmt::format(
        "pages are made absent before {} of {} transfers{}, not before one in {} (cold_every): means over all of them "
        "depend on how many there are",
        cold, sender.transfers, sender.name.empty() ? "" : " of " + sender.name, every);
    notes.push_back(std::move(note));
    if (!sender.name.starts_with("flow")) return;  // all nodes of a pattern are alike
  }
}

struct Quarter {
  double arrival = 0;  // means, in ps
  double queued = 0;
};

// Of each burst, in order of arrival, its first transfer: it waits for what the burst before has left.
std::vector<Sample> first_of_bursts(std::vector<Sample> samples) {
  std::ranges::sort(samples, {}, [](const Sample& s) { return std::pair(s.begin, s.queued); });
  const auto same = [](const Sample& a, const Sample& b) { return a.begin == b.begin; };
  samples.erase(std::unique(samples.begin(), samples.end(), same), samples.end());
  return samples;
}

// Whether queues grow to the end: those of the last quarter are longer than those of the third by a fifth, and longer
// than those of the second by a half and by a quarter of the time that lies between. In few transfers chance is as
// strong.
bool queues_grow(const std::vector<Sample>& of_sender) {
  constexpr std::size_t kFew = 20;
  const std::vector<Sample> samples = first_of_bursts(of_sender);
  if (samples.size() < kFew) return false;
  const auto mean = [&](std::size_t quarter) {
    const std::size_t begin = quarter * samples.size() / 4, end = (quarter + 1) * samples.size() / 4;
    Quarter sum;
    for (std::size_t i = begin; i < end; ++i) {
      sum.arrival += static_cast<double>(samples[i].begin.count());
      sum.queued += static_cast<double>(samples[i].queued.count());
    }
    const auto count = static_cast<double>(end - begin);
    return Quarter{sum.arrival / count, sum.queued / count};
  };
  const Quarter second = mean(1), third = mean(2), last = mean(3);
  return last.queued > 1.2 * third.queued && last.queued > 1.5 * second.queued &&
         last.queued - second.queued > 0.25 * (last.arrival - second.arrival);
}

// An open loop that is offered more than it can do.
void add_overload_note(const std::vector<Sender>& senders, const Program& transfers, std::vector<std::string>& notes) {
  constexpr std::size_t kMostNamed = 6;
  std::vector<std::vector<Sample>> samples(senders.size());
  for (const Sample& sample : transfers.samples()) samples.at(sample.sender).push_back(sample);
  std::string names;
  std::size_t overloaded = 0;
  for (std::size_t i = 0; i < senders.size(); ++i) {
    if (!senders[i].is_open || !queues_grow(samples[i])) continue;
    if (++overloaded <= kMostNamed) names += (names.empty() ? "" : ", ") + senders[i].name;
  }
  if (overloaded == 0) return;
  if (overloaded > kMostNamed) names += fmt::format(" and {} more", overloaded - kMostNamed);
  notes.push_back(fmt::format(
      "transfers{} arrive faster than they are completed: their queues grow to the end, so that latency and "
      "queueing tell how long the run is",
      names.empty() ? "" : " of " + names));
}

}  // namespace

void add_notes(const Configuration& configuration, const Program& transfers, std::vector<std::string>& notes) {
  add_injection_notes(configuration.inject, transfers, notes);
  const bool cools = workloads::cools(configuration.strategy) ||
                     std::ranges::any_of(transfers.samples(), [](const Sample& sample) { return sample.cold; });
  add_notes_on_meaning(configuration, cools, notes);
  const std::vector<Sender> senders = senders_of(configuration.workload, transfers);
  if (cools) add_cold_notes(senders, notes);
  add_overload_note(senders, transfers, notes);
  if (configuration.workload.clean_window >= configuration.machine.cpu.cores) {
    notes.push_back(
        fmt::format("{} threads poll on {} cores: who has none waits for its turn (sched.latency, sched.base_slice)",
                    configuration.workload.clean_window + 1, configuration.machine.cpu.cores));
  }
}

}  // namespace faultline::workloads
