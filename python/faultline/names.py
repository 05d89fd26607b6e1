# SPDX-License-Identifier: Apache-2.0
"""What parameters and metrics are called at the axes of a figure. The others keep their own names."""

_NAMES = {
    "strategy": "strategy",
    "workload.size": "transfer size",
    "workload.cold": "cold pages at",
    "workload.cold_share": "share of cold pages",
    "workload.window": "transfers under way",
    "workload.kind": "operation",
    "dma.block_timeout": "block timeout",
    "dma.rapf_enabled": "retransmission request",
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
