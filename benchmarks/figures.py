# SPDX-License-Identifier: Apache-2.0
"""What scripts/benchmark measures: the runs, and the figures that are made of their results.

A run is one process of one of the programs in this folder. A figure is a function of the results of one round, in
which each run happened once; its median over the rounds is what is reported.
"""
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Run:
    program: str
    args: list
    n: int  # stands for {n} in args: how much work
    seconds: float  # a first guess, for the remaining time that is shown
    scaled: bool = False  # n may be raised until the run is long enough to be measured
    once: bool = False  # its result never changes and its time is not looked at


@dataclass(frozen=True)
class Figure:
    runs: list
    value: Callable
    unit: str
    what: str
    at_most: float | None = None
    at_least: float | None = None
    guard: Callable = lambda r: None  # why the figure means nothing, if so

    def goal(self):
        if self.at_most is not None:
            return f"<= {self.at_most:g}"
        return f">= {self.at_least:g}" if self.at_least is not None else ""

    def met(self, value):
        if self.at_most is not None:
            return value <= self.at_most
        return value >= self.at_least if self.at_least is not None else None


def settings_of(*files):
    """The parameters of platform and strategy files as key=value."""

    def flat(table, prefix=""):
        for key, value in table.items():
            if isinstance(value, dict) and "value" not in value:
                yield from flat(value, prefix + key + ".")
            else:
                value = value["value"] if isinstance(value, dict) else value
                text = str(value).lower() if isinstance(value, bool) else str(value)
                yield f"{prefix}{key}={text}"

    settings = []
    for file in files:
        settings += flat(tomllib.loads((ROOT / "configs" / f"{file}.toml").read_text())["parameters"])
    return settings


RESIDENT = settings_of("platforms/exanest-qfdb", "strategies/resident")
# Pages of 2 MiB, where trains of a block stay whole.
HUGE = [s for s in RESIDENT if not s.startswith("os.thp=")] + ["os.thp=always", "simulation.cells_per_train=64"]
# Every page of 4 KiB faults for itself.
FAULTING = [s for s in settings_of("platforms/exanest-qfdb", "strategies/fault/touch-a-page")
            if not s.startswith("os.thp=")] + ["os.thp=never"]


def transfers(settings, size, cold, window, n, seconds, more=()):
    workload = [f"workload.size={size}", f"workload.cold={cold}", f"workload.window={window}"]
    return Run("bench_transfers", [*settings, *workload, "workload.iterations={n}", *more], n, seconds, scaled=True)


def pattern_run(kind, shape, n, more):
    """Every node of a torus of QFDBs writes, to pages that are absent."""
    keys = ("cluster.x", "cluster.y", "cluster.z", "cluster.mpsocs_per_qfdb")
    size = [f"{key}={value}" for key, value in zip(keys, shape.split("x"))]
    workload = [f"workload.kind={kind}", "workload.size=4 KiB", "workload.cold=destination", "workload.iterations={n}"]
    return Run("bench_transfers", [*FAULTING, *size, *workload, *more], n, 20)


# Recorded as `faultline run --trace` does.
TRACED = ["--trace", str(ROOT / "build/release/benchmarks/traced.perfetto")]

# Hundredths of a second each, in turns: what disturbs one repetition disturbs them all, and the median is taken.
MICRO = ["--benchmark_format=json", "--benchmark_min_time=0.0{n}", "--benchmark_report_aggregates_only=true",
         "--benchmark_enable_random_interleaving=true"]
RUNS = {
    "micro": Run("bench_micro", [*MICRO, "--benchmark_repetitions=7"], 5, 5),
    "stream": transfers(RESIDENT, "4 MiB", "none", 4, 4, 1.5),
    "stream_huge": transfers(HUGE, "4 MiB", "none", 4, 4, 1),
    "fault": transfers(FAULTING, "4 KiB", "destination", 1, 300, 1),
    "no_fault": transfers(FAULTING, "4 KiB", "none", 1, 300, 1),
    "all_faults": transfers(FAULTING, "4 MiB", "destination", 1, 2, 1.5),
    "all_warm": transfers(FAULTING, "4 MiB", "none", 1, 4, 1.5),
    "stream_traced": transfers(RESIDENT, "4 MiB", "none", 4, 4, 2, TRACED),
    "all_faults_traced": transfers(FAULTING, "4 MiB", "destination", 1, 2, 2, TRACED),
}

# Background processes: one on each of two nodes, which uses 4 GiB in pages of 4 KiB; and 64 on 16 nodes, beside a ring of
# writes, whose memory fits, or is 1.5 times what there is.
FILLED_NODES = 2
RUNS["filled"] = Run(
    "bench_transfers",
    [*RESIDENT, "cluster.mpsocs_per_qfdb=2", "os.thp=never", "background.processes=1", "background.memory=4 GiB",
     "workload.iterations={n}"], 1, 2)


def crowd(memory, n):
    shape = ["cluster.x=2", "cluster.y=2", "cluster.z=1", "cluster.mpsocs_per_qfdb=4"]
    memory = ["os.user_memory=64 MiB", "os.swap_bytes=1 GiB", "background.processes=4", f"background.memory={memory}"]
    workload = ["workload.kind=ring", "workload.size=64 KiB", "workload.iterations={n}"]
    return Run("bench_transfers", [*FAULTING, *shape, *memory, *workload], n, 3, scaled=True)


# Long enough that pages are swapped, however fast the host.
RUNS["crowd_fits"] = crowd("12 MiB", 200)
RUNS["crowd_swaps"] = crowd("24 MiB", 200)

# The flows of the comparison with ns-3: blocks of each, so that ns-3 takes about a second.
FLOWS = {1: ("2x1x1x2", 0, 2000), 64: ("2x4x2x5", 1, 40), 4096: ("4x16x16x5", 1, 1)}
for flows, (shape, both_ways, blocks) in FLOWS.items():
    traffic = ["--shape", shape, "--both-ways", str(both_ways), "--blocks", "{n}"]
    RUNS[f"ns3_{flows}"] = Run("bench_ns3", traffic, blocks, 3)
    RUNS[f"cells_{flows}"] = Run("bench_network", [*traffic, "--cells-per-train", "1"], blocks, 2)
    RUNS[f"pages_{flows}"] = Run("bench_network", [*traffic, "--cells-per-train", "16"], blocks, 1, scaled=True)
    RUNS[f"trains_{flows}"] = Run("bench_network", traffic, blocks, 1, scaled=True)
    RUNS[f"times_{flows}"] = Run("bench_network", traffic, blocks, 1, once=True)
IRREGULAR = ["--shape", "2x4x2x5", "--both-ways", "1", "--irregular", "1", "--blocks", "{n}"]
RUNS["cells_irregular"] = Run("bench_network", [*IRREGULAR, "--cells-per-train", "1"], 40, 2)
RUNS["trains_irregular"] = Run("bench_network", IRREGULAR, 40, 2, scaled=True)
RUNS["times_irregular"] = Run("bench_network", IRREGULAR, 40, 1, once=True)
PERMUTATION = ["--pattern", "permutation", "--blocks", "{n}", "--shape"]
# From two nodes on, for scripts/benchmark --scaling: whole clusters; networks alone with the random permutation; the
# whole model with the same pattern, in which every page of every destination faults.
SHAPES = {2: "1x1x1x2", 4: "1x1x1x4", 16: "2x2x1x4", 64: "4x2x2x4", 256: "4x4x4x4", 1024: "8x8x4x4", 4096: "16x8x8x4",
          16384: "16x16x16x4"}
for nodes, shape in SHAPES.items():
    RUNS[f"build_{nodes}"] = Run("bench_cluster", ["--shape", shape], 1, nodes / 500)
    RUNS[f"permutation_{nodes}"] = Run(
        "bench_network", [*PERMUTATION, shape], max(1, 1024 // nodes), 2 + nodes / 500, scaled=True)
    RUNS[f"faults_{nodes}"] = pattern_run("permutation", shape, max(8192 // nodes, 1), [])
# The patterns at 4096 nodes, by name, and their runs.
PATTERNS = {"ring": "ring_4096", "permutation": "faults_4096", "all-to-all": "all_to_all_4096"}
# The permutation of 1024 nodes that loads links to a quarter, or to what they carry: how many cell times a node has for
# one of its own.
LOADS = {"loaded": 4, "saturated": 1}
for load, share in LOADS.items():
    traffic = [*PERMUTATION, SHAPES[1024], "--share", str(share)]
    RUNS[f"cells_{load}"] = Run("bench_network", [*traffic, "--cells-per-train", "1"], 1, 3)
    RUNS[f"trains_{load}"] = Run("bench_network", traffic, 1, 2)
RUNS["ns3_loaded"] = Run("bench_ns3", [*PERMUTATION, SHAPES[1024], "--share", str(LOADS["loaded"])], 1, 5)
RUNS["ring_4096"] = pattern_run("ring", SHAPES[4096], 2, [])
RUNS["all_to_all_4096"] = pattern_run("all-to-all", SHAPES[4096], 1, ["workload.peers=4"])


def ns_per(run, unit):
    return lambda r: r[run]["host_s"] * 1e9 / r[run][unit]


def ratio(above, below):
    return lambda r: above(r) / below(r)


def micro(name):
    return lambda r: r["micro"][name]


def one_fault_us(r):
    """Host time that a transfer of one page costs more when the page is absent."""
    with_fault = r["fault"]["host_s"] / r["fault"]["faults"]
    return (with_fault - r["no_fault"]["host_s"] / r["no_fault"]["pages"]) * 1e6


def every_page_faults(*runs):
    def guard(r):
        wrong = [run for run in runs if r[run]["faults"] != r[run]["pages"]]
        return f"run {wrong[0]}: not one page fault a page" if wrong else None

    return guard


def same_answer(flows):
    """The cell-by-cell network and ns-3 must have done the same work: time of the last arrival and hops."""

    def guard(r):
        ours, theirs = r[f"cells_{flows}"], r[f"ns3_{flows}"]
        for what in ("final_ps", "hops"):
            if ours[what] != theirs[what]:
                return f"{flows} flows: {what} is {ours[what]} cell by cell and {theirs[what]} in ns-3"
        return None

    return guard


def all_recorded(run):
    """A trace that reached its limit costs less from there on."""
    return lambda r: None if r[run]["traced_whole"] else f"{run}: {r[run]['traced']}"


def unheard_share(r):
    """What the hooks of a run that nobody records cost at most, of its host time."""
    told = r["stream_traced"]["told"] / r["stream_traced"]["pages"]
    return told * r["micro"]["trace_unheard"] / stream_page(r)


def swaps(run):
    """Memory is short in this run."""
    return lambda r: None if r[run]["major_faults"] > 0 else f"{run}: nothing was swapped"


def train_warnings(results):
    """Trains that did not end when their cells did, told once."""
    for case in (*FLOWS, "irregular"):
        trains, cells = results.get(f"times_{case}"), results.get(f"cells_{case}")
        if not trains or not cells:
            continue
        for what in ("final_ps", "hops"):
            difference = trains[what] - cells[what]
            if difference:
                yield f"{case} flows: {what} of trains differs from that of cells by {difference:+d} of {cells[what]}"


def same_hops(r):
    """ns-3's devices queue at outputs, without credits: with queues that grow, its last arrival is another one."""
    ours, theirs = r["trains_loaded"]["hops"], r["ns3_loaded"]["hops"]
    return None if ours == theirs else f"loaded: {ours} hops, and {theirs} in ns-3"


def same_end(load):
    """Trains and cells must have ended at the same time."""

    def guard(r):
        trains, cells = r[f"trains_{load}"], r[f"cells_{load}"]
        if (trains["final_ps"], trains["hops"]) == (cells["final_ps"], cells["hops"]):
            return None
        return f"{load}: trains end at {trains['final_ps']}, cells at {cells['final_ps']}"

    return guard


def in_wakeups(value):
    return ratio(value, micro("kernel_wakeup/1"))


stream_page = ns_per("stream", "pages")
FIGURES = {
    "wakeups_per_page": Figure(
        ["micro", "stream"], in_wakeups(stream_page), "wake-ups",
        "host time of a 4 KiB page streamed, in wake-ups of an SC_METHOD (one pending)", at_most=12),
    "stream_page_wakeups": Figure(
        ["micro", "stream"], in_wakeups(stream_page), "wake-ups", "the same, with what is asked for next", at_most=120),
    "realtime_factor": Figure(
        ["stream"], lambda r: r["stream"]["simulated_s"] / r["stream"]["host_s"], "",
        "simulated time over host time of the same run", at_least=5),
}
# Trains, and cell by cell.
NS3_GOALS = {1: (100, 10), 64: (80, 5), 4096: (60, 2)}
for flows, (trains_goal, cells_goal) in NS3_GOALS.items():
    FIGURES[f"ns3_ratio_{flows}"] = Figure(
        [f"ns3_{flows}", f"cells_{flows}", f"trains_{flows}", f"times_{flows}"],
        ratio(ns_per(f"ns3_{flows}", "hops"), ns_per(f"trains_{flows}", "hops")), "x",
        f"cell-hops per host second over ns-3's packet-hops, flows: {flows}", at_least=trains_goal,
        guard=same_answer(flows))
    FIGURES[f"ns3_ratio_cells_{flows}"] = Figure(
        [f"ns3_{flows}", f"cells_{flows}"],
        ratio(ns_per(f"ns3_{flows}", "hops"), ns_per(f"cells_{flows}", "hops")), "x", "the same cell by cell",
        at_least=cells_goal, guard=same_answer(flows))
FIGURES["ns3_ratio_loaded"] = Figure(
    ["ns3_loaded", "trains_loaded"], ratio(ns_per("ns3_loaded", "hops"), ns_per("trains_loaded", "hops")), "x",
    "trains over ns-3, permutation of 1024 at a quarter of a link", at_least=3, guard=same_hops)
for load, what in (("loaded", "permutation of 1024 at a quarter of a link"), ("saturated", "the same, saturated")):
    FIGURES[f"cell_hop_wakeups_{load}"] = Figure(
        ["micro", f"cells_{load}"], in_wakeups(ns_per(f"cells_{load}", "hops")), "wake-ups",
        f"host time of a cell-hop, cell by cell, {what}", at_most=20)
    FIGURES[f"train_speedup_{load}"] = Figure(
        [f"cells_{load}", f"trains_{load}"],
        ratio(ns_per(f"cells_{load}", "hops"), ns_per(f"trains_{load}", "hops")), "x",
        f"host time of cells over that of trains, {what}", at_least=1, guard=same_end(load))
FIGURES |= {
    "train_speedup_contended": Figure(
        ["cells_64", "trains_64", "times_64"], ratio(ns_per("cells_64", "hops"), ns_per("trains_64", "hops")), "x",
        "host time of cells over that of trains, four flows of equal rate on a link", at_least=10),
    "train_speedup_irregular": Figure(
        ["cells_irregular", "trains_irregular", "times_irregular"],
        ratio(ns_per("cells_irregular", "hops"), ns_per("trains_irregular", "hops")), "x",
        "the same, first links of irregular rates", at_least=2.5),
    "fault_host_us": Figure(
        ["fault", "no_fault"], one_fault_us, "us", "host time of one page fault, end to end", at_most=10,
        guard=every_page_faults("fault")),
    "fault_wakeups": Figure(
        ["micro", "fault", "no_fault"], in_wakeups(lambda r: one_fault_us(r) * 1e3), "wake-ups",
        "the same, in wake-ups of an SC_METHOD", at_most=400, guard=every_page_faults("fault")),
    "all_faults_rate": Figure(
        ["all_faults", "all_warm"], ratio(ns_per("all_warm", "bytes"), ns_per("all_faults", "bytes")), "",
        "simulated bytes per host second where every page faults, over those of warm transfers", at_least=0.1,
        guard=every_page_faults("all_faults")),
    "build_s_4096": Figure(
        ["build_4096"], lambda r: r["build_4096"]["host_s"], "s", "host time to build and boot 4096 MPSoCs", at_most=5),
    "build_mib_4096": Figure(
        ["build_4096"], lambda r: r["build_4096"]["mib"], "MiB", "resident memory that they take", at_most=512),
    "filled_mib_4gib": Figure(
        ["filled"], lambda r: r["filled"]["filled_mib"] / FILLED_NODES, "MiB",
        "resident memory of a node that has 4 GiB touched in pages of 4 KiB", at_most=256),
    "filled_s_4gib": Figure(
        ["filled"], lambda r: r["filled"]["filling_s"] / FILLED_NODES, "s", "host time to set that up", at_most=2),
    "pressure_rate": Figure(
        ["crowd_fits", "crowd_swaps"], ratio(ns_per("crowd_fits", "events"), ns_per("crowd_swaps", "events")), "",
        "events per host second of 16 nodes with 64 processes that swap, over those of the same that fit",
        at_least=0.5, guard=swaps("crowd_swaps")),
    "trace_on_stream": Figure(
        ["stream", "stream_traced"], ratio(ns_per("stream_traced", "pages"), ns_per("stream", "pages")), "x",
        "host time of a recorded warm stream over that of one that is not", at_most=2,
        guard=all_recorded("stream_traced")),
    "trace_on_faults": Figure(
        ["all_faults", "all_faults_traced"],
        ratio(ns_per("all_faults_traced", "pages"), ns_per("all_faults", "pages")), "x",
        "the same where every page faults", at_most=2, guard=all_recorded("all_faults_traced")),
    "trace_off_share": Figure(
        ["micro", "stream", "stream_traced"], unheard_share, "",
        "of the host time of a warm stream: what is said to nobody, at the price of a hook on its own", at_most=0.01),
    "growth_model_1024": Figure(
        ["faults_1024", "faults_16"], ratio(ns_per("faults_1024", "hops"), ns_per("faults_16", "hops")), "x",
        "host time of a cell-hop at 1024 nodes over that at 16, whole model with faults, permutation", at_most=3),
}

# Without a goal: what the figures are made of, in host time. --against compares those in CHECKED.
COSTS = {
    "kernel_wakeup_1": Figure(["micro"], micro("kernel_wakeup/1"), "ns", "SC_METHOD wake-up, one pending"),
    "kernel_wakeup_100": Figure(["micro"], micro("kernel_wakeup/100"), "ns", "the same among 100 pending"),
    "event_loop_1": Figure(["micro"], micro("event_loop/1"), "ns", "event of the loop, one pending"),
    "event_loop_100": Figure(["micro"], micro("event_loop/100"), "ns", "the same among 100 pending"),
    "serve_train": Figure(["micro"], micro("serve_train"), "ns", "a page's train through a busy server"),
    "later_of_two": Figure(["micro"], micro("later_of_two"), "ns", "the later of a page's train and its credits"),
    "router_hop_cells": Figure(["micro"], micro("router_hop/1"), "ns", "cell through one link, cell by cell"),
    "router_hop_trains": Figure(["micro"], micro("router_hop/16"), "ns", "the same, a page at a time"),
    "trace_unheard": Figure(["micro"], micro("trace_unheard"), "ns", "hook of a timeline that nobody listens to"),
    "stream_page": Figure(["stream"], stream_page, "ns", "page of a warm stream, whole model"),
    "stream_page_huge": Figure(
        ["stream_huge"], ns_per("stream_huge", "pages"), "ns", "the same 4 KiB of 2 MiB pages, in trains of a block"),
    "fault": Figure(["fault", "no_fault"], lambda r: one_fault_us(r) * 1e3, "ns", "page fault, end to end"),
    "all_faults_page": Figure(["all_faults"], ns_per("all_faults", "pages"), "ns", "page, every one faulting"),
    "build_node": Figure(["build_4096"], ns_per("build_4096", "nodes"), "ns", "MPSoC built and booted"),
    "hop_permutation_4096": Figure(
        ["permutation_4096"], ns_per("permutation_4096", "hops"), "ns", "cell-hop, permutation of 4096 nodes"),
    "hop_permutation_16": Figure(
        ["permutation_16"], ns_per("permutation_16", "hops"), "ns", "the same of 16 nodes"),
}
for case in (*FLOWS, "irregular", *LOADS):
    for side, what in (("trains", "cell-hop, trains of a block"), ("pages", "cell-hop, trains of a page"),
                       ("cells", "cell-hop, cell by cell"), ("ns3", "packet-hop of ns-3")):
        if f"{side}_{case}" in RUNS:
            COSTS[f"hop_{side}_{case}"] = Figure(
                [f"{side}_{case}"], ns_per(f"{side}_{case}", "hops"), "ns", f"{what}, flows: {case}")
# Not the kernel itself, nor what else is not ours.
CHECKED = [name for name in COSTS if not name.startswith(("kernel_", "hop_ns3_"))]
