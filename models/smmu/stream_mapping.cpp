// SPDX-License-Identifier: Apache-2.0
#include "models/smmu/stream_mapping.hpp"

#include "models/smmu/registers.hpp"

namespace faultline::smmu {

namespace {

bool matches(std::uint32_t smr, std::uint32_t stream) {
  const std::uint32_t ignored = smr >> reg::smr_field::kMaskShift & reg::smr_field::kIdMask;
  return (smr & reg::smr_field::kValid) != 0 && ((smr ^ stream) & reg::smr_field::kIdMask & ~ignored) == 0;
}

}  // namespace

StreamMapping::Match StreamMapping::look_up(std::uint32_t stream) const {
  const unsigned none = groups();
  unsigned found = none;
  for (unsigned n = 0; n < groups(); ++n) {
    if (!matches(smr_[n], stream)) continue;
    if (found != none) return {Kind::conflict, 0};
    found = n;
  }
  if (found == none) return {Kind::unmatched, 0};
  switch (s2cr_[found] & reg::s2cr_field::kTypeMask) {
    case reg::s2cr_field::kTypeTranslate: return {Kind::translate, s2cr_[found] & reg::s2cr_field::kCbndxMask};
    case reg::s2cr_field::kTypeBypass: return {Kind::bypass, 0};
    default: return {Kind::fault, 0};
  }
}

}  // namespace faultline::smmu
