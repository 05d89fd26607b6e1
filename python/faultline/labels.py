# SPDX-License-Identifier: Apache-2.0
"""What parameters, metrics and the values of axes are called in a figure: those without a name here have their own."""

import string

from faultline.points import values_of
from faultline.quantities import numbers, value_text

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
    "exanest.block_timeout": "block timeout",
    "exanest.rapf_enabled": "retransmission request",
    "exanest.block_bytes": "block size",
    "exanest.fault_fifo": "records that the fault FIFO holds",
    "smmu_driver.hupcf": "hit under previous fault",
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
_FLOWS = "workload.flows"
_NODES = ("workload.target", "workload.initiator")  # their numbers are names
_DEFAULTS = {"from": "0", "to": "1", "size": "4 KiB", "kind": "write", "cold": "none", "transfers": "1", "window": "1",
             "start": "0 us", "source_offset": "0 B", "destination_offset": "0 B"}
_SILENT = {"kind", "size"}  # their values say what they are
LONGEST = 36  # letters of a value that stands at a tick or in a legend; a longer one gets a letter and a key


def name_of(key):
    return _NAMES.get(key, key)


def with_unit(key, unit):
    """"mean latency [µs]"; a count or a share has no unit."""
    return f"{name_of(key)} [{unit}]" if unit and unit != "1" else name_of(key)


def _flow(text):
    pairs = (field.partition("=") for field in text.split(",") if field.strip())
    return _DEFAULTS | {name.strip(): value.strip() for name, _, value in pairs}


def _words(flow, fields):
    """What is said of a flow: the fields that tell flows apart, unless a field is at its default or not set."""
    return [value_text(flow[name]) if name in _SILENT else f"{name} {value_text(flow[name])}" for name in fields
            if flow.get(name) != _DEFAULTS.get(name) or name == "size"]


def _flows_label(flows, fields):
    """"1+2→0 64 KiB; 3→0 64 KiB, cold destination": flows that differ by their sender alone are one."""
    senders = {}
    for flow in flows:
        senders.setdefault((flow["to"], tuple(_words(flow, fields))), []).append(flow["from"])
    return "; ".join(f"{'+'.join(who)}→{to}" + (" " + ", ".join(words) if words else "")
                     for (to, words), who in senders.items())


def flow_labels(texts):
    """Short names for lists of flows: what all flows of all lists have in common is left out."""
    lists = {text: [_flow(each) for each in text.split(";") if each.strip()] for text in texts}
    everything = [flow for flows in lists.values() for flow in flows]
    names = list(dict.fromkeys(name for flow in everything for name in flow if name not in ("from", "to")))
    fields = [name for name in names if len({flow.get(name) for flow in everything}) > 1]
    labels = {text: _flows_label(flows, fields) for text, flows in lists.items()}
    return labels if len(set(labels.values())) == len(labels) else {text: value_text(text) for text in texts}


def labels_of(points, name):
    """(label of each text on the axis, what is to be said of them below the figure or "")."""
    texts = values_of(points, name)
    given = points[0].plan.labels.get(name, {}) if points else {}
    labels = flow_labels(texts) if name == _FLOWS else {text: value_text(text) for text in texts}
    labels = {text: given.get(text, label) for text, label in labels.items()}
    if max(map(len, labels.values()), default=0) <= LONGEST:
        return labels, ""
    letters = {text: _letter(number) for number, text in enumerate(texts)}
    return letters, "\n".join(f"{letters[text]}: {labels[text]}" for text in texts)


def are_names(points, name):
    """Whether the values on the axis are names, whatever they are made of."""
    return name in _NODES or name in points[0].plan.labels or numbers(values_of(points, name)) is None


def _letter(number):
    letters = string.ascii_uppercase
    return letters[number] if number < len(letters) else f"{letters[number // len(letters) - 1]}{letters[number % len(letters)]}"
