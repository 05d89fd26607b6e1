// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/cpu.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "models/cpu/balancer.hpp"
#include "models/cpu/core.hpp"
#include "models/sim/payload.hpp"
#include "models/soc/axi.hpp"

namespace faultline::cpu {

using sim::Task;
using sim::Time;

namespace {

// When the controller moves the last cell of bulk traffic, as far as is known: the core looks when its part is done.
struct Moved : tlm::tlm_extension<Moved> {
  Time last{0};

  tlm::tlm_extension_base* clone() const override { return new Moved(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Moved&>(other); }
};

}  // namespace

Cpu::Counters::Counters(sim::Statistics& statistics)
    : time{&statistics.counter("cpu.time_user", "ps", "core time in user mode, polling included"),
           &statistics.counter("cpu.time_system", "ps",
                               "core time in the kernel for threads, context switches included"),
           &statistics.counter("cpu.time_softirq", "ps", "core time in tasklets"),
           &statistics.counter("cpu.time_irq", "ps", "core time in interrupt handlers and on the way to them")},
      time_polling(statistics.counter("cpu.time_polling", "ps", "the part of cpu.time_user that threads spin")),
      context_switches(statistics.counter("cpu.context_switches", "count", "a core got another thread")),
      preemptions(statistics.counter("cpu.preemptions", "count", "threads that lost the core with work left")),
      wake_ups(statistics.counter("cpu.wake_ups", "count", "sleeping threads woken")),
      migrations(statistics.counter("cpu.migrations", "count", "wake-ups that moved a thread to another core")),
      pulls(statistics.counter("cpu.pulls", "count", "waiting threads that went to another core")),
      time_waiting(statistics.counter("cpu.time_waiting", "ps", "threads were ready to run and had no core")),
      tasklets(statistics.counter("cpu.tasklets", "count", "runs of tasklets")),
      calls(statistics.counter("cpu.calls", "count", "cores that another core has interrupted")),
      mmio_errors(statistics.counter("cpu.mmio_errors", "count", "register accesses with an error response")) {}

namespace {

SchedConfig in_force(const CpuConfig& config, const SchedRules& rules) {
  SchedConfig sched = config.sched.scaled_for(config.cores);
  if (sched.policy == SchedPolicy::kernel) sched.policy = rules.eevdf ? SchedPolicy::eevdf : SchedPolicy::cfs;
  return sched;
}

// sched_prio_to_weight, kernel/sched/core.c: of nice -20 to 19; each is about 1.25 times the next.
constexpr std::array<std::int64_t, 40> kWeights{88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
                                                9548,  7620,  6100,  4904,  3906,  3121,  2501,  1991,  1586,  1277,
                                                1024,  820,   655,   526,   423,   335,   272,   215,   172,   137,
                                                110,   87,    70,    56,    45,    36,    29,    23,    18,    15};

}  // namespace

Cpu::Cpu(sc_core::sc_module_name name, const CpuConfig& config, const sim::Context& context,
         const std::optional<SchedRules>& rules)
    : sc_module(name),
      config_(config),
      rules_(rules.value_or(SchedRules::of(config.kernel))),
      sched_(in_force(config, rules_)),
      scaled_(config.stated_clock, config.clock),
      context_(context),
      counters_(std::make_unique<Counters>(context.statistics)),
      next_core_((config.interrupt_core + 1) % std::max(config.cores, 1U)),
      tasklet_turn_(context.loop, 1) {
  // The two ranges cannot say this; the configuration's check refuses it before a platform is built.
  if (config.interrupt_core >= config.cores) throw std::invalid_argument("cpu.interrupt_core must be below cpu.cores");
  balancer_ = std::make_unique<Balancer>(sched_, rules_, context, cores_, counters_->pulls);
  for (unsigned i = 0; i < config.cores; ++i) {
    cores_.push_back(std::make_unique<Core>(*this, i, context.loop.new_core_port(), sched_, rules_));
  }
  memory.register_nb_transport_bw(this, &Cpu::bulk_answer);
  irq_context_ = &add_execution("irq", config.interrupt_core, false, true);
  softirq_context_ = &add_execution("softirq", config.interrupt_core, false, true);
}

Cpu::~Cpu() = default;

Execution& Cpu::new_thread(std::string name, std::optional<unsigned> core, SchedClass sched_class, int nice) {
  if (core && *core >= config_.cores) throw std::invalid_argument("thread " + name + ": there is no such core");
  const unsigned home = core ? *core : balancer_->core_for_new(next_core_);
  if (!core) next_core_ = (next_core_ + 1) % config_.cores;
  Execution& thread = add_execution(std::move(name), home, true, core.has_value());
  thread.entity.sched_class = sched_class;
  thread.entity.weight = kWeights.at(static_cast<std::size_t>(nice + 20));
  return thread;
}

// A stream of draws goes with the name, so that it is the same whatever other threads there are.
Execution& Cpu::add_execution(std::string name, unsigned core, bool thread, bool bound) {
  const auto namesakes = static_cast<std::uint64_t>(std::count_if(
      executions_.begin(), executions_.end(), [&](const auto& execution) { return execution->name() == name; }));
  const sim::RandomStream jitter(context_.seed, "cpu.jitter " + name, namesakes << 32 | context_.node);
  executions_.emplace_back(new Execution(std::move(name), core, thread, bound, jitter));
  return *executions_.back();
}

Time Cpu::drawn(Execution& execution, Time mean) const {
  if (config_.jitter == 0) return mean;
  const auto most = std::llround(config_.jitter * static_cast<double>(mean.count()));
  if (most == 0) return mean;
  const std::uint64_t draw = execution.jitter_.below(2 * static_cast<std::uint64_t>(most) + 1);
  return mean + Time{static_cast<std::int64_t>(draw) - most};
}

Task<void> Cpu::run(Execution& execution, Work kind, Time cost) {
  return run_unscaled(execution, kind, drawn(execution, scaled(cost)));
}

Task<void> Cpu::run_unscaled(Execution& execution, Work kind, Time duration) {
  Request request{execution, kind, duration};
  const Submission done{*this, request};
  co_await done;
}

void Cpu::submit(Request& request) {
  Execution& who = request.who;
  if (!who.thread_) {
    core_of(who).interrupt(request);
    return;
  }
  if (who.request_ != nullptr) throw std::logic_error("thread " + who.name() + " runs twice at once");
  who.request_ = &request;
  if (core_of(who).goes_on(who)) {
    core_of(who).go_on(who);
  } else if (balancer_->wake_up(who, request.waker)) {
    ++counters_->migrations;
  }
}

Task<void> Cpu::sleep(Execution& thread, sim::Signal& signal, Waking how) {
  core_of(thread).leave(thread);
  co_await signal;
  ++counters_->wake_ups;
  // It returns from the system call that it slept in.
  Request back{thread, Work::system, Time{0}};
  if (const auto core = interrupted_core(signal)) back.waker = Waker{*core, how};
  const Submission done{*this, back};
  co_await done;
}

std::optional<unsigned> Cpu::interrupted_core(const sim::Signal& signal) const {
  const Core& core = *cores_[config_.interrupt_core];
  if (signal.notified_from() != core.port() || !core.resumes_interrupt_context()) return std::nullopt;
  return core.number();
}

void Cpu::keeps_core(const Execution& thread) { core_of(thread).keep_for(thread); }

Task<void> Cpu::cond_resched(Execution& thread) {
  if (!core_of(thread).is_others_turn(thread)) co_return;
  Request point{thread, Work::system, Time{0}};
  point.gives_way = true;
  const Submission done{*this, point};
  co_await done;
}

Task<void> Cpu::run_giving_way(Execution& thread, Time cost) {
  Request work{thread, Work::system, scaled(cost)};
  work.gives_way = true;
  const Submission done{*this, work};
  co_await done;
}

Task<void> Cpu::might_sleep(Execution& thread) {
  if (sched_.preemption == Preemption::voluntary) co_await cond_resched(thread);
}

Task<void> Cpu::poll(Execution& thread, sim::Signal& changed, std::function<bool()> predicate,
                     std::function<Time(Time)> seen) {
  Request spin{thread, Work::user, seen ? seen(context_.now()) - context_.now() : config_.poll_latency};
  spin.polling = true;
  // Already true: the first load finds it.
  if (!predicate()) {
    spin.endless = true;
    watchers_.start(watch(changed, predicate, seen, spin));
  }
  const Submission done{*this, spin};
  co_await done;
}

Task<void> Cpu::watch(sim::Signal& changed, const std::function<bool()>& predicate,
                      const std::function<Time(Time)>& seen, Request& spin) {
  do {
    co_await changed;
  } while (!predicate());
  spin.seen_at = seen ? seen(context_.now()) : context_.now() + config_.poll_latency;
  core_of(spin.who).spin_ends();
}

Time Cpu::spent_in(AddressSpaceId space) const {
  Time sum{0};
  for (const auto& each : executions_) {
    if (each->address_space() == space) sum += each->time(Work::user) + each->time(Work::system);
  }
  return sum;
}

CoreSet Cpu::cores_with(AddressSpaceId space) const {
  CoreSet found;
  for (const auto& core : cores_) found[core->number()] = core->loaded_space() == space;
  return found;
}

void Cpu::forget_space(AddressSpaceId space) {
  for (const auto& core : cores_) {
    if (core->loaded_space() == space) core->forget_space();
  }
}

Task<void> Cpu::call_cores(Execution& caller, CoreSet cores, Time cost, bool skips_lazy) {
  cores.reset(caller.core());
  for (const auto& core : cores_) {
    if (!cores.test(core->number()) || !core->is_lazy()) continue;
    if (skips_lazy) {
      cores.reset(core->number());
    } else {
      core->forget_space();
    }
  }
  if (cores.none()) co_return;
  std::size_t awaited = cores.count();
  counters_->calls += awaited;
  Request send{caller, Work::system, drawn(caller, scaled(config_.ipi_send * static_cast<std::int64_t>(awaited)))};
  send.keeps_core = true;
  const Submission sent{*this, send};
  co_await sent;
  Request wait{caller, Work::system, Time{0}};
  wait.endless = true;
  wait.keeps_core = true;
  for (unsigned core = 0; core < cores_.size(); ++core) {
    if (cores.test(core)) watchers_.start(answer(core, cost, awaited, wait));
  }
  const Submission answered{*this, wait};
  co_await answered;
}

Task<void> Cpu::answer(unsigned core, Time cost, std::size_t& awaited, Request& wait) {
  co_await run(call_context(core), Work::irq, config_.ipi_to_handler + cost);
  if (--awaited > 0) co_return;
  wait.seen_at = context_.now() + config_.poll_latency;
  core_of(wait.who).spin_ends();
}

Execution& Cpu::call_context(unsigned core) {
  call_contexts_.resize(cores_.size());
  if (call_contexts_[core] == nullptr) call_contexts_[core] = &add_execution("ipi", core, false, true);
  return *call_contexts_[core];
}

Task<std::uint64_t> Cpu::mmio_read(Execution& execution, Work kind, std::uint64_t address, unsigned bytes) {
  co_await run_unscaled(execution, kind, config_.mmio_read);
  std::uint64_t value = 0;
  access(tlm::TLM_READ_COMMAND, address, value, bytes);
  co_return value;
}

Task<void> Cpu::mmio_write(Execution& execution, Work kind, std::uint64_t address, std::uint64_t value,
                           unsigned bytes) {
  co_await run_unscaled(execution, kind, config_.mmio_write);
  access(tlm::TLM_WRITE_COMMAND, address, value, bytes);
}

void Cpu::mmio_set_up(std::uint64_t address, std::uint64_t value, unsigned bytes) {
  access(tlm::TLM_WRITE_COMMAND, address, value, bytes);
}

void Cpu::access(tlm::tlm_command command, std::uint64_t address, std::uint64_t& value, unsigned bytes) {
  tlm::tlm_generic_payload& payload = context_.payloads.acquire();
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
  payload.set_data_length(bytes);
  payload.set_streaming_width(bytes);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  mmio->b_transport(payload, delay);
  if (!payload.is_response_ok()) {
    ++counters_->mmio_errors;
    value = UINT64_MAX;
  }
  payload.set_data_ptr(nullptr);
  payload.release();
}

Task<void> Cpu::memory_bulk(Execution& execution, Work kind, std::uint64_t physical_address, std::uint64_t bytes,
                            sim::ByteRate rate, bool is_write) {
  const tlm::tlm_command command = is_write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND;
  // DDR must not see the first cells before the core has begun.
  co_await run_unscaled(execution, kind, Time{0});
  while (bytes > 0) {
    const std::uint64_t page_left = sim::kPageBytes - physical_address % sim::kPageBytes;
    const std::uint64_t chunk = std::min(bytes, page_left);
    const auto cells = static_cast<std::uint32_t>(std::max<std::uint64_t>(chunk / sim::kCellBytes, 1));
    const auto cell_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk, sim::kCellBytes));
    tlm::tlm_generic_payload& payload = begin_bulk(command, physical_address, cells, cell_bytes, rate);
    co_await run_unscaled(execution, kind, rate.time_for(cells * cell_bytes));
    // All its cells have arrived there by now, so nothing will put the last one off.
    const Time moved = sim::extension<Moved>(payload).last;
    if (moved > context_.now()) co_await run_unscaled(execution, kind, moved - context_.now());
    payload.release();
    physical_address += std::uint64_t{cells} * cell_bytes;
    bytes -= std::uint64_t{cells} * cell_bytes;
  }
}

tlm::tlm_generic_payload& Cpu::begin_bulk(tlm::tlm_command command, std::uint64_t address, std::uint32_t cells,
                                          std::uint32_t cell_bytes, sim::ByteRate rate) {
  tlm::tlm_generic_payload& payload = context_.payloads.acquire();
  sim::Train& train = sim::train_of(payload);
  train.times = sim::TimeSequence::regular(context_.now(), rate.time_for(cell_bytes), cells);
  train.cell_bytes = cell_bytes;
  auto& axi = sim::extension<soc::AxiAttributes>(payload);
  axi = {};
  axi.bulk = true;
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_length(train.bytes());
  payload.set_streaming_width(train.bytes());
  sim::send_on(memory, payload);
  return payload;
}

tlm::tlm_sync_enum Cpu::bulk_answer(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time&) {
  sim::extension<Moved>(payload).last = std::get<sim::Answers>(message).instants.back();
  return tlm::TLM_ACCEPTED;
}

void Cpu::count_tasklet() { ++counters_->tasklets; }

Time Cpu::charged(unsigned core, Work kind) const { return cores_.at(core)->charged(kind); }

Time Cpu::busy(unsigned core) const { return cores_.at(core)->busy(); }

void Cpu::settle() {
  for (const auto& core : cores_) core->settle();
}

}  // namespace faultline::cpu
