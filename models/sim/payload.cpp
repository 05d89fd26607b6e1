// SPDX-License-Identifier: Apache-2.0
#include "models/sim/payload.hpp"

namespace faultline::sim {

tlm::tlm_generic_payload& PayloadPool::acquire() {
  if (idle_.empty()) {
    all_.push_back(std::make_unique<tlm::tlm_generic_payload>(this));
    idle_.push_back(all_.back().get());
  }
  tlm::tlm_generic_payload& payload = *idle_.back();
  idle_.pop_back();
  payload.acquire();
  Train& train = train_of(payload);
  renew(train);
  train.times.clear();
  train.cell_bytes = 0;
  train.is_open = false;
  train.content.clear();
  payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  payload.set_data_ptr(nullptr);
  payload.set_byte_enable_ptr(nullptr);
  return payload;
}

void PayloadPool::free(tlm::tlm_generic_payload* payload) { idle_.push_back(payload); }

}  // namespace faultline::sim
