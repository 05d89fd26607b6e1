# SPDX-License-Identifier: Apache-2.0
"""The command line of scripts/benchmark, which builds the programs and calls this."""
import argparse
import difflib
import json
import os
import shlex
import signal
import sys
from pathlib import Path

import scaling
from figures import CHECKED, COSTS, FIGURES, ROOT, RUNS
from measurement import Measurement, command_of, figures_of, runs_for, say
from report import meta_of, number, print_costs, print_figures, report_of, warnings_of, write_json

BASELINE = ROOT / "benchmarks/baseline.json"
WORSE_BY = 0.25  # --check


def parse(arguments):
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, prog="scripts/benchmark", usage="see --help")
    parser.add_argument("--json")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write-baseline", action="store_true")
    parser.add_argument("--scaling", action="store_true")
    parser.add_argument("--figure")
    parser.add_argument("--command", choices=list(RUNS), metavar="RUN")
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
    modes = [options.check, options.write_baseline, options.scaling, options.only, options.command]
    if sum(map(bool, modes)) > 1:
        parser.error("only one of --check, --write-baseline, --scaling, --only and --command")
    if options.figure and not options.scaling:
        parser.error("--figure goes with --scaling")
    for name, path in (("--json", options.json), ("--figure", options.figure)):
        if path and not Path(path).resolve().parent.is_dir():
            parser.error(f"{name}: there is no folder {Path(path).resolve().parent}")
    return options


def checked_in_wakeups(measurement, names=CHECKED):
    found = {name: measurement.in_wakeups(COSTS[name]) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def check(measurement, repeats):
    """The costs that are worse than the baseline, and those that could not be measured. What looks worse is measured
    again before it is called worse."""
    baseline = json.loads(BASELINE.read_text())["in_wakeups"]
    now = checked_in_wakeups(measurement)

    def worse():
        return [name for name in baseline if name in now and now[name] > baseline[name] * (1 + WORSE_BY)]

    if worse():
        say(f"Worse than the baseline by more than {WORSE_BY:.0%}, measuring again: {', '.join(worse())}")
        again = Measurement(runs_for([COSTS[name] for name in worse()]), measurement.quick, measurement.cpu, True)
        again.measure(2 * repeats)
        now |= checked_in_wakeups(again, worse())
    print(f"{'cost in wake-ups':<24} {'baseline':>10} {'now':>10} {'change':>8}")
    for name, before in baseline.items():
        if name in now:
            flag = f"  WORSE by more than {WORSE_BY:.0%}" if name in worse() else ""
            print(f"{name:<24} {number(before):>10} {number(now[name]):>10} {now[name] / before - 1:>+8.0%}{flag}")
    lost = [name for name in baseline if name not in now]
    for name in lost:
        runs = COSTS[name].runs if name in COSTS else []
        why = [measurement.reasons[run] for run in runs if run in measurement.reasons]
        print(f"{name:<24} not measured: {(why or ['no such cost, or no yardstick'])[0]}")
    return worse(), lost


def main_scaling(options, repeats, cpu):
    measurement = Measurement(scaling.RUNS, options.quick, cpu)
    measurement.measure(repeats)
    sizes, patterns = scaling.scaling_of(measurement)
    scaling.print_scaling(sizes, patterns)
    for run, reason in measurement.reasons.items():
        say(f"not measured: {run}: {reason}")
    if options.json:
        write_json(options.json, {"scaling": sizes, "patterns_4096": patterns,
                                  "meta": {**meta_of(measurement, options), "reasons": measurement.reasons}})
    drawn = not options.figure or scaling.draw(sizes, options.figure)
    return 0 if drawn and not measurement.reasons else 3


def main_check(options, repeats, cpu):
    """--check and --write-baseline."""
    measurement = Measurement(runs_for([COSTS[name] for name in CHECKED]), options.quick, cpu, True)
    measurement.measure(repeats)
    worse, lost = check(measurement, repeats) if options.check else ([], [])
    costs = figures_of(["kernel_wakeup_1", *CHECKED], COSTS, measurement)
    report = report_of({}, costs, warnings_of(measurement), meta_of(measurement, options))
    if options.json:
        write_json(options.json, report)
    if options.write_baseline:
        print_costs(costs)
        meta = {key: report["meta"][key] for key in ("commit", "cpu", "compiler", "versions", "repeats")}
        write_json(BASELINE, {"in_wakeups": checked_in_wakeups(measurement), "meta": meta})
        say(f"written: {BASELINE.relative_to(ROOT)}")
    return 1 if worse else 3 if lost else 0


def main_figures(options, repeats, cpu):
    names = [name for name in FIGURES if not options.only or name in options.only]
    costs_alone = [] if options.only else COSTS.values()  # those that no figure is made of
    runs = runs_for([*(FIGURES[name] for name in names), *costs_alone])
    measurement = Measurement(runs, options.quick, cpu)
    measurement.measure(repeats)
    found = figures_of(names, FIGURES, measurement)
    costs = figures_of([name for name in COSTS if set(COSTS[name].runs) <= set(runs)], COSTS, measurement)
    warnings = warnings_of(measurement)
    print_figures(found)
    print_costs(costs)
    if options.json:
        write_json(options.json, report_of(found, costs, warnings, meta_of(measurement, options)))
    return 3 if any(f["value"] is None for f in found.values()) else 0


def main(options):
    repeats = options.repeats or (1 if options.quick else 3)
    cpu = max(os.sched_getaffinity(0))
    if options.command:
        print(shlex.join(command_of(options.command, RUNS[options.command].n)))
        return 0
    if options.scaling:
        return main_scaling(options, repeats, cpu)
    if options.check or options.write_baseline:
        return main_check(options, repeats, cpu)
    return main_figures(options, repeats, cpu)


if __name__ == "__main__":
    chosen = parse(sys.argv[1:])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(0 if chosen.dry_run else main(chosen))
    except KeyboardInterrupt:
        say("\ninterrupted: nothing was written")
        sys.exit(130)
