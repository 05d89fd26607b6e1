# SPDX-License-Identifier: Apache-2.0
"""Runs what figures.py lists, one after the other on one core, in rounds."""
import itertools
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time

from figures import ROOT, RUNS

PROGRAMS = ROOT / "build/release/benchmarks"
PACKAGES = {"bench_ns3": "libns3-dev", "bench_micro": "libbenchmark-dev"}
LONG_ENOUGH = {False: 0.5, True: 0.1}  # seconds of a scaled run, by --quick
MOST_SCALED = 2000  # times the work of its first look
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
        begin, end = ("\r\033[K", "") if self.terminal else ("", "\n")
        print(begin + text, end=end, file=sys.stderr, flush=True)

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
        return {b["run_name"]: 1e9 / b["items_per_second"] for b in result["benchmarks"]
                if b.get("aggregate_name") == "median"}
    return result


def command_of(name, n, programs=PROGRAMS):
    run = RUNS[name]
    return [str(programs / run.program), *(argument.format(n=n) for argument in run.args)]


def execute(name, n, cpu, programs):
    run = RUNS[name]
    if not (programs / run.program).exists():
        package = PACKAGES.get(run.program)
        missing = f": {package} is not installed (scripts/setup --benchmark)" if package else ""
        raise Unmeasured(f"{run.program} was not built{missing}")
    # An interruption waits until there is a child to end.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})

    def in_child():
        os.sched_setaffinity(0, {cpu})
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    child = subprocess.Popen(command_of(name, n, programs), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env={**os.environ, "SYSTEMC_DISABLE_COPYRIGHT_MESSAGE": "1"}, preexec_fn=in_child)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
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
    """Rounds of runs. A run that failed once is not tried again, and every figure that needs it has the reason. With
    `against`, a folder of another build's programs, these do each run, too, just before."""

    def __init__(self, runs, quick, cpu, against=None):
        self.runs = runs
        self.quick = quick
        self.cpu = cpu
        self.n = {name: RUNS[name].n for name in runs}
        self.reasons = {}
        self.fixed = {}  # results of runs that happen once
        self.builds = {PROGRAMS: []} if against is None else {against: [], PROGRAMS: []}  # of each its rounds

    @property
    def rounds(self):
        return self.builds[PROGRAMS]

    def attempt(self, name, progress, stage, programs=PROGRAMS):
        progress.begin(name, stage)
        start = time.monotonic()
        try:
            return execute(name, self.n[name], self.cpu, programs)
        except Unmeasured as why:
            self.reasons[name] = str(why) if programs == PROGRAMS else f"{programs}: {why}"
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
                self.n[name] = int(self.n[name] * min(max(factor, 1), MOST_SCALED))
                progress.guess[name] *= min(max(factor, 1), MOST_SCALED)

    def first_runs(self):
        return [name for name in self.runs if RUNS[name].scaled or RUNS[name].once]

    def repeated(self):
        return [name for name in self.runs if not RUNS[name].once]

    def measure(self, repeats):
        jobs = self.repeated() * repeats * len(self.builds) + (self.first_runs() if not self.rounds else [])
        progress = Progress(jobs)
        if not self.rounds:
            self.calibrate(progress)
        for i in range(repeats):
            results = {programs: dict(self.fixed) for programs in self.builds}
            for name, programs in itertools.product(self.repeated(), self.builds):
                if name in self.reasons:
                    progress.left.remove(name)
                    continue
                result = self.attempt(name, progress, f"round {i + 1} of {repeats}", programs)
                if result:
                    results[programs][name] = result
            for programs, rounds in self.builds.items():
                rounds.append(results[programs])
        progress.end()

    def values(self, figure, programs=PROGRAMS):
        """The figure in each round; raises Unmeasured."""
        for run in figure.runs:
            if run in self.reasons:
                raise Unmeasured(self.reasons[run])
        for results in self.builds[programs]:
            reason = figure.guard(results)
            if reason:
                raise Unmeasured(reason)
        return [figure.value(results) for results in self.builds[programs]]

    def ratios(self, cost):
        """The cost in each round over that of the other build; raises Unmeasured."""
        before, now = (self.values(cost, programs) for programs in self.builds)
        if min(before) <= 0:
            raise Unmeasured("what it is the difference of is within noise")
        return [n / b for n, b in zip(now, before)]

    def busy(self):
        """Wall-clock time over CPU time of the runs: what others took of the machine."""
        shares = [r["wall_s"] / r["host_s"] for results in self.rounds for r in results.values()
                  if isinstance(r, dict) and r.get("host_s", 0) > 0.05]
        return statistics.median(shares) if shares else 1.0


def runs_for(figures):
    """In the order of RUNS, so that what is compared runs side by side."""
    wanted = {run for figure in figures for run in figure.runs}
    return [name for name in RUNS if name in wanted]


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
