# SPDX-License-Identifier: Apache-2.0
"""stars.py CONFIGS RUNS: in figures of the runs of scripts/reproduce, what is simulated at the place of each star is within its
tolerance. A star at a wrong place is not: from one place of its axis to the next there is more than that."""

import sys
from pathlib import Path

from matplotlib.container import BarContainer, ErrorbarContainer

from faultline.figures.style import plt, styled
from faultline.reproduction.published import read_published
from faultline.reproduction.sections import SECTIONS, Runs

configs, folder = map(Path, sys.argv[1:])
runs = Runs(folder, read_published(configs))
found = []
for section in (each for each in SECTIONS if each.published):
    for caption, draw in section.figures:
        with styled():
            figure = draw(runs)
        for axes in figure.axes:
            stars = [each for each in axes.containers if isinstance(each, ErrorbarContainer) and each[0].get_marker() == "*"]
            lines = [each[0] for each in axes.containers if isinstance(each, ErrorbarContainer) and each not in stars]
            ends = [bar.get_x() + bar.get_width() for each in axes.containers if isinstance(each, BarContainer) for bar in each]
            for line, _, (tolerance,) in stars:
                (x,), (y,) = line.get_xdata(), line.get_ydata()
                # A waterfall's star is of its end, a curve's of what a line has at this x.
                upright = bool(lines)
                simulated = ([b for each in lines for a, b in zip(each.get_xdata(), each.get_ydata()) if a == x] if upright
                             else [max(ends)])
                low, high = tolerance.get_segments()[0][:, 1 if upright else 0]
                print(f"{section.name}, {caption}: star at ({x:g}, {y:g}), simulated {', '.join(f'{each:g}' for each in simulated)}")
                assert any(low <= each <= high for each in simulated), f"{section.name}: not from {low:g} to {high:g}"
                found.append(section.name)
        plt.close(figure)
assert found == ["E1", "E2", "E3", "E4"], found
