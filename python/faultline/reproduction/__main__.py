# SPDX-License-Identifier: Apache-2.0
"""python3 -m faultline.reproduction --program PROGRAM --configs FOLDER --out FOLDER [--quick] [--jobs N]

Exit codes: 0 fine, 1 a run, a figure or a published value failed and the page says which, 2 usage, 130 interrupted.
"""

import argparse
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from faultline import figures
from faultline.figures import plt, styled
from faultline.points import PlotError
from faultline.reproduction.page import page
from faultline.reproduction.published import read_published
from faultline.reproduction.sections import SECTIONS, SENSITIVITY, Runs

_QUICK = ("--set", "workload.iterations=1", "--set", "workload.warmup=1")
_INTERRUPTED = 130


class Interrupted(Exception):
    """The runs that are complete stay; the same command goes on."""


def _arguments():
    parser = argparse.ArgumentParser(prog="scripts/reproduce", allow_abbrev=False)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--configs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int)
    return parser.parse_args()


class Program:
    def __init__(self, arguments):
        self._arguments = arguments
        self._common = ["--configs", str(arguments.configs)]
        if arguments.jobs:
            self._common += ["-j", str(arguments.jobs)]

    def _call(self, words, **options):
        done = subprocess.run([str(self._arguments.program), *words], stdout=subprocess.PIPE, text=True, check=False,
                              **options)
        if done.returncode in (_INTERRUPTED, -2):
            raise Interrupted
        return done

    def version(self):
        return self._call(["--version"]).stdout.strip()

    def run(self, command, experiment, out, *more):
        """"" or what went wrong. A folder whose run is complete is left as it is."""
        print(f"==> {command} {experiment}", file=sys.stderr, flush=True)
        quick = _QUICK if self._arguments.quick and not self._has_flows(experiment) else ()
        done = self._call([command, experiment, "--out", str(out), "--format", "json", *more, *quick, *self._common])
        return "" if done.returncode == 0 else f"'faultline {command} {experiment}' ended with exit code {done.returncode}"

    def _has_flows(self, experiment):
        """Each flow says itself how many transfers it has."""
        text = (self._arguments.configs / "experiments" / f"{experiment}.toml").read_text()
        return tomllib.loads(text).get("workload") == "flows"

    def validate(self):
        """Always with all transfers: some published values are of means over many."""
        print("==> validate", file=sys.stderr, flush=True)
        done = self._call(["validate", "--format", "json", *self._common])
        return json.loads(done.stdout) if done.returncode in (0, 1) else []


def _simulate(program, folder):
    """Every experiment once; what went wrong by experiment."""
    names = dict.fromkeys(name for section in SECTIONS for name in section.runs)
    troubles = {name: program.run("run", name, folder / name) for name in names}
    troubles[SENSITIVITY] = program.run("sensitivity", "fault-breakdown", folder / SENSITIVITY, "--set",
                                        "workload.cold=destination")
    return troubles


def _draw(section, runs, folder, troubles):
    """([(caption, PNG file)], [trouble]). A figure that cannot be made costs no other one."""
    drawn = []
    told = [troubles[name] for name in section.runs if troubles[name]]
    for index, (caption, draw) in enumerate(section.figures):
        png = folder / f"{section.name}-{chr(ord('a') + index)}.png"
        try:
            with styled():
                figure = draw(runs)
            figures.save(figure, png)
            figures.save(figure, png.with_suffix(".pdf"))
            plt.close(figure)
            drawn.append((caption, png))
        except PlotError as error:
            told.append(f"{caption}: {error}")
    return drawn, told


def main():
    arguments = _arguments()
    pictures = arguments.out / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    program = Program(arguments)
    published = read_published(arguments.configs)
    runs = Runs(arguments.out / "runs", published)
    troubles = _simulate(program, runs.folder)
    checks = program.validate()
    drawn = {section.name: _draw(section, runs, pictures, troubles) for section in SECTIONS}
    html = page(SECTIONS, drawn, checks, published, program.version(), arguments.quick)
    file = arguments.out / "index.html"
    part = arguments.out / ".index.html.part"
    part.write_text(html, encoding="utf-8")
    os.replace(part, file)
    print(file)
    failed = [text for _, told in drawn.values() for text in told] + [troubles[SENSITIVITY]] * bool(troubles[SENSITIVITY])
    failed += ["validation gave no figures"] * (not checks)
    failed += [f"{each['name']} {each['at']}: published value missed" for each in checks
               if each["counts"] and not each["passed"]]
    for text in failed:
        print(text, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Interrupted, KeyboardInterrupt):
        print("interrupted: what is complete is kept; the same command goes on", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    except OSError as problem:
        print(f"{problem.filename}: {problem.strerror}", file=sys.stderr)
        sys.exit(2)
