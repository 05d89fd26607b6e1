// SPDX-License-Identifier: Apache-2.0
// How a rank learns that another one has written to it: workload.notify.
#pragma once

#include <cstdint>

#include "models/rdma/completion/notice.hpp"

namespace faultline::workloads {

enum class Notify : std::uint8_t {
  message,  // the writer tells it by a small message, when its own NIC says that all is placed
  polled_byte,
  word,
  counter_busy,
  counter_blocking,
  counter_handler,
  event_queue,
  interrupt,
};

// What the write leaves for the rank, and how the rank waits for it.
rdma::Awaited awaited_by(Notify notify);

}  // namespace faultline::workloads
