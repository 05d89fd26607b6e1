// SPDX-License-Identifier: Apache-2.0
#include "models/messages/message_config.hpp"

namespace faultline::messages {

void MessageConfig::declare(sim::ParameterTable& table) {
  using enum sim::Standing;
  const auto group = table.group("messages");
  table.add_choice(
      "way", way,
      {{"by-length", Way::by_length},
       {"eager", Way::eager},
       {"rendezvous-read", Way::rendezvous_read},
       {"rendezvous-write", Way::rendezvous_write},
       {"copies", Way::copies},
       {"pipeline", Way::pipeline},
       {"sockets", Way::sockets}},
      {"which way messages go: the one that their length asks for, as libraries have it; or all of them one "
       "way, to compare the ways. sockets: not by the library, but through the kernels of both nodes, as "
       "socket.* says",
       "", setting});
  table.add_bytes(
      "short_bytes", short_bytes, {0, kShortBytes},
      {"a message up to this length goes within one small message of the NIC, with its envelope (sender, tag, number, "
       "length)",
       "ExaNeSt's MPI sends up to 32 B so; 24 of 56 B are the envelope", assumed});
  table.add_bytes("eager_bytes", eager_bytes, {0, std::uint64_t{1} << 20},
                  {"a longer one up to this length is copied into a slot of the receiver's, which has been registered "
                   "beforehand; where no slot is free it goes as a still longer one does",
                   "libfabric's CXI provider begins its rendezvous beyond 16 KiB (man page fi_cxi(7))", assumed});
  table.add_bytes(
      "slot_bytes", slot_bytes, {64, std::uint64_t{1} << 20},
      {"data that one slot has room for: eager messages, and chunks of messages that are copied", "", setting});
  table.add_count("slots", slots, {2u, kMostSlots},
                  {"slots that a rank has for each other one; half of them may hold messages that nobody receives yet",
                   "", setting});
  table.add_choice(
      "large", large,
      {{"rendezvous-read", Large::rendezvous_read},
       {"rendezvous-write", Large::rendezvous_write},
       {"copies", Large::copies},
       {"pipeline", Large::pipeline}},
      {"how longer messages go: the receiver reads them from the sender's buffer; the sender writes them into "
       "the receiver's; chunk by chunk through the slots, copied at both ends, so that nothing is "
       "registered; or the begin copied, and the rest written in parts that both ends register while others are "
       "under way (the pipeline of Open MPI's ob1)",
       "", setting});
  table.add_bytes(
      "chunk_first", chunk_first, {64, std::uint64_t{1} << 20},
      {"the first chunk of a message that is copied; each further one has twice its length, up to chunk_last",
       "chunks that grow: Denis, A High Performance Superpipeline Protocol for InfiniBand, Euro-Par 2011", assumed});
  table.add_bytes(
      "chunk_last", chunk_last, {64, std::uint64_t{1} << 20},
      {"the longest chunk of a message that is copied",
       "assumed: a slot; Denis ends at 128 KiB, on faster processors. The experiment copies takes 32 KiB", assumed});
  table.add_bytes(
      "pipeline_copied", pipeline_copied, {0, std::uint64_t{1} << 30},
      {"of a message that goes by pipeline: bytes behind its first chunk that are copied, while the first "
       "parts are registered",
       "Open MPI: btl_*_rdma_pipeline_send_length, 8 KiB of its ofi BTL; assumed to be more where pins take "
       "longer",
       assumed});
  table.add_bytes(
      "pipeline_part", pipeline_part, {4096, std::uint64_t{1} << 32},
      {"the parts in which the rest of such a message is registered and written; the last one is shorter",
       "Open MPI: btl_*_rdma_pipeline_frag_size, 4 MiB of its ofi BTL; assumed to be less on a slower link", assumed});
  table.add_count("pipeline_depth", pipeline_depth, {1u, 64u},
                  {"parts of such a message that its receiver has registered at a time",
                   "Open MPI: pml_ob1_recv_pipeline_depth = 4 (ompi/mca/pml/ob1)", published});
  table.add_choice("progress", progress, {{"in-calls", Progress::in_calls}, {"thread", Progress::thread}},
                   {"who takes what has come: the program, while it waits in a call of the library; or a thread of the "
                    "library, which polls and occupies a core",
                    "", setting});
  table.add_time("call", call, {0ns, 1ms},
                 {"user code of a call that sends or receives, beside copies, searches and what the NIC's library does",
                  "UCX's model has 275 ns for announcing a rendezvous (ucp_context.c, UCX_PROTO_OVERHEAD)", assumed});
  table.add_time("match", match, {0ns, 1ms},
                 {"looking at one entry of the queue of receives, or of the queue of messages",
                  "assumed: a load that hits the cache, two comparisons and a branch", assumed});
  table.add_time(
      "lock", lock, {0ns, 1ms},
      {"of each call, where a thread of the library shares its state: taking a lock that is free", "", assumed});
}

Large MessageConfig::way_of_large() const {
  switch (way) {
    case Way::rendezvous_read: return Large::rendezvous_read;
    case Way::rendezvous_write: return Large::rendezvous_write;
    case Way::copies: return Large::copies;
    case Way::pipeline: return Large::pipeline;
    default: return large;
  }
}

std::vector<sim::Conflict> conflicts(const MessageConfig& config) {
  std::vector<sim::Conflict> all;
  if (config.eager_bytes > config.slot_bytes) {
    all.push_back({{"messages.eager_bytes", "messages.slot_bytes"},
                   "an eager message lies in one slot",
                   "take a greater messages.slot_bytes, or a smaller messages.eager_bytes"});
  }
  if (config.chunk_last > config.slot_bytes) {
    all.push_back({{"messages.chunk_last", "messages.slot_bytes"},
                   "a chunk lies in one slot",
                   "take a greater messages.slot_bytes, or a smaller messages.chunk_last"});
  }
  if (config.chunk_first > config.chunk_last) {
    all.push_back({{"messages.chunk_first", "messages.chunk_last"},
                   "chunks grow",
                   "take a greater messages.chunk_last, or a smaller messages.chunk_first"});
  }
  return all;
}

}  // namespace faultline::messages
