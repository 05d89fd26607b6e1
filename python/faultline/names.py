# SPDX-License-Identifier: Apache-2.0
"""What parameters and metrics are called at the axes of a figure. The others keep their own names."""

_NAMES = {
    "strategy": "strategy",
    "workload.size": "transfer size",
    "workload.cold": "cold pages at",
    "workload.cold_share": "share of cold pages",
    "workload.memory": "memory",
    "workload.window": "transfers under way",
    "strategy.touch_ahead_pages": "pages touched ahead",
    "workload.flows": "flows",
    "workload.kind": "workload",
    "workload.target": "target MPSoC",
    "workload.initiator": "initiating MPSoC",
    "dma.block_timeout": "block timeout",
    "dma.rapf_enabled": "retransmission request",
    "dma.block_bytes": "block size",
    "dma.fault_fifo": "records that the fault FIFO holds",
    "kernel.hupcf": "hit under previous fault",
    "network.internal_rate": "link",
    "os.khugepaged_scan_sleep": "khugepaged's pause",
    "os.thp": "huge pages",
    "smmu.macro_tlb_entries": "macro TLB entries",
    "smmu.micro_tlb_entries": "micro-TLB entries",
    "workload.clean_window": "clean transfers",
    "faults": "faults of the device",
    "walks": "page-table walks",
    "teardown_time": "time to undo it",
    "latency_mean": "mean latency",
    "latency_typical": "median latency",
    "latency_min": "lowest latency",
    "latency_max": "highest latency",
    "latency_p99": "99th percentile of latency",
    "goodput": "goodput",
    "clean_goodput": "goodput of clean transfers",
    "retransmitted_bytes": "bytes sent again",
    "setup_time": "set-up time",
}


def name_of(key):
    return _NAMES.get(key, key)


def with_unit(key, unit):
    """"mean latency [µs]"; a count or a share has no unit."""
    return f"{name_of(key)} [{unit}]" if unit and unit != "1" else name_of(key)
