// SPDX-License-Identifier: Apache-2.0
#include "models/soc/ddr.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "models/soc/axi.hpp"

namespace faultline::soc {

using sim::ByteRate;
using sim::Standing;
using sim::Time;
using sim::Train;

namespace {

// Of the requests of one instant the CPU's bulk traffic comes last, as all software does. Of one initiator's, reads
// come before writes, whichever train was there first: so they leave a TBU.
constexpr std::uint32_t kBulkRank = UINT32_MAX;
std::uint32_t rank_of(int inlet, bool write) { return 2 * static_cast<std::uint32_t>(inlet) + (write ? 1 : 0); }

const sim::ProfiledPart kController{"soc::DdrController"};

// The frames' mapping cannot be checked for traffic that was not translated.
std::uint64_t translation_epoch(const tlm::tlm_generic_payload& payload) {
  const AxiAttributes* attributes = payload.get_extension<AxiAttributes>();
  return attributes == nullptr ? AxiAttributes::kUntranslated : attributes->translation_epoch;
}

bool is_bulk(const tlm::tlm_generic_payload& payload) {
  const AxiAttributes* attributes = payload.get_extension<AxiAttributes>();
  return attributes != nullptr && attributes->bulk;
}

}  // namespace

void DdrConfig::declare(sim::ParameterTable& table) {
  const auto group = table.group("ddr");
  table.add_bytes(
      "size", size, {std::uint64_t{1} << 20, std::uint64_t{1} << 40},
      {"memory of one node, from physical address 0 on", "ExaNeSt QFDB: 16 GB a MPSoC", Standing::published});
  table.add_byte_rate(
      "peak_bandwidth", peak_bandwidth, sim::kAnyByteRate,
      {"bandwidth of the DRAM bus", "DDR4-2400 x 64 bit", Standing::derived, {"17.1 GB/s", "19.2 GB/s"}});
  table.add_fraction(
      "efficiency", efficiency, {0.001, 1.0},
      {"share of the peak that traffic can reach", "Manev et al., FPT 2019: 75 % on a ZCU102", Standing::published});
  table.add_time("latency", latency, sim::kAnyTime,
                 {"from the end of a cell's turn at the controller to its response",
                  "assumed: an A53 load takes 145 ns with the core's own path", Standing::assumed});
}

ByteRate DdrConfig::effective_bandwidth() const {
  // Whole parts per million, because no double may decide when something happens. In two parts, so that the products
  // of the fastest memory fit.
  constexpr std::int64_t kMillion = 1'000'000;
  const std::int64_t share = std::llround(efficiency * kMillion);
  const std::int64_t peak = peak_bandwidth.bytes_per_second;
  return ByteRate{peak / kMillion * share + peak % kMillion * share / kMillion};
}

// Events of one instant run in the order of ranks: otherwise a write would be told of, and then be put off by a read.
struct DdrController::Inlet {
  DdrController& owner;
  int id;
  sim::Port reads;
  sim::Port writes;

  void first_arrival(std::uint64_t payload) {
    owner.serve(*this, *reinterpret_cast<tlm::tlm_generic_payload*>(payload));
  }
};

// Where the payload came in, for the way back, and where its first cell goes: its address is the initiator's again once
// it has been answered.
struct DdrController::Arrival : tlm::tlm_extension<Arrival> {
  std::uint64_t train = 0;
  Inlet* inlet = nullptr;
  memory::Address address = 0;
  std::uint32_t cells = 0;  // that were served
  tlm::tlm_response_status status = tlm::TLM_INCOMPLETE_RESPONSE;
  sim::SmallVector<FramePart, 1> by_frame;  // one after the other

  tlm::tlm_extension_base* clone() const override { return new Arrival(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Arrival&>(other); }
};

DdrController::DdrController(sc_core::sc_module_name name, const DdrConfig& config, const sim::Context& context)
    : sc_module(name),
      config_(config),
      context_(context),
      effective_(config.effective_bandwidth()),
      full_cell_(effective_.time_for(sim::kCellBytes)),
      frames_(config.size),
      changes_(context.loop, *this),
      stale_port_(context.loop.new_port()),
      watch_port_(context.loop.new_port()),
      read_bytes_(context.statistics.counter("memory.read_bytes", "B", "read from DDR by devices")),
      written_bytes_(context.statistics.counter("memory.written_bytes", "B", "written to DDR by devices")),
      bulk_bytes_(context.statistics.counter("memory.cpu_bulk_bytes", "B", "zeroed or copied by the CPU")),
      stale_(context.statistics.counter("memory.stale_accesses", "count",
                                        "cells read or written through a translation older than the frame's mapping")),
      address_errors_(context.statistics.counter("memory.address_errors", "count", "requests outside of the memory")) {
  port.register_nb_transport_fw(this, &DdrController::on_request);
  port.register_b_transport(this, &DdrController::on_blocking);
  port.register_transport_dbg(this, &DdrController::on_debug);
  frames_.listen([this](memory::Address frame) { mapping_changed(frame); });
}

DdrController::~DdrController() = default;

void DdrController::end_of_elaboration() {
  for (unsigned id = 0; id < port.size(); ++id) {
    const sim::Port reads = context_.loop.new_port();
    inlets_.push_back(std::make_unique<Inlet>(Inlet{*this, static_cast<int>(id), reads, context_.loop.new_port()}));
  }
}

tlm::tlm_sync_enum DdrController::on_request(int id, tlm::tlm_generic_payload& payload, sim::Message&,
                                             sc_core::sc_time&) {
  const sim::ProfileScope turn(context_.loop.profile(), kController);
  auto& arrival = sim::extension<Arrival>(payload);
  if (!sim::is_new(arrival, sim::train_of(payload))) {
    recall(payload);
    return tlm::TLM_ACCEPTED;
  }
  Inlet& inlet = *inlets_[static_cast<std::size_t>(id)];
  arrival.inlet = &inlet;
  arrival.address = payload.get_address();
  arrival.cells = 0;
  arrival.by_frame.clear();
  const sim::Port event_port = payload.is_write() ? inlet.writes : inlet.reads;
  context_.loop.at<&Inlet::first_arrival>(sim::train_of(payload).times.front(), event_port, inlet,
                                          reinterpret_cast<std::uint64_t>(&payload));
  return tlm::TLM_ACCEPTED;
}

void DdrController::serve(Inlet& inlet, tlm::tlm_generic_payload& payload) {
  Train& train = sim::train_of(payload);
  const bool bulk = is_bulk(payload);
  const std::uint32_t rank = bulk ? kBulkRank : rank_of(inlet.id, payload.is_write());
  const sim::TimeSequence moved = server_.serve(context_.now(), train.times, service(train.cell_bytes), rank, &payload);
  Arrival& arrival = sim::extension<Arrival>(payload);
  arrival.cells = train.cells();
  const bool inside = frames_.contains(payload.get_address(), train.bytes());
  if (!inside) {
    ++address_errors_;
  } else if (bulk) {
    bulk_bytes_ += train.bytes();
  } else {
    count_stale(payload);
    (payload.is_read() ? read_bytes_ : written_bytes_) += train.bytes();
    if (payload.is_write()) write_content(payload);
  }
  arrival.status = inside ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE;
  const bool has_data = inside && !bulk && payload.is_read();
  respond(payload, moved, has_data ? frames_.read(arrival.address, train.bytes()) : sim::kNoContent);
  tell_changed();
}

void DdrController::recall(tlm::tlm_generic_payload& payload) {
  Arrival& arrival = sim::extension<Arrival>(payload);
  const std::uint32_t cells = sim::train_of(payload).cells();
  if (arrival.cells == 0) return;  // the first cell has not arrived
  const std::uint32_t gone = arrival.cells - cells;
  if (gone == 0) return;
  uncount_stale(payload);
  server_.recall(context_.now(), &payload, gone);
  if (arrival.status == tlm::TLM_OK_RESPONSE) {
    (payload.is_read() ? read_bytes_ : written_bytes_) -= std::uint64_t{gone} * sim::train_of(payload).cell_bytes;
  }
  arrival.cells = cells;
  changes_.now();
}

void DdrController::tell_changed() {
  server_.tell_changed([this](void* owner, const sim::TimeSequence& moved) {
    respond(*static_cast<tlm::tlm_generic_payload*>(owner), moved, sim::kNoContent);
  });
}

// The train's last cells, or all, are moved at these instants.
void DdrController::respond(tlm::tlm_generic_payload& payload, const sim::TimeSequence& moved,
                            const sim::Content& data) {
  const Arrival& arrival = sim::extension<Arrival>(payload);
  const bool bulk = is_bulk(payload);
  if (!bulk && payload.is_write() && arrival.status == tlm::TLM_OK_RESPONSE) tell_watchers(payload, moved.back());
  const sim::TimeSequence responses = moved.shifted(bulk ? sim::Time{0} : config_.latency);
  sim::send_back(port[arrival.inlet->id], payload,
                 sim::Answers{arrival.cells - moved.size(), responses, arrival.status, data});
}

void DdrController::watch(memory::Address frame, sim::Signal& written) {
  watches_.push_back({frame == kEveryFrame ? kEveryFrame : frame / sim::kPageBytes, &written});
}

// Events that have been scheduled name watches by their numbers, so that none is taken out.
void DdrController::unwatch(const sim::Signal& written) {
  for (Watch& watch : watches_) {
    if (watch.written == &written) watch = {0, nullptr};
  }
}

// When the train's last cell is moved, whichever frame is watched: those that are get single cells. A longer train
// whose last cell is put off is told both times; who polls looks at the memory again anyway.
void DdrController::tell_watchers(const tlm::tlm_generic_payload& payload, sim::Time moved) {
  const memory::Address first = payload.get_extension<Arrival>()->address;
  const memory::Address last = first + payload.get_extension<Train>()->bytes() - 1;
  const bool all = std::ranges::any_of(watches_, [](const Watch& watch) { return watch.frame == kEveryFrame; });
  if (all) {
    std::erase_if(moving_, [this](const Moving& write) { return write.moved <= context_.now(); });
    moving_.push_back({first / sim::kPageBytes, last / sim::kPageBytes, moved});
  }
  for (std::size_t i = 0; i < watches_.size(); ++i) {
    if (watches_[i].written == nullptr) continue;
    const memory::Address frame = watches_[i].frame;
    if (frame != kEveryFrame && (frame < first / sim::kPageBytes || frame > last / sim::kPageBytes)) continue;
    context_.loop.at<&DdrController::notify_watch>(moved, watch_port_, *this, i);
  }
}

bool DdrController::is_settled(memory::Address frame) const {
  const memory::Address number = frame / sim::kPageBytes;
  return std::ranges::none_of(moving_, [&](const Moving& write) {
    return write.first <= number && number <= write.last && write.moved > context_.now();
  });
}

void DdrController::notify_watch(std::uint64_t index) {
  if (watches_[index].written != nullptr) watches_[index].written->notify_all();
}

void DdrController::count_stale(tlm::tlm_generic_payload& payload) {
  const Time now = context_.now();
  std::erase_if(fresh_, [now](const Fresh& train) { return train.arrivals.back() <= now; });
  const Train& train = sim::train_of(payload);
  Arrival& arrival = sim::extension<Arrival>(payload);
  const std::uint64_t epoch = translation_epoch(payload);
  if (epoch == AxiAttributes::kUntranslated) return;
  bool fresh = false;
  for (std::uint32_t first = 0; first < arrival.cells;) {
    const memory::Address at = arrival.address + std::uint64_t{first} * train.cell_bytes;
    const std::uint32_t in_frame =
        static_cast<std::uint32_t>(sim::kPageBytes - at % sim::kPageBytes) / train.cell_bytes;
    assert(in_frame > 0);  // no cell lies in two frames
    const std::uint32_t end = first + std::min(in_frame, arrival.cells - first);
    const bool stale = frames_.is_stale(at, epoch);
    arrival.by_frame.push_back({at / sim::kPageBytes, first, end, stale ? first : end});
    if (stale) {
      stale_ += end - first;
      tell_stale(payload, train.times, first, end);
    }
    fresh = fresh || !stale;
    first = end;
  }
  if (fresh && arrival.cells > 1) fresh_.push_back({&payload, train.times});
}

// By software, which comes after the cells of the instant. It concerns the train's later cells.
void DdrController::mapping_changed(memory::Address frame) {
  std::erase_if(fresh_, [&](const Fresh& train) {
    const std::uint32_t arrived = train.arrivals.count_by(context_.now());
    if (arrived == train.arrivals.size()) return true;
    for (FramePart& part : sim::extension<Arrival>(*train.payload).by_frame) {
      const std::uint32_t from = std::max(part.first, arrived);
      if (part.frame != frame / sim::kPageBytes || from >= part.stale_from) continue;
      stale_ += part.stale_from - from;
      tell_stale(*train.payload, train.arrivals, from, part.stale_from);
      part.stale_from = from;
    }
    return false;
  });
}

void DdrController::uncount_stale(tlm::tlm_generic_payload& payload) {
  const std::uint32_t kept = sim::train_of(payload).cells();
  for (FramePart& part : sim::extension<Arrival>(payload).by_frame) {
    const std::uint32_t end = std::min(part.end, kept);
    if (part.stale_from < part.end) stale_ -= part.end - std::max(end, part.stale_from);
    part.stale_from = std::min(part.stale_from, end);
    part.end = end;
  }
  std::erase_if(coming_, [&](const Coming& each) { return each.payload == &payload && each.number >= kept; });
  const auto fresh = std::find_if(fresh_.begin(), fresh_.end(), [&](const Fresh& t) { return t.payload == &payload; });
  if (fresh != fresh_.end()) fresh->arrivals = sim::train_of(payload).times;
}

void DdrController::tell_stale(tlm::tlm_generic_payload& payload, const sim::TimeSequence& arrivals,
                               std::uint32_t first, std::uint32_t end) {
  if (!on_stale_) return;
  const std::uint32_t bytes = sim::train_of(payload).cell_bytes;
  const memory::Address begin = sim::extension<Arrival>(payload).address;
  for (std::uint32_t i = first; i < end; ++i) {
    const std::uint32_t master = payload.get_extension<AxiAttributes>()->master_id;
    const Time at = arrivals.at(i);
    coming_.push_back({&payload, i, at, {begin + std::uint64_t{i} * bytes, bytes, payload.is_write(), master}});
    if (at > context_.now()) context_.loop.at<&DdrController::tell_stale_cells>(at, stale_port_, *this);
  }
  tell_stale_cells();
}

void DdrController::tell_stale_cells() {
  std::erase_if(coming_, [this](const Coming& each) {
    if (each.at > context_.now()) return false;
    on_stale_(each.cell);
    return true;
  });
}

// No content where only timing matters: the bytes then stay as they are.
void DdrController::write_content(tlm::tlm_generic_payload& payload) {
  const Train& train = sim::train_of(payload);
  frames_.write(payload.get_address(), train.content);
}

void DdrController::on_blocking(int, tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
  const std::uint32_t length = payload.get_data_length();
  if (!frames_.contains(payload.get_address(), length)) {
    ++address_errors_;
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  } else if (payload.get_byte_enable_ptr() != nullptr) {
    payload.set_response_status(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
  } else if (length == 0 || payload.get_streaming_width() < length) {
    payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
  } else {
    move_bytes(payload, length);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
}

unsigned DdrController::on_debug(int, tlm::tlm_generic_payload& payload) {
  if (payload.get_address() >= config_.size) return 0;
  const std::uint64_t left = config_.size - payload.get_address();
  const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(payload.get_data_length(), left));
  move_bytes(payload, bytes);
  return bytes;
}

// The payload's first bytes, by words of at most 8 that lie in one page each.
void DdrController::move_bytes(tlm::tlm_generic_payload& payload, std::uint32_t bytes) {
  unsigned char* data = payload.get_data_ptr();
  for (std::uint32_t done = 0; done < bytes;) {
    const memory::Address at = payload.get_address() + done;
    const std::uint32_t length = std::min<std::uint32_t>(8 - at % 8, bytes - done);
    // Simulated memory is little-endian, and so is every host that this runs on.
    std::uint64_t value = 0;
    if (payload.is_read()) {
      value = length == 8 ? frames_.read_word(at) : frames_.read(at, length).word(0, length);
      std::memcpy(data + done, &value, length);
    } else if (payload.is_write()) {
      std::memcpy(&value, data + done, length);
      if (length == 8) {
        frames_.write_word(at, value);
      } else {
        frames_.write(at, sim::Content::literal(value, length));
      }
    }
    done += length;
  }
}

}  // namespace faultline::soc
