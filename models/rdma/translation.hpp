// SPDX-License-Identifier: Apache-2.0
// The table by which the device of a process translates, and who fills it.
#pragma once

#include <span>
#include <string_view>

#include "models/rdma/list_choice.hpp"
#include "models/sim/parameters.hpp"

namespace faultline::rdma {

// Which NIC can translate so, its kind says (NicKind::translates). A further way is one more line of the list.
struct Translation {
  std::string_view name;     // as strategy.translate has it
  std::string_view meaning;  // in the help: what table it is
  std::string_view walks;    // what the device does: a clause
  std::string_view adds;     // to the machine, beside time; empty: nothing
  bool of_process = false;   // the process's own table
  bool registered = false;   // only registrations fill it: with frames that they have pinned, or hope to stay
  bool follows = false;      // a table of the device's own that MMU notifiers keep in step
  bool loaded = false;       // of these: in the device, entry by entry, by its driver
  bool pushes = false;       // the driver loads what becomes usable before the device asks
  bool vetoes = false;       // the driver refuses to give away what is loaded, where it may
};

// In the order in which they are shown; the first is the default.
std::span<const Translation> translations();

inline constexpr char kTranslation[] = "way to translate";
class TranslationChoice : public ListChoice<Translation, &translations, kTranslation> {
 public:
  using ListChoice::ListChoice;
  using ListChoice::operator=;
  // strategy.translate, in the group that is open.
  void declare(sim::ParameterTable& table);
};

}  // namespace faultline::rdma
