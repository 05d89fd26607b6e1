// SPDX-License-Identifier: Apache-2.0
#include "models/os/frame_table.hpp"

#include <algorithm>
#include <stdexcept>

namespace faultline::os {

void FrameTable::remove_mapper(Address frame, Mapper mapper) {
  FrameRecord& record = at(frame);
  const auto shared = others_.find(frame);
  if (shared == others_.end()) {
    if (!(record.first == mapper)) throw std::logic_error("the reverse mapping does not know this page");
    record.first = {};
    return;
  }
  Mappers& others = shared->second;
  if (record.first == mapper) {
    record.first = others.back();
  } else {
    const auto found = std::find(others.begin(), others.end(), mapper);
    if (found == others.end()) throw std::logic_error("the reverse mapping does not know this page");
    *found = others.back();
  }
  others.pop_back();
  if (others.empty()) others_.erase(shared);
}

bool FrameTable::has_mapper(Address frame, Mapper mapper) const {
  const Mappers all = mappers(frame);
  return std::find(all.begin(), all.end(), mapper) != all.end();
}

FrameTable::Mappers FrameTable::mappers(Address frame) const {
  const FrameRecord record = find(frame);
  if (record.first.process == nullptr) return {};
  Mappers all{record.first};
  if (const auto shared = others_.find(frame); shared != others_.end()) {
    for (const Mapper& mapper : shared->second) all.push_back(mapper);
  }
  return all;
}

}  // namespace faultline::os
