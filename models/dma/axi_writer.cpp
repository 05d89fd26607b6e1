// SPDX-License-Identifier: Apache-2.0
#include "models/dma/axi_writer.hpp"

#include <algorithm>

#include "models/memory/axi.hpp"

namespace faultline::dma {

namespace {

// Whose write a payload is.
struct WriteTag : tlm::tlm_extension<WriteTag> {
  WriteClient* client = nullptr;
  std::uint64_t tag = 0;
  tlm::tlm_extension_base* clone() const override { return new WriteTag(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const WriteTag&>(other); }
};

}  // namespace

AxiWriter::AxiWriter(unsigned outstanding, Forward& port, const sim::Context& context)
    : port_(port), context_(context), credits_(outstanding), wakeup_(context.loop, *this) {}

void AxiWriter::submit(WriteRequest request) {
  // Received trains are announced ahead of their arrival, so a control write made later may be ready earlier.
  const auto after =
      std::upper_bound(queue_.begin(), queue_.end(), request,
                       [](const WriteRequest& a, const WriteRequest& b) { return a.ready.front() < b.ready.front(); });
  queue_.insert(after, std::move(request));
  wakeup_.at(queue_.front().ready.front());
}

void AxiWriter::pump() {
  for (;;) {
    if (staged_) {
      const Time goes = staged_->part.ready.front();
      if (goes > context_.now()) return wakeup_.at(goes);
      send_staged();
    }
    if (queue_.empty()) return;
    const Time ready = queue_.front().ready.front();
    if (ready > context_.now()) return wakeup_.at(ready);
    if (!stage()) return;
  }
}

// Gives the head's next cells the credits that are known, or drops it. False: it must wait for credits.
bool AxiWriter::stage() {
  WriteRequest& head = queue_.front();
  if (head.client->wanted(head.tag, head.ready) == 0) {
    WriteClient& client = *head.client;
    const std::uint64_t tag = head.tag;
    const sim::TimeSequence freed = std::move(head.ready);
    queue_.pop_front();
    client.left_buffer(tag, freed);
    client.write_dropped(tag, freed.size());
    return true;
  }
  const std::uint32_t cells = std::min(head.ready.size(), credits_.known());
  if (cells == 0) return false;
  WriteRequest part = head;
  sim::TimeSequence credits = credits_.take(cells);
  part.ready = sim::later_of(head.ready.prefix(cells), credits);
  if (cells == head.ready.size()) {
    queue_.pop_front();
  } else {
    const std::uint32_t bytes = cells * head.cell_bytes;
    part.content = head.content.slice(0, bytes);
    head.content = head.content.slice(bytes, head.content.size() - bytes);
    head.address += bytes;
    head.ready.drop_front(cells);
  }
  part.client->left_buffer(part.tag, part.ready);
  staged_ = Staged{std::move(part), std::move(credits)};
  return true;
}

void AxiWriter::send_staged() {
  Staged staged = std::move(*staged_);
  staged_.reset();
  WriteRequest& part = staged.part;
  const std::uint32_t cells = part.client->wanted(part.tag, part.ready);
  if (cells < part.ready.size()) {
    credits_.give_back(staged.credits.suffix(cells));
    part.client->write_dropped(part.tag, part.ready.size() - cells);
    if (cells == 0) return;
    part.ready = part.ready.prefix(cells);
    part.content = part.content.slice(0, cells * part.cell_bytes);
  }
  tlm::tlm_generic_payload& payload = context_.payloads.acquire();
  sim::Train& train = sim::train_of(payload);
  train.times = std::move(part.ready);
  train.cell_bytes = part.cell_bytes;
  train.content = std::move(part.content);
  auto& axi = sim::extension<memory::AxiAttributes>(payload);
  axi = {};
  axi.master_id = part.master_id;
  auto& tag = sim::extension<WriteTag>(payload);
  tag.client = part.client;
  tag.tag = part.tag;
  payload.set_command(tlm::TLM_WRITE_COMMAND);
  payload.set_address(part.address);
  payload.set_data_length(train.bytes());
  payload.set_streaming_width(train.bytes());
  port_.begin_request(payload);
}

void AxiWriter::response(tlm::tlm_generic_payload& payload) {
  const sim::Train& train = sim::train_of(payload);
  const auto& tag = sim::extension<WriteTag>(payload);
  credits_.give(train.responses);
  tag.client->written(tag.tag, payload.get_address(), train, payload.is_response_ok());
  payload.release();
  wakeup_.now();
}

}  // namespace faultline::dma
