# SPDX-License-Identifier: Apache-2.0
"""What is printed and written of a measurement."""
import json
import os
import platform
import re
import statistics
import subprocess
import time
from pathlib import Path

from figures import CHECKED, COSTS, FIGURES, ROOT, train_warnings
from measurement import PROGRAMS, say


def warnings_of(measurement):
    warnings = list(train_warnings(measurement.rounds[0]))
    if measurement.busy() > 1.1:
        warnings.append(f"the machine was busy: wall-clock time was {measurement.busy():.1f} times the CPU time")
    for warning in warnings:
        say(f"warning: {warning}")
    return warnings


def number(value):
    return "-" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def print_figures(found):
    print(f"{'figure':<24} {'goal':>8} {'measured':>10} {'spread':>7}  met  what")
    for name, f in found.items():
        figure = FIGURES[name]
        if f["value"] is None:
            print(f"{name:<24} {figure.goal():>8} {'-':>10} {'-':>7}  -    not measured: {f['reason']}")
            continue
        met = "yes" if figure.met(f["value"]) else "no"
        print(f"{name:<24} {figure.goal():>8} {number(f['value']):>10} {f['spread']:>6.0%}   {met:<3}  {figure.what}"
              + (f" [{figure.unit}]" if figure.unit else ""))


def print_costs(found):
    kernels = [found.get(f"kernel_wakeup_{pending}", {}).get("value") for pending in (1, 100)]
    print(f"\n{'':<24} {'':>10} {'in wake-ups among':>17}")
    print(f"{'made of':<24} {'host ns':>10} {'1':>8} {'100':>8} {'spread':>7}  what")
    for name, f in found.items():
        if f["value"] is not None:
            wakeups = " ".join(f"{number(f['value'] / k) if k else '-':>8}" for k in kernels)
            print(f"{name:<24} {number(f['value']):>10} {wakeups} {f['spread']:>6.0%}   {COSTS[name].what}")


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


def meta_of(measurement, arguments):
    versions = {package: first_line("dpkg-query", "-W", "-f", "${Version}", package)
                for package in ("libsystemc-dev", "libns3-dev", "libbenchmark-dev")}
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    cache = (PROGRAMS.parent / "CMakeCache.txt").read_text()
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.MULTILINE)
    return {
        "commit": first_line("git", "-C", str(ROOT), "describe", "--tags", "--always", "--dirty"),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "cpu": cpu[1] if cpu else platform.processor(),
        "cpus": os.cpu_count(),
        "system": platform.platform(),
        "compiler": first_line(compiler[1], "--version") if compiler else None,
        "build": "release",
        "versions": versions,
        "repeats": len(measurement.rounds),
        "quick": arguments.quick,
        "host_time": "CPU time of the process, pinned to one core; median of the repeats",
        "wall_over_cpu": round(measurement.busy(), 2),
    }


def wakeups_of(costs, pending=1):
    """Each cost in wake-ups of an SC_METHOD, with as many pending, of the same round."""
    kernel = costs.get(f"kernel_wakeup_{pending}", {"value": None})
    found = {}
    for name in CHECKED:
        f = costs.get(name)
        if f and f["value"] is not None and kernel["value"] is not None:
            found[name] = statistics.median(v / k for v, k in zip(f["values"], kernel["values"]))
    return found


def write_json(path, content):
    """All of it or nothing."""
    path = Path(path)
    scratch = path.with_name(path.name + ".part")
    scratch.write_text(json.dumps(content, indent=2) + "\n")
    scratch.replace(path)


def report_of(found, costs, warnings, meta):
    report = {name: f["value"] for name, f in found.items()}
    meta["spread"] = {name: f["spread"] for name, f in found.items() if f["value"] is not None}
    meta["reasons"] = {name: f["reason"] for name, f in {**found, **costs}.items() if f["value"] is None}
    meta["goals"] = {name: FIGURES[name].goal() for name in found}
    meta["warnings"] = warnings
    meta["host_ns"] = {name: f["value"] for name, f in costs.items() if f["value"] is not None}
    meta["in_wakeups"] = wakeups_of(costs)
    meta["in_wakeups_of_100_pending"] = wakeups_of(costs, 100)
    report["meta"] = meta
    return report
