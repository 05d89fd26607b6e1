# SPDX-License-Identifier: Apache-2.0
"""Runs what figures.py lists and reports it. scripts/benchmark builds the programs and calls this."""
import argparse
import difflib
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

from figures import CHECKED, COSTS, FIGURES, ROOT, RUNS, train_warnings

PROGRAMS = ROOT / "build/release/benchmarks"
BASELINE = ROOT / "benchmarks/baseline.json"
PACKAGES = {"bench_ns3": "libns3-dev", "bench_micro": "libbenchmark-dev"}
WORSE_BY = 0.25  # --check
LONG_ENOUGH = {False: 0.5, True: 0.1}  # seconds of a scaled run, by --quick
TIME_LIMIT = 900  # seconds of any one run


class Unmeasured(Exception):
    """Why a run gave no result."""


def say(text):
    print(text, file=sys.stderr, flush=True)


class Progress:
    """One line that is rewritten on a terminal, else a line a run."""

    def __init__(self, jobs):
        self.guess = {name: run.seconds for name, run in RUNS.items()}
        self.left = list(jobs)
        self.total = len(self.left)
        self.terminal = sys.stderr.isatty()

    def begin(self, name, stage):
        seconds = sum(self.guess[job] for job in self.left)
        self.left.remove(name)
        done = self.total - len(self.left)
        left = f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"
        text = f"[{done}/{self.total}] {stage}: {name}, about {left} left"
        print(f"\r\033[K{text}" if self.terminal else text, end="" if self.terminal else "\n", file=sys.stderr, flush=True)

    def end(self):
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def read_result(program, output):
    """The object that a program printed; whatever the simulation kernel said before it does not matter."""
    start = re.search(r"^\{", output, re.MULTILINE)
    if not start:
        raise Unmeasured("printed no result")
    result = json.loads(output[start.start():])
    if program == "bench_micro":
        return {b["name"]: 1e9 / b["items_per_second"] for b in result["benchmarks"]}
    return result


def execute(name, n, cpu):
    run = RUNS[name]
    program = PROGRAMS / run.program
    if not program.exists():
        package = PACKAGES.get(run.program)
        missing = f": {package} is not installed (scripts/setup --benchmark)" if package else ""
        raise Unmeasured(f"{run.program} was not built{missing}")
    command = [str(program), *(argument.format(n=n) for argument in run.args)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env={**os.environ, "SYSTEMC_DISABLE_COPYRIGHT_MESSAGE": "1"},
                             preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    try:
        output, errors = child.communicate(timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired as late:
        raise Unmeasured(f"run {name} took more than {TIME_LIMIT} s") from late
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
    if child.returncode != 0:
        last = (errors.strip().splitlines() or ["no message"])[-1]
        raise Unmeasured(f"run {name} ended with {child.returncode}: {last}")
    return read_result(run.program, output)


class Measurement:
    """Rounds of runs. A run that failed once is not tried again, and every figure that needs it has the reason."""

    def __init__(self, runs, quick, cpu):
        self.runs = runs
        self.quick = quick
        self.cpu = cpu
        self.n = {name: RUNS[name].n for name in runs}
        self.reasons = {}
        self.fixed = {}  # results of runs that happen once
        self.rounds = []

    def attempt(self, name, progress, stage):
        progress.begin(name, stage)
        start = time.monotonic()
        try:
            return execute(name, self.n[name], self.cpu)
        except Unmeasured as why:
            self.reasons[name] = str(why)
            return None
        finally:
            progress.guess[name] = time.monotonic() - start

    def calibrate(self, progress):
        """A first run of each that is scaled or never repeated: how much work makes it long enough?"""
        for name in self.first_runs():
            result = self.attempt(name, progress, "first look")
            if result and RUNS[name].once:
                self.fixed[name] = result
            elif result:
                factor = LONG_ENOUGH[self.quick] / max(result["host_s"], 1e-4)
                self.n[name] = int(self.n[name] * min(max(factor, 1), 2000))
                progress.guess[name] *= min(max(factor, 1), 2000)

    def first_runs(self):
        return [name for name in self.runs if RUNS[name].scaled or RUNS[name].once]

    def repeated(self):
        return [name for name in self.runs if not RUNS[name].once]

    def measure(self, repeats):
        jobs = self.repeated() * repeats + (self.first_runs() if not self.rounds else [])
        progress = Progress(jobs)
        if not self.rounds:
            self.calibrate(progress)
        for i in range(repeats):
            results = dict(self.fixed)
            for name in self.repeated():
                if name in self.reasons:
                    progress.left.remove(name)
                    continue
                result = self.attempt(name, progress, f"round {i + 1} of {repeats}")
                if result:
                    results[name] = result
            self.rounds.append(results)
        progress.end()

    def values(self, figure):
        """The figure in each round; raises Unmeasured."""
        for run in figure.runs:
            if run in self.reasons:
                raise Unmeasured(self.reasons[run])
        for results in self.rounds:
            reason = figure.guard(results)
            if reason:
                raise Unmeasured(reason)
        return [figure.value(results) for results in self.rounds]

    def busy(self):
        """Wall-clock time over CPU time of the runs: what others took of the machine."""
        shares = [r["wall_s"] / r["host_s"] for results in self.rounds for r in results.values()
                  if r.get("host_s", 0) > 0.05]
        return statistics.median(shares) if shares else 1.0


def spread_of(values):
    middle = statistics.median(values)
    return (max(values) - min(values)) / middle if middle else 0.0


def figures_of(names, table, measurement):
    found = {}
    for name in names:
        try:
            values = measurement.values(table[name])
            found[name] = {"value": statistics.median(values), "spread": spread_of(values), "values": values}
        except Unmeasured as why:
            found[name] = {"value": None, "reason": str(why)}
    return found


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
    wakeup = found.get("kernel_wakeup_1", {}).get("value")
    print(f"\n{'made of':<24} {'host ns':>10} {'wake-ups':>9} {'spread':>7}  what")
    for name, f in found.items():
        if f["value"] is not None:
            wakeups = number(f["value"] / wakeup) if wakeup else "-"
            print(f"{name:<24} {number(f['value']):>10} {wakeups:>9} {f['spread']:>6.0%}   {COSTS[name].what}")


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


def meta_of(measurement, arguments):
    versions = {package: first_line("dpkg-query", "-W", "-f", "${Version}", package)
                for package in ("libsystemc-dev", "libns3-dev", "libbenchmark-dev")}
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    cache = (ROOT / "build/release/CMakeCache.txt").read_text()
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


def wakeups_of(costs):
    """Each cost in wake-ups of the same round."""
    kernel = costs["kernel_wakeup_1"]
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
    meta["in_wakeups"] = wakeups_of(costs) if "kernel_wakeup_1" in costs else {}
    report["meta"] = meta
    return report


def check(measurement, repeats):
    """Costs against the baseline. What looks worse is measured again before it is called worse."""
    baseline = json.loads(BASELINE.read_text())["in_wakeups"]
    names = ["kernel_wakeup_1", *CHECKED]
    costs = figures_of(names, COSTS, measurement)

    def worse():
        now = wakeups_of(costs)
        return [name for name in baseline if name in now and now[name] > baseline[name] * (1 + WORSE_BY)]

    suspects = worse()
    if suspects:
        say(f"Worse than the baseline by more than {WORSE_BY:.0%}, measuring again: {', '.join(suspects)}")
        again = Measurement(runs_for([COSTS[name] for name in ("kernel_wakeup_1", *suspects)]), measurement.quick,
                            measurement.cpu)
        again.measure(2 * repeats)
        costs |= figures_of(["kernel_wakeup_1", *suspects], COSTS, again)
        confirmed = set(worse()) & set(suspects)
        suspects = [name for name in suspects if name in confirmed]
    now = wakeups_of(costs)
    print(f"{'cost in wake-ups':<24} {'baseline':>10} {'now':>10} {'change':>8}")
    for name, before in baseline.items():
        if name in now:
            flag = f"  WORSE by more than {WORSE_BY:.0%}" if name in suspects else ""
            print(f"{name:<24} {number(before):>10} {number(now[name]):>10} {now[name] / before - 1:>+8.0%}{flag}")
    lost = [name for name in baseline if name not in now]
    for name in lost:
        print(f"{name:<24} not measured: {costs.get(name, {}).get('reason', 'no such cost')}")
    return costs, suspects, lost


def runs_for(figures):
    """In the order of RUNS, so that what is compared runs side by side."""
    wanted = {run for figure in figures for run in figure.runs}
    return [name for name in RUNS if name in wanted]


def parse(arguments):
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, prog="scripts/benchmark", usage="see --help")
    parser.add_argument("--json")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write-baseline", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--dry-run", action="store_true")  # scripts/benchmark: only look at the arguments
    options = parser.parse_args(arguments)
    for name in options.only:
        if name not in FIGURES:
            near = difflib.get_close_matches(name, FIGURES, 1)
            parser.error(f"no figure '{name}'" + (f"; did you mean {near[0]}?" if near else "")
                         + " All: " + ", ".join(FIGURES))
    if options.repeats is not None and options.repeats < 1:
        parser.error("--repeats takes a number from 1 on")
    if options.only and (options.check or options.write_baseline):
        parser.error("--only does not go with --check and --write-baseline: the baseline is one whole")
    if options.json and not Path(options.json).resolve().parent.is_dir():
        parser.error(f"--json: there is no folder {Path(options.json).resolve().parent}")
    return options


def main(options):
    repeats = options.repeats or (1 if options.quick else 3)
    baseline_only = options.check or options.write_baseline
    names = [] if baseline_only else [name for name in FIGURES if not options.only or name in options.only]
    figures = [FIGURES[name] for name in names]
    cost_names = ["kernel_wakeup_1", *CHECKED] if baseline_only else list(COSTS)
    runs = runs_for(figures + ([COSTS[name] for name in cost_names] if baseline_only else []))
    # Of the costs, those that these runs tell anyway.
    cost_names = [name for name in cost_names if set(COSTS[name].runs) <= set(runs)]

    measurement = Measurement(runs, options.quick, max(os.sched_getaffinity(0)))
    measurement.measure(repeats)
    found = figures_of(names, FIGURES, measurement)
    failed, lost = [], [name for name in names if found[name]["value"] is None]
    if options.check:
        costs, failed, lost = check(measurement, repeats)
    else:
        costs = figures_of(cost_names, COSTS, measurement)
    warnings = [] if baseline_only else list(train_warnings(measurement.rounds[0]))
    if measurement.busy() > 1.1:
        warnings.append(f"the machine was busy: wall-clock time was {measurement.busy():.1f} times the CPU time")
    if names:
        print_figures(found)
    if not options.check:
        print_costs(costs)
    for warning in warnings:
        say(f"warning: {warning}")
    report = report_of(found, costs, warnings, meta_of(measurement, options))
    if options.json:
        write_json(options.json, report)
    if options.write_baseline:
        meta = {key: report["meta"][key] for key in ("commit", "cpu", "compiler", "versions", "repeats")}
        write_json(BASELINE, {"in_wakeups": report["meta"]["in_wakeups"], "meta": meta})
        say(f"written: {BASELINE.relative_to(ROOT)}")
    if failed:
        return 1
    return 3 if lost else 0


if __name__ == "__main__":
    chosen = parse(sys.argv[1:])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(0 if chosen.dry_run else main(chosen))
    except KeyboardInterrupt:
        say("\ninterrupted: nothing was written")
        sys.exit(130)
