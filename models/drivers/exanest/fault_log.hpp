// SPDX-License-Identifier: Apache-2.0
// Why accesses faulted that the SMMU has refused.
#pragma once

#include "models/drivers/library/fault_book.hpp"
#include "models/smmu/translation.hpp"

namespace faultline::exanest {

class FaultLog final : public library::FaultBook, public smmu::FaultObserver {
 public:
  using FaultBook::FaultBook;
  void access_faulted(const smmu::FaultNotice& notice) override;
};

}  // namespace faultline::exanest
