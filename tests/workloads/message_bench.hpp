// SPDX-License-Identifier: Apache-2.0
// Ranks that send each other messages as a test says, and what is left of them at the end.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/point.hpp"
#include "workloads/ranks/message_program.hpp"

namespace faultline::test {

inline const Settings kTalkBuffers = {{"workload.size", "256 KiB"}};

class Talk : public workloads::MessageProgram {
 public:
  using Code = std::function<sim::Task<void>(Talk& talk, workloads::Rank& me)>;
  Talk(const workloads::Configuration& c, platform::Cluster& cluster, const std::vector<unsigned>& nodes,
       unsigned buffers, Code code)
      : MessageProgram(c, cluster, 1, nodes), code_(std::move(code)) {
    for (unsigned i = 0; i < ranks(); ++i) {
      memories.emplace_back();
      for (unsigned n = 0; n < buffers; ++n) memories.back().push_back(allocate(i, rdma::End::destination));
    }
  }
  std::uint64_t planned() const override { return 0; }
  messages::Messenger& of(const workloads::Rank& me) { return messenger(me); }
  // The first bytes of a buffer.
  messages::Span part(const workloads::Rank& me, unsigned buffer, std::uint64_t bytes) const {
    return {memories[me.number()][buffer].address, bytes};
  }
  sim::Task<messages::RequestId> send(workloads::Rank& me, unsigned to, std::uint32_t tag, messages::Span memory) {
    return of(me).send(me.thread(), {to, tag}, memory);
  }
  sim::Task<messages::RequestId> receive(workloads::Rank& me, messages::Selector from, messages::Span memory) {
    return of(me).receive(me.thread(), from, memory);
  }
  sim::Task<messages::Outcome> wait(workloads::Rank& me, messages::RequestId request) {
    return of(me).wait(me.thread(), request);
  }
  // A transfer of the rank, which began then, is over.
  void ended(const workloads::Rank& me, sim::Time begin) { record(me, begin, now(), true, false); }
  std::vector<std::vector<workloads::Memory>> memories;  // by rank
  Facts facts;

 private:
  sim::Task<void> talk(workloads::Rank& me) override {
    for (const workloads::Memory& each : memories[me.number()]) {
      co_await me.endpoint().vm().store(me.endpoint().process(), each.address, each.bytes,
                                        1000 + 100 * me.number() + each.number);
    }
    co_await counted(me);
    co_await code_(*this, me);
  }
  Code code_;
};

// Parts of a text with ", " between them.
inline std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(", ", begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  return parts;
}

// Facts beside the code's own: finished, wrong (messages that arrived otherwise than they were sent), stale, pinned
// bytes and frames that are left, lost (small messages without a place), left (of requests, slots, packets), waits (how
// many ranks do), "says that ..." (what for), "ended N" (whether the process of rank N has), "metric
// NAME" (in millionths).
inline Facts run_talk(
    const Settings& settings, const std::vector<unsigned>& nodes, const Talk::Code& code, unsigned buffers = 2,
    const std::function<void(workloads::Configuration&)>& change = [](auto&) {}) {
  workloads::Configuration c = configuration(settings);
  change(c);
  return facts_from_child([&] {
    platform::Cluster cluster("cluster", c.machine, 1);
    cluster.boot();
    std::vector<std::int64_t> used;
    for (unsigned id = 0; id < cluster.size(); ++id) {
      used.push_back(static_cast<std::int64_t>(cluster.node(id).vm.frames().used_pages()));
    }
    Talk talk(c, cluster, nodes, buffers, code);
    talk.start();
    cluster.loop.run(c.workload.time_limit);
    cluster.loop.rethrow_failure();
    Facts& facts = talk.facts;
    facts["finished"] = talk.finished() ? 1 : 0;
    facts["wrong"] = static_cast<std::int64_t>(talk.data_errors());
    facts["stale"] = static_cast<std::int64_t>(cluster.total("memory.stale_accesses"));
    facts["lost"] = static_cast<std::int64_t>(cluster.total("dma.messages_dropped"));
    for (const std::string& each : split(talk.waits())) facts["says that " + each] = 1;
    for (unsigned rank = 0; rank < talk.ranks(); ++rank) {
      facts["ended " + std::to_string(rank)] = talk.rank(rank).has_ended() ? 1 : 0;
    }
    facts["waits"] = talk.waits().empty() ? 0 : 1 + std::ranges::count(talk.waits(), ',');
    for (unsigned rank = 0; rank < talk.ranks(); ++rank) {
      const messages::Messenger::Leftovers left = talk.of(talk.rank(rank)).leftovers();
      facts["left"] += static_cast<std::int64_t>(left.requests + left.unreceived + left.held_slots + left.kept_back +
                                                 left.registered);
      facts["unreceived"] += static_cast<std::int64_t>(left.unreceived);
    }
    for (const workloads::Metric& each : talk.own_metrics()) {
      facts["metric " + each.name] = std::llround(each.value * 1e6);
    }
    for (unsigned id = 0; id < cluster.size(); ++id) {
      cluster.node(id).vm.audit();
      facts["pinned"] += static_cast<std::int64_t>(cluster.node(id).vm.pinned_bytes());
      facts["frames"] += static_cast<std::int64_t>(cluster.node(id).vm.frames().used_pages()) - used[id];
    }
    return facts;
  });
}

inline void check_well(Facts facts) {
  for (const char* bad : {"wrong", "stale", "lost", "left", "waits", "pinned", "frames"}) {
    INFO(bad);
    CHECK(facts[bad] == 0);
  }
  CHECK(facts["finished"] == 1);
}

}  // namespace faultline::test
