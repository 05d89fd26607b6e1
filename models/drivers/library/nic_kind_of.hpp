// SPDX-License-Identifier: Apache-2.0
// What the kinds of NIC that are made of models/nic/path need not write: all that follows from their configuration.
#pragma once

#include "models/drivers/library/library.hpp"
#include "models/drivers/library/limits.hpp"

namespace faultline::library {

// Config has the members engine (a nic::PathConfig), driver and library (a LibraryConfig), each with declare().
template <typename Kind, typename Config>
class NicKindOf : public rdma::NicKind {
 public:
  std::unique_ptr<rdma::NicKind> clone() const override {
    return std::make_unique<Kind>(static_cast<const Kind&>(*this));
  }
  void assign(const rdma::NicKind& other) override { config = dynamic_cast<const Kind&>(other).config; }

  void declare(sim::ParameterTable& table) override {
    config.engine.declare(table);
    config.driver.declare(table);
    config.library.declare(table);
  }
  unsigned receive_buffer() const override { return config.engine.receive_buffer; }
  std::uint64_t bytes_of_library() const override { return Library::kOwnPages * sim::kPageBytes; }
  std::uint64_t bytes_of_notices(rdma::NoticeKind kind, unsigned words) const override {
    return library::bytes_of_notices(config.library, kind, words);
  }
  bool is_placed_in_order(std::uint64_t source_offset, std::uint64_t destination_offset,
                          std::uint64_t bytes) const override {
    return is_one_cell(source_offset, destination_offset, bytes);
  }
  unsigned most_waiting_messages() const override { return Library::kMailboxSlots; }
  unsigned most_waiting_events() const override { return config.library.event_entries; }
  std::vector<Signal> signals() const override { return signals_of(config.engine); }
  unsigned interrupt_line() const override { return config.engine.interrupt_line; }

  Config config;
};

}  // namespace faultline::library
