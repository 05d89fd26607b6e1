// SPDX-License-Identifier: Apache-2.0
#include "models/trace/perfetto_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <protozero/pbf_writer.hpp>
#include <stdexcept>

namespace faultline::trace {
namespace {

using protozero::pbf_writer;

// Numbers of protos/perfetto/trace/*.proto, by message.
namespace field {
constexpr unsigned kTracePacket = 1;

constexpr unsigned kTimestamp = 8;
constexpr unsigned kSequenceId = 10;
constexpr unsigned kTrackEvent = 11;
constexpr unsigned kInternedData = 12;
constexpr unsigned kSequenceFlags = 13;
constexpr unsigned kTrackDescriptor = 60;

constexpr unsigned kUuid = 1;
constexpr unsigned kTrackName = 2;
constexpr unsigned kProcess = 3;
constexpr unsigned kParentUuid = 5;
constexpr unsigned kCounter = 8;
constexpr unsigned kChildOrdering = 11;
constexpr unsigned kSiblingRank = 12;

constexpr unsigned kPid = 1;
constexpr unsigned kProcessName = 6;
constexpr unsigned kCounterUnit = 3;

constexpr unsigned kCategoryNumber = 3;
constexpr unsigned kDebugAnnotation = 4;
constexpr unsigned kType = 9;
constexpr unsigned kNameNumber = 10;
constexpr unsigned kTrackUuid = 11;
constexpr unsigned kEventName = 23;
constexpr unsigned kCounterValue = 30;
constexpr unsigned kFlows = 47;
constexpr unsigned kEndingFlows = 48;

constexpr unsigned kAnnotationName = 1;
constexpr unsigned kAnnotationUnsigned = 3;
constexpr unsigned kAnnotationText = 6;
constexpr unsigned kAnnotationPointer = 7;

constexpr unsigned kEventCategories = 1;  // of InternedData
constexpr unsigned kEventNames = 2;
constexpr unsigned kAnnotationNames = 3;
constexpr unsigned kInternedNumber = 1;
constexpr unsigned kInternedText = 2;
}  // namespace field

enum EventType : unsigned { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounterType = 4 };

constexpr std::uint32_t kSequence = 1;
constexpr std::uint32_t kStateCleared = 1;
constexpr std::uint32_t kNeedsState = 2;
constexpr std::uint32_t kExplicitOrder = 3;
constexpr std::size_t kChunk = 256 * 1024;
constexpr std::size_t kMostArguments = 8;

}  // namespace

PerfettoFile::PerfettoFile(const std::string& path) {
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) throw std::runtime_error(path + ": cannot be written: " + std::strerror(errno));
  buffer_.reserve(kChunk + 4096);
}

PerfettoFile::~PerfettoFile() {
  flush();
  close(file_);
}

void PerfettoFile::flush() {
  for (std::size_t at = 0; at < buffer_.size() && failure_.empty();) {
    const ssize_t n = write(file_, buffer_.data() + at, buffer_.size() - at);
    if (n < 0 && errno != EINTR) failure_ = std::strerror(errno);
    if (n <= 0) continue;
    at += static_cast<std::size_t>(n);
    written_ += static_cast<std::uint64_t>(n);
  }
  buffer_.clear();
}

template <typename Fill>
void PerfettoFile::packet(Fill fill) {
  if (!failure_.empty()) return;
  packet_.clear();
  pbf_writer made{packet_};
  made.add_uint32(field::kSequenceId, kSequence);
  made.add_uint32(field::kSequenceFlags, begun_ ? kNeedsState : kStateCleared | kNeedsState);
  begun_ = true;
  fill(made);
  pbf_writer trace{buffer_};
  trace.add_message(field::kTracePacket, packet_);
  if (buffer_.size() >= kChunk) flush();
}

// A text that is new is told in a packet before the one that uses it.
std::uint64_t PerfettoFile::number(Names& names, unsigned in, std::string_view text) {
  if (const auto known = names.numbers.find(text); known != names.numbers.end()) return known->second;
  const std::uint64_t next = names.numbers.size() + 1;
  names.numbers.emplace(names.texts.emplace(next, text).first->second, next);
  packet([&](pbf_writer& made) {
    pbf_writer data{made, field::kInternedData};
    pbf_writer entry{data, in};
    entry.add_uint64(field::kInternedNumber, next);
    entry.add_string(field::kInternedText, text.data(), text.size());
  });
  return next;
}

template <typename Fill>
Uuid PerfettoFile::describe(Uuid parent, const std::string& name, std::uint32_t rank, Fill fill) {
  const Uuid uuid = ++last_uuid_;
  packet([&](pbf_writer& made) {
    pbf_writer track{made, field::kTrackDescriptor};
    track.add_uint64(field::kUuid, uuid);
    if (parent != 0) track.add_uint64(field::kParentUuid, parent);
    track.add_string(field::kTrackName, name);
    track.add_enum(field::kChildOrdering, kExplicitOrder);
    track.add_int32(field::kSiblingRank, static_cast<std::int32_t>(rank));
    fill(track);
  });
  return uuid;
}

Uuid PerfettoFile::process(std::uint32_t pid, const std::string& name) {
  return describe(0, name, pid, [&](pbf_writer& track) {
    pbf_writer process{track, field::kProcess};
    process.add_int32(field::kPid, static_cast<std::int32_t>(pid));
    process.add_string(field::kProcessName, name);
  });
}

Uuid PerfettoFile::track(Uuid parent, const std::string& name, std::uint32_t rank) {
  return describe(parent, name, rank, [](pbf_writer&) {});
}

Uuid PerfettoFile::counter(Uuid parent, const std::string& name, Unit unit, std::uint32_t rank) {
  return describe(parent, name, rank, [&](pbf_writer& track) {
    pbf_writer counter{track, field::kCounter};
    counter.add_enum(field::kCounterUnit, static_cast<std::int32_t>(unit));
  });
}

template <typename Fill>
void PerfettoFile::event(Time at, unsigned type, Uuid track, Fill fill) {
  packet([&](pbf_writer& made) {
    made.add_uint64(field::kTimestamp, nanoseconds(at));
    pbf_writer event{made, field::kTrackEvent};
    event.add_enum(field::kType, static_cast<std::int32_t>(type));
    event.add_uint64(field::kTrackUuid, track);
    fill(event);
  });
}

// With arguments, whose names are told before.
template <typename Fill>
void PerfettoFile::event(std::initializer_list<Argument> arguments, Time at, unsigned type, Uuid track, Fill fill) {
  if (arguments.size() > kMostArguments) throw std::logic_error("an event with too many arguments");
  std::array<std::uint64_t, kMostArguments> numbers{};
  std::transform(arguments.begin(), arguments.end(), numbers.begin(),
                 [this](const Argument& a) { return number(arguments_, field::kAnnotationNames, a.name); });
  event(at, type, track, [&](pbf_writer& event) {
    fill(event);
    const std::uint64_t* argument_number = numbers.data();
    for (const Argument& argument : arguments) {
      pbf_writer annotation{event, field::kDebugAnnotation};
      annotation.add_uint64(field::kAnnotationName, *argument_number++);
      switch (argument.kind) {
        case Argument::Kind::number: annotation.add_uint64(field::kAnnotationUnsigned, argument.value); break;
        case Argument::Kind::address: annotation.add_uint64(field::kAnnotationPointer, argument.value); break;
        case Argument::Kind::text:
          annotation.add_string(field::kAnnotationText, argument.text.data(), argument.text.size());
      }
    }
  });
}

void PerfettoFile::slice(Uuid track, Time begin, Time end, std::string_view name, std::string_view category,
                         const Flows& flows, std::initializer_list<Argument> arguments) {
  const std::uint64_t category_number = number(categories_, field::kEventCategories, category);
  const std::uint64_t name_number = number(names_, field::kEventNames, name);
  event(arguments, begin, kSliceBegin, track, [&](pbf_writer& event) {
    event.add_uint64(field::kCategoryNumber, category_number);
    event.add_uint64(field::kNameNumber, name_number);
    for (const std::uint64_t flow : flows.passing) event.add_fixed64(field::kFlows, flow);
    for (const std::uint64_t flow : flows.ending) event.add_fixed64(field::kEndingFlows, flow);
  });
  event(end, kSliceEnd, track, [](pbf_writer&) {});
}

void PerfettoFile::instant(Uuid track, Time at, std::string_view name, std::initializer_list<Argument> arguments) {
  event(arguments, at, kInstant, track,
        [&](pbf_writer& event) { event.add_string(field::kEventName, name.data(), name.size()); });
}

void PerfettoFile::value(Uuid counter, Time at, std::uint64_t value) {
  event(at, kCounterType, counter,
        [&](pbf_writer& event) { event.add_int64(field::kCounterValue, static_cast<std::int64_t>(value)); });
}

}  // namespace faultline::trace
