// SPDX-License-Identifier: Apache-2.0
#include "models/nic/path/control_writer.hpp"

#include "models/nic/path/registers.hpp"

namespace faultline::nic {

ControlWriter::ControlWriter(const PathConfig& config, AxiWriter& writer, Timer& timer, Counters& counters,
                             const sim::Context& context)
    : config_(config), writer_(writer), timer_(timer), counters_(counters), context_(context) {}

void ControlWriter::write(std::uint64_t address, std::uint32_t pdid, sim::Content content, ControlWriteClient& client,
                          std::uint64_t tag) {
  const std::uint64_t id = next_id_++;
  pending_.emplace(id, Pending{address, pdid, std::move(content), &client, tag});
  submit(id);
}

void ControlWriter::submit(std::uint64_t id) {
  const Pending& pending = pending_.at(id);
  WriteRequest request;
  request.address = pending.address;
  request.master_id = hpc0_master_id(pending.pdid);
  request.cell_bytes = pending.content.size();
  request.ready = sim::TimeSequence::single(context_.now());
  request.content = pending.content;
  request.client = this;
  request.tag = id;
  writer_.submit(std::move(request));
}

void ControlWriter::written(std::uint64_t id, std::uint32_t) {
  const Pending done = std::move(pending_.at(id));
  pending_.erase(id);
  done.client->control_written(done.tag, true);
}

void ControlWriter::refused(std::uint64_t id, std::uint32_t) {
  ++counters_.control_write_faults;
  Pending& pending = pending_.at(id);
  const bool tries_again = config_.retry_limit == 0 || pending.failures++ < config_.retry_limit;
  if (tries_again && pending.client->control_wanted(pending.tag)) {
    timer_.start(*this, id, {});
    return;
  }
  ++counters_.control_writes_lost;
  give_up(id);
}

bool ControlWriter::wanted(std::uint64_t id) {
  const Pending& pending = pending_.at(id);
  return pending.client->control_wanted(pending.tag);
}

void ControlWriter::give_up(std::uint64_t id) {
  const Pending lost = std::move(pending_.at(id));
  pending_.erase(id);
  lost.client->control_written(lost.tag, false);
}

}  // namespace faultline::nic
