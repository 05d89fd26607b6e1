# SPDX-License-Identifier: Apache-2.0
"""What all figures share: sizes of a paper's columns, fonts that editors accept, colours that everybody can tell apart."""

import math

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (the backend comes first)
from matplotlib.ticker import NullFormatter, NullLocator  # noqa: E402

from faultline.quantities import numbers, short_bytes  # noqa: E402

COLUMN = 3.5  # inches: one column of an IEEE or ACM paper
PAGE = 7.16  # both
ROW = 2.3  # height of a panel
_LEGEND_ROW = 0.125

# Okabe and Ito's colours without the yellow, which is faint on white; black first.
LINES = ("#000000", "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
MARKERS = "osD^vP*X"
# Paul Tol's "muted", for areas side by side; the last is for what is left.
AREAS = ("#332288", "#88CCEE", "#CC6677", "#DDCC77", "#117733", "#AA4499", "#44AA99", "#882255", "#999933")
REST = "#DDDDDD"
LOW, HIGH = "#56B4E9", "#D55E00"
PUBLISHED = "#F0E442"  # with a black edge: no line has it

_SETTINGS = {
    "pdf.fonttype": 42,  # TrueType, embedded: text stays text
    "ps.fonttype": 42,
    "font.family": "DejaVu Sans",
    "font.size": 7,
    "axes.labelsize": 7,
    "axes.titlesize": 7,
    "legend.fontsize": 6.5,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.4,
    "lines.linewidth": 1.0,
    "lines.markersize": 3.2,
    "hatch.linewidth": 0.5,
    "savefig.dpi": 300,
    "path.simplify": False,
}


def styled():
    return matplotlib.rc_context(_SETTINGS)


def columns_for(count):
    """Of panels: two beside each other where that fills the rows, else three."""
    return count if count < 3 else 2 if count == 4 else 3


def panels(count, width, height, columns=None):
    """A figure with `count` panels and a strip for the legend above: (figure, strip, panels)."""
    columns = columns or columns_for(count)
    rows = -(-count // columns)
    figure = plt.figure(figsize=(width, height * rows), layout="constrained")
    grid = figure.add_gridspec(1 + rows, columns, height_ratios=[0.01] + [1] * rows)
    strip = figure.add_subplot(grid[0, :])
    strip.axis("off")
    shown = []
    for index in range(count):
        cell = grid[1 + index // columns, index % columns]
        shown.append(figure.add_subplot(cell, sharey=shown[0] if shown else None))
        if index % columns:
            shown[-1].tick_params(labelleft=False)
    return figure, strip, shown


def legend(strip, handles, labels, width):
    """Above the panels, in as many columns as fit."""
    longest = max(len(label) for label in labels)
    columns = max(1, min(len(labels), int(width / (0.05 * longest + 0.3))))
    figure = strip.figure
    figure.set_figheight(figure.get_figheight() + _LEGEND_ROW * -(-len(labels) // columns))
    strip.legend(handles, labels, loc="center", ncol=columns, frameon=False, handlelength=1.6, columnspacing=1.2,
                 borderpad=0, borderaxespad=0)


def _readable(unit, values):
    """(values, unit) in milliseconds or seconds where microseconds would be long numbers."""
    for larger, factor in (("s", 1e6), ("ms", 1e3)):
        if unit == "us" and min(value for value in values if value > 0) >= factor:
            return [value / factor for value in values], larger
    return values, unit


def _ticks(positions, labels, logarithmic, width):
    """Those whose labels have room, of an axis of `width` inches."""
    places = [math.log(position) for position in positions] if logarithmic else positions
    span = (max(places) - min(places)) or 1
    chosen, free = [], -math.inf
    for position, place, label in sorted(zip(positions, places, labels)):
        middle, half = width * (place - min(places)) / span, 0.028 * len(label) + 0.02
        if middle - half >= free:
            chosen.append((position, label))
            free = middle + half
    return zip(*chosen)


def number_axis(axes, texts, width):
    """Sets up the x axis, of `width` inches, for values of a parameter: (their positions, unit). Names stand side by side, at
    0, 1, 2 ..."""
    found = numbers(texts)
    if found is None:
        positions = list(range(len(texts)))
        crowded = sum(len(text) for text in texts) > 40
        axes.set_xticks(positions, texts, rotation=30 if crowded else 0, ha="right" if crowded else "center")
        axes.set_xlim(-0.6, len(texts) - 0.4)
        return positions, ""
    positions, unit = _readable(found[1], found[0]) if max(found[0]) > 0 else found
    logarithmic = min(positions) > 0 and max(positions) / min(positions) >= 16
    if logarithmic:
        axes.set_xscale("log", base=2 if unit == "B" else 10)
    if logarithmic or len(positions) <= 8:
        axes.set_xticks(*_ticks(positions, [short_bytes(p) if unit == "B" else f"{p:g}" for p in positions], logarithmic,
                                width))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())
    return positions, unit
