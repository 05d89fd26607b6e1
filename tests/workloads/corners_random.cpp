// SPDX-License-Identifier: Apache-2.0
// Random programs of every preset: transfers, memory mapped anew, children, stores, and what kernels do to pages, all
// at once; cells and answers are lost on their way, and now and then a process ends in the midst of it. Whatever the
// program is: each transfer arrives or fails, the device uses the buffer's frames and no others where the strategy
// claims so, and nothing is left.
#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "tests/support/exanest_of.hpp"
#include "tests/support/number_of_cases.hpp"
#include "tests/workloads/corner_generator.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace faultline::test::corners;

namespace {

// What happens on a lane. The first ones are the programs', which wait for each before the next; the others begin in
// the midst of what the programs do.
enum class What : std::uint8_t {
  post,
  fetch,
  wait,
  map_anew,
  store,
  fork,
  end_child,
  move_pages,
  compact,
  page_out,
  hint,
  merge,
  age,
  write_protect,
};
constexpr unsigned kLanes = 4;  // the last one sends what the first one sends

struct Deed {
  What what;
  unsigned lane;
  bool at_source;
  unsigned later;  // of what a kernel does: begun so many microseconds from now
  bool is_kernels() const { return what >= What::move_pages; }
};

struct Kind {
  What what;
  const char* name;
  std::size_t weight;
};
constexpr std::array<Kind, 14> kKinds{{{What::post, "post", 8},
                                       {What::fetch, "fetch", 2},
                                       {What::wait, "wait", 2},
                                       {What::map_anew, "map-anew", 2},
                                       {What::store, "store", 1},
                                       {What::fork, "fork", 2},
                                       {What::end_child, "end-child", 1},
                                       {What::move_pages, "move", 2},
                                       {What::compact, "compact", 1},
                                       {What::page_out, "page-out", 2},
                                       {What::hint, "hint", 1},
                                       {What::merge, "merge", 1},
                                       {What::age, "age", 1},
                                       {What::write_protect, "write-protect", 1}}};
const char* name_of(What what) { return std::ranges::find(kKinds, what, &Kind::what)->name; }

// What makes a run harder, alone or with the others.
const std::vector<Settings>& hardships() {
  static const std::vector<Settings> all{
      {{"exanest.rapf_loss", 0.5}, {"exanest.block_timeout", "40 us"}, {"elan.block_timeout", "40 us"}},
      {{"exanest.fault_fifo", 1}, {"elan.fault_fifo", 1}},
      {{"exanest.stop_after_fault", true}},
      {{"smmu.micro_tlb_entries", 1}, {"smmu.macro_tlb_entries", 4}, {"smmu.misses_per_tbu", 1}},
      {{"strategy.pin_cache.budget", "64 KiB"}},
      {{"strategy.pin_cache.merge", true}},
      {{"os.thp", "always"}},
      {{"exanest.outstanding_blocks", 1}, {"elan.outstanding_blocks", 1}},
  };
  return all;
}

// The link loses what is on it. Messages of libraries, which nobody sends again, would be waited for for ever. Timeouts
// are longer than a storm of faults: blocks that are sent again each 40 us keep a core in the interrupt's handler.
const Settings& lost_cells() {
  static const Settings settings{
      {"network.failures",
       "link 0-1 at 60 us until 75 us, link 0-1 at 300 us until 320 us, link 0-1 at 1 ms until 1010 us"},
      {"exanest.block_timeout", "400 us"},
      {"elan.block_timeout", "400 us"}};
  return settings;
}

enum class Death : std::uint8_t { none, source, target };

struct Script {
  std::vector<Deed> deeds;
  std::array<unsigned, 3> sizes;
  unsigned hardships;  // a bit for each
  bool loses_cells;
  Death death;
  unsigned dies_at;  // in microseconds

  // All buffers of the target, in whole pages.
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const unsigned size : {sizes[0], sizes[1], sizes[2], sizes[0]}) sum += sim::page_end(size);
    return sum;
  }
  // Nothing is lost on its way, and everybody lives: then nothing may fail.
  bool is_gentle() const { return death == Death::none && hardships % 2 == 0; }
};

// As rapidcheck shows the smallest script that fails.
std::ostream& operator<<(std::ostream& out, const Script& script) {
  out << "sizes " << script.sizes[0] << ' ' << script.sizes[1] << ' ' << script.sizes[2] << ", hardships "
      << script.hardships << (script.loses_cells ? ", loses cells" : "") << ", death " << static_cast<int>(script.death)
      << " at " << script.dies_at << " us";
  for (const Deed& deed : script.deeds) {
    out << "\n  " << name_of(deed.what) << ' ' << deed.lane << (deed.at_source ? " source" : " target");
    if (deed.is_kernels()) out << " +" << deed.later << " us";
  }
  return out;
}

rc::Gen<Deed> any_deed() {
  std::vector<What> by_weight;
  for (const Kind& kind : kKinds) by_weight.insert(by_weight.end(), kind.weight, kind.what);
  return rc::gen::build<Deed>(rc::gen::set(&Deed::what, rc::gen::elementOf(by_weight)),
                              rc::gen::set(&Deed::lane, rc::gen::inRange(0U, kLanes)), rc::gen::set(&Deed::at_source),
                              rc::gen::set(&Deed::later, rc::gen::inRange(0U, 150U)));
}

rc::Gen<Script> any_script() {
  const auto size = rc::gen::element<unsigned>(64, 1, 4096, 5000, 20'000, 65'536, 100'000, 2'200'000);
  const auto sizes = rc::gen::map(rc::gen::container<std::vector<unsigned>>(3, size), [](std::vector<unsigned> drawn) {
    return std::array<unsigned, 3>{drawn[0], drawn[1], drawn[2]};
  });
  return rc::gen::build<Script>(
      rc::gen::set(&Script::deeds, rc::gen::resize(40, rc::gen::container<std::vector<Deed>>(any_deed()))),
      rc::gen::set(&Script::sizes, sizes),
      rc::gen::set(&Script::hardships, rc::gen::inRange(0U, 1U << hardships().size())),
      rc::gen::set(&Script::loses_cells, rc::gen::weightedElement<bool>({{3, false}, {1, true}})),
      rc::gen::set(&Script::death,
                   rc::gen::weightedElement<Death>({{4, Death::none}, {1, Death::source}, {1, Death::target}})),
      rc::gen::set(&Script::dies_at, rc::gen::inRange(0U, 1500U)));
}

// A script under way. Its tasks share it: the one that waits for a dead program's answer ends with the run.
class Play {
 public:
  Play(Stage& stage, Script script, Facts& facts, const Subject& subject)
      : s_(stage), script_(std::move(script)), facts_(facts), subject_(subject) {}

  static Task<void> run(std::shared_ptr<Play> play) {
    play->facts_["done"] = play->facts_["failed"] = play->facts_["wrong"] = 0;
    for (const unsigned size : play->script_.sizes) {
      const Stage::Lane made = co_await play->s_.lane(size);
      play->add(made);
    }
    const Stage::Lane last = co_await play->s_.lane_from(play->lanes_[0].lane);
    play->add(last);
    play->s_.start(program(play));
    if (play->script_.death != Death::none) play->s_.start(death(play));
    while (!play->is_over()) co_await play->s_.cluster.loop.delay(100us);
    for (const auto& [owner, child] : play->children_) co_await owner->vm().exit(play->kernel(*owner), *child);
    play->facts_["ended"] = play->ended_;
  }

 private:
  // A lane, and the transfer on it.
  struct Used {
    Stage::Lane lane;
    Stage::UnderWay moving;
    std::uint64_t sent = 0;  // the seed of what it moves
    bool is_read = false;
  };

  void add(const Stage::Lane& made) { lanes_.push_back({made, nullptr}); }
  rdma::Endpoint& owner(bool source) const { return source ? *s_.here : *s_.there; }
  cpu::Execution& kernel(const rdma::Endpoint& of) const { return s_.cluster.node(of.node()).cpu.new_thread("kernel"); }
  // Of whoever waits for a dead program nothing more comes.
  bool is_over() const { return (ended_ || s_.cluster.loop.now() > over_at_) && at_work_ == 0 && (!dying_ || dead_); }

  static Task<void> program(std::shared_ptr<Play> play) {
    try {
      for (const Deed& deed : play->script_.deeds) {
        if (play->dying_) break;
        if (deed.is_kernels()) {
          ++play->at_work_;
          play->s_.start(kernel_does(play, deed));
        } else {
          co_await play->does(deed);
        }
      }
      for (Used& used : play->lanes_) co_await play->wait(used);
    } catch (const rdma::ProcessKilled&) {
    }
    play->ended_ = true;
  }

  Task<void> does(Deed deed) {
    Used& used = lanes_[deed.lane];
    switch (deed.what) {
      case What::post: co_await post(used); break;
      case What::fetch: co_await fetch(used); break;
      case What::wait: co_await wait(used); break;
      case What::map_anew: co_await map_anew(used, deed.at_source && deed.lane % 3 != 0); break;
      case What::store:
        co_await wait(used);
        co_await put(*s_.there, used.lane.remote, used.lane.bytes, ++seed_);
        break;
      case What::fork: co_await fork(owner(deed.at_source)); break;
      case What::end_child: co_await end_child(); break;
      default: throw std::logic_error("no deed of a program");
    }
  }

  Task<void> post(Used& used) {
    co_await wait(used);
    for (Used& each : lanes_) {
      if (each.is_read && each.lane.local == used.lane.local) co_await wait(each);
    }
    if (dying_) co_return;
    const bool is_sent = std::ranges::any_of(
        lanes_, [&](const Used& each) { return each.moving != nullptr && each.lane.local == used.lane.local; });
    std::uint64_t& content = contents_[used.lane.local];
    if (!is_sent) {
      content = ++seed_;
      co_await put(*s_.here, used.lane.local, largest(used.lane.local), content);
    }
    used.sent = content;
    used.is_read = false;
    Stage::UnderWay moving = co_await s_.begin(used.lane);
    used.moving = std::move(moving);
  }

  // Reads what the target's program has stored, into a buffer from which nothing is sent meanwhile.
  Task<void> fetch(Used& used) {
    for (Used& each : lanes_) {
      if (each.lane.local == used.lane.local) co_await wait(each);
    }
    used.sent = ++seed_;
    co_await put(*s_.there, used.lane.remote, used.lane.bytes, used.sent);
    if (dying_) co_return;
    used.is_read = true;
    Stage::UnderWay moving = co_await s_.begin(used.lane, rdma::Operation::read);
    used.moving = std::move(moving);
  }

  Task<void> wait(Used& used) {
    if (used.moving == nullptr) co_return;
    const Status status = co_await s_.end(used.moving);
    used.moving = nullptr;  // not of a process that is killed: its other thread may be about to look at it
    ++facts_[status == Status::done ? "done" : "failed"];
    if (status == Status::done) {
      if (used.is_read) {
        facts_["wrong"] += !s_.fetched(used.lane, used.sent);
      } else if (!s_.there->killed()) {
        facts_["wrong"] += !s_.arrived(used.lane, used.sent);
      }
    } else {
      co_await s_.cluster.loop.delay(2ms);  // what is left of it is over
    }
  }

  Task<void> map_anew(Used& used, bool source) {
    if (!subject_.claims_truth()) co_return;  // it refuses (C8)
    co_await wait(used);
    if (!dying_ && !source) co_await s_.give_back(used.lane);  // for ever, if the target is killed before it answers
    if (dying_) co_return;
    ++at_work_;
    co_await s_.map_anew(used.lane, owner(source));
    --at_work_;
  }

  // The program stores, until all of it is there: the kernel may take pages meanwhile.
  Task<void> put(rdma::Endpoint& of, std::uint64_t address, std::uint32_t bytes, std::uint64_t seed) {
    if (dying_) co_return;
    ++at_work_;
    for (bool is_there = false; !is_there;) {
      co_await of.vm().touch_range(s_.mapper(of), of.process(), address, bytes, true);
      co_await of.vm().store(of.process(), address, bytes, seed);
      is_there = of.vm().read(of.process(), address, bytes) == sim::Content::pattern(seed, 0, bytes);
    }
    --at_work_;
  }
  std::uint32_t largest(std::uint64_t local) const {
    std::uint32_t most = 0;
    for (const Used& each : lanes_) most = each.lane.local == local ? std::max(most, each.lane.bytes) : most;
    return most;
  }

  Task<void> fork(rdma::Endpoint& of) {
    if (dying_ || subject_.is_bound() || children_.size() >= 2) co_return;
    ++at_work_;
    co_await of.registration().forking(s_.mapper(of));
    const auto child = co_await of.vm().fork(s_.mapper(of), of.process());
    if (child.ok()) children_.emplace_back(&of, child.value);
    --at_work_;
  }
  Task<void> end_child() {
    if (children_.empty()) co_return;
    const auto [parent, child] = children_.back();
    children_.pop_back();
    ++at_work_;
    co_await parent->vm().exit(kernel(*parent), *child);
    --at_work_;
  }

  static Task<void> kernel_does(std::shared_ptr<Play> play, Deed deed) {
    co_await play->s_.cluster.loop.delay(1ns + deed.later * 1us);
    rdma::Endpoint& of = play->owner(deed.at_source);
    const bool may = !play->dying_ && !play->subject_.is_bound();  // C5: it is no bound then
    if (may) co_await play->change_pages(of, deed);
    --play->at_work_;
  }
  Task<void> change_pages(rdma::Endpoint& of, Deed deed) {
    const Stage::Lane& lane = lanes_[deed.lane].lane;
    const std::uint64_t va = deed.at_source ? lane.local : lane.remote;
    const os::Range range{va, sim::page_end(va + lane.bytes)};
    cpu::Execution& exec = kernel(of);
    os::PageEvents& events = of.vm().page_events();
    using Mover = os::PageEvents::Mover;
    switch (deed.what) {
      case What::move_pages: co_await events.migrate(exec, of.process(), range, Mover::move_pages); break;
      case What::compact: co_await events.migrate(exec, of.process(), range, Mover::compaction); break;
      case What::page_out: co_await of.vm().reclaim().page_out(exec, of.process(), range); break;
      case What::hint: co_await events.numa_hint(exec, of.process(), range); break;
      case What::merge: co_await events.merge_equal(exec, of.process(), range); break;
      case What::age: co_await events.age(exec, of.process(), range); break;
      case What::write_protect: co_await events.write_protect(exec, of.process(), range); break;
      default: throw std::logic_error("no deed of a kernel");
    }
  }

  // A kernel ends a process as soon as nobody works on its memory.
  static Task<void> death(std::shared_ptr<Play> play) {
    co_await play->s_.cluster.loop.delay(play->script_.dies_at * 1us);
    if (play->ended_) co_return;
    play->dying_ = true;
    play->over_at_ = play->s_.cluster.loop.now() + 40ms;
    rdma::Endpoint& of = play->owner(play->script_.death == Death::source);
    of.kill();
    while (play->at_work_ > 0 || (&of == play->s_.here.get() && !play->ended_)) {
      co_await play->s_.cluster.loop.delay(10us);
    }
    if (play->subject_.strategy().deferred) co_await play->s_.cluster.loop.delay(1ms);  // its other thread leaves
    co_await play->s_.exit(of);
    play->dead_ = true;
  }

  Stage& s_;
  const Script script_;
  Facts& facts_;
  const Subject& subject_;
  std::vector<Used> lanes_;
  std::map<std::uint64_t, std::uint64_t> contents_;  // seeds, by the source's address
  std::vector<std::pair<rdma::Endpoint*, os::Process*>> children_;
  std::uint64_t seed_ = 7;
  unsigned at_work_ = 0;  // on memory: programs and kernels
  sim::Time over_at_ = sim::Time::max();
  bool dying_ = false;
  bool dead_ = false;
  bool ended_ = false;
};

Plan plan_of(const Script& script, const Subject& subject) {
  Plan plan{.is_truthful = subject.claims_truth()};
  if (script.is_gentle()) plan.settings = {{"exanest.retry_limit", 100}, {"elan.retry_limit", 100}};
  // Three quarters are for a target's pages: room for all transfers at a time, and for none beyond.
  plan.settings.push_back({"strategy.firehose.budget", std::to_string(script.bytes() / 3 * 4 + os::kPage) + " B"});
  for (std::size_t i = 0; i < hardships().size(); ++i) {
    if ((script.hardships >> i) % 2 == 1) plan.settings = plan.settings + hardships()[i];
  }
  if (script.loses_cells && !subject.strategy().serves_at_target()) plan.settings = plan.settings + lost_cells();
  plan.program = [script, &subject](Stage& stage, Facts& facts) -> Task<void> {
    co_await Play::run(std::make_shared<Play>(stage, script, facts, subject));
  };
  if (script.death != Death::target) plan.expected.push_back({"ended", Expected::equal, 1});
  if (plan.is_truthful) plan.expected.push_back({"wrong", Expected::equal, 0});
  if (script.is_gentle()) plan.expected.push_back({"failed", Expected::equal, 0});
  return plan;
}

std::string complaints_in_lines(const Subject& subject, const Plan& plan) {
  std::string lines;
  for (const std::string& complaint : complaints_about(subject, plan)) lines += complaint + '\n';
  return lines;
}

// Whether one of a dozen scripts, the same each time, meets a stale access.
bool meets_stale_access(const Subject& subject) {
  for (unsigned i = 1; i <= 12; ++i) {
    Plan plan = plan_of(any_script()(rc::Random(i), 100).value(), subject);
    plan.is_truthful = true;
    if (complaints_in_lines(subject, plan).find("stale") != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("corners: random programs of every preset end, see the truth, and leave nothing") {
  set_number_of_cases(100, 100, 1);
  CHECK(rc::check("random programs", [] {
    const Subject& subject = subjects()[*rc::gen::inRange<std::size_t>(0, subjects().size())];
    const Script script = *any_script();
    RC_LOG() << subject.name();
    RC_ASSERT(complaints_in_lines(subject, plan_of(script, subject)) == "");
  }));
}

// The initiator's NIC gives the read up while its port is stalled, and the peer goes on. Without the mechanism that
// refuses what comes then, the program's next data are overwritten.
TEST_CASE("corners: nothing is written for a read that has failed") {
  Script script{.deeds = {{What::move_pages, 1, true, 0}, {What::fetch, 1, false, 0}, {What::post, 1, false, 0}},
                .sizes = {64, 2'200'000, 64},
                .hardships = 1,
                .loses_cells = false,
                .death = Death::none,
                .dies_at = 0};
  const Subject subject("fault/fixup-stall-256", preset("fault/fixup-stall-256"));
  Plan plan = plan_of(script, subject);
  plan.expected.push_back({"failed", Expected::equal, 1});
  CHECK(complaints_in_lines(subject, plan) == "");
  plan.change = [](workloads::Configuration& c) { exanest_of(c.machine).engine.refuses_ended_reads = false; };
  CHECK(complaints_in_lines(subject, plan).find("wrong") != std::string::npos);
}

// The mutants: tables that keep frames which nothing holds, and a cache that nobody tells of memory that goes. Where
// the device walks the process's own table the same cache does no harm.
TEST_CASE("corners: random programs find those that do not see the truth") {
  for (const Subject& subject : subjects()) {
    INFO(subject.name());
    if (!subject.claims_truth()) CHECK(meets_stale_access(subject));
  }
  const Settings deaf{{"strategy.pin_cache.emptied_by", "nothing"}};
  CHECK(meets_stale_access(Subject("private table", preset("pin-cache-private") + deaf)));
  CHECK_FALSE(meets_stale_access(Subject("shared table", preset("pin-cache") + deaf)));
}
