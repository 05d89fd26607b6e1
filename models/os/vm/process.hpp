// SPDX-License-Identifier: Apache-2.0
// A process as everybody may see it. What the kernel keeps of it, and changes: mm.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "models/os/vm/address_space.hpp"
#include "models/os/vm/page_table.hpp"

namespace faultline::os {

struct Mm;

class Process {
 public:
  static constexpr int kNeverKilled = -1000;  // OOM_SCORE_ADJ_MIN
  // Page faults that the kernel has handled for it, and those of them that read from the disk.
  struct Faults {
    std::uint64_t minor = 0;
    std::uint64_t major = 0;
    Faults& operator+=(const Faults& other) {
      minor += other.minor;
      major += other.major;
      return *this;
    }
  };

  Process(std::uint16_t id, std::string name, std::unique_ptr<Mm> mm);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // ASID of its translations and PDID of its transfers, from 1 on.
  std::uint16_t id() const { return id_; }
  const std::string& name() const { return name_; }
  bool was_killed() const;  // by the OOM killer
  const PageTable& page_table() const;
  const AddressSpace& space() const;
  const Faults& faults() const;

 private:
  friend struct Mm;

  std::uint16_t id_;
  std::string name_;
  std::unique_ptr<Mm> mm_;
};

}  // namespace faultline::os
