// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/registration/registration.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "models/rdma/registration/list.hpp"

namespace faultline::rdma {

using os::Error;
using sim::Task;

Task<Error> Registration::add(cpu::Execution&, Buffer) { co_return Error::none; }
Task<Error> Registration::acquire(cpu::Execution&, Buffer, bool) { co_return Error::none; }
Task<Error> Registration::release(cpu::Execution&, Buffer) { co_return Error::none; }
Task<Error> Registration::remove(cpu::Execution&, Buffer) { co_return Error::none; }
Task<Error> Registration::lease(cpu::Execution&, std::uint64_t, os::Ranges, os::Ranges) {
  co_return Error::unsupported;
}
Task<void> Registration::unmapping(cpu::Execution&, os::Range) { co_return; }
Task<void> Registration::forking(cpu::Execution&) { co_return; }
Task<Error> Registration::await_page(cpu::Execution&, os::VirtualAddress) { co_return Error::bad_address; }
Task<void> Registration::stop(cpu::Execution&) { co_return; }

std::string parameter_group(const RegistrationPolicy& policy) {
  std::string group(policy.name());
  std::ranges::replace(group, '-', '_');
  return group;
}

RegistrationChoice::RegistrationChoice() : policies_(registration_policies()) {}

RegistrationChoice::RegistrationChoice(const RegistrationChoice& other) : chosen_(other.chosen_) {
  for (const auto& policy : other.policies_) policies_.push_back(policy->clone());
}

RegistrationChoice& RegistrationChoice::operator=(const RegistrationChoice& other) {
  return *this = RegistrationChoice(other);
}

RegistrationChoice& RegistrationChoice::operator=(std::string_view name) {
  const auto found = std::ranges::find(policies_, name, [](const auto& policy) { return policy->name(); });
  if (found == policies_.end()) throw std::invalid_argument("no registration is called " + std::string(name));
  chosen_ = static_cast<std::size_t>(found - policies_.begin());
  return *this;
}

void RegistrationChoice::declare(sim::ParameterTable& table) {
  std::vector<std::string> names;
  std::string meanings;
  for (const auto& policy : policies_) {
    names.emplace_back(policy->name());
    meanings += (meanings.empty() ? "" : "; ") + names.back() + ": " + std::string(policy->meaning());
  }
  table.add_choice("registration", chosen_, names,
                   {"what the owner of a buffer does so that its pages are there (" + meanings + ")", "", {}});
  for (const auto& policy : policies_) {
    const auto group = table.group(parameter_group(*policy));
    policy->declare(table);
  }
}

}  // namespace faultline::rdma
