// SPDX-License-Identifier: Apache-2.0
// What is known of the answers to a train's cells: parts that were told together, from the first cell on without a gap.
// Whoever gets Answers (payload.hpp) keeps them here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

#include "models/sim/payload.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::sim {

// Details is what the owner keeps with a part.
template <typename Details = std::monostate>
class AnswerList {
 public:
  struct Part {
    std::uint32_t first;  // cell
    tlm::tlm_response_status status;
    TimeSequence instants;
    Details details{};

    bool ok() const { return status == tlm::TLM_OK_RESPONSE; }
    std::uint32_t end() const { return first + instants.size(); }
  };

  // That are answered, from the first one on.
  std::uint32_t cells() const { return parts_.empty() ? 0 : parts_.back().end(); }

  // Forgets, and returns, what the last part says of cells from `from` on; nullopt when none does. To be called until
  // then.
  std::optional<Part> drop_last(std::uint32_t from) {
    if (cells() <= from) return std::nullopt;
    Part& last = parts_.back();
    if (last.first >= from) {
      Part gone = std::move(last);
      parts_.pop_back();
      return gone;
    }
    const std::uint32_t kept = from - last.first;
    Part gone{from, last.status, last.instants.suffix(kept), last.details};
    last.instants.drop_back(gone.instants.size());
    return gone;
  }

  // Requires that nothing is known of cells from answers.from on, and all of those before.
  Part& add(const Answers& answers) {
    if (answers.from != cells()) throw std::logic_error("answers to cells of a train that leave some out");
    return parts_.emplace_back(Part{answers.from, answers.status, answers.instants});
  }

  bool empty() const { return parts_.empty(); }
  const Part& last() const { return parts_.back(); }
  std::size_t parts() const { return parts_.size(); }
  Part& part(std::size_t index) { return parts_[index]; }
  // Forwards and, from the last part on, backwards.
  auto rbegin() { return parts_.rbegin(); }
  auto rend() { return parts_.rend(); }
  auto begin() { return parts_.begin(); }
  auto end() { return parts_.end(); }
  auto begin() const { return parts_.begin(); }
  auto end() const { return parts_.end(); }

 private:
  SmallVector<Part, 1> parts_;
};

}  // namespace faultline::sim
