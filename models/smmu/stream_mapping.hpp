// SPDX-License-Identifier: Apache-2.0
// From a StreamID to what shall be done with its traffic: SMR and S2CR.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace faultline::smmu {

class StreamMapping {
 public:
  explicit StreamMapping(unsigned groups) : smr_(groups), s2cr_(groups) {}

  enum class Kind : std::uint8_t { translate, bypass, fault, unmatched, conflict };
  struct Match {
    Kind kind;
    unsigned bank;  // of `translate`
  };
  // The latest answer is kept: a TBU asks for each train, and its device has one stream for each process.
  Match match(std::uint32_t stream) {
    if (!latest_ || latest_->first != stream) latest_.emplace(stream, look_up(stream));
    return latest_->second;
  }

  unsigned groups() const { return static_cast<unsigned>(smr_.size()); }
  std::uint32_t smr(unsigned n) const { return smr_[n]; }
  std::uint32_t s2cr(unsigned n) const { return s2cr_[n]; }
  void set_smr(unsigned n, std::uint32_t value) {
    smr_[n] = value;
    latest_.reset();
  }
  void set_s2cr(unsigned n, std::uint32_t value) {
    s2cr_[n] = value;
    latest_.reset();
  }

 private:
  Match look_up(std::uint32_t stream) const;

  std::vector<std::uint32_t> smr_;
  std::vector<std::uint32_t> s2cr_;
  std::optional<std::pair<std::uint32_t, Match>> latest_;
};

}  // namespace faultline::smmu
