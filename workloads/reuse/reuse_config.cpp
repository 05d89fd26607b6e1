// SPDX-License-Identifier: Apache-2.0
#include "workloads/reuse/reuse_config.hpp"

namespace faultline::workloads {

using namespace std::chrono_literals;

void ReuseConfig::declare(sim::ParameterTable& table) {
  const auto group = table.group("reuse");
  table.add_count("buffers", buffers, sim::kAnyEntries,
                  {"kind reuse: buffers that the program at each end has, of workload.size each", "", {}});
  table.add_choice(
      "draw", draw, {{"ring", Draw::ring}, {"random", Draw::random}, {"zipf", Draw::zipf}},
      {"kind reuse: which of them the next transfer uses: one after the other, each as likely, or the n-th "
       "with a probability in proportion to 1/n",
       "",
       {}});
  table.add_fraction(
      "again", again, {0.0, 1.0},
      {"kind reuse: share of the transfers whose buffers have been used before; before each of the others "
       "both programs unmap theirs and map new memory in its place",
       "",
       {}});
  table.add_flag(
      "target_touches", target_touches,
      {"kind reuse: the target's program writes to each page of new memory before it lets others write there, "
       "so that the page is there; the time is in remap_mean",
       "",
       {}});
  table.add_bytes(
      "smallest", smallest, {0, std::uint64_t{1} << 30},
      {"kind reuse: bytes below which no buffer is; of workload.size, its half, its quarter and so on each buffer has "
       "one, drawn once and as likely as any other, the same at both ends; 0: all have workload.size",
       "",
       {}});
  table.add_time(
      "period", period, {0ns, 1000s},
      {"kind reuse: from one measured transfer to the next, so that as many take as long whatever each of them costs; "
       "behind one that takes longer the next ones follow at once until the pace is kept again; 0: each "
       "follows the one before at once",
       "",
       {}});
}

std::vector<std::uint64_t> ReuseConfig::sizes(std::uint64_t largest) const {
  std::vector<std::uint64_t> all{largest};
  while (smallest > 0 && all.back() / 2 >= smallest) all.push_back(all.back() / 2);
  return all;
}

}  // namespace faultline::workloads
