// SPDX-License-Identifier: Apache-2.0
#include "models/memory/train_server.hpp"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <tuple>
#include <vector>

using namespace faultline;
using namespace std::chrono_literals;
using memory::TrainServer;
using sim::Time;
using sim::TimeSequence;

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

TEST_CASE("train server: a cell uses the gap that another's train leaves") {
  TrainServer server;
  server.serve(0ns, TimeSequence::regular(0ns, 30ns, 4), kService, 0);
  CHECK(server.serve(12ns, TimeSequence::single(12ns), kService, 1) == TimeSequence::single(22ns));
  // 20 ns of the gap from 40 to 60 ns are enough for two.
  CHECK(server.serve(35ns, TimeSequence::regular(35ns, 0ns, 2), kService, 1) == TimeSequence::regular(50ns, 10ns, 2));
  CHECK(server.out_of_order() == 0);
}

TEST_CASE("train server: a gap one picosecond too short is not used, and this is counted") {
  for (const Time late : {Time{0}, Time{1}}) {
    TrainServer server;
    server.serve(0ns, TimeSequence::regular(0ns, 20ns, 4), kService, 0);
    const TimeSequence departures = server.serve(10ns, TimeSequence::single(10ns + late), kService, 1);
    // All later gaps are 10 ns as well, so the first one does unless the cell comes late for it.
    CHECK(departures == TimeSequence::single(late == Time{0} ? 20ns : 40ns));
    CHECK(server.out_of_order() == (late == Time{0} ? 0 : 1));
  }
}

TEST_CASE("train server: of equal arrivals the higher rank goes behind, which is in order") {
  TrainServer server;
  server.serve(0ns, TimeSequence::regular(0ns, 40ns, 3), kService, 1);
  CHECK(server.serve(40ns, TimeSequence::single(40ns), kService, 1) == TimeSequence::single(60ns));
  CHECK(server.serve(40ns, TimeSequence::single(40ns), kService, 2) == TimeSequence::single(70ns));
  CHECK(server.out_of_order() == 0);
}

TEST_CASE("train server: a lower rank that comes when an equal arrival has been served waits and is counted") {
  TrainServer server;
  server.serve(0ns, TimeSequence::regular(0ns, 40ns, 3), kService, 1);
  CHECK(server.serve(40ns, TimeSequence::single(40ns), kService, 0) == TimeSequence::single(60ns));
  CHECK(server.out_of_order() == 1);
}

TEST_CASE("train server: each cell that waits for a later one is counted once, whoever it waits for") {
  TrainServer server;
  server.serve(0ns, TimeSequence::regular(0ns, 11ns, 9), kService, 0);  // gaps of 1 ns, until 98 ns
  // The first two wait for cells that arrive after 30 ns, the third only for its own train.
  TimeSequence late = TimeSequence::regular(30ns, 10ns, 2);
  late.append(TimeSequence::single(88ns));
  CHECK(server.serve(30ns, late, kService, 1) == TimeSequence::regular(108ns, 10ns, 3));
  CHECK(server.out_of_order() == 2);
}

TEST_CASE("train server: single cells are served exactly in order of arrival") {
  CHECK(rc::check([] {
    const std::vector<Job> jobs = arbitrary_jobs(1, 80);
    const auto expected = cell_by_cell(jobs);
    TrainServer server;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const Time now = jobs[j].arrivals.front();
      RC_ASSERT(server.serve(now, jobs[j].arrivals, jobs[j].service, jobs[j].rank).at(0) == expected[j][0]);
    }
    RC_ASSERT(server.out_of_order() == 0U);
  }));
}

TEST_CASE("train server: what is not counted as out of order is what serving cell by cell gives") {
  CHECK(rc::check([] {
    const std::vector<Job> jobs = arbitrary_jobs(16, *rc::gen::element<std::int64_t>(200, 2000, 20000));
    const auto expected = cell_by_cell(jobs);
    TrainServer server;
    std::vector<TimeSequence> departures;
    for (const Job& job : jobs) {
      departures.push_back(server.serve(job.arrivals.front(), job.arrivals, job.service, job.rank));
    }
    bool equal = true;
    std::vector<std::pair<Time, Time>> busy;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      RC_ASSERT(departures[j].size() == jobs[j].arrivals.size());
      for (std::uint32_t i = 0; i < departures[j].size(); ++i) {
        equal = equal && departures[j].at(i) == expected[j][i];
        RC_ASSERT(departures[j].at(i) >= jobs[j].arrivals.at(i) + jobs[j].service);
        busy.emplace_back(departures[j].at(i) - jobs[j].service, departures[j].at(i));
      }
    }
    RC_ASSERT(equal || server.out_of_order() > 0U);
    RC_CLASSIFY(server.out_of_order() == 0U, "in order");
    // One cell at a time, in any case.
    std::sort(busy.begin(), busy.end());
    for (std::size_t i = 1; i < busy.size(); ++i) RC_ASSERT(busy[i].first >= busy[i - 1].second);
  }));
}
