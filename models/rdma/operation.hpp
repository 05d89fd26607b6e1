// SPDX-License-Identifier: Apache-2.0
// The kinds of transfer that a program can post: RDMA writes and RDMA reads.
#pragma once

namespace faultline::rdma {

enum class Operation { write, read };

}  // namespace faultline::rdma
