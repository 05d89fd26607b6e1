// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/process.hpp"

#include <utility>

#include "models/os/vm/mm.hpp"

namespace faultline::os {

Process::Process(std::uint16_t id, std::string name, std::unique_ptr<Mm> mm)
    : id_(id), name_(std::move(name)), mm_(std::move(mm)) {}
Process::~Process() = default;

bool Process::was_killed() const { return mm_->life != Mm::Life::alive; }
const PageTable& Process::page_table() const { return *mm_->table; }
const AddressSpace& Process::space() const { return mm_->space; }
const Process::Faults& Process::faults() const { return mm_->faults; }

}  // namespace faultline::os
