// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/registration/firehose_config.hpp"

#include <vector>

#include "models/rdma/registration/bucket_table.hpp"
#include "models/rdma/registration/pin_cache_config.hpp"

namespace faultline::rdma {

using sim::Standing;

void FirehoseConfig::declare(sim::ParameterTable& table) {
  table.add_bytes("budget", budget, {kBucket, std::uint64_t{1} << 40},
                  {"memory of a process that stays pinned while no transfer of its own uses it: what others hold, and "
                   "what nobody does",
                   "assumed: half of RLIMIT_MEMLOCK's default of 8 MiB, as strategy.pin_cache.budget",
                   Standing::assumed,
                   {"1 MiB", "64 MiB"}});
  table.add_fraction("remote_share", remote_share, {0.0, 1.0},
                     {"share of the budget that is divided among the processes that transfer to and from this one; the "
                      "rest is for pages that nobody else holds: its own, and those that came back",
                      "GASNet: three quarters (GASNET_FIREHOSE_M and GASNET_FIREHOSE_MAXVICTIM_M of ibv-conduit)",
                      Standing::published,
                      {}});
  table.add_count(
      "peers", peers, {1, std::uint64_t{1} << 16},
      {"processes among which that share is divided, as in a job of one more process: each of them may hold "
       "so much of this one's memory, whoever transfers",
       "",
       {}});
  table.add_time(
      "lookup", lookup, sim::kAnyTime,
      {"user code that looks a page up, of its own memory or of the target's",
       "assumed as strategy.pin_cache.lookup: UCX takes 50 ns for a registration; on a Cortex-A53 up to 1 us",
       Standing::assumed,
       {"50 ns", "1 us"}});
}

std::uint64_t FirehoseConfig::own_budget() const { return budget - terms().most * peers * kBucket; }

LeaseTerms FirehoseConfig::terms() const {
  const double bytes = static_cast<double>(budget) * remote_share / peers;
  return {static_cast<std::uint64_t>(bytes) / kBucket, lookup, peers};
}

FirehoseCounters::FirehoseCounters(sim::Statistics& s)
    : gets(s.counter("firehose.gets", "count", "transfers whose pages at the target were looked up")),
      hits(s.counter("firehose.hits", "count", "lookups that found all pages held: nothing was asked")),
      moves(s.counter("firehose.moves", "count", "messages that ask a target to move pages")),
      taken(s.counter("firehose.pages_taken", "count", "pages that a target was asked to pin")),
      given_back(s.counter("firehose.pages_given_back", "count", "pages that a target was told of that nobody needs")) {
}

std::span<const sim::CounterMetric> firehose_metrics() {
  static const std::vector<sim::CounterMetric> kMetrics = [] {
    const auto cache = pin_cache_metrics();
    std::vector<sim::CounterMetric> all(cache.begin(), cache.end());
    all.insert(all.end(),
               {{"firehose.gets", "firehose_gets", "1", 1, "transfers whose pages at the target were looked up"},
                {"firehose.hits", "firehose_hits", "1", 1,
                 "of firehose_gets, those that held all of them: nothing was asked of the target"},
                {"firehose.moves", "firehose_moves", "1", 1, "messages that asked a target to move pages"},
                {"firehose.pages_taken", "firehose_pages_taken", "1", 1, "pages that targets were asked to pin"},
                {"firehose.pages_given_back", "firehose_pages_given_back", "1", 1,
                 "pages that initiators gave back to make room for others, or because their memory goes"}});
    return all;
  }();
  return kMetrics;
}

}  // namespace faultline::rdma
