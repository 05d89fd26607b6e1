// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/sim/issue_queue.hpp"

using namespace faultline::sim;
using namespace std::chrono_literals;

namespace {

struct Cells {
  std::uint32_t first;
  TimeSequence ready;
  std::uint64_t number = 0;

  Cells split(std::uint32_t begin) {
    Cells rest{first + begin, ready.suffix(begin), number};
    ready.drop_back(rest.ready.size());
    return rest;
  }
};

struct Owner;
struct Nothing {};
using Queue = IssueQueue<Cells, Nothing, Owner>;

struct Owner {
  TimeSequence back;
  void taken_back(Queue::Run&, const Cells&, const TimeSequence& instants) { back = instants; }
};

}  // namespace

TEST_CASE("issue queue: cells that are taken back go before those of the same item that still wait") {
  Owner owner;
  Queue queue(4, owner);
  queue.submit({0, TimeSequence::regular(10ns, 0ns, 8)});
  CHECK(queue.due(5ns) == 10ns);
  CHECK(queue.issue(10ns).issued == TimeSequence::regular(10ns, 0ns, 4));
  queue.give(TimeSequence::regular(20ns, 10ns, 2));
  CHECK(queue.due(15ns) == 20ns);
  CHECK(queue.issue(20ns).issued == TimeSequence::regular(20ns, 10ns, 2));  // cells 4 and 5
  queue.withdraw(TimeSequence::single(30ns));
  CHECK(queue.due(25ns) == 25ns);
  queue.reconcile(25ns);
  CHECK(owner.back == TimeSequence::single(30ns));
  CHECK(queue.head().first == 5);
  CHECK(queue.due(25ns) == kNever);
  queue.give(TimeSequence::single(40ns));
  const Queue::Run& run = queue.issue(40ns);
  CHECK(run.item.first == 5);
  CHECK(run.issued == TimeSequence::single(40ns));
  CHECK(queue.head().first == 6);
}

TEST_CASE("issue queue: what is ready earlier takes the turn of cells that have not gone, and their slots") {
  Owner owner;
  Queue queue(8, owner);
  queue.submit({0, TimeSequence::regular(10ns, 10ns, 4)});
  CHECK(queue.issue(10ns).issued == TimeSequence::regular(10ns, 10ns, 4));
  queue.submit({100, TimeSequence::single(25ns)});
  CHECK(queue.due(15ns) == 15ns);
  queue.reconcile(15ns);
  CHECK(owner.back == TimeSequence::regular(30ns, 10ns, 2));
  CHECK(queue.head().first == 100);
  CHECK(queue.due(15ns) == 25ns);
  queue.submit({200, TimeSequence::single(60ns)});  // behind all of them
  CHECK(queue.due(15ns) == 25ns);
}
