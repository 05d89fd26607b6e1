// SPDX-License-Identifier: Apache-2.0
#include "models/platform/leaks.hpp"

#include <algorithm>

#include "models/nic/path/registers.hpp"

namespace faultline::platform {

Leaks::Leaks(sim::Statistics& statistics, const os::Vm& vm)
    : vm_(vm),
      read_(statistics.counter("memory.leaked_read_bytes", "B",
                               "read by stale accesses from frames that another process maps")),
      written_(statistics.counter("memory.leaked_written_bytes", "B",
                                  "written by stale accesses to frames that another process maps")),
      astray_(statistics.counter("memory.astray_bytes", "B",
                                 "of stale accesses, to frames that no other process maps: free, the kernel's, or of "
                                 "the process itself")) {}

void Leaks::count(const soc::StaleCell& cell) {
  const os::FrameTable::Mappers mappers = vm_.mappers(sim::page_begin(cell.address));
  const std::uint32_t own = nic::pdid_of(cell.master_id);
  const bool is_own = std::ranges::any_of(mappers, [own](const os::Mapper& m) { return m.process->id() == own; });
  if (is_own || mappers.empty()) {
    astray_ += cell.bytes;
    return;
  }
  (cell.write ? written_ : read_) += cell.bytes;
  for (auto m = mappers.begin(); m != mappers.end(); ++m) {
    const bool again = std::any_of(mappers.begin(), m, [m](const os::Mapper& e) { return e.process == m->process; });
    if (again) continue;
    Victim& met = victim(*m->process);
    (cell.write ? met.written_bytes : met.read_bytes) += cell.bytes;
  }
}

Leaks::Victim& Leaks::victim(const os::Process& process) {
  const auto found = std::ranges::find(victims_, process.id(), &Victim::process);
  if (found != victims_.end()) return *found;
  return victims_.emplace_back(Victim{process.id(), process.name()});
}

}  // namespace faultline::platform
