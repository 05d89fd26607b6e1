// SPDX-License-Identifier: Apache-2.0
// Declaring parameters. Every parameter of the simulator is declared once, beside the struct that
// holds it: name, unit, default (the struct's initial value), legal range, meaning, source, standing.
// `faultline list`, validation, messages and the effective configuration all come from here.
//
//   void DdrConfig::declare(sim::ParameterTable& table) {
//     const auto group = table.group("ddr");
//     table.add_time("latency", latency, {10ns, 1us},
//                    {"first word after the queue", "assumed: ZU+ 100 ns", Standing::assumed});
//   }
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/sim/time.hpp"

namespace faultline::sim {

// How much a default may be trusted. `fitted`: chosen, within what is plausible, so that a published
// figure comes out; the source names the figure. `setting`: a choice of the user, no claim about a machine. It comes
// first, because that is what a declaration with an empty standing ({}) means.
enum class Standing { setting, published, derived, fitted, assumed };
std::string_view to_string(Standing s);

enum class ParameterKind { flag, count, fraction, time, bytes, bit_rate, byte_rate, frequency, choice, text };
std::string_view to_string(ParameterKind k);

// A value as a configuration file holds it: quantities with units are strings.
using ParameterValue = std::variant<bool, std::int64_t, double, std::string>;

// Thrown by Parameter::set; what() says what is wrong, allowed() what would be right.
class BadParameterValue : public std::runtime_error {
 public:
  BadParameterValue(const std::string& what, std::string allowed)
      : std::runtime_error(what), allowed_(std::move(allowed)) {}
  const std::string& allowed() const { return allowed_; }

 private:
  std::string allowed_;
};

struct ParameterDoc {
  std::string meaning;  // one line, starts in lower case
  std::string source;   // where the default comes from; for a setting may be empty
  Standing standing = Standing::setting;
  // Of what is not published: the lowest and the highest value that its source, or what is known of related machines,
  // lets one expect, as a file would write them; of a choice all such values. Empty: nobody has said.
  std::vector<std::string> plausible = {};
};

template <typename T>
struct Range {
  T low;
  T high;
};

// Legal ranges of parameters that the model's arithmetic alone limits. The values that one may expect of a machine are
// fewer: ParameterDoc::plausible.
inline constexpr Range<Time> kAnyTime{Time{0}, std::chrono::seconds{10}};  // a latency, or one piece of work
// Multiplied by the pages of a call, which are 2^28 at most (1 TiB): the product stays below 2^62 ps.
inline constexpr Range<Time> kAnyTimePerPage{Time{0}, std::chrono::milliseconds{10}};
inline constexpr Range<Frequency> kAnyClock{{1'000'000}, {10'000'000'000}};
inline constexpr Range<BitRate> kAnyBitRate{{1'000'000}, {10'000'000'000'000}};
inline constexpr Range<ByteRate> kAnyByteRate{{1'000'000}, {10'000'000'000'000}};
// Of tables and queues, whose entries cost the host memory only where they are used.
inline constexpr Range<unsigned> kAnyEntries{1, 1U << 20};
// Of a clock of 1 MHz or more: 1 s at most.
inline constexpr Range<unsigned> kAnyCycles{0, 1'000'000};

// One declared parameter, bound to the field that holds its value.
struct Parameter {
  std::string name;  // full dotted key: "smmu.micro_tlb_entries"
  ParameterKind kind;
  std::string allowed;  // legal range or choices, as text
  std::string initial;  // default, as text
  ParameterDoc doc;
  std::function<std::string()> get;                // current value, text that set() reads back
  std::function<void(const ParameterValue&)> set;  // throws BadParameterValue, then the field is unchanged
};

class ParameterTable {
 public:
  // Names added while the returned object lives are prefixed with "name.".
  class Group {
   public:
    ~Group() { table_.prefix_.resize(length_); }
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

   private:
    friend class ParameterTable;
    Group(ParameterTable& table, std::string_view name);
    ParameterTable& table_;
    std::size_t length_;
  };
  [[nodiscard]] Group group(std::string_view name) { return Group(*this, name); }

  void add_flag(std::string_view name, bool& field, ParameterDoc doc);
  void add_count(std::string_view name, unsigned& field, Range<unsigned> legal, ParameterDoc doc);
  void add_count(std::string_view name, std::uint64_t& field, Range<std::uint64_t> legal, ParameterDoc doc);
  void add_fraction(std::string_view name, double& field, Range<double> legal, ParameterDoc doc);
  void add_time(std::string_view name, Time& field, Range<Time> legal, ParameterDoc doc);
  void add_bytes(std::string_view name, std::uint64_t& field, Range<std::uint64_t> legal, ParameterDoc doc);
  void add_bit_rate(std::string_view name, BitRate& field, Range<BitRate> legal, ParameterDoc doc);
  void add_byte_rate(std::string_view name, ByteRate& field, Range<ByteRate> legal, ParameterDoc doc);
  void add_frequency(std::string_view name, Frequency& field, Range<Frequency> legal, ParameterDoc doc);
  void add_text(std::string_view name, std::string& field, ParameterDoc doc);
  // Text of a form of its own, which `allowed` describes; check throws BadParameterValue for any other.
  void add_text(std::string_view name, std::string& field, std::string allowed,
                std::function<void(const std::string&)> check, ParameterDoc doc);

  // An enumeration under the names that files use for its values.
  template <typename Enum>
  void add_choice(std::string_view name, Enum& field, std::initializer_list<std::pair<std::string_view, Enum>> choices,
                  ParameterDoc doc) {
    std::vector<std::pair<std::string, int>> named;
    for (const auto& [text, value] : choices) named.emplace_back(text, static_cast<int>(value));
    add_choice_as_int(
        name, [&field] { return static_cast<int>(field); }, [&field](int v) { field = static_cast<Enum>(v); },
        std::move(named), std::move(doc));
  }

  // The same of a list: the field holds the number of the chosen name.
  void add_choice(std::string_view name, std::size_t& field, const std::vector<std::string>& names, ParameterDoc doc);

  // Parameters without number, whose names begin with "family.": each is there from when somebody asks for it. `make`
  // declares the one of a full name; nothing: there is none of that name.
  using Make = std::function<std::optional<Parameter>(std::string_view name)>;
  // The text of one that stands for another parameter's value, as long as nobody sets it.
  static constexpr std::string_view kInherited = "inherited";
  void add_family(std::string_view family, Make make);

  // In order of declaration. Those of families that nobody has asked for are not there.
  const std::deque<Parameter>& all() const { return parameters_; }
  // nullptr when nobody declared it. Valid as long as the table is.
  const Parameter* find(std::string_view name) const;
  // The declared name nearest to a misspelt one by edit distance; empty when none is near.
  std::string nearest(std::string_view name) const;

 private:
  void add(std::string_view name, ParameterKind kind, std::string allowed, ParameterDoc doc,
           std::function<std::string()> get, std::function<void(const ParameterValue&)> set);
  void add_choice_as_int(std::string_view name, std::function<int()> get, std::function<void(int)> set,
                         std::vector<std::pair<std::string, int>> choices, ParameterDoc doc);

  std::string prefix_;
  mutable std::deque<Parameter> parameters_;  // find() adds those of families
  std::vector<std::pair<std::string, Make>> families_;
};

// Values that stand for all legal ones, as set() reads them: every choice, both values of a flag, both ends of a range;
// of a text none.
std::vector<std::string> samples(const Parameter& parameter);

// Values that are legal each for itself but impossible together.
struct Conflict {
  std::vector<std::string> keys;  // parameter names, the one to change first
  std::string reason;             // a clause: "a buffer of 4 GiB does not fit in 2 GiB of memory"
  std::string instead = {};       // what a person may do, a clause: "take a smaller workload.size"
};

// The candidate with the smallest edit distance to `name`, if that is small enough to be a slip of
// the finger (a third of the length, plus one); empty otherwise. Used for every kind of name a person types.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace faultline::sim
