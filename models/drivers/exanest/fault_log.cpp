// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/exanest/fault_log.hpp"

#include "models/smmu/steps.hpp"

namespace faultline::exanest {

void FaultLog::access_faulted(const smmu::FaultNotice& notice) {
  const bool held_off = notice.kind == smmu::FaultKind::none;
  Fault fault{vm_.fault_reason(notice.asid, notice.table, notice.va, notice.write), notice.again};
  if (notice.kind == smmu::FaultKind::external) fault.reason.cause = os::FaultCause::bus_error;
  if (held_off && fault.reason.usable()) fault.reason.cause = os::FaultCause::held_off;
  access_refused({notice.asid, notice.va, notice.write, held_off}, fault, smmu::step::kAccessFaulted);
}

}  // namespace faultline::exanest
