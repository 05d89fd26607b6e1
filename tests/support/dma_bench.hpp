// SPDX-License-Identifier: Apache-2.0
// Two DMA engines with stand-ins for everything around them: memories of fixed latency whose virtual pages may be
// missing, a network of fixed rate and latency, software that posts by MMIO, and a driver that resolves faults.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/nic/exanest/engine.hpp"
#include "models/nic/exanest/steps.hpp"
#include "models/nic/path/notice.hpp"
#include "models/sim/train_server.hpp"
#include "models/soc/axi.hpp"
#include "tests/support/dma_fabric.hpp"
#include "tests/support/repeater.hpp"

namespace faultline::test {

using sim::Time;
using namespace std::chrono_literals;

// One direction streams a cell in `service` and answers `latency` later. Cells into a missing page get an error.
class PagedMemory : public sc_core::sc_module {
 public:
  struct Access {
    sim::TimeSequence times;  // of its cells
    std::uint64_t address;
    std::uint32_t cells;
    std::uint32_t master_id;
    bool write;
    bool ok;
    sim::TimeSequence responses = {};
  };
  PagedMemory(sc_core::sc_module_name name, const sim::Context& context)
      : sc_module(name), reads("reads"), writes("writes"), context_(context) {
    reads.register_nb_transport_fw(this, &PagedMemory::on_read);
    writes.register_nb_transport_fw(this, &PagedMemory::on_write);
  }
  sim::TargetSocket<PagedMemory> reads;
  sim::TargetSocket<PagedMemory> writes;
  Time read_latency = 300ns;
  Time write_latency = 250ns;
  Time service{106'667};            // 16 beats at 150 MHz
  std::set<std::uint64_t> missing;  // page numbers
  std::vector<Access> accesses;

  // Requires that none is under way.
  void forget_accesses() {
    accesses.clear();
    access_of_.clear();
  }
  // The page is there, for cells from now on, too, that were announced before: they part.
  void appear(std::uint64_t page_number) {
    if (missing.erase(page_number) == 0) return;
    std::vector<tlm::tlm_generic_payload*> coming;
    for (const auto& [payload, index] : access_of_) {
      const Access& access = accesses[index];
      if (access.address / sim::kPageBytes != page_number || access.ok) continue;
      if (access.cells > 0 && access.times.back() >= context_.now()) coming.push_back(payload);
    }
    for (tlm::tlm_generic_payload* payload : coming) part(*payload);
  }

  sim::Content read(std::uint64_t address, std::uint64_t bytes) {
    sim::Content content;
    while (bytes > 0) {
      const auto at = static_cast<std::uint32_t>(address % sim::kPageBytes);
      const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, sim::kPageBytes - at));
      content.append(page(address).slice(at, part));
      address += part;
      bytes -= part;
    }
    return content;
  }
  std::uint64_t word(std::uint64_t address) { return read(address, 8).word(0); }
  void fill(std::uint64_t address, std::uint64_t bytes, std::uint64_t seed) {
    while (bytes > 0) {
      const auto at = static_cast<std::uint32_t>(address % sim::kPageBytes);
      const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, sim::kPageBytes - at));
      page(address).overwrite(at, sim::Content::pattern(seed, address, part));
      address += part;
      bytes -= part;
    }
  }

 private:
  sim::Content& page(std::uint64_t address) {
    const auto [found, made] = pages_.try_emplace(address / sim::kPageBytes);
    if (made) found->second = sim::Content::zeros(sim::kPageBytes);
    return found->second;
  }
  tlm::tlm_sync_enum on_read(tlm::tlm_generic_payload& payload, sim::Message&, sc_core::sc_time&) {
    if (known_.contains(sim::train_of(payload).number)) return recall(payload, read_bus_);
    return take(payload, reads, read_bus_, read_latency);
  }
  tlm::tlm_sync_enum on_write(tlm::tlm_generic_payload& payload, sim::Message&, sc_core::sc_time&) {
    if (known_.contains(sim::train_of(payload).number)) return recall(payload, write_bus_);
    return take(payload, writes, write_bus_, write_latency);
  }
  // The parts of a train for different pages may meet different fates.
  tlm::tlm_sync_enum take(tlm::tlm_generic_payload& payload, sim::TargetSocket<PagedMemory>& socket,
                          sim::TrainServer& bus, Time latency) {
    const std::uint64_t left = sim::kPageBytes - payload.get_address() % sim::kPageBytes;
    const auto in_page = static_cast<std::uint32_t>(left / sim::train_of(payload).cell_bytes);
    tlm::tlm_generic_payload* rest = nullptr;
    if (in_page < sim::train_of(payload).cells()) {
      rest = &cut_off(payload, in_page);
      sim::send_back(socket, payload, sim::Parted{*rest});
    }
    begin(payload, bus, latency);
    answer(socket, payload);
    return rest == nullptr ? tlm::TLM_ACCEPTED : take(*rest, socket, bus, latency);
  }
  // The cells behind them on the bus have been recalled before.
  tlm::tlm_sync_enum recall(tlm::tlm_generic_payload& payload, sim::TrainServer& bus) {
    const sim::Train& train = sim::train_of(payload);
    Access& access = accesses[access_of_[&payload]];
    if (access.cells == train.cells()) return tlm::TLM_ACCEPTED;
    bus.recall(context_.now(), &payload, access.cells - train.cells());
    access.times = train.times;
    access.cells = train.cells();
    return tlm::TLM_ACCEPTED;
  }
  // The payload of the train's cells from `kept` on.
  tlm::tlm_generic_payload& cut_off(tlm::tlm_generic_payload& payload, std::uint32_t kept) {
    sim::Train& train = sim::train_of(payload);
    const std::uint32_t bytes = kept * train.cell_bytes;
    tlm::tlm_generic_payload& rest_payload = context_.payloads.acquire();
    sim::Train& rest = sim::train_of(rest_payload);
    rest.times = train.times.suffix(kept);
    rest.cell_bytes = train.cell_bytes;
    sim::extension<soc::AxiAttributes>(rest_payload) = sim::extension<soc::AxiAttributes>(payload);
    rest_payload.set_command(payload.get_command());
    rest_payload.set_address(payload.get_address() + bytes);
    if (payload.is_write()) {
      rest.content = train.content.slice(bytes, rest.bytes());
      train.content = train.content.slice(0, bytes);
    }
    train.times.drop_back(rest.cells());
    return rest_payload;
  }
  void part(tlm::tlm_generic_payload& payload) {
    Access& access = accesses[access_of_[&payload]];
    sim::Train& train = sim::train_of(payload);
    const std::uint32_t kept = access.times.count_before(context_.now());
    auto& socket = access.write ? writes : reads;
    tlm::tlm_generic_payload& rest_payload = cut_off(payload, kept);
    const sim::Train& rest = sim::train_of(rest_payload);
    (access.write ? write_bus_ : read_bus_).part(context_.now(), &payload, kept, &rest_payload);
    const Access of_rest{rest.times,
                         rest_payload.get_address(),
                         rest.cells(),
                         access.master_id,
                         access.write,
                         true,
                         access.responses.slice(kept, rest.cells())};
    access.times = train.times;
    access.cells = kept;
    access_of_[&rest_payload] = accesses.size();
    known_.insert(rest.number);
    accesses.push_back(of_rest);
    sim::send_back(socket, payload, sim::Answers{kept});
    sim::send_back(socket, payload, sim::Parted{rest_payload});
    answer(socket, rest_payload);
  }
  // The data of cells that reach memory: what is read.
  sim::Content move(tlm::tlm_generic_payload& payload) {
    const sim::Train& train = sim::train_of(payload);
    if (payload.is_read()) return read(payload.get_address(), train.bytes());
    page(payload.get_address())
        .overwrite(static_cast<std::uint32_t>(payload.get_address() % sim::kPageBytes), train.content);
    return {};
  }
  void begin(tlm::tlm_generic_payload& payload, sim::TrainServer& bus, Time latency) {
    const sim::Train& train = sim::train_of(payload);
    const bool ok = !missing.contains(payload.get_address() / sim::kPageBytes);
    const auto& axi = sim::extension<soc::AxiAttributes>(payload);
    access_of_[&payload] = accesses.size();
    known_.insert(train.number);
    accesses.push_back({train.times, payload.get_address(), train.cells(), axi.master_id, payload.is_write(), ok,
                        bus.serve(context_.now(), train.times, service, 0, &payload).shifted(latency)});
  }
  void answer(sim::TargetSocket<PagedMemory>& socket, tlm::tlm_generic_payload& payload) {
    const Access access = accesses[access_of_[&payload]];
    const sim::Content data = access.ok ? move(payload) : sim::Content();
    sim::send_back(
        socket, payload,
        sim::Answers{0, access.responses, access.ok ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE, data});
  }

  const sim::Context& context_;
  sim::TrainServer read_bus_;
  sim::TrainServer write_bus_;
  std::map<tlm::tlm_generic_payload*, std::size_t> access_of_;
  std::set<std::uint64_t> known_;  // numbers of trains
  std::map<std::uint64_t, sim::Content> pages_;
};

class MmioMaster : public sc_core::sc_module {
 public:
  explicit MmioMaster(sc_core::sc_module_name name) : sc_module(name), out("out") {}
  tlm_utils::simple_initiator_socket<MmioMaster> out;

  bool write(std::uint64_t address, std::uint64_t value) { return access(tlm::TLM_WRITE_COMMAND, address, value); }
  std::uint64_t read(std::uint64_t address) {
    std::uint64_t value = 0;
    access(tlm::TLM_READ_COMMAND, address, value);
    return value;
  }
  bool access(tlm::tlm_command command, std::uint64_t address, std::uint64_t& value, unsigned bytes = 8) {
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
    payload.set_data_length(bytes);
    payload.set_streaming_width(bytes);
    sc_core::sc_time delay;
    out->b_transport(payload, delay);
    return payload.is_response_ok();
  }
};

struct DmaPost {
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
  std::uint64_t length = 0;
  sim::NodeId peer = 1;
  std::uint64_t cookie = 1;
  std::uint64_t command = exanest::reg::kCommandWrite;
  unsigned channel = 0;
  std::optional<std::uint32_t> peer_pdid = std::nullopt;  // else that of the peer's process
  bool notify = true;
  exanest::NoticeKind notice = exanest::NoticeKind::none;
  std::uint64_t notice_index = 0;
};

// Where transfers of tests come from and go to.
inline constexpr std::uint64_t kSource = 0x100000;
inline constexpr std::uint64_t kDestination = 0x400000;

class DmaBench : public sim::StepListener {
 public:
  static constexpr std::uint64_t kNotify = 0x9000'0000;
  static constexpr std::uint64_t kRing = 0x9100'0000;
  static constexpr std::uint64_t kSlots = 4;
  // Lanes and lines keep the payloads that they sent last until they send another.
  static constexpr std::size_t kKeptPayloads = 32;
  static constexpr std::uint32_t pdid_of(sim::NodeId node) { return 10 + node; }

  explicit DmaBench(const exanest::EngineConfig& with = {}, std::uint32_t cells_per_train = 16,
                    const std::string& name = "bench", bool repeats = false)
      : config(with), loop((name + "_loop").c_str()), wiring(name, repeats), driver_port_(loop.new_port()) {
    trace.listen(*this);
    for (sim::NodeId n = 0; n < 2; ++n) {
      contexts[n] =
          std::make_unique<sim::Context>(sim::Context{n, loop, payloads, statistics[n], trace, 7, cells_per_train});
    }
    fabric = std::make_unique<Fabric>((name + "_fabric").c_str(), config.receive_buffer, *contexts[0]);
    for (sim::NodeId n = 0; n < 2; ++n) {
      const std::string node = name + std::to_string(n);
      memory[n] = std::make_unique<PagedMemory>((node + "_memory").c_str(), *contexts[n]);
      mmio[n] = std::make_unique<MmioMaster>((node + "_mmio").c_str());
      engine[n] = std::make_unique<exanest::Engine>((node + "_engine").c_str(), config, *contexts[n]);
      wiring.bind(engine[n]->reads, memory[n]->reads);
      wiring.bind(engine[n]->writes, memory[n]->writes);
      wiring.bind(engine[n]->net_out, fabric->in[n]);
      wiring.bind(fabric->out[n], engine[n]->net_in);
      mmio[n]->out.bind(engine[n]->registers);
    }
  }

  // Channels 0 and 1 of each node belong to its process. Registers are reachable once the simulation has started.
  void set_up() {
    run(Time{1});
    for (sim::NodeId n = 0; n < 2; ++n) {
      for (std::uint64_t channel = 0; channel < 2; ++channel) {
        privileged_write(n, exanest::reg::kChannelSelect, channel);
        privileged_write(n, exanest::reg::kChannelPdid, pdid_of(n));
      }
      privileged_write(n, exanest::reg::kChannelSelect, 0);
      privileged_write(n, exanest::reg::kChannelMailbox, kRing);
      privileged_write(n, exanest::reg::kChannelSlots, kSlots);
    }
  }

  std::uint64_t post(sim::NodeId node, const DmaPost& p) {
    const std::uint64_t base = p.channel * exanest::reg::kChannelStride;
    MmioMaster& m = *mmio[node];
    m.write(base + exanest::reg::kSource, p.source);
    m.write(base + exanest::reg::kDestination, p.destination);
    m.write(base + exanest::reg::kLength, p.length);
    m.write(base + exanest::reg::kPeer,
            std::uint64_t{p.peer} | std::uint64_t{p.peer_pdid.value_or(pdid_of(p.peer))} << 32);
    m.write(base + exanest::reg::kNotify, p.notify ? kNotify : 0);
    m.write(base + exanest::reg::kCookie, p.cookie);
    if (p.notice != exanest::NoticeKind::none) {
      m.write(base + exanest::reg::kNotice, static_cast<std::uint64_t>(p.notice) | p.notice_index << 8);
    }
    m.write(base + exanest::reg::kCommand, p.command);
    return m.read(base + exanest::reg::kStatus);
  }
  void send(sim::NodeId node, sim::NodeId to, std::uint64_t kind, const std::vector<std::uint64_t>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) mmio[node]->write(exanest::reg::kMessageWord0 + 8 * i, words[i]);
    mmio[node]->write(exanest::reg::kMessageSend, std::uint64_t{to} | std::uint64_t{pdid_of(to)} << 32 |
                                                      std::uint64_t{words.size()} << 48 | kind << 56);
  }
  void privileged_write(sim::NodeId node, std::uint64_t offset, std::uint64_t value) {
    mmio[node]->write(privileged() + offset, value);
  }
  std::uint64_t privileged_read(sim::NodeId node, std::uint64_t offset) {
    return mmio[node]->read(privileged() + offset);
  }
  std::uint64_t privileged() const { return exanest::reg::kChannelStride * config.channels; }

  void run(Time duration) { sc_core::sc_start(sim::to_sc_time(duration)); }
  Time now() const { return loop.now(); }
  std::uint64_t counted(sim::NodeId node, std::string_view counter) const { return statistics[node].value(counter); }

  // Runs until the notification word of this node is written; false when that takes longer than `most`.
  bool run_to_notification(sim::NodeId node, Time most = 1s) {
    const std::size_t before = all(exanest::step::kNotified).size();
    for (Time spent{0}; spent < most; spent += 50us) {
      run(50us);
      const auto notified = all(exanest::step::kNotified);
      if (notified.size() > before && notified.back().node == node) return true;
    }
    return false;
  }

  std::vector<sim::StepRecord> all(sim::Step step) const {
    std::vector<sim::StepRecord> found;
    std::copy_if(steps.begin(), steps.end(), std::back_inserter(found),
                 [step](const auto& s) { return s.step == step; });
    return found;
  }
  // The only one, or kNever.
  Time at(sim::Step step, const sim::PartKey& key) const {
    Time found = sim::kNever;
    for (const auto& s : steps) {
      if (s.step == step && s.key == key) found = found == sim::kNever ? s.at : Time{-1};
    }
    return found;
  }

  void on_step(const sim::StepRecord& record) override {
    steps.push_back(record);
    if (record.step == exanest::step::kFaultLogged && resolve_after) {
      loop.at<&DmaBench::resolve>(loop.now() + *resolve_after, driver_port_, *this, record.node);
    }
  }

  // The driver and the library in one: each record's page becomes present, its block is requested again.
  std::optional<Time> resolve_after;
  bool pages_appear = true;  // else the page stays missing, and its block is requested again all the same

  exanest::EngineConfig config;
  sim::PayloadPool payloads;
  sim::Trace trace;
  sim::EventLoop loop;
  Wiring wiring;
  std::array<sim::Statistics, 2> statistics;
  std::array<std::unique_ptr<sim::Context>, 2> contexts;
  std::unique_ptr<Fabric> fabric;
  std::array<std::unique_ptr<PagedMemory>, 2> memory;
  std::array<std::unique_ptr<MmioMaster>, 2> mmio;
  std::array<std::unique_ptr<exanest::Engine>, 2> engine;
  std::vector<sim::StepRecord> steps;

 private:
  void resolve(std::uint64_t n) {
    const auto node = static_cast<sim::NodeId>(n);
    while (privileged_read(node, exanest::reg::kFaultCount) > 0) {
      const std::uint64_t page = privileged_read(node, exanest::reg::kFaultWord0);
      const std::uint64_t who = privileged_read(node, exanest::reg::kFaultWord1);
      const std::uint64_t transfer = privileged_read(node, exanest::reg::kFaultWord2);
      const std::uint64_t block = privileged_read(node, exanest::reg::kFaultWord3);
      privileged_write(node, exanest::reg::kFaultPop, 0);
      if (pages_appear) memory[node]->appear(page / sim::kPageBytes);
      send(node, static_cast<sim::NodeId>(who >> 32), exanest::reg::kMessageToNic,
           {exanest::reg::kRetransmit, transfer, block});
    }
  }

  sim::Port driver_port_;
};

inline bool arrived_whole(DmaBench& bench, std::uint64_t length) {
  return bench.memory[1]->read(kDestination, length) == bench.memory[0]->read(kSource, length);
}

}  // namespace faultline::test
