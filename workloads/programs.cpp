// SPDX-License-Identifier: Apache-2.0
#include "workloads/programs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "models/platform/instruments.hpp"
#include "models/sim/failure.hpp"
#include "workloads/kinds.hpp"

namespace faultline::workloads {
namespace {

// Seeds of repetitions are neighbours, so those of programs are far apart.
constexpr std::uint64_t kSeedsBetween = std::uint64_t{1} << 48;

}  // namespace

Programs::Programs(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed)
    : loop_(cluster.loop) {
  for (Configuration& own : configurations_of_programs(configuration)) {
    One& one = all_.emplace_back(One{own.program_name, std::move(own), nullptr});
    one.program = kind_of(one.configuration.workload).make(one.configuration, cluster, seed);
    seed = seed + kSeedsBetween;
    Program& program = *one.program;
    program.all_set_up = [this] { return set_up_->come(); };
    program.all_ready = [this] { return ready_->come(); };
    program.goes_with_others = kind_of(one.configuration.workload).goes_with_others;
    if (program.goes_with_others) continue;
    ++unfinished_;
    program.on_measurement_ends = [this] { measurement_ended(); };
    program.on_finished = [this] { program_finished(); };
  }
  measuring_ = unfinished_;
  set_up_ = std::make_unique<Gathering>(loop_, all_.size());
  ready_ = std::make_unique<Gathering>(loop_, all_.size(), [this] { return measurement_begins(); });
}

void Programs::start() {
  for (One& one : all_) one.program->start();
}

sim::Task<void> Programs::measurement_begins() {
  measured_from_ = loop_.now();
  if (on_measurement_begins) on_measurement_begins();
  co_return;
}

void Programs::measurement_ended() {
  if (--measuring_ > 0) return;
  measured_to_ = loop_.now();
  for (One& one : all_) {
    if (one.program->goes_with_others) one.program->others_have_ended(measured_to_);
  }
  if (on_measurement_ends) on_measurement_ends();
}

void Programs::program_finished() {
  if (--unfinished_ == 0 && on_finished) on_finished();
}

std::uint64_t Programs::planned() const {
  std::uint64_t sum = 0;
  for (const One& one : all_) sum += one.program->goes_with_others ? 0 : one.program->planned();
  return sum;
}

std::uint64_t Programs::measured() const {
  std::uint64_t sum = 0;
  for (const One& one : all_) sum += one.program->goes_with_others ? 0 : one.program->samples().size();
  return sum;
}

double Programs::work_done() const {
  double sum = 0;
  for (const One& one : all_) sum += one.program->goes_with_others ? 0 : one.program->work_done();
  return sum;
}

bool Programs::is_end(sim::NodeId node) const {
  return std::ranges::any_of(all_, [node](const One& one) { return one.program->is_end(node); });
}

void check_not_stuck(const platform::Cluster& cluster, const Programs& programs) {
  if (programs.finished() || cluster.loop.pending()) return;
  if (const auto lost = platform::lost_for_good(cluster)) throw *lost;
  for (const Programs::One& one : programs.all()) {
    const std::string waits = one.program->waits();
    if (waits.empty()) continue;
    const std::string who = one.name.empty() ? "the program" : "program " + one.name;
    std::vector<std::string> keys{"workload.kind"};
    std::string why;
    if (one.program->has_given_up()) {
      why = "; a NIC has given up a message that was sent before";
      keys = cluster.nic_kind().keys_of_failure();
      keys.emplace_back("network.failures");
    }
    throw sim::RunFailure(fmt::format("{} waits for ever: {}{}", who, waits, why), std::move(keys));
  }
  throw std::logic_error("transfers wait for ever: nothing is left to happen");
}

}  // namespace faultline::workloads
