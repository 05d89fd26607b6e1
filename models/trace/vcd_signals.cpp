// SPDX-License-Identifier: Apache-2.0
#include "models/trace/vcd_signals.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace faultline::trace {

using sim::Shape;
using sim::Time;
using sim::Track;

namespace {

constexpr std::uint64_t kHeaderBytes = 4096;  // and of each signal in it
constexpr std::uint64_t kSignalBytes = 128;
constexpr std::uint64_t kInstantBytes = 24;  // "#" and picoseconds
constexpr std::uint64_t kChangeBytes = 40;   // 32 bits and the signal's short name

constexpr const char* kEnd = "end of the recording";

std::string without_suffix(const std::string& file) { return file.substr(0, file.size() - std::string(".vcd").size()); }

}  // namespace

VcdSignals::VcdSignals(sc_core::sc_module_name name, const std::string& file, TraceFilter filter,
                       const sim::EventLoop& loop)
    : sc_module(name),
      path_(file),
      filter_(std::move(filter)),
      loop_(loop),
      file_(sc_core::sc_create_vcd_trace_file(without_suffix(file).c_str())),
      bytes_(kHeaderBytes) {
  file_->set_time_unit(1, sc_core::SC_PS);
  SC_HAS_PROCESS(VcdSignals);
  SC_METHOD(show);
  dont_initialize();
  sensitive << wake_;
}

VcdSignals::~VcdSignals() { close(); }

void VcdSignals::close() {
  if (file_ == nullptr) return;
  sc_core::sc_write_comment(file_, kEnd);
  sc_core::sc_close_vcd_trace_file(std::exchange(file_, nullptr));
}

std::string VcdSignals::finish() {
  close();
  std::ifstream file(path_, std::ios::binary | std::ios::ate);
  file.seekg(-std::min<std::streamoff>(file.tellg(), 64), std::ios::end);
  std::ostringstream last;
  last << file.rdbuf();
  if (last.str().find(kEnd) != std::string::npos) return "";
  // SystemC tells nobody why: what happens to one byte more does.
  const int descriptor = open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const bool is_written = descriptor >= 0 && write(descriptor, "\n", 1) == 1;
  const std::string why = is_written ? "it was cut" : std::strerror(errno);
  if (descriptor >= 0) ::close(descriptor);
  return why;
}

void VcdSignals::add(const Track& track, const std::string& name) {
  if (!filter_.has_node(track.node)) return;
  Signal& signal = signals_[track];
  signal.narrow = track.kind->shape == Shape::link || track.kind->shape == Shape::wire;
  bytes_ += kSignalBytes + name.size();
  if (signal.narrow) {
    sc_core::sc_trace(file_, signal.shown_bit, name);
  } else {
    sc_core::sc_trace(file_, signal.shown, name);
  }
}

void VcdSignals::on_level(Time at, const Track& track, std::uint64_t level) {
  const auto found = signals_.find(track);
  if (found == signals_.end()) return;
  pending_.push({at, sequence_++, &found->second, false, static_cast<std::uint32_t>(level)});
  wake_for(at);
}

void VcdSignals::on_link(const sim::Slice& plan, const void* train) {
  const auto found = signals_.find(plan.track);
  if (found == signals_.end()) return;
  Signal& link = found->second;
  link.plans.announce(plan, train, loop_.now());
  if (plan.begin == plan.end) return look_at(loop_.now(), link);
  look_at(std::max(plan.begin, loop_.now()), link);
  look_at(std::max(plan.end, loop_.now()), link);
}

void VcdSignals::look_at(Time when, Signal& link) {
  pending_.push({when, sequence_++, &link, true, 0});
  wake_for(when);
}

// The loop may be ahead of SystemC's clock, never of an event that waits there.
void VcdSignals::wake_for(Time when) { wake_.notify(sim::to_sc_time(when) - sc_core::sc_time_stamp()); }

void VcdSignals::show() {
  const Time now = sim::from_sc_time(sc_core::sc_time_stamp());
  bytes_ += kInstantBytes;
  while (!pending_.empty() && pending_.top().when <= now) {
    const Change change = pending_.top();
    pending_.pop();
    Signal& signal = *change.signal;
    if (change.is_link) {
      signal.now = signal.plans.is_busy(now) ? 1 : 0;
      signal.plans.over(now, [](const LinkPlans::Plan&) {});
    } else {
      signal.now = change.value;
    }
    if (begun_) show(signal);
  }
  if (!begun_ && now >= filter_.from) {
    begun_ = true;
    for (auto& [track, signal] : signals_) show(signal);
  }
  if (!pending_.empty()) wake_for(pending_.top().when);
}

void VcdSignals::show(Signal& signal) {
  const std::uint32_t before = signal.narrow ? (signal.shown_bit ? 1 : 0) : signal.shown;
  const Time now = sim::from_sc_time(sc_core::sc_time_stamp());
  if (signal.now == before || now > filter_.to || cut_ >= Time{0}) return;
  bytes_ += kChangeBytes;
  if (bytes_ > filter_.limit) {
    cut_ = now;
    return;
  }
  ++changes_;
  signal.shown = signal.now;
  signal.shown_bit = signal.now != 0;
}

}  // namespace faultline::trace
