# SPDX-License-Identifier: Apache-2.0
"""What a cluster costs by its size: the table and the figure of docs/performance.md."""
import statistics

from figures import PATTERNS, SHAPES, ns_per
from measurement import say
from report import number

RUNS = [run for n in SHAPES for run in (f"build_{n}", f"permutation_{n}", f"faults_{n}")]
RUNS += [run for run in PATTERNS.values() if run not in RUNS]


def per_node_us(run):
    """Events per simulated microsecond and node: what a host that holds some of the nodes has to do."""
    return lambda r: r[run]["events"] / (r[run]["simulated_s"] * 1e6) / r[run]["nodes"]


def traffic_of(run, median):
    """What a run of the whole model did and cost."""
    values = {key: median(run, lambda r, key=key: r[run][key])
              for key in ("nodes", "transfers", "faults", "hops", "events", "simulated_s", "host_s", "peak_mib")}
    return {**values, "hop_ns": median(run, ns_per(run, "hops")), "event_ns": median(run, ns_per(run, "events")),
            "events_per_us_node": median(run, per_node_us(run))}


def scaling_of(measurement):
    """Rows by size and by pattern; None where something could not be measured."""

    def median(run, value):
        if run in measurement.reasons:
            return None
        return statistics.median(value(results) for results in measurement.rounds)

    sizes = []
    for nodes in SHAPES:
        build, network = f"build_{nodes}", f"permutation_{nodes}"
        sizes.append({"nodes": nodes,
                      "build_s": median(build, lambda r, run=build: r[run]["host_s"]),
                      "build_mib": median(build, lambda r, run=build: r[run]["mib"]),
                      "network_hop_ns": median(network, ns_per(network, "hops")),
                      **{key: value for key, value in traffic_of(f"faults_{nodes}", median).items() if key != "nodes"}})
    return sizes, {pattern: traffic_of(run, median) for pattern, run in PATTERNS.items()}


def rows_of_table(sizes):
    for row in sizes:
        each = row["build_mib"] * 1024 / row["nodes"] if row["build_mib"] is not None else None
        cells = [row["build_s"], row["build_mib"], each, row["network_hop_ns"], row["hop_ns"], row["peak_mib"],
                 row["events_per_us_node"]]
        yield [str(row["nodes"]), *map(number, cells)]


def print_table(heads, rows):
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


def print_scaling(sizes, patterns):
    """As Markdown, ready for the page."""
    print_table(["MPSoCs", "build and boot [s]", "memory [MiB]", "KiB each", "cell-hop, network alone [ns]",
                 "cell-hop, whole model with faults [ns]", "peak memory [MiB]", "events / us / node"],
                rows_of_table(sizes))
    print()
    columns = ["transfers", "faults", "hops", "events", "simulated_s", "host_s", "hop_ns", "event_ns", "peak_mib",
               "events_per_us_node"]
    print_table(["pattern", *columns], ([name, *(number(row[c]) for c in columns)] for name, row in patterns.items()))


def draw(sizes, path):
    """False without matplotlib (Debian: python3-matplotlib)."""
    try:
        import matplotlib
    except ImportError:
        say("no figure: python3-matplotlib is not installed (scripts/setup --benchmark)")
        return False
    matplotlib.use("svg")
    # The same figures give the same file.
    matplotlib.rcParams.update({"svg.hashsalt": "faultline", "svg.fonttype": "none"})
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    lines = [
        (panels[0], "host time of a cell-hop [ns]", [("network alone, permutation", "network_hop_ns"),
                                                     ("whole model, every page faults", "hop_ns")]),
        (panels[1], "memory [MiB]", [("built", "build_mib"), ("at most, with traffic", "peak_mib")]),
        (panels[2], "host time to build and boot [s]", [("built", "build_s")])]
    for panel, title, curves in lines:
        for label, key in curves:
            points = [(row["nodes"], row[key]) for row in sizes if row[key] is not None]
            panel.plot(*zip(*points), marker="o", label=label)
        panel.set(yscale="log", xlabel="MPSoCs", title=title)
        panel.set_xscale("log", base=2)
        panel.grid(True, which="major", alpha=0.3)
        if len(curves) > 1:
            panel.legend()
    panels[0].set_ylim(bottom=10)
    figure.savefig(path, format="svg", metadata={"Date": None})
    return True
