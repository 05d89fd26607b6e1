// SPDX-License-Identifier: Apache-2.0
// The corner cases C1 to C17 for every strategy that ships, made from what each declares: the abilities of its
// registration, its translation, its answers to absent pages, and the kind of its NIC. For a case and a strategy there
// is a plan (settings, a program or a whole run, and what is expected of it), or the name of the capability that the
// strategy lacks. No strategy is named anywhere: a preset or a kind of NIC that is added gets its plans by itself.
//
// A case is a Corner and a TEST_CASE beside it that calls check() (corners_pages.cpp, corners_limits.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/platform/nics.hpp"
#include "tests/support/point.hpp"
#include "tests/workloads/corner_stage.hpp"

namespace faultline::test::corners {

// What a case may need of a strategy. The names are those of test reports.
enum class Capability : std::uint8_t {
  absent_pages,   // pages of its buffers may be absent when a transfer begins: !Abilities::stays_prepared
  faults,         // a fault brings such a page: the table follows the process's, and nobody prepares it before
  free_frames,    // the kernel may take frames that transfers use: no pin, no bound, no veto
  limit,          // what it holds counts against RLIMIT_MEMLOCK: Abilities::is_limited()
  bounded_cache,  // the device may have fewer translations than the buffers have pages: no bound in the NIC's table
};
std::string_view name_of(Capability capability);

// A preset, and what it declares.
class Subject {
 public:
  Subject(std::string name, Settings preset);

  const std::string& name() const { return name_; }
  const Settings& preset() const { return preset_; }
  const rdma::Strategy& strategy() const { return configuration_.strategy; }
  const rdma::NicKind& nic() const { return *configuration_.machine.nic; }
  rdma::Abilities abilities() const { return strategy().registration->abilities(); }
  bool has(Capability capability) const;

  // The device's table is the process's, or follows it.
  bool follows() const { return strategy().translate->of_process || strategy().translate->follows; }
  // Pages are always there, as on no machine; who takes them away makes the run refuse, because it is no bound then.
  bool is_bound() const { return abilities().is_bound; }
  // Whether the kernel can write its pages to the swap device before a transfer.
  bool lets_pages_go() const {
    return !strategy().translate->vetoes && strategy().unpin.time != rdma::UnpinTime::batched;
  }
  // A page fault in the kernel is counted for each page that was absent, and for no other.
  bool counts_page_faults() const {
    const bool pages_by_faults = strategy().translate->loaded && !strategy().translate->pushes;
    return strategy().resolve != rdma::Resolve::fixup_user_fault && !pages_by_faults;
  }
  // Of a strategy that holds frames: a transfer begins before all of its pages are pinned.
  bool holds_late() const { return abilities().pins_late || strategy().pipeline.is_used(); }
  // The strategy claims that the device never uses a frame that is not the buffer's: all but tables that keep frames
  // which nothing holds.
  bool claims_truth() const { return follows() || abilities().pins; }

 private:
  std::string name_;
  Settings preset_;
  workloads::Configuration configuration_;
};
// All that ship, by name.
const std::vector<Subject>& subjects();

// Of a fact that the program or the run has left: what it must be. Counts, bytes or truth (0 or 1).
struct Expected {
  std::string fact;
  enum Relation : std::uint8_t { equal, less_than, more_than } relation;
  std::int64_t value;
};

// Beside `expected` each plan has what every case requires (complaints_about()).
struct Plan {
  Settings settings = {};  // on top of the preset
  // What no setting says: mutants.
  std::function<void(workloads::Configuration&)> change = [](workloads::Configuration&) {};
  // Empty: a run of the workload that the settings name; its facts are the metrics.
  std::function<Task<void>(Stage&, Facts&)> program = {};
  std::vector<Expected> expected = {};
  bool ends_well = true;     // the transfers of the run are all done
  bool is_truthful = true;   // no stale access, no byte leaked
  std::string refused = "";  // it does not come to its end, and is told why with these words among others
};

struct Corner {
  using Plans = std::vector<Plan> (*)(const Subject&);
  // Joins corners().
  Corner(std::string_view called, std::string_view required, std::vector<Capability> needed, Plans made);
  Corner(const Corner&) = delete;
  Corner& operator=(const Corner&) = delete;

  const std::string_view name;          // "C1: ..."
  const std::string_view requirement;   // what must hold, for people
  const std::vector<Capability> needs;  // of the strategy, in the order in which they are looked at
  const Plans plans;
};
const std::vector<const Corner*>& corners();

// The name of the first capability that the strategy lacks for the case; empty: it applies.
std::string_view lacks(const Corner& corner, const Subject& subject);

// Plays the plan with a preset, and says what is not as it must be. Required is, beside what the plan expects:
// - the program comes to its end, and so does the run;
// - no stale access and no leaked byte, if the plan is truthful;
// - of a program: no pin and no lock is left when it has put its buffers away, and none at all when its processes have
//   ended, nor a frame. (Who lets go of pins late, with the next transfer or in batches, may keep a page at each end,
//   or a batch.)
// - the books of both memory managers agree (Vm::audit).
std::vector<std::string> complaints_about(const Subject& subject, const Plan& plan);

// Plays the case with every preset to which it applies.
void check(const Corner& corner);

// Settings of all plans: the newest kernel, a swap device, and a NIC that gives up soon.
Settings surroundings();

}  // namespace faultline::test::corners
