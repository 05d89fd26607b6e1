// SPDX-License-Identifier: Apache-2.0
#include "models/sim/train_server.hpp"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

using namespace faultline::sim;

namespace {

constexpr Time kService = 10ns;

struct Job {
  TimeSequence arrivals;
  Time service;
  std::uint32_t rank;
};

// First come, first served, a cell at a time: the truth. Departures by job and cell.
std::vector<std::vector<Time>> cell_by_cell(const std::vector<Job>& jobs) {
  struct Cell {
    Time arrival;
    std::uint32_t rank;
    std::size_t job;
    std::uint32_t index;
  };
  std::vector<Cell> cells;
  std::vector<std::vector<Time>> departures(jobs.size());
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    departures[j].resize(jobs[j].arrivals.size());
    for (std::uint32_t i = 0; i < jobs[j].arrivals.size(); ++i) {
      cells.push_back({jobs[j].arrivals.at(i), jobs[j].rank, j, i});
    }
  }
  std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) {
    return std::tie(a.arrival, a.rank, a.job, a.index) < std::tie(b.arrival, b.rank, b.job, b.index);
  });
  Time free{0};
  for (const Cell& cell : cells) {
    free = std::max(free, cell.arrival) + jobs[cell.job].service;
    departures[cell.job][cell.index] = free;
  }
  return departures;
}

// Keeps what the server tells, as an initiator would.
struct Initiators {
  TrainServer server;
  std::vector<Job> jobs;
  std::map<Job*, TimeSequence> told;
  Time last{0};  // `now` of the server

  explicit Initiators(std::vector<Job> all) : jobs(std::move(all)) {}

  void serve(Time now, std::size_t job, std::uint32_t first, std::uint32_t cells) {
    Job& j = jobs[job];
    last = now;
    told[&j].append(server.serve(now, j.arrivals.slice(first, cells), j.service, j.rank, &j));
    hear_changes();
  }
  void recall(Time now, std::size_t job, std::uint32_t cells) {
    Job& j = jobs[job];
    j.arrivals.drop_back(cells);
    told[&j].drop_back(cells);
    server.recall(now, &j, cells);
    hear_changes();
  }
  void hear_changes() {
    server.tell_changed([this](void* owner, const TimeSequence& departures) {
      TimeSequence& known = told[static_cast<Job*>(owner)];
      RC_ASSERT(departures.size() <= known.size());
      known.drop_back(departures.size());
      known.append(departures);
    });
  }
  // For how long the server has worked, at any instant from its last `now` on.
  void check_busy() const {
    const auto truth = cell_by_cell(jobs);
    for (int i = 0; i < 5; ++i) {
      const Time now = last + Time{*rc::gen::inRange<std::int64_t>(0, 500)};
      Time busy{0};
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        for (const Time departure : truth[j]) {
          busy += std::clamp(now - (departure - jobs[j].service), Time{0}, jobs[j].service);
        }
      }
      RC_ASSERT(server.busy(now) == busy);
    }
  }
  void check() {
    const auto truth = cell_by_cell(jobs);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      RC_ASSERT(told[&jobs[j]].size() == truth[j].size());
      for (std::uint32_t i = 0; i < truth[j].size(); ++i) RC_ASSERT(told[&jobs[j]].at(i) == truth[j][i]);
    }
  }
};

std::vector<Job> arbitrary_jobs(std::uint32_t longest, std::int64_t spread) {
  std::vector<Job> jobs;
  const int count = *rc::gen::inRange(1, 12);
  for (int i = 0; i < count; ++i) {
    const Time first{*rc::gen::inRange<std::int64_t>(0, spread)};
    const Time gap{*rc::gen::inRange<std::int64_t>(0, 60)};
    jobs.push_back({TimeSequence::regular(first, gap, *rc::gen::inRange(1U, longest + 1)),
                    Time{*rc::gen::inRange<std::int64_t>(1, 20)}, *rc::gen::inRange(0U, 3U)});
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
    return std::pair(a.arrivals.front(), a.rank) < std::pair(b.arrivals.front(), b.rank);
  });
  return jobs;
}

}  // namespace

TEST_CASE("train server: a cell uses the gap that another's train leaves, and nothing changes for that one") {
  TrainServer server;
  int a = 0;
  int b = 0;
  CHECK(server.serve(0ns, TimeSequence::regular(0ns, 30ns, 4), kService, 0, &a) ==
        TimeSequence::regular(10ns, 30ns, 4));
  CHECK(server.serve(12ns, TimeSequence::single(12ns), kService, 1, &b) == TimeSequence::single(22ns));
  server.tell_changed([](void*, const TimeSequence&) { FAIL("nothing has changed"); });
}

TEST_CASE("train server: a gap one picosecond too short delays the cells behind, which is told from the first on") {
  for (const Time late : {Time{0}, Time{1}}) {
    TrainServer server;
    int a = 0;
    int b = 0;
    server.serve(0ns, TimeSequence::regular(0ns, 20ns, 4), kService, 0, &a);
    CHECK(server.serve(10ns, TimeSequence::single(10ns + late), kService, 1, &b) == TimeSequence::single(20ns + late));
    TimeSequence changed;
    server.tell_changed([&](void* owner, const TimeSequence& departures) {
      CHECK(owner == &a);
      changed = departures;
    });
    // Of the cells at 20, 40 and 60 ns the first begins late, by as much as the newcomer is.
    TimeSequence expected;
    if (late != Time{0}) {
      expected.append(30ns + late);
      expected.append(TimeSequence::regular(50ns, 20ns, 2));
    }
    CHECK(changed == expected);
  }
}

TEST_CASE("train server: of equal arrivals the lower rank goes first, even when it is announced later") {
  TrainServer server;
  int a = 0;
  int b = 0;
  server.serve(0ns, TimeSequence::regular(0ns, 40ns, 2), kService, 1, &a);
  CHECK(server.serve(40ns, TimeSequence::single(40ns), kService, 0, &b) == TimeSequence::single(50ns));
  std::vector<TimeSequence> changed;
  server.tell_changed([&](void*, const TimeSequence& departures) { changed.push_back(departures); });
  CHECK(changed == std::vector<TimeSequence>{TimeSequence::single(60ns)});
  server.tell_changed([](void*, const TimeSequence&) { FAIL("it has been told"); });
}

TEST_CASE("train server: cells that do not come make room for those behind them") {
  TrainServer server;
  int a = 0;
  int b = 0;
  server.serve(0ns, TimeSequence::regular(0ns, 5ns, 8), kService, 0, &a);  // until 80 ns
  CHECK(server.serve(30ns, TimeSequence::single(36ns), kService, 0, &b) == TimeSequence::single(90ns));
  server.recall(30ns, &a, 1);  // the one of 35 ns
  std::vector<TimeSequence> changed;
  server.tell_changed([&](void* owner, const TimeSequence& departures) {
    CHECK(owner == &b);
    changed.push_back(departures);
  });
  CHECK(changed == std::vector<TimeSequence>{TimeSequence::single(80ns)});
}

TEST_CASE("train server: what is told in the end is what serving cell by cell gives, whatever comes between") {
  CHECK(rc::check([] {
    Initiators all(arbitrary_jobs(16, 900));
    for (std::size_t j = 0; j < all.jobs.size(); ++j) {
      all.serve(all.jobs[j].arrivals.front(), j, 0, all.jobs[j].arrivals.size());
    }
    all.check();
    all.check_busy();
  }));
}

TEST_CASE("train server: cells that change their owner keep their place in line") {
  CHECK(rc::check([] {
    Initiators whole(arbitrary_jobs(16, 300));
    Initiators parted(whole.jobs);
    const auto at = *rc::gen::inRange<std::size_t>(0, whole.jobs.size());
    const auto k = *rc::gen::inRange<std::size_t>(0, at + 1);
    Job& job = parted.jobs[k];
    RC_PRE(job.arrivals.size() > 1);
    const auto first = *rc::gen::inRange(1U, job.arrivals.size());
    Job rest = job;
    for (std::size_t j = 0; j < whole.jobs.size(); ++j) {
      const Time now = whole.jobs[j].arrivals.front();
      whole.serve(now, j, 0, whole.jobs[j].arrivals.size());
      parted.serve(now, j, 0, whole.jobs[j].arrivals.size());
      if (j != at) continue;
      parted.server.part(now, &job, first, &rest);
      parted.told[&rest] = parted.told[&job].suffix(first);
      parted.told[&job].drop_back(parted.told[&rest].size());
      // Some of those that have not arrived do not come.
      const std::uint32_t future = job.arrivals.size() - std::max(first, job.arrivals.count_before(now + Time{1}));
      if (future == 0) continue;
      const auto gone = *rc::gen::inRange(1U, future + 1);
      whole.recall(now, k, gone);
      parted.told[&rest].drop_back(gone);
      parted.server.recall(now, &rest, gone);
      parted.hear_changes();
    }
    parted.told[&job].append(parted.told[&rest]);
    for (std::size_t j = 0; j < whole.jobs.size(); ++j) {
      RC_ASSERT(whole.told[&whole.jobs[j]] == parted.told[&parted.jobs[j]]);
    }
  }));
}

TEST_CASE("train server: trains that are announced in pieces and cut are served as if they had been whole") {
  CHECK(rc::check([] {
    Initiators all(arbitrary_jobs(16, 900));
    for (std::size_t j = 0; j < all.jobs.size(); ++j) {
      const Time now = all.jobs[j].arrivals.front();
      const std::uint32_t cells = all.jobs[j].arrivals.size();
      const auto first = *rc::gen::inRange(1U, cells + 1);
      all.serve(now, j, 0, first);
      if (first < cells) all.serve(now, j, first, cells - first);
      // Cells of an earlier train that have not arrived do not come.
      const auto other = *rc::gen::inRange<std::size_t>(0, j + 1);
      const std::uint32_t arrived = all.jobs[other].arrivals.count_before(now + Time{1});
      const std::uint32_t future = all.jobs[other].arrivals.size() - arrived;
      if (future > 0) all.recall(now, other, *rc::gen::inRange(1U, future + 1));
    }
    all.check();
    all.check_busy();
  }));
}
