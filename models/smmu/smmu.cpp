// SPDX-License-Identifier: Apache-2.0
#include "models/smmu/smmu.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <vector>

#include "models/sim/drain.hpp"
#include "models/sim/recycling.hpp"
#include "models/smmu/register_file.hpp"
#include "models/smmu/state.hpp"
#include "models/smmu/tbu.hpp"
#include "models/smmu/tcu.hpp"

namespace faultline::smmu {

using sim::Time;

namespace {

const sim::ProfiledPart kTbu{"smmu::Tbu"};
const sim::ProfiledPart kTcu{"smmu::Tcu"};
const sim::ProfiledPart kRegisters{"smmu::RegisterFile"};

}  // namespace

// The parts and what connects them.
struct Smmu::Parts final : Ports, Maintenance {
  struct DvmSync {
    unsigned user;  // of the drain; successive
    bool busy = false;
    bool arrived = false;
    Time arrives{0};
  };
  // A DVM message on its way: an operation, or a Sync that follows those before it.
  struct Broadcast {
    Invalidation what;
    DvmSync* sync;
  };

  Parts(Smmu& owner, const SmmuConfig& config, const sim::Context& context, const memory::FrameStore& truth)
      : module(owner),
        state(config, context, *this),
        drain(config.context_banks + 1),
        tcu(state, truth),
        register_file(state, *this),
        dvm_port(context.loop.new_port()) {
    for (unsigned n = 0; n < kTbus; ++n) {
      tbus.push_back(std::make_unique<Tbu>(n, state, tcu, drain));
      tcu.add(*tbus.back());
    }
  }

  void forward(tlm::tlm_generic_payload& request) override { sim::send_on(module.downstream, request); }
  void recall(tlm::tlm_generic_payload& request, std::uint32_t from) override {
    sim::send_on(module.downstream, request, {from});
  }
  void tell(unsigned tbu, tlm::tlm_generic_payload& train, const sim::Message& message) override {
    sim::send_back(module.upstream[tbu], train, message);
  }
  void read_descriptor(tlm::tlm_generic_payload& request) override { sim::send_on(module.walker, request); }

  void invalidate(const Invalidation& what) override {
    ++state.counters.tlb_invalidations;
    tcu.invalidate(what);
    for (auto& tbu : tbus) tbu->invalidate(what);
  }
  void registers_changed() override { reconsider(); }
  void reconsider() {
    for (auto& tbu : tbus) tbu->reconsider();
  }
  void start_sync(unsigned user) override {
    ++state.counters.tlb_syncs;
    drain.start(user, state.context.now() + state.config.tlb_sync);
  }
  bool sync_active(unsigned user) const override { return drain.active(user, state.context.now()); }
  void resume(unsigned bank, bool terminate) override {
    state.banks[bank].resumed();
    for (auto& tbu : tbus) tbu->resume(bank, terminate);
    bank_changed(bank);
  }
  void bank_changed(unsigned bank) override {
    if (!state.banks[bank].holds_off()) {
      for (auto& tbu : tbus) tbu->let_go(bank);
    }
    state.update_interrupt();
  }

  bool hears_broadcasts() const { return (state.scr0 & reg::scr0::kPTM) == 0; }
  void broadcast(const Invalidation& what) {
    if (hears_broadcasts()) send({what, nullptr});
  }
  void send(const Broadcast& broadcast) {
    broadcasts.push_back(broadcast);
    state.context.loop.at<&Parts::broadcast_arrived>(state.context.now() + state.config.dvm_invalidate_latency,
                                                     dvm_port, *this);
  }
  void broadcast_arrived() {
    const Broadcast broadcast = broadcasts.front();
    broadcasts.pop_front();
    if (broadcast.sync == nullptr) {
      invalidate(broadcast.what);
    } else {
      broadcast.sync->arrived = true;
      reconsider();  // it does not wait for what has not arrived
      drain.start(broadcast.sync->user, state.context.now());
    }
  }

  unsigned start_sync() {
    const auto idle = std::find_if(dvm_syncs.begin(), dvm_syncs.end(), [](const DvmSync& s) { return !s.busy; });
    DvmSync& sync = idle != dvm_syncs.end() ? *idle : dvm_syncs.emplace_back(DvmSync{.user = drain.add_user()});
    sync.busy = true;
    sync.arrived = !hears_broadcasts();
    sync.arrives = state.context.now() + state.config.dvm_invalidate_latency;
    if (!sync.arrived) send({{}, &sync});
    return sync.user - dvm_syncs.front().user;
  }
  Time sync_end(unsigned number) {
    DvmSync& sync = dvm_syncs[number];
    const Time now = state.context.now();
    // The TCU looks once a cycle.
    const Time again = now + state.config.clock.cycles(1);
    if (!sync.arrived) return sync.arrives > now ? sync.arrives : again;
    const Time end = drain.end(sync.user);
    if (end == sim::kNever) return again;
    if (end <= now) sync.busy = false;
    return end;
  }

  Smmu& module;
  State state;
  sim::Drain drain;
  Tcu tcu;
  RegisterFile register_file;
  std::vector<std::unique_ptr<Tbu>> tbus;
  const sim::Port dvm_port;
  sim::Deque<Broadcast> broadcasts;  // on their way; all take equally long
  std::deque<DvmSync> dvm_syncs;
};

Smmu::Smmu(sc_core::sc_module_name name, const SmmuConfig& config, const sim::Context& context,
           const memory::FrameStore& truth)
    : sc_module(name),
      upstream("upstream", kTbus),
      downstream("downstream"),
      walker("walker"),
      registers("registers"),
      dvm("dvm"),
      interrupt("interrupt"),
      parts_(std::make_unique<Parts>(*this, config, context, truth)) {
  for (unsigned n = 0; n < kTbus; ++n) upstream[n].register_nb_transport_fw(this, &Smmu::accept, static_cast<int>(n));
  downstream.register_nb_transport_bw(this, &Smmu::downstream_answer);
  walker.register_nb_transport_bw(this, &Smmu::walker_answer);
  registers.register_b_transport(this, &Smmu::access_register);
  dvm.bind(*this);
}

Smmu::~Smmu() = default;

const ContextBank* Smmu::bank_of(std::uint16_t asid) const {
  const auto& banks = parts_->state.banks;
  const auto found = std::find_if(banks.begin(), banks.end(), [&](const ContextBank& bank) {
    return bank.translates() && bank.tag().asid == asid;
  });
  return found == banks.end() ? nullptr : &*found;
}

std::optional<Leaf> Smmu::micro_tlb_entry(const Tag& tag, std::uint64_t va) const {
  for (const auto& tbu : parts_->tbus) {
    if (const auto leaf = tbu->peek(tag, va)) return leaf;
  }
  return std::nullopt;
}

std::optional<Leaf> Smmu::macro_tlb_entry(const Tag& tag, std::uint64_t va) const { return parts_->tcu.peek(tag, va); }

std::uint64_t Smmu::tlb_changes() const {
  std::uint64_t changes = parts_->tcu.tlb_changes();
  for (const auto& tbu : parts_->tbus) changes += tbu->tlb_changes();
  return changes;
}

void Smmu::observe_faults(FaultObserver& observer) { parts_->state.fault_observer = &observer; }

void Smmu::end_of_elaboration() {
  if (interrupt.size() > 0) parts_->state.interrupt = interrupt[0];
}

tlm::tlm_sync_enum Smmu::accept(int tbu, tlm::tlm_generic_payload& payload, sim::Message&, sc_core::sc_time&) {
  const sim::ProfileScope turn(parts_->state.context.loop.profile(), kTbu);
  parts_->tbus[static_cast<std::size_t>(tbu)]->accept(payload);
  return tlm::TLM_ACCEPTED;
}

// Memory parts no train: those over page boundaries have parted here.
tlm::tlm_sync_enum Smmu::downstream_answer(tlm::tlm_generic_payload& request, sim::Message& message,
                                           sc_core::sc_time&) {
  const sim::ProfileScope turn(parts_->state.context.loop.profile(), kTbu);
  parts_->tbus[Tbu::index_of(request)]->answer(request, std::get<sim::Answers>(message));
  return tlm::TLM_ACCEPTED;
}

tlm::tlm_sync_enum Smmu::walker_answer(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time&) {
  const sim::ProfileScope turn(parts_->state.context.loop.profile(), kTcu);
  parts_->tcu.descriptor_answer(payload, std::get<sim::Answers>(message));
  return tlm::TLM_ACCEPTED;
}

void Smmu::access_register(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
  const sim::ProfileScope turn(parts_->state.context.loop.profile(), kRegisters);
  const std::uint64_t at = payload.get_address();
  const unsigned bytes = payload.get_data_length();
  if (at >= reg::kWindowBytes) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  if ((bytes != 4 && bytes != 8) || (at & (bytes - 1)) != 0) {
    payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    return;
  }
  // Registers are little-endian, and so is every host that this runs on.
  std::uint64_t value = 0;
  bool done = false;
  if (payload.is_read()) {
    done = parts_->register_file.read(at, bytes, value);
    std::memcpy(payload.get_data_ptr(), &value, bytes);
  } else {
    std::memcpy(&value, payload.get_data_ptr(), bytes);
    done = parts_->register_file.write(at, bytes, value);
  }
  payload.set_response_status(done ? tlm::TLM_OK_RESPONSE : tlm::TLM_BURST_ERROR_RESPONSE);
}

void Smmu::tlbi_va(std::uint16_t asid, std::uint64_t va) {
  parts_->broadcast({Invalidation::Scope::address, {asid, 0}, va, false});
}
void Smmu::tlbi_asid(std::uint16_t asid) { parts_->broadcast({Invalidation::Scope::asid, {asid, 0}, 0, false}); }
void Smmu::tlbi_all() { parts_->broadcast({Invalidation::Scope::vmid, {0, 0}, 0, false}); }
unsigned Smmu::start_sync() { return parts_->start_sync(); }
Time Smmu::sync_end(unsigned sync) { return parts_->sync_end(sync); }

}  // namespace faultline::smmu
