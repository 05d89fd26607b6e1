# SPDX-License-Identifier: Apache-2.0
"""The command line of scripts/benchmark, which builds the programs and calls this."""
import argparse
import difflib
import os
import shlex
import signal
import statistics
import sys
from pathlib import Path

import scaling
from figures import CHECKED, COSTS, FIGURES, RUNS
from measurement import Measurement, Unmeasured, command_of, figures_of, runs_for, say
from report import meta_of, print_costs, print_figures, report_of, warnings_of, write_json

WORSE_BY = 0.25  # --against


def parse(arguments):
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, prog="scripts/benchmark", usage="see --help")
    parser.add_argument("--json")
    parser.add_argument("--against", type=Path)  # a folder of programs; scripts/benchmark: of a commit
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
    modes = [options.against, options.scaling, options.only, options.command]
    if sum(map(bool, modes)) > 1:
        parser.error("only one of --against, --scaling, --only and --command")
    if options.figure and not options.scaling:
        parser.error("--figure goes with --scaling")
    for name, path in (("--json", options.json), ("--figure", options.figure)):
        if path and not Path(path).resolve().parent.is_dir():
            parser.error(f"{name}: there is no folder {Path(path).resolve().parent}")
    return options


def compared(measurement, names):
    """Of each cost that could be measured its ratios, and of the others why not."""
    ratios, reasons = {}, {}
    for name in names:
        try:
            ratios[name] = measurement.ratios(COSTS[name])
        except Unmeasured as why:
            reasons[name] = str(why)
    return ratios, reasons


def is_worse(ratios):
    return statistics.median(ratios) > 1 + WORSE_BY


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


def main_against(options, repeats, cpu):
    """What looks worse is measured again before it is called worse."""
    def measure(names, rounds):
        measurement = Measurement(runs_for([COSTS[name] for name in names]), options.quick, cpu, options.against)
        measurement.measure(rounds)
        return measurement, *compared(measurement, names)

    measurement, ratios, reasons = measure(CHECKED, repeats)
    worse = [name for name in ratios if is_worse(ratios[name])]
    if worse:
        say(f"Worse by more than {WORSE_BY:.0%}, measuring again: {', '.join(worse)}")
        ratios |= measure(worse, 2 * repeats)[1]
    print(f"{'host time, now / then':<24} {'median':>7} {'least':>7} {'most':>7}")
    for name, found in ratios.items():
        flag = f"  WORSE by more than {WORSE_BY:.0%}" if is_worse(found) else ""
        print(f"{name:<24} {statistics.median(found):>7.2f} {min(found):>7.2f} {max(found):>7.2f}{flag}")
    for name, reason in reasons.items():
        print(f"{name:<24} not measured: {reason}")
    warnings = warnings_of(measurement)
    if options.json:
        write_json(options.json, {"ratios": ratios, "meta": {
            **meta_of(measurement, options), "against": str(options.against), "reasons": reasons, "warnings": warnings}})
    return 1 if any(map(is_worse, ratios.values())) else 3 if reasons else 0


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
    if options.against:
        return main_against(options, repeats, cpu)
    return main_figures(options, repeats, cpu)


if __name__ == "__main__":
    chosen = parse(sys.argv[1:])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(0 if chosen.dry_run else main(chosen))
    except KeyboardInterrupt:
        say("\ninterrupted: nothing was written")
        sys.exit(130)
