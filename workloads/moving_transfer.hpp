// SPDX-License-Identifier: Apache-2.0
// A transfer under way that timelines are told of: when it begins, when all of it is posted, when it ends. It stays
// where it is.
#pragma once

#include "models/messages/initiator.hpp"
#include "models/rdma/told_transfer.hpp"
#include "models/sim/content.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::workloads {

struct MovingTransfer : sim::Recycled {
  MovingTransfer(const rdma::ToldTransfer& told_as, const rdma::Strategy& strategy, const messages::Move& move)
      : told(told_as), moving(strategy, move) {
    moving.on_posted = [this](const rdma::Posted& posted) { told.posted(posted); };
  }

  rdma::ToldTransfer told;
  messages::Moving moving;
  sim::Content expected = {};  // at the destination: what its source is when both ends are prepared
};

}  // namespace faultline::workloads
