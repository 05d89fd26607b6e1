# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced: an experiment that takes the machine's paths of transfers and faults, random streams included, in a few seconds.
every_kind() {
  cat <<'TOML'
question = "Are the results the same bytes?"
platform = "exanest-qfdb"
strategies = ["pin-once", "private", "mixed", "pre-touch", "fault/touch-a-page", "fault/touch-ahead", "fault/stall"]

[parameters]
workload.iterations = 3
workload.warmup = 1
workload.window = 2
workload.cold_share = 0.5
workload.source_offset = "100 B"
exanest.rapf_loss = 0.2
cluster.x = 2
workload.initiator = 1
workload.target = 6

[strategy.private]
strategy.registration = "pin-per-transfer"
strategy.translate = "private"

[strategy.mixed]
strategy.on_source_fault = "stall"
strategy.on_destination_fault = "terminate"

[axes]
workload.kind = ["write", "read"]
workload.cold = ["both"]
workload.size = ["64 B", "50000 B"]
TOML
}
