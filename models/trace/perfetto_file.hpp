// SPDX-License-Identifier: Apache-2.0
// A trace file of Perfetto (https://perfetto.dev): protobuf packets of tracks, slices, instants and counters. Packets
// are written whole, and a slice's two at once, so that a file that ends early can be read up to there.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "models/sim/time.hpp"

namespace faultline::trace {

using sim::Time;

// Perfetto counts in nanoseconds. Rounding down keeps order: what nests in picoseconds nests in the file.
constexpr std::uint64_t nanoseconds(Time t) { return static_cast<std::uint64_t>(t.count()) / 1000; }

using Uuid = std::uint64_t;  // of a track; never 0

enum class Unit { count = 2, bytes = 3 };  // Perfetto's numbers

// A number, an address or a text.
struct Argument {
  enum class Kind : std::uint8_t { number, address, text };
  Argument(std::string_view argument, std::uint64_t number) : name(argument), value(number) {}
  Argument(std::string_view argument, std::string_view words) : name(argument), kind(Kind::text), text(words) {}
  static Argument address(std::string_view argument, std::uint64_t at) {
    Argument made(argument, at);
    made.kind = Kind::address;
    return made;
  }

  std::string_view name;
  Kind kind = Kind::number;
  std::uint64_t value = 0;
  std::string_view text{};
};

// The ways by which slices hang together: `passing` flows go on from here, those that end do not.
struct Flows {
  std::span<const std::uint64_t> passing;
  std::span<const std::uint64_t> ending;
};

class PerfettoFile {
 public:
  // Creates the file or empties it. Throws std::runtime_error with the reason when it cannot.
  explicit PerfettoFile(const std::string& path);
  ~PerfettoFile();
  PerfettoFile(const PerfettoFile&) = delete;
  PerfettoFile& operator=(const PerfettoFile&) = delete;

  // Tracks appear in the order of their rank within their parent.
  Uuid process(std::uint32_t pid, const std::string& name);
  Uuid track(Uuid parent, const std::string& name, std::uint32_t rank);
  Uuid counter(Uuid parent, const std::string& name, Unit unit, std::uint32_t rank);

  // Slices of one track are written in the order of their ends and do not overlap.
  void slice(Uuid track, Time begin, Time end, std::string_view name, std::string_view category, const Flows& flows,
             std::initializer_list<Argument> arguments);
  void instant(Uuid track, Time at, std::string_view name, std::initializer_list<Argument> arguments = {});
  void value(Uuid counter, Time at, std::uint64_t value);

  std::uint64_t bytes() const { return written_ + buffer_.size(); }
  // Hands everything to the operating system.
  void flush();
  // Why the file ends early: a full disk. Empty as long as all could be written; nothing more is after that.
  const std::string& failure() const { return failure_; }

 private:
  // Names that come again and again are written once and then by their number.
  struct Names {
    std::unordered_map<std::string_view, std::uint64_t> numbers;
    std::unordered_map<std::uint64_t, std::string> texts;
  };
  std::uint64_t number(Names& names, unsigned field, std::string_view text);
  template <typename Fill>
  void packet(Fill fill);
  template <typename Fill>
  void event(Time at, unsigned type, Uuid track, Fill fill);
  template <typename Fill>
  void event(std::initializer_list<Argument> arguments, Time at, unsigned type, Uuid track, Fill fill);
  template <typename Fill>
  Uuid describe(Uuid parent, const std::string& name, std::uint32_t rank, Fill fill);

  std::string failure_;
  int file_ = -1;
  std::string buffer_;
  std::string packet_;  // the one that is being made
  std::uint64_t written_ = 0;
  Uuid last_uuid_ = 0;
  bool begun_ = false;
  Names categories_;
  Names names_;
  Names arguments_;
};

}  // namespace faultline::trace
