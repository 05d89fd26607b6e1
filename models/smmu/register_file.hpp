// SPDX-License-Identifier: Apache-2.0
// Decodes accesses to the register window.
#pragma once

#include <cstdint>

#include "models/smmu/state.hpp"

namespace faultline::smmu {

// What register writes set off. Users of a sync: the context banks by number, then the global one.
class Maintenance {
 public:
  virtual void invalidate(const Invalidation& what) = 0;
  // Some register was written.
  virtual void registers_changed() = 0;
  virtual void start_sync(unsigned user) = 0;
  virtual bool sync_active(unsigned user) const = 0;
  virtual void resume(unsigned bank, bool terminate) = 0;
  // The bank's FSR or SCTLR was written.
  virtual void bank_changed(unsigned bank) = 0;

 protected:
  ~Maintenance() = default;
};

class RegisterFile {
 public:
  RegisterFile(State& state, Maintenance& maintenance) : state_(state), maintenance_(maintenance) {}

  // Aligned, 4 or 8 bytes. False: the register cannot be accessed with this width.
  bool read(reg::Offset at, unsigned bytes, std::uint64_t& value);
  bool write(reg::Offset at, unsigned bytes, std::uint64_t value);

 private:
  // Words of registers that are not there, or not in this direction, read as zero, ignore writes and are counted.
  std::uint32_t read_word(reg::Offset at);
  std::uint32_t read_global(reg::Offset at);
  std::uint32_t read_bank(unsigned index, reg::Offset at);
  bool write_word(reg::Offset at, std::uint32_t value);
  void write_global(reg::Offset at, std::uint32_t value);
  void write_bank(unsigned index, reg::Offset at, std::uint32_t value);
  bool write_invalidation_by_address(reg::Offset at, std::uint64_t value);
  std::uint32_t* indexed_word(reg::Offset at);
  std::uint32_t unknown();

  State& state_;
  Maintenance& maintenance_;
};

}  // namespace faultline::smmu
