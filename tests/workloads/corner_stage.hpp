// SPDX-License-Identifier: Apache-2.0
// Two programs on two nodes whose transfers go by a strategy, whichever it is and whichever NIC: what the corner cases
// are played on (corner_generator.hpp). Both programs prepare as the strategy says, by the library's messages if it
// asks for that, and both processes are ended by their kernels in the end.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/messages/initiator.hpp"
#include "models/messages/target.hpp"
#include "models/os/events/page_events.hpp"
#include "models/os/reclaim/reclaim.hpp"
#include "models/platform/cluster.hpp"
#include "models/platform/endpoints.hpp"
#include "tests/support/child.hpp"
#include "workloads/configuration.hpp"

namespace faultline::test::corners {

using namespace std::chrono_literals;
using rdma::Status;
using sim::Task;

inline constexpr std::uint64_t kBlockBytes = 16384;

// A registration has refused: what a program would be told.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Stage : public sim::StepListener {
 public:
  // A buffer at each end. `remote_buffer`: the target's, several lanes may have one.
  struct Lane {
    std::uint64_t local = 0;
    std::uint64_t remote = 0;
    std::uint32_t bytes = 0;
    std::uint64_t slot = 0;
  };
  using UnderWay = std::unique_ptr<messages::Moving>;
  using Deed = std::function<Task<void>(cpu::Execution& exec, os::Vm& vm, os::Process& process)>;

  explicit Stage(const workloads::Configuration& configuration)
      : cluster("cluster", configuration.machine, 1), strategy_(configuration.strategy) {
    cluster.boot();
    frames_at_boot_ = frames();
    here = platform::open_endpoint(cluster.node(0), strategy_, {}, "initiator", rdma::End::source);
    there = platform::open_endpoint(cluster.node(1), strategy_, {}, "target", rdma::End::destination);
    const messages::Check check = [](os::Error error, std::string_view what, const os::Vm&) {
      if (error != os::Error::none) throw Refused(std::string(what) + ": " + std::string(os::to_string(error)));
    };
    asking_ = std::make_unique<messages::Initiator>(*here, *there, strategy_, check);
    answering_ = std::make_unique<messages::Target>(*there, strategy_, check);
    mappers_ = {&here->new_thread("mapper"), &there->new_thread("mapper")};
    cluster.steps().listen(*this);
  }

  // Runs the program to its end. False: it waits for ever, or for longer than a second.
  bool run(const std::function<Task<void>(Stage&)>& program) {
    tasks_.start(main(*this, program));
    cluster.loop.run(1s);
    cluster.loop.rethrow_failure();
    return finished_;
  }

  // Two processes with the NIC open.
  Task<void> open() {
    co_await here->open();
    co_await there->open();
    pinned_by_library_ = pinned();
    locked_by_library_ = locked();
  }

  // Buffers whose pages are present; the source's have the pattern of seed 7.
  Task<Lane> lane(std::uint64_t bytes) {
    Lane made{map(*here, bytes), map(*there, bytes), static_cast<std::uint32_t>(bytes), slots_++};
    fill(made, 7);
    co_await add(*here, made.local, bytes);
    co_await add(*there, made.remote, bytes);
    answer(made);
    co_return made;
  }
  // From another buffer to the other lane's, or from the other lane's to another buffer.
  Task<Lane> lane_to(const Lane& other, std::uint64_t seed) {
    Lane made{map(*here, other.bytes), other.remote, other.bytes, slots_++};
    fill(made, seed);
    co_await add(*here, made.local, other.bytes);
    co_await add(*there, made.remote, other.bytes);
    answer(made);
    co_return made;
  }
  Task<Lane> lane_from(const Lane& other) {
    Lane made{other.local, map(*there, other.bytes), other.bytes, slots_++};
    co_await add(*here, made.local, other.bytes);
    co_await add(*there, made.remote, other.bytes);
    answer(made);
    co_return made;
  }

  Task<UnderWay> begin(const Lane& lane, rdma::Operation operation = rdma::Operation::write) {
    const rdma::RemoteBuffer remote{there->node(), there->process().id(), lane.remote};
    const messages::Move move{operation, here->buffer(lane.local, lane.bytes), lane.local, remote, lane.bytes,
                              lane.slot};
    auto moving = std::make_unique<messages::Moving>(strategy_, move);
    co_await asking_->prepare(here->thread(), *moving);
    co_await asking_->post(here->thread(), *moving);
    co_return moving;
  }
  Task<Status> end(const UnderWay& moving) {
    const Status status = co_await wait(moving);
    co_await let_go(moving);
    co_return status;
  }
  // The same in two steps: the transfer has ended, and both ends still hold what they prepared for it.
  Task<Status> wait(const UnderWay& moving) { return asking_->wait(here->thread(), *moving); }
  Task<void> let_go(const UnderWay& moving) {
    co_await asking_->let_go(here->thread(), *moving);
    co_await asking_->settle(here->thread(), *moving);
  }
  Task<Status> transfer(const Lane& lane) {
    const UnderWay moving = co_await begin(lane);
    co_return co_await end(moving);
  }

  void fill(const Lane& lane, std::uint64_t seed) const {
    here->vm().fill(here->process(), lane.local, lane.bytes, seed);
  }
  sim::Content got(const Lane& lane) const { return there->vm().read(there->process(), lane.remote, lane.bytes); }
  bool same(const Lane& lane) const { return here->vm().read(here->process(), lane.local, lane.bytes) == got(lane); }
  bool arrived(const Lane& lane, std::uint64_t seed) const {
    return got(lane) == sim::Content::pattern(seed, 0, lane.bytes);
  }
  bool fetched(const Lane& lane, std::uint64_t seed) const {
    return here->vm().read(here->process(), lane.local, lane.bytes) == sim::Content::pattern(seed, 0, lane.bytes);
  }
  // Cells that have neither of the two contents.
  std::int64_t torn(const Lane& lane, std::uint64_t one, std::uint64_t other) const {
    const sim::Content all = got(lane);
    std::int64_t count = 0;
    for (std::uint32_t at = 0; at < lane.bytes; at += 256) {
      const sim::Content cell = all.slice(at, 256);
      const bool known = cell == sim::Content::pattern(one, at, 256) || cell == sim::Content::pattern(other, at, 256);
      count += known ? 0 : 1;
    }
    return count;
  }

  // Before the target's program unmaps its buffer: what the initiator holds of it.
  Task<void> give_back(const Lane& lane) const {
    if (tells_initiator) co_await asking_->forget(mapper(*here), {lane.remote, lane.remote + lane.bytes}, lane.slot);
  }
  // The process unmaps its buffer and maps another in its place; at the same address if the result is true. Somebody
  // else has the old frames by then. No other lane has the buffer.
  Task<bool> map_anew(Lane& lane) {
    co_await give_back(lane);
    co_return co_await map_anew(lane, *there);
  }
  // The same at either end; of the target's it has been given back.
  Task<bool> map_anew(Lane& lane, rdma::Endpoint& owner) {
    const bool is_target = &owner == there.get();
    std::uint64_t& address = is_target ? lane.remote : lane.local;
    os::Vm& vm = owner.vm();
    cpu::Execution& thread = mapper(owner);
    co_await owner.buffer(address, lane.bytes).remove(thread);
    co_await unmap(owner, address, lane.bytes);
    os::MmapOptions options;
    options.alignment = os::kHugePage;
    others_.emplace_back(&owner, vm.create_process("other"));
    os::Process& other = *others_.back().second;
    vm.make_present(other, vm.map(other, lane.bytes).value, lane.bytes);
    const auto mapped = co_await vm.mmap(thread, owner.process(), lane.bytes, options);
    const bool again = mapped.ok() && mapped.value == address;
    address = mapped.value;
    *std::ranges::find(lanes_, lane.slot, &Lane::slot) = lane;
    co_await vm.touch_range(thread, owner.process(), address, lane.bytes, true);
    co_await add(owner, address, lane.bytes);
    if (is_target && strategy_.serves_at_target()) {
      answering_->move_slot(lane.slot, owner.buffer(address, lane.bytes));
    }
    co_return again;
  }

  // The programs are done with their buffers: what is still pinned then is the library's, or a leak.
  Task<void> put_away() {
    std::map<std::uint64_t, std::uint64_t> local, remote;  // each buffer once, with its length
    for (const Lane& each : lanes_) {
      co_await give_back(each);
      co_await here->buffer(each.local, each.bytes).remove(mapper(*here));
      co_await there->buffer(each.remote, each.bytes).remove(mapper(*there));
      local[each.local] = each.bytes;
      remote[each.remote] = each.bytes;
    }
    for (const auto& [address, length] : local) co_await unmap(*here, address, length);
    for (const auto& [address, length] : remote) co_await unmap(*there, address, length);
    lanes_.clear();
    co_await cluster.loop.delay(1ms);  // threads that unpin
  }
  // Both kernels end their processes, whatever they are doing.
  Task<void> exit(rdma::Endpoint& owner) {
    owner.kill();
    if (&owner == there.get()) {
      while (serves_) co_await cluster.loop.delay(10us);
    }
    co_await owner.close(cluster.node(owner.node()).cpu.new_thread("exit"));
  }
  // Those that have the old frames of buffers that were mapped anew.
  Task<void> end_others() {
    for (const auto& [beside, process] : others_)
      co_await beside->vm().exit(beside->cpu().new_thread("exit"), *process);
    others_.clear();
  }

  std::int64_t pinned() { return bytes(&os::Vm::pinned_bytes); }
  std::int64_t locked() { return bytes(&os::Vm::locked_bytes); }
  // Beyond what the library has for itself.
  std::int64_t pins_kept() { return pinned() - pinned_by_library_; }
  std::int64_t locks_kept() { return locked() - locked_by_library_; }
  // Beyond what the kernels had before there were processes: pages of 4 KiB. A page that was merged has got the frame
  // of somebody whom nobody models.
  std::int64_t frames_kept() { return frames() - frames_at_boot_ - total("os.ksm_pages_merged"); }
  std::int64_t total(std::string_view counter) const { return static_cast<std::int64_t>(cluster.total(counter)); }

  // Something that the kernel of an endpoint's node does, begun in the midst of hardware's events.
  void start(Task<void> task) { tasks_.start(std::move(task)); }
  void does(rdma::Endpoint& owner, Deed deed) { tasks_.start(kernel_does(owner, std::move(deed))); }
  // The same at the n-th step of this name; several may be waited for.
  void at_step(std::string_view step, unsigned n, rdma::Endpoint& owner, Deed deed) {
    on_each_step = [this, step, left = n, &owner, deed, others = on_each_step](const sim::StepRecord& record) mutable {
      if (others) others(record);
      if (record.step->name != step || left == 0 || --left > 0) return;
      does(owner, deed);
    };
  }
  void on_step(const sim::StepRecord& record) override {
    if (on_each_step) on_each_step(record);
  }
  cpu::Execution& mapper(const rdma::Endpoint& owner) const { return *mappers_[&owner == here.get() ? 0 : 1]; }

  platform::Cluster cluster;
  std::unique_ptr<rdma::Endpoint> here;   // source of writes
  std::unique_ptr<rdma::Endpoint> there;  // destination of writes
  std::function<void(const sim::StepRecord&)> on_each_step;
  bool tells_initiator = true;  // whoever holds memory of the target's gives it back before that is unmapped

 private:
  static Task<void> main(Stage& self, std::function<Task<void>(Stage&)> program) {
    co_await program(self);
    self.finished_ = true;
    self.cluster.loop.stop();
  }
  Task<void> kernel_does(rdma::Endpoint& owner, Deed deed) {
    co_await cluster.loop.delay(1ns);
    cpu::Execution& exec = cluster.node(owner.node()).cpu.new_thread("kernel");
    co_await deed(exec, owner.vm(), owner.process());
  }
  static std::uint64_t map(rdma::Endpoint& owner, std::uint64_t bytes) {
    const std::uint64_t address = owner.map_buffer(bytes, 0);
    owner.vm().make_present(owner.process(), address, bytes);
    return address;
  }
  Task<void> add(rdma::Endpoint& owner, std::uint64_t address, std::uint64_t bytes) const {
    const os::Error error = co_await owner.buffer(address, bytes).add(mapper(owner));
    if (error != os::Error::none) throw Refused(std::string(os::to_string(error)));
  }
  Task<void> unmap(rdma::Endpoint& owner, std::uint64_t address, std::uint64_t bytes) const {
    const os::Range pages = owner.pages_of(address, bytes);
    co_await owner.registration().unmapping(mapper(owner), pages);
    co_await owner.vm().munmap(mapper(owner), owner.process(), pages.begin, pages.end - pages.begin);
  }
  void answer(const Lane& made) {
    lanes_.push_back(made);
    if (!strategy_.serves_at_target()) return;
    answering_->add({there->buffer(made.remote, made.bytes), true, here.get()});
    if (!std::exchange(serves_, true)) tasks_.start(serve());
  }
  Task<void> serve() {
    try {
      co_await answering_->serve();
    } catch (const rdma::ProcessKilled&) {
    }
    serves_ = false;
  }
  std::int64_t frames() {
    return static_cast<std::int64_t>(cluster.node(0).vm.frames().used_pages() +
                                     cluster.node(1).vm.frames().used_pages());
  }
  std::int64_t bytes(std::uint64_t (os::Vm::*of)() const) {
    return static_cast<std::int64_t>((cluster.node(0).vm.*of)() + (cluster.node(1).vm.*of)());
  }

  const rdma::Strategy strategy_;
  std::unique_ptr<messages::Initiator> asking_;
  std::unique_ptr<messages::Target> answering_;
  std::array<cpu::Execution*, 2> mappers_{};
  std::vector<Lane> lanes_;
  std::vector<std::pair<rdma::Endpoint*, os::Process*>> others_;  // and whose node they are on
  std::uint64_t slots_ = 0;
  std::int64_t frames_at_boot_ = 0;
  std::int64_t pinned_by_library_ = 0;
  std::int64_t locked_by_library_ = 0;
  bool serves_ = false;
  bool finished_ = false;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::test::corners
