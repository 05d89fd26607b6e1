// SPDX-License-Identifier: Apache-2.0
#include "workloads/ranks/notify.hpp"

namespace faultline::workloads {

using rdma::Awaited;
using rdma::NoticeKind;
using rdma::Waiting;

Awaited awaited_by(Notify notify) {
  switch (notify) {
    case Notify::message:
    case Notify::polled_byte: return {NoticeKind::none};
    case Notify::word: return {NoticeKind::word};
    case Notify::counter_busy: return {NoticeKind::counter};
    case Notify::counter_blocking: return {NoticeKind::counter, 0, Waiting::sleeps};
    case Notify::counter_handler: return {NoticeKind::counter, 0, Waiting::handles};
    case Notify::event_queue: return {NoticeKind::queue};
    case Notify::interrupt: return {NoticeKind::queue, 0, Waiting::sleeps};
  }
  return {NoticeKind::none};
}

}  // namespace faultline::workloads
