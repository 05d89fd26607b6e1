// SPDX-License-Identifier: Apache-2.0
// The transfers that a program can post.
#pragma once

namespace faultline::rdma {

enum class Operation { write, read };

}  // namespace faultline::rdma
