// SPDX-License-Identifier: Apache-2.0
#include "models/messages/matching.hpp"

namespace faultline::messages {
namespace {

// The oldest entry of a queue that `fits`, which leaves it.
template <typename Queue, typename Fits>
Matching::Found take_oldest(Queue& queue, const Fits& fits) {
  std::size_t looked_at = 0;
  for (auto entry = queue.begin(); entry != queue.end(); ++entry) {
    ++looked_at;
    if (!fits(*entry)) continue;
    const Matching::Id id = entry->id;
    queue.erase(entry);
    return {id, looked_at};
  }
  return {std::nullopt, looked_at};
}

}  // namespace

Matching::Found Matching::receive(Selector selector, Id receive) {
  const Found found = take_oldest(messages_, [&](const Message& each) { return selector.takes(each.envelope); });
  if (!found.id) receives_.push_back({selector, receive});
  return found;
}

Matching::Found Matching::arrive(Envelope envelope, Id message) {
  const Found found = take_oldest(receives_, [&](const Receive& each) { return each.selector.takes(envelope); });
  if (!found.id) messages_.push_back({envelope, message});
  return found;
}

}  // namespace faultline::messages
