# SPDX-License-Identifier: Apache-2.0
"""The experiments E1 to E14: what each asks, the runs and figures that answer, and what is not to be had."""

from dataclasses import dataclass, field, replace

from faultline.figures import Options, read_sensitivity
from faultline.figures.breakdown import breakdown
from faultline.figures.curves import bandwidth, curves, latency
from faultline.figures.tornado import tornado
from faultline.points import Value, read_points
from faultline.quantities import Quantity
from faultline.reproduction.published import mark

_HOPS = {"2": 1, "4": 2, "5": 3, "9": 4, "25": 5}  # by target, from MPSoC 1 of the first QFDB
SENSITIVITY = "fault-breakdown-sensitivity"


@dataclass
class Section:
    name: str
    title: str
    shows: str
    figures: list  # (caption, function of a Runs that draws)
    runs: list  # names of experiments that ship
    published: list = field(default_factory=list)  # names of published figures that are marked
    missing: str = ""


@dataclass
class Runs:
    """Where the runs are, and what is published."""

    folder: object
    published: dict

    def points(self, run, **conditions):
        """The run's points that have one of the values, e.g. strategy=("mlock", "populate")."""
        names = {name.replace("__", "."): texts for name, texts in conditions.items()}
        return [point for point in read_points(self.folder / run)
                if all(point.parameters.get(name) in texts for name, texts in names.items())]

    def mark(self, name, scale=1.0, unit=None, above=None):
        return mark(self.published[name], scale, unit, above)


def _with_hops(points):
    def renamed(parameters):
        others = {name: text for name, text in parameters.items() if name != "workload.target"}
        hops = _HOPS[parameters["workload.target"]]
        return {"strategy": others.pop("strategy"), "hops": Quantity(str(hops), hops, "1"), **others}

    return [replace(point, parameters=renamed(point.parameters)) for point in points]


def _message_hops(runs):
    points = _with_hops(runs.points("message-hops"))
    return curves(points, "latency_typical", "hops", marks=[(1, *runs.mark("T1"))])


def _link_rates(runs):
    points = [point for point in runs.points("link-rates")]
    # 82 % of 16 Gb/s, of transfers of 4 MiB.
    return curves(points, "goodput", by="network.internal_rate", unit="Gb/s", scale=0.008, from_zero=True,
                  marks=[(2**22, *runs.mark("T4", 0.16, "Gb/s"))])


def _breakdown(runs):
    points = runs.points("fault-breakdown")
    ends = [point.parameters["workload.cold"] for point in points]
    above = points[ends.index("none")].metrics["latency_mean"].mean
    return breakdown(points, marks=[(ends.index("destination"), *runs.mark("T5", above=above))])


def _one_fault(runs):
    points = runs.points("cold-transfers", strategy=("fault/touch-ahead",),
                         workload__size=("64 B", "4 KiB", "8 KiB", "16 KiB"))
    above = next(point.metrics["latency_mean"].mean for point in points
                 if (point.parameters["workload.cold"], point.parameters["workload.size"]) == ("none", "64 B"))
    return curves(points, "latency_mean", by="workload.cold", marks=[(64, *runs.mark("T5", above=above))])


def _ratio(runs):
    points = runs.points("pinning-vs-faults")
    ideal = {point.parameters["workload.size"]: point.metrics["latency_mean"].mean for point in points
             if point.parameters["strategy"] == "resident"}
    for point in points:
        value = point.metrics["latency_mean"]
        base = ideal[point.parameters["workload.size"]]
        point.metrics["latency / latency of resident"] = Value(value.mean / base, value.half_width / base, "1")
    return curves([point for point in points if point.parameters["strategy"] != "resident"],
                  "latency / latency of resident")


def _latency(run, metric=None, x=None, by=None, **conditions):
    return lambda runs: latency(runs.points(run, **conditions), Options(metric, x, by))


def _bandwidth(run, metric=None, x=None, by=None, **conditions):
    return lambda runs: bandwidth(runs.points(run, **conditions), Options(metric, x, by))


def _hop_latency(runs):
    return latency(_with_hops(runs.points("latency-vs-hops")), Options(by="hops"))


SECTIONS = [
    Section("E1", "Baseline latency, no fault",
            "RDMA writes between two MPSoCs of a QFDB (one hop) and over two to five hops, and a small message of 8 B "
            "over the same distances. A hop outside the QFDB is a link of 10 Gb/s, which is what large transfers feel.",
            [("Latency of a write against its size", _hop_latency),
             ("One-way latency of a small message against distance", _message_hops)],
            ["latency-vs-hops", "message-hops"], ["T1"],
            "Published latencies by size: the publications' tables were not readable. T1 is the one point that is "
            "known, and was used to fit the latency of injection."),
    Section("E2", "Baseline bandwidth", "Two writes under way, on links of 10 and 16 Gb/s.",
            [("Goodput against size", _link_rates)], ["link-rates"], ["T4"],
            "Published goodput by size. T4 was used to fit the line coding and the blocks in flight; that 10 Gb/s "
            "links are filled as well is a prediction."),
    Section("E3", "Where the time of one fault goes",
            "One write of 64 B whose page is absent at neither end, the destination, the source, or both. The tornado "
            "shows how far the total of the destination's fault moves with each cost that no source states.",
            [("Steps of a transfer", _breakdown),
             ("What the total rests on", lambda runs: tornado(read_sensitivity(runs.folder / SENSITIVITY)))],
            ["fault-breakdown"], ["T5"],
            "The published split: a breakdown exists in PART (TPDS 2022), its numbers are not in the abstract. T5, "
            "what the fault adds in all, was used to fit eight costs, each within its plausible range; the split is an "
            "assumption."),
    Section("E4", "Latency with one fault", "A block of up to 16 KiB whose pages are all absent, touched ahead: one fault an end.",
            [("Latency against size", _one_fault)], ["cold-transfers"], ["T5"],
            "Published latencies other than T5, which is of pages touched one at a time (0.8 µs less than touched "
            "ahead)."),
    Section("E5", "All pages cold", "Every page of a transfer absent at the source, the destination, or both.",
            [("Latency against size", _latency("cold-transfers", by="workload.cold"))], ["cold-transfers"], [],
            "Published latencies: none was readable. All of it is prediction."),
    Section("E6", "Touch a page at a time, or N ahead",
            "The destination's pages absent; the fault thread makes one page present a fault, or up to N by one "
            "get_user_pages. More pages than a block of 16 KiB has (4) bring nothing more.",
            [("Latency against size", _latency("touch-ahead"))], ["touch-ahead"], ["T7"],
            "The published factor between the two: only the ordering (T7) is known."),
    Section("E7", "Tolerated faults, pinning, touching before",
            "Transfers into memory that the target has not touched: resident is the bound, pin-once, mlock and "
            "populate pay before the first transfer, pin-per-transfer and pre-touch before each, fault/... during it.",
            [("Latency against size", _latency("pinning-vs-faults")), ("As a multiple of the bound", _ratio)],
            ["pinning-vs-faults"], [],
            "Published ratios: those that exist are kept out of this project, so that its predictions can be compared "
            "with them."),
    Section("E8", "What pinning, locking and touching cost",
            "One call for one buffer, in use already (cold pages at: none) and never touched (both), with small pages "
            "and huge ones; its undoing; and, from E7's run, touching beforehand (populate).",
            [("Set-up", _latency("registration-cost", "setup_time", by="strategy")),
             ("Undoing it", _latency("registration-cost", "teardown_time", by="strategy", workload__cold=("none",))),
             ("Pin, lock, populate: memory never touched",
              _latency("pinning-vs-faults", "setup_time", strategy=("pin-once", "mlock", "populate")))],
            ["registration-cost", "pinning-vs-faults"], [],
            "Measurements of an A53: none was found. The costs are derived from those of other machines."),
    Section("E9", "Transparent huge pages",
            "Transfers to memory that is cold each time, with huge pages never, on advice and always; and the device's "
            "faults while khugepaged collapses buffers that are in use, for each way to hold them. What mlock holds "
            "faults all the same; what is pinned does not.",
            [("Latency by mode and size", _latency("thp-modes", x="os.thp")),
             ("Faults against khugepaged's pause", _latency("khugepaged-period", "faults", x="os.khugepaged_scan_sleep"))],
            ["thp-modes", "khugepaged-period"], [],
            "Published series with and without huge pages: none was readable. khugepaged's pauses are a hundredth of "
            "what is said, its work is not."),
    Section("E10", "Block timeout",
            "One cold block, with the retransmission request after a fault (RAPF) and without, where only the timeout "
            "sends it again. Without it the latency is the timeout; one of 25 µs comes before the request would.",
            [("Latency", _latency("timeout", x="exanest.block_timeout")),
             ("Bytes sent again", _latency("timeout", "retransmitted_bytes", x="exanest.block_timeout"))],
            ["timeout"], [], "The machine's own timeout: no source states it."),
    Section("E11", "Bandwidth against the share of cold pages", "Writes of 256 KiB, a share of whose pages is absent.",
            [("Goodput", _bandwidth("cold-share", x="workload.cold_share"))], ["cold-share"], [],
            "Published goodput: none was readable."),
    Section("E12", "Clean transfers beside faulting ones",
            "Reads of 16 KiB whose pages are present beside writes of 64 KiB whose destination is absent (cold pages "
            "at: destination) or not (none). The SMMU terminates (fault/touch-ahead) or stalls the access, and lets "
            "later accesses hit under a fault or not (HUPCF). While a block waits for its fault the clean transfers "
            "have what it would use.",
            [("Goodput of the clean transfers", _bandwidth("clean-transfers", "clean_goodput", x="smmu_driver.hupcf",
                                                           by="workload.cold"))],
            ["clean-transfers"], [],
            "More than two clean transfers at a time: their polling threads would leave no core to the rest. Published "
            "goodput: the claim that later transfers are served meanwhile is known, no number is."),
    Section("E13", "Sixteen nodes",
            "In place of applications: patterns in which sixteen MPSoCs (64 cores) communicate, every buffer absent "
            "before each transfer unless it is held.",
            [("Mean latency", _latency("sixteen-nodes", x="workload.kind")),
             ("Goodput of all nodes together", _bandwidth("sixteen-nodes", x="workload.kind"))],
            ["sixteen-nodes"], [],
            "Run times of the three MPI applications: their traces are not published, and the simulator has no model "
            "of computation between transfers. Strategies that prepare at the target for each transfer are refused in "
            "patterns."),
    Section("E14", "Ablations",
            "The size of a block together with the pages touched ahead, the TLBs, and the FIFO of fault records when three senders fault at one target.",
            [("Block size, transfers of 256 KiB, pages present",
              _latency("ablation-block", x="exanest.block_bytes", workload__cold=("none",),
                       strategy=("fault/touch-ahead",), strategy__touch_ahead_pages=("4",))),
             ("Block size and pages touched ahead, absent at the destination, sent again",
              _latency("ablation-block", x="exanest.block_bytes", by="strategy.touch_ahead_pages",
                       workload__cold=("destination",), strategy=("fault/touch-ahead",))),
             ("The same, stalled", _latency("ablation-block", x="exanest.block_bytes", by="strategy.touch_ahead_pages",
                                            workload__cold=("destination",),
                                            strategy=("fault/stall-ahead-16",))),
             ("Page-table walks against the macro TLB, transfers of 1 MiB",
              _latency("ablation-tlb", "walks", x="smmu.macro_tlb_entries", by="smmu.micro_tlb_entries")),
             ("Longest latency against the FIFO's depth", _latency("ablation-fifo", "latency_max", x="exanest.fault_fifo"))],
            ["ablation-block", "ablation-tlb", "ablation-fifo"], [],
            "More than 16 context banks: the hardware has 16 (SIDR1), and so has the model."),
]
