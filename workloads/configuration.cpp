// SPDX-License-Identifier: Apache-2.0
#include "workloads/configuration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "models/platform/endpoints.hpp"
#include "models/rdma/completion/polled_word.hpp"
#include "models/rdma/registration/list.hpp"
#include "workloads/configuration_checks.hpp"
#include "workloads/experiment_point.hpp"
#include "workloads/kinds.hpp"
#include "workloads/needs.hpp"

namespace faultline::workloads {

void Configuration::declare(sim::ParameterTable& table) {
  workload.declare(table);
  inject.declare(table);
  background.declare(table);
  series.declare(table);
  reuse.declare(table);
  messages.declare(table);
  socket.declare(table);
  collective.declare(table);
  strategy.declare(table);
  machine.declare(table);
  programs.declare(table);
}

namespace {

// What a kind does not look at: beside other programs it is meant for those.
std::vector<std::string> settings_of_others(const WorkloadKind& kind, const sim::ParameterTable& table) {
  std::vector<std::string> keys;
  for (const IgnoredSetting& each : kind.ignored) keys.emplace_back(each.key);
  if (std::ranges::find(keys, "workload.cold") != keys.end()) {
    keys.insert(keys.end(), {"workload.cold_share", "workload.cold_placement", "workload.cold_every"});
  }
  if (!kind.puts_pages_away) keys.insert(keys.end(), {"workload.cold_source_kind", "workload.cold_destination_kind"});
  for (const sim::Parameter& parameter : table.all()) {
    if (!kind.takes_injections && parameter.name.starts_with("inject.")) keys.push_back(parameter.name);
  }
  return keys;
}

}  // namespace

std::vector<Configuration> configurations_of_programs(const Configuration& run) {
  if (run.programs.all().empty()) return {run};
  std::vector<Configuration> all;
  for (const ProgramSettings::Program& program : run.programs.all()) {
    Configuration& own = all.emplace_back(run);
    own.programs = {};
    own.program_name = program.name;
    own.beside_others = run.programs.all().size() > 1;
    const std::string* own_strategy = program.find(ProgramSettings::kOwnStrategy);
    if (own_strategy != nullptr && *own_strategy == "true") own.strategy = {};
    sim::ParameterTable table;
    own.declare(table);
    for (const auto& [key, value] : program.values) {
      if (key != ProgramSettings::kOwnStrategy) table.find(key)->set(value);
    }
    for (const std::string& key : settings_of_others(kind_of(own.workload), table)) {
      if (program.find(key) == nullptr) table.find(key)->set(ProgramSettings::default_of(key));
    }
  }
  return all;
}

namespace {

// The same, to look at: of a run that names none, the run itself. A sweep asks for each of its points, and a copy takes
// as long as all the rest.
class ProgramsOf {
 public:
  explicit ProgramsOf(const Configuration& run) : run_(run) {
    if (!run.programs.all().empty()) named_ = configurations_of_programs(run);
  }
  std::span<const Configuration> all() const {
    return named_.empty() ? std::span(&run_, 1) : std::span<const Configuration>(named_);
  }

 private:
  const Configuration& run_;
  std::vector<Configuration> named_;
};

}  // namespace

std::vector<std::string> keys_of_place(std::string key, const network::ClusterShape& shape) {
  std::vector<std::string> keys = network::size_keys(shape);
  keys.insert(keys.begin(), std::move(key));
  return keys;
}

std::uint64_t lane_bytes(std::uint64_t source_offset, std::uint64_t destination_offset, std::uint64_t size) {
  return sim::page_end(std::max(source_offset, destination_offset) + size);
}

std::uint64_t user_memory(const platform::Machine& machine) {
  return std::min(machine.os.user_memory, machine.ddr.size - std::min(machine.ddr.size, machine.os.kernel_reserved));
}

void check_queue(unsigned under_way, std::vector<std::string> keys, const platform::Machine& machine,
                 const AddConflict& add) {
  const platform::NicLimit queue = machine.nic->most_posted();
  if (under_way <= queue.most) return;
  add(queue.keys_behind(std::move(keys)),
      fmt::format("{} transfers under way do not fit in {} of {}", under_way, queue.uses, queue.has),
      "let fewer be under way at a time (a smaller window)" +
          (queue.keys.empty() ? "" : ", or raise " + queue.named()));
}

namespace {

// Nobody looks at the words of a transfer's last parts while the next one is posted.
void check_completion_words(UnderWay under_way, const rdma::Strategy& strategy, const AddConflict& add) {
  const std::size_t parts = strategy.pipeline.parts(under_way.bytes).size();
  const std::size_t posts = under_way.transfers * parts;
  if (under_way.transfers == 1 || parts == 1 || posts <= rdma::PolledWord::kWords) return;
  add({"strategy.pipeline_chunk", "workload.window"},
      fmt::format("{} parts of {} transfers may be posted before the program learns of the end of the first, and a "
                  "process has {} words for completions",
                  posts, under_way.transfers, rdma::PolledWord::kWords),
      "take longer parts, or one transfer at a time");
}

}  // namespace

void check_transfers_in_queue(UnderWay under_way, std::vector<std::string> keys, const Configuration& configuration,
                              const AddConflict& add, unsigned others) {
  const rdma::Strategy& strategy = configuration.strategy;
  if (strategy.pipeline.is_used()) keys.emplace_back("strategy.pipeline_depth");
  check_completion_words(under_way, strategy, add);
  const std::size_t all = under_way.transfers * strategy.most_posted(under_way.bytes) + others;
  check_queue(static_cast<unsigned>(all), std::move(keys), configuration.machine, add);
}

void check_leases(std::size_t initiators, std::uint64_t bytes, const Configuration& configuration,
                  const AddConflict& add) {
  const std::optional<rdma::LeaseTerms> terms = configuration.strategy.registration->lease_terms();
  if (!terms || !configuration.workload.checks_fail) return;
  const char* count = ", or let such failures be results (workload.checks = count)";
  if (initiators > terms->initiators) {
    add({"strategy.firehose.peers", "workload.kind"},
        fmt::format("{} processes would hold pages of one, whose budget is divided among {}", initiators,
                    terms->initiators),
        fmt::format("set strategy.firehose.peers to {}{}", initiators, count));
  }
  const std::uint64_t pages = sim::page_end(bytes) / os::kPage;
  if (pages > terms->most) {
    add({"strategy.firehose.budget", "strategy.firehose.remote_share", "strategy.firehose.peers", "workload.size"},
        fmt::format("an initiator may hold {} pages of a target (the budget's share for one), and a transfer has {}",
                    terms->most, pages),
        fmt::format("take a greater budget or share, or smaller transfers{}", count));
  }
}

void check_asked(UnderWay under_way, std::vector<std::string> keys, const Configuration& configuration,
                 const AddConflict& add) {
  const rdma::Strategy& strategy = configuration.strategy;
  if (!strategy.serves_at_target()) return;
  const unsigned places = configuration.machine.nic->most_waiting_messages();
  const std::size_t asking = under_way.transfers * strategy.most_asked(under_way.bytes);
  if (strategy.pipeline.is_used()) keys.emplace_back("strategy.pipeline_depth");
  if (asking > places) {
    add(std::move(keys),
        fmt::format("{} messages about buffers may be under way to one program, and its mailbox holds {}", asking,
                    places),
        strategy.pipeline.is_used() ? "take fewer senders, a smaller window or a smaller strategy.pipeline_depth"
                                    : "take fewer senders or a smaller window");
  }
}

namespace {

// "'write' and 'read'".
std::string kinds_with_injections() {
  std::vector<std::string> names;
  for (const WorkloadKind& kind : workload_kinds()) {
    if (kind.takes_injections) names.push_back(fmt::format("'{}'", kind.name));
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

// Of one program, as if there was no other one.
void check_by_itself(const Configuration& configuration, const AddConflict& add) {
  for (Conflict& each : rdma::conflicts(configuration.strategy)) {
    add(std::move(each.keys), std::move(each.reason), std::move(each.instead));
  }
  for (Conflict& each : platform::conflicts(configuration.machine, configuration.strategy)) {
    add(std::move(each.keys), std::move(each.reason), std::move(each.instead));
  }
  check_cold_kinds(configuration, add);
  check_settings_of_senders(configuration.workload, add);
  const WorkloadKind& kind = kind_of(configuration.workload);
  if (configuration.inject.mechanism != Mechanism::none && !kind.takes_injections) {
    add({"inject.mechanism", "workload.kind"},
        fmt::format("only the buffers of the kinds {} can be injected into", kinds_with_injections()),
        "take one of these kinds, or inject nothing");
  }
  check_huge_pages(configuration.workload, configuration.machine, add);
  check_ignored(configuration.workload, kind.ignored, add);
  check_groups_of_kinds(configuration, add);
  kind.check(configuration, add);
}

}  // namespace

std::vector<Conflict> conflicts(const Configuration& run) {
  std::vector<Conflict> found = platform::conflicts(run.machine);
  const ProgramsOf programs(run);
  for (const Configuration& own : programs.all()) {
    const std::string& name = own.program_name;
    check_by_itself(own, [&](std::vector<std::string> keys, std::string reason, std::string instead) {
      for (std::string& key : keys) key = run.programs.key_of(name, key);
      if (!name.empty()) reason = fmt::format("program {}: {}", name, reason);
      found.push_back({std::move(keys), std::move(reason), std::move(instead)});
    });
  }
  check_together(run, programs.all(), [&](std::vector<std::string> keys, std::string reason, std::string instead) {
    found.push_back({std::move(keys), std::move(reason), std::move(instead)});
  });
  return found;
}

// What software does about a transfer costs as much as so many more bytes, roughly.
double work_of_transfer(std::uint64_t bytes) { return static_cast<double>(bytes) + 32 * 1024; }

double work_of(const Configuration& run) {
  double sum = 0;
  const ProgramsOf programs(run);
  for (const Configuration& own : programs.all()) sum += kind_of(own.workload).work(own);
  return sum;
}

double work_of_iterations(const Configuration& configuration) {
  const TransferConfig& w = configuration.workload;
  return static_cast<double>(w.iterations + w.warmup) * work_of_transfer(w.size);
}

std::vector<PolicyDoc> strategy_docs(const Configuration& configuration) {
  std::vector<PolicyDoc> docs;
  for (rdma::PolicyChoice& each : rdma::made_of(configuration.strategy)) {
    docs.push_back({std::move(each.key), std::move(each.choice), std::move(each.meaning), std::move(each.adds)});
  }
  return docs;
}

RegistrationRole role_of_registration(std::string_view name) {
  for (const auto& policy : rdma::registration_policies()) {
    if (policy->name() == name) return {policy->abilities().is_bound, policy->abilities().prepares_once};
  }
  return {};
}

RegistrationRole role_of_default_registration() {
  return role_of_registration(rdma::registration_policies().front()->name());
}

std::vector<WorkloadDoc> workload_docs() {
  std::vector<WorkloadDoc> docs;
  for (const WorkloadKind& kind : workload_kinds()) docs.push_back({kind.name, kind.description});
  return docs;
}

}  // namespace faultline::workloads
