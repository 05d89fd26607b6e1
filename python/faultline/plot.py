# SPDX-License-Identifier: Apache-2.0
"""What `faultline plot` runs: plot.py RUN --figure NAME [--out FILE] ...

Exit codes: 0 fine, 2 the figure cannot be made, and why is on standard error.
"""

import argparse
import contextlib
import difflib
import os
import sys
from pathlib import Path

_SUFFIXES = (".pdf", ".png")


def _arguments(words):
    parser = argparse.ArgumentParser(prog="faultline plot", allow_abbrev=False)
    parser.add_argument("run", type=Path)
    parser.add_argument("--figure", required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--metric")
    parser.add_argument("--x")
    parser.add_argument("--by")
    parser.add_argument("--combinations")
    return parser.parse_args(words)


def _numbers(ranges):
    """Those of "1-3,7-7", as the program writes what --where leaves; None of None."""
    if ranges is None:
        return None
    ends = [each.split("-") for each in ranges.split(",")]
    return {number for first, last in ends for number in range(int(first), int(last) + 1)}


def _files(arguments, error):
    """Where the figure goes: PDF and PNG beside the run's tables, or what --out names."""
    if arguments.out is None:
        folder = arguments.run / "figures"
        try:
            folder.mkdir(exist_ok=True)
        except OSError as problem:
            raise error(f"{folder}: cannot be made: {problem.strerror}") from problem
        return [folder / f"{arguments.figure}{suffix}" for suffix in _SUFFIXES]
    if arguments.out.suffix not in _SUFFIXES:
        raise error(f"--out {arguments.out}: needs a name that ends in .pdf or .png")
    return [arguments.out]


def _write(figure, files, save, error):
    """Whole files or none: a reader never sees half a figure."""
    for file in files:
        part = file.with_name(f".{file.stem}.part{file.suffix}")
        try:
            save(figure, part)
            os.replace(part, file)
        except OSError as problem:
            raise error(f"{file}: cannot be written: {problem.strerror}") from problem
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
        print(file)


def main(words):
    arguments = _arguments(words)
    try:
        from faultline import figures
    except ImportError as error:
        print("faultline plot needs Debian's python3-matplotlib and python3-pandas (scripts/setup --python installs them): "
              f"{error}", file=sys.stderr)
        return 2
    error = figures.PlotError
    try:
        if arguments.figure not in figures.FIGURES:
            near = difflib.get_close_matches(arguments.figure, figures.FIGURES, 1)
            raise error(f"--figure: no figure '{arguments.figure}'; allowed: {', '.join(figures.FIGURES)}"
                        + (f"; did you mean '{near[0]}'?" if near else ""))
        if not arguments.run.is_dir():
            raise error(f"{arguments.run}: no such folder")
        options = figures.Options(arguments.metric, arguments.x, arguments.by, _numbers(arguments.combinations))
        figure = figures.make(arguments.run, arguments.figure, options)
        _write(figure, _files(arguments, error), figures.save, error)
    except error as problem:
        print(problem, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
