// SPDX-License-Identifier: Apache-2.0
// An SMMU with masters on its TBUs, a memory of fixed latency behind it, page tables in that memory and
// a recorder on its interrupt line.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/memory/frame_store.hpp"
#include "models/sim/context.hpp"
#include "models/smmu/descriptors.hpp"
#include "models/smmu/smmu.hpp"
#include "models/soc/axi.hpp"

namespace faultline::test {

using namespace std::chrono_literals;
using sim::Time;
using sim::TimeSequence;
namespace reg = smmu::reg;

// Answers `latency` after each cell; reads memory when the first cell arrives, as the controller does.
class SmmuMemory : public sc_core::sc_module {
 public:
  struct Seen {
    std::uint64_t address;
    bool write;
    TimeSequence times;
    std::uint64_t epoch;
    tlm::tlm_generic_payload* payload;
    std::uint64_t train;  // its number
  };
  SmmuMemory(sc_core::sc_module_name name, const sim::Context& context, memory::FrameStore& store, Time response_time)
      : sc_module(name),
        in("in"),
        latency(response_time),
        context_(context),
        store_(store),
        port_(context.loop.new_port()) {
    in.register_nb_transport_fw(this, &SmmuMemory::on_request);
  }
  sim::TargetSocket<SmmuMemory> in;
  Time latency;
  std::vector<Seen> seen;

  // As a memory whose server somebody else takes: the answer to the last request, of one cell, is not what was told.
  void withdraw_answer() { sim::send_back(in, *seen.back().payload, sim::Answers{0}); }
  void answer_again(Time when) {
    sim::send_back(in, *seen.back().payload, sim::Answers{0, TimeSequence::single(when)});
  }

 private:
  tlm::tlm_sync_enum on_request(tlm::tlm_generic_payload& payload, sim::Message&, sc_core::sc_time&) {
    const sim::Train& train = sim::train_of(payload);
    const auto known = std::find_if(seen.rbegin(), seen.rend(), [&](const Seen& s) { return s.train == train.number; });
    if (known != seen.rend()) {
      known->times = train.times;
      return tlm::TLM_ACCEPTED;
    }
    seen.push_back({payload.get_address(), payload.is_write(), train.times,
                    payload.get_extension<soc::AxiAttributes>()->translation_epoch, &payload, train.number});
    context_.loop.at<&SmmuMemory::serve>(train.times.front(), port_, *this, reinterpret_cast<std::uint64_t>(&payload));
    return tlm::TLM_ACCEPTED;
  }
  void serve(std::uint64_t argument) {
    auto& payload = *reinterpret_cast<tlm::tlm_generic_payload*>(argument);
    const sim::Train& train = sim::train_of(payload);
    const bool there = store_.contains(payload.get_address(), train.bytes());
    sim::Content data;
    if (there && payload.is_read() && train.cell_bytes == 8) {
      data = sim::Content::literal(store_.read_word(payload.get_address()), 8);
    } else if (there && payload.is_read()) {
      data = store_.read(payload.get_address(), train.bytes());
    }
    sim::send_back(in, payload,
                   sim::Answers{0, train.times.shifted(latency),
                                there ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE, data});
  }

  const sim::Context& context_;
  memory::FrameStore& store_;
  sim::Port port_;
};

// What came back for one train of one cell or more, cell by cell.
struct Answer {
  std::vector<Time> at;
  tlm::tlm_response_status status = tlm::TLM_INCOMPLETE_RESPONSE;
  sim::Content content;
};

class SmmuMaster : public sc_core::sc_module {
 public:
  SmmuMaster(sc_core::sc_module_name name, const sim::Context& context)
      : sc_module(name), out("out"), context_(context) {
    out.register_nb_transport_bw(this, &SmmuMaster::on_response);
  }
  sim::InitiatorSocket<SmmuMaster> out;

  // The answer is filled in when it comes; the reference stays valid.
  Answer& send(bool write, std::uint64_t va, const TimeSequence& times, std::uint32_t cell_bytes,
               std::uint32_t master_id) {
    Answer& answer = answers_.emplace_back();
    answer.at.resize(times.size(), sim::kNever);
    for (std::uint32_t begin = 0; begin < times.size(); begin += context_.cells_per_train) {
      tlm::tlm_generic_payload& payload = context_.payloads.acquire();
      sim::Train& train = sim::train_of(payload);
      train.times = times.slice(begin, std::min(context_.cells_per_train, times.size() - begin));
      train.cell_bytes = cell_bytes;
      if (write) train.content = sim::Content::pattern(1, 0, train.bytes());
      payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
      payload.set_address(va + std::uint64_t{begin} * cell_bytes);
      payload.set_data_length(train.bytes());
      sim::extension<soc::AxiAttributes>(payload).master_id = master_id;
      open_[&payload] = {&answer, begin};
      sim::send_on(out, payload);
    }
    return answer;
  }

 private:
  struct Open {
    Answer* answer;
    std::uint32_t first_cell;
  };
  tlm::tlm_sync_enum on_response(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time&) {
    const Open open = open_.at(&payload);
    if (const auto* parted = std::get_if<sim::Parted>(&message)) {
      open_[&parted->rest] = {open.answer, open.first_cell + sim::train_of(payload).cells()};
      return tlm::TLM_ACCEPTED;
    }
    const auto& answers = std::get<sim::Answers>(message);
    if (answers.instants.empty()) return tlm::TLM_ACCEPTED;
    for (std::uint32_t i = 0; i < answers.instants.size(); ++i)
      open.answer->at[open.first_cell + answers.from + i] = answers.instants.at(i);
    open.answer->status = answers.status;
    if (!answers.data.empty()) open.answer->content = answers.data;
    return tlm::TLM_ACCEPTED;  // what has been said may change until it happens: the payload stays ours
  }

  const sim::Context& context_;
  std::map<tlm::tlm_generic_payload*, Open> open_;
  std::deque<Answer> answers_;
};

class LineRecorder : public sc_core::sc_module, private cpu::InterruptSink {
 public:
  struct Edge {
    Time at;
    unsigned line;
    bool high;
    bool operator==(const Edge&) const = default;
  };
  LineRecorder(sc_core::sc_module_name name, const sim::Context& context)
      : sc_module(name), lines("lines"), context_(context) {
    lines.bind(*this);
  }
  sc_core::sc_export<cpu::InterruptSink> lines;
  std::vector<Edge> edges;
  bool high() const { return !edges.empty() && edges.back().high; }

 private:
  void set_level(unsigned line, bool high) override { edges.push_back({context_.now(), line, high}); }
  const sim::Context& context_;
};

// The CPU's port to the register file.
struct RegisterAccess : sc_core::sc_module {
  explicit RegisterAccess(sc_core::sc_module_name name) : sc_module(name), out("out") {}
  tlm_utils::simple_initiator_socket<RegisterAccess> out;
};

struct SmmuBench {
  static constexpr std::uint64_t kUserPage =
      smmu::descriptor::kUser | smmu::descriptor::kAccessed | smmu::descriptor::kNotGlobal;
  static constexpr std::uint64_t kMemoryBytes = std::uint64_t{4} << 30;
  static constexpr std::uint64_t kTables = std::uint64_t{1} << 20;

  explicit SmmuBench(const smmu::SmmuConfig& smmu_config = {}, std::uint32_t cells_per_train = 16,
                     const std::string& prefix = "")
      : config(smmu_config),
        loop((prefix + "loop").c_str()),
        context{0, loop, payloads, statistics, trace, 1, cells_per_train},
        frames(kMemoryBytes),
        dut((prefix + "smmu").c_str(), config, context, frames),
        ddr((prefix + "ddr").c_str(), context, frames, 200ns),
        tables((prefix + "tables").c_str(), context, frames, 150ns - config.walk_read_path),
        line((prefix + "line").c_str(), context),
        mmio((prefix + "mmio").c_str()) {
    for (unsigned n = 0; n < smmu::kTbus; ++n) {
      masters.push_back(std::make_unique<SmmuMaster>((prefix + "master" + std::to_string(n)).c_str(), context));
      masters.back()->out.bind(dut.upstream[n]);
    }
    dut.downstream.bind(ddr.in);
    dut.walker.bind(tables.in);
    dut.interrupt.bind(line.lines);
    mmio.out.bind(dut.registers);
  }

  // --- registers ---
  tlm::tlm_response_status access(tlm::tlm_command command, std::uint64_t at, std::uint64_t& value, unsigned bytes) {
    tlm::tlm_generic_payload payload;
    std::array<unsigned char, 8> data{};
    std::memcpy(data.data(), &value, 8);
    payload.set_command(command);
    payload.set_address(at);
    payload.set_data_ptr(data.data());
    payload.set_data_length(bytes);
    sc_core::sc_time delay;
    mmio.out->b_transport(payload, delay);
    if (payload.is_read()) {
      value = 0;
      std::memcpy(&value, data.data(), bytes);
    }
    return payload.get_response_status();
  }
  void write(std::uint64_t at, std::uint64_t value, unsigned bytes = 4) {
    REQUIRE(access(tlm::TLM_WRITE_COMMAND, at, value, bytes) == tlm::TLM_OK_RESPONSE);
  }
  std::uint64_t read(std::uint64_t at, unsigned bytes = 4) {
    std::uint64_t value = 0;
    REQUIRE(access(tlm::TLM_READ_COMMAND, at, value, bytes) == tlm::TLM_OK_RESPONSE);
    return value;
  }
  static std::uint64_t cb(unsigned bank, std::uint64_t offset) { return reg::context_bank(bank) + offset; }

  static constexpr std::uint32_t kTerminate =
      reg::sctlr::kM | reg::sctlr::kCFRE | reg::sctlr::kCFIE | reg::sctlr::kHUPCF;
  static constexpr std::uint32_t kStall = kTerminate | reg::sctlr::kCFCFG;

  // Streams with this master id, of every TBU, go to the bank; its tables have their root at `root`.
  void set_up_bank(unsigned bank, std::uint32_t master_id, std::uint64_t root, unsigned va_bits = 39,
                   std::uint32_t sctlr = kTerminate, std::uint16_t asid = 1) {
    write(reg::smr(bank), reg::smr_field::kValid | 0x7c00u << reg::smr_field::kMaskShift | master_id);
    write(reg::s2cr(bank), reg::s2cr_field::kTypeTranslate | bank);
    write(reg::cbar(bank), reg::cbar_field::kTypeStage1);
    write(reg::cba2r(bank), reg::cba2r_field::kVA64);
    write(cb(bank, reg::cb::kTTBR0), root | std::uint64_t{asid} << reg::ttbr::kAsidShift, 8);
    write(cb(bank, reg::cb::kTCR), 64 - va_bits);
    write(cb(bank, reg::cb::kSCTLR), sctlr);
    write(reg::kSCR0, reg::scr0::kGFRE | reg::scr0::kGFIE | reg::scr0::kUSFCFG);
    roots[root] = va_bits;
  }

  // --- page tables: the root of each is a page that the caller chooses below kTables ---
  // The address of the descriptor for `va` at `level`; missing tables are made.
  std::uint64_t descriptor_at(std::uint64_t root, std::uint64_t va, unsigned level) {
    std::uint64_t table = root;
    for (unsigned l = smmu::start_level(roots.at(root)); l < level; ++l) {
      const std::uint64_t at = table + 8 * smmu::level_index(va, l);
      std::uint64_t entry = frames.read_word(at);
      if ((entry & 3) != 3) {
        entry = next_table | smmu::descriptor::kValid | smmu::descriptor::kTableOrPage;
        next_table += sim::kPageBytes;
        frames.write_word(at, entry);
      }
      table = entry & smmu::descriptor::kAddressMask;
    }
    return table + 8 * smmu::level_index(va, level);
  }
  void map(std::uint64_t root, std::uint64_t va, std::uint64_t pa, std::uint64_t flags = kUserPage,
           unsigned level = 3) {
    const std::uint64_t kind = smmu::descriptor::kValid | (level == 3 ? smmu::descriptor::kTableOrPage : 0);
    frames.write_word(descriptor_at(root, va, level), pa | flags | kind);
  }
  void unmap(std::uint64_t root, std::uint64_t va, unsigned level = 3) {
    frames.write_word(descriptor_at(root, va, level), 0);
  }

  // --- traffic ---
  Answer& send(unsigned tbu, bool write_access, std::uint64_t va, const TimeSequence& times,
               std::uint32_t master_id = 0, std::uint32_t cell_bytes = 256) {
    return masters[tbu]->send(write_access, va, times, cell_bytes, master_id);
  }
  Answer& read_cell(unsigned tbu, std::uint64_t va, Time at, std::uint32_t master_id = 0) {
    return send(tbu, false, va, TimeSequence::single(at), master_id);
  }
  Answer& write_cell(unsigned tbu, std::uint64_t va, Time at, std::uint32_t master_id = 0) {
    return send(tbu, true, va, TimeSequence::single(at), master_id);
  }
  void run_until(Time t) { sc_core::sc_start(sim::to_sc_time(t - context.now())); }
  void run(Time duration) { run_until(context.now() + duration); }

  // --- instants, from the configuration ---
  Time cycles(unsigned n) const { return config.clock.cycles(n); }
  Time hit() const { return cycles(config.tbu_hit_cycles); }
  Time to_tbu() const { return cycles(config.tcu_to_tbu_cycles); }
  Time termination() const { return cycles(config.termination_cycles); }
  // From the TBU's miss to the TCU's macro TLB having answered, and on to the TBU.
  Time tcu_lookup() const { return cycles(config.tbu_to_tcu_cycles) + cycles(config.macro_tlb_cycles); }
  Time macro_done(Time in) const { return in + hit() + tcu_lookup() + to_tbu(); }
  Time table_read() const { return tables.latency + config.walk_read_path; }
  // When a walk of `reads` descriptors ends in the TCU, for a burst that came at `in`.
  Time walk_end(Time in, unsigned reads) const {
    return in + hit() + tcu_lookup() + cycles(config.walk_cache_cycles) + reads * table_read();
  }
  Time walk_done(Time in, unsigned reads) const { return walk_end(in, reads) + to_tbu(); }
  std::uint64_t count(const char* name) const { return statistics.value(std::string("smmu.") + name); }

  smmu::SmmuConfig config;
  sim::PayloadPool payloads;
  sim::Statistics statistics;
  sim::Trace trace;
  sim::EventLoop loop;
  sim::Context context;
  memory::FrameStore frames;
  smmu::Smmu dut;
  SmmuMemory ddr;
  SmmuMemory tables;
  LineRecorder line;
  RegisterAccess mmio;
  std::vector<std::unique_ptr<SmmuMaster>> masters;
  std::map<std::uint64_t, unsigned> roots;  // VA bits of the tables with this root
  std::uint64_t next_table = kTables;
};

}  // namespace faultline::test
