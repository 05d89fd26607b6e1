// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/sim/statistics.hpp"

namespace faultline::nic {

// The path's counters in its node's statistics.
struct Counters {
  explicit Counters(sim::Statistics& s)
      : transfers(s.counter("dma.transfers", "count", "transfers posted and accepted")),
        refused_posts(
            s.counter("dma.refused_posts", "count", "posts refused: queue full, malformed or to no possible PDID")),
        failed_transfers(s.counter("dma.failed_transfers", "count", "transfers that ended with an error")),
        blocks_sent(s.counter("dma.blocks_sent", "count", "blocks handed to the send unit, retransmissions included")),
        retransmitted_blocks(s.counter("dma.retransmitted_blocks", "count", "blocks handed to the send unit again")),
        retransmitted_bytes(
            s.counter("dma.retransmitted_bytes", "B", "payload of later attempts that left for the network")),
        timeouts(s.counter("dma.timeouts", "count", "blocks, sent or parked, whose answer did not come in time")),
        read_request_timeouts(s.counter("dma.read_request_timeouts", "count", "read requests sent again")),
        source_faults(s.counter("dma.source_faults", "count", "blocks stopped by a read error")),
        destination_faults(s.counter("dma.destination_faults", "count", "block attempts stopped by a write error")),
        fault_records(s.counter("dma.fault_records", "count", "records put into the fault FIFO")),
        fault_overflows(s.counter("dma.fault_overflows", "count", "records dropped because too many waited")),
        stale_cells(s.counter("dma.stale_cells", "count", "cells of an attempt older than the newest seen")),
        duplicate_cells(s.counter("dma.duplicate_cells", "count", "cells of blocks already complete")),
        duplicate_blocks(s.counter("dma.duplicate_blocks", "count", "complete blocks received again")),
        faulted_cells(s.counter("dma.faulted_cells", "count", "cells dropped because their block had a write error")),
        foreign_cells(s.counter("dma.foreign_cells", "count", "data cells of a PDID that no process can have")),
        dropped_bytes(s.counter("dma.dropped_bytes", "B",
                                "received bytes that the SMMU refused, or that were dropped for any of these reasons")),
        stops_sent(s.counter("dma.stops_sent", "count", "stops sent to the sources of faulted blocks")),
        stops_late(s.counter("dma.stops_late", "count", "stops that found nothing left to be sent")),
        stops_lost(s.counter("dma.stops_lost", "count", "stops lost by configuration")),
        stopped_bytes(s.counter("dma.stopped_bytes", "B", "payload that was not sent because of a stop")),
        evicted_records(
            s.counter("dma.evicted_records", "count", "unfinished transfers the receive unit had to forget")),
        acknowledgements_sent(s.counter("dma.acknowledgements_sent", "count", "acknowledgements sent")),
        acknowledgements(s.counter("dma.acknowledgements", "count", "blocks acknowledged")),
        late_acknowledgements(
            s.counter("dma.late_acknowledgements", "count", "acknowledgements of nothing unacknowledged")),
        notifications(s.counter("dma.notifications", "count", "notification words written")),
        notifications_lost(
            s.counter("dma.notifications_lost", "count", "notification words given up after the retry limit")),
        control_write_faults(
            s.counter("dma.control_write_faults", "count", "notifications or mailbox slots whose write failed")),
        control_writes_lost(s.counter("dma.control_writes_lost", "count", "of these, given up after the retry limit")),
        notices(s.counter("dma.notices", "count", "notices given to the process at a write's target")),
        notices_refused(s.counter("dma.notices_refused", "count",
                                  "notices not given: event queue full, no such process, word or counter")),
        notices_lost(s.counter("dma.notices_lost", "count",
                               "notices whose write into memory was given up after the retry limit")),
        late_cells(
            s.counter("dma.late_cells", "count",
                      "cells of a read, or of a write with a notice, that came when it had ended where it was posted")),
        messages_sent(s.counter("dma.messages_sent", "count", "messages sent by packetizer or NIC")),
        messages_received(s.counter("dma.messages_received", "count", "messages put into a mailbox ring")),
        messages_dropped(
            s.counter("dma.messages_dropped", "count", "user messages without a free slot, a ring or a legal length")),
        firmware_messages(s.counter("dma.firmware_messages", "count", "messages taken by the NIC's own mailbox")),
        firmware_overflows(
            s.counter("dma.firmware_overflows", "count", "messages dropped because the NIC's own mailbox was full")),
        refused_reads(s.counter("dma.refused_reads", "count", "read requests dropped: too many served or malformed")) {}

  sim::Counter& transfers;
  sim::Counter& refused_posts;
  sim::Counter& failed_transfers;
  sim::Counter& blocks_sent;
  sim::Counter& retransmitted_blocks;
  sim::Counter& retransmitted_bytes;
  sim::Counter& timeouts;
  sim::Counter& read_request_timeouts;
  sim::Counter& source_faults;
  sim::Counter& destination_faults;
  sim::Counter& fault_records;
  sim::Counter& fault_overflows;
  sim::Counter& stale_cells;
  sim::Counter& duplicate_cells;
  sim::Counter& duplicate_blocks;
  sim::Counter& faulted_cells;
  sim::Counter& foreign_cells;
  sim::Counter& dropped_bytes;
  sim::Counter& stops_sent;
  sim::Counter& stops_late;
  sim::Counter& stops_lost;
  sim::Counter& stopped_bytes;
  sim::Counter& evicted_records;
  sim::Counter& acknowledgements_sent;
  sim::Counter& acknowledgements;
  sim::Counter& late_acknowledgements;
  sim::Counter& notifications;
  sim::Counter& notifications_lost;
  sim::Counter& control_write_faults;
  sim::Counter& control_writes_lost;
  sim::Counter& notices;
  sim::Counter& notices_refused;
  sim::Counter& notices_lost;
  sim::Counter& late_cells;
  sim::Counter& messages_sent;
  sim::Counter& messages_received;
  sim::Counter& messages_dropped;
  sim::Counter& firmware_messages;
  sim::Counter& firmware_overflows;
  sim::Counter& refused_reads;
};

}  // namespace faultline::nic
