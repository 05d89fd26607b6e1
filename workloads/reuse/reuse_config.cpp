// SPDX-License-Identifier: Apache-2.0
#include "workloads/reuse/reuse_config.hpp"

namespace faultline::workloads {

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
}

}  // namespace faultline::workloads
