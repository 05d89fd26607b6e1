// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/frame_table.hpp"

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

bool FrameTable::maps(const Process& process, Address frame) const {
  const Mappers all = mappers(frame);
  return std::any_of(all.begin(), all.end(), [&](const Mapper& mapper) { return mapper.process == &process; });
}

void FrameTable::add_pin(Address frame, const Process& process) {
  FrameRecord& record = at(frame);
  if (record.pins++ == 0) record.pinner = &process;
  if (record.pinner != &process) other_pinners_[frame].push_back(&process);
}

void FrameTable::remove_pin(Address frame, const Process& process) {
  FrameRecord& record = at(frame);
  const auto shared = other_pinners_.find(frame);
  const std::size_t of_others = shared == other_pinners_.end() ? 0 : shared->second.size();
  --record.pins;
  if (record.pinner == &process && record.pins > of_others) return;  // it has more of them
  if (of_others == 0) {
    record.pinner = nullptr;
    return;
  }
  auto& others = shared->second;
  if (record.pinner == &process) {
    record.pinner = others.front();
    std::erase(others, record.pinner);
  } else {
    others.erase(std::find(others.begin(), others.end(), &process));
  }
  if (others.empty()) other_pinners_.erase(shared);
}

bool FrameTable::pins(const Process& process, Address frame) const {
  if (find(frame).pinner == &process) return true;
  const auto shared = other_pinners_.find(frame);
  return shared != other_pinners_.end() &&
         std::find(shared->second.begin(), shared->second.end(), &process) != shared->second.end();
}

bool FrameTable::any_pinned(Address frame, PageSize size) const {
  const Range page = page_range(frame, size);
  for (Address at = page.begin; at < page.end; at += kPage) {
    if (find(at).pins > 0) return true;
  }
  return false;
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
