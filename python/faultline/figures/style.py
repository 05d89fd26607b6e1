# SPDX-License-Identifier: Apache-2.0
"""What all figures share: sizes of a paper's columns, fonts that editors accept, axes, legends and notes."""

import math
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (the backend comes first)
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator  # noqa: E402

from faultline.quantities import numbers, short_bytes  # noqa: E402

COLUMN = 3.5  # inches: one column of an IEEE or ACM paper
PAGE = 7.16  # both
ROW = 2.3  # height of a panel
_LEGEND_ROW = 0.125

LOW, HIGH = "#56B4E9", "#D55E00"
PUBLISHED = "#F0E442"  # a star with a black edge: no series has either
NOTE = 6  # size of the letters of what stands below a figure

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


def plain(text):
    """A text in which `$` is a letter, and no formula begins."""
    return text.replace("$", r"\$")


_UNSEEN = "\u200b"  # a space without width


def kept(label):
    """A series' name that legends keep: matplotlib leaves out what begins with `_`."""
    return _UNSEEN + label if label.startswith("_") else label


def own(label):
    """The name that kept() was given."""
    return label.removeprefix(_UNSEEN)


def styled():
    return matplotlib.rc_context(_SETTINGS)


def columns_for(count):
    """Of panels: two beside each other where that fills the rows, else three."""
    return count if count < 3 else 2 if count == 4 else 3


def panels(count, width, height, columns=None, share=True):
    """A figure with `count` panels and a strip for the legend above: (figure, strip, panels). `share`: of the y axis."""
    columns = columns or columns_for(count)
    rows = -(-count // columns)
    figure = plt.figure(figsize=(width, height * rows), layout="constrained")
    grid = figure.add_gridspec(1 + rows, columns, height_ratios=[0.01] + [1] * rows)
    strip = figure.add_subplot(grid[0, :])
    strip.axis("off")
    shown = []
    for index in range(count):
        cell = grid[1 + index // columns, index % columns]
        shown.append(figure.add_subplot(cell, sharey=shown[0] if shown and share else None))
        if share and index % columns:
            shown[-1].tick_params(labelleft=False)
    return figure, strip, shown


def legend(strip, handles, labels, width):
    """Above the panels, in as many columns as fit."""
    longest = max(len(label) for label in labels)
    columns = max(1, min(len(labels), int(width / (0.05 * longest + 0.3))))
    figure = strip.figure
    figure.set_figheight(figure.get_figheight() + _LEGEND_ROW * -(-len(labels) // columns))
    strip.legend(handles, [kept(label) for label in labels], loc="center", ncol=columns, frameon=False, handlelength=1.6,
                 columnspacing=1.2, borderpad=0, borderaxespad=0)


def footnotes(figure, notes, width):
    """Below the panels, in a figure that grows by them."""
    letters = int(width / (0.0075 * NOTE))
    lines = [line for note in notes for part in note.split("\n") for line in textwrap.wrap(part, letters)]
    if not lines:
        return
    figure.set_figheight(figure.get_figheight() + 0.0175 * NOTE * len(lines))
    figure.supxlabel("\n".join(lines).replace("$", r"\$"), x=0.01, ha="left", fontsize=NOTE)


def readable(unit, values):
    """(values, unit) in milliseconds or seconds where microseconds would be long numbers."""
    for larger, factor in (("s", 1e6), ("ms", 1e3)):
        if unit == "us" and min(value for value in values if value > 0) >= factor:
            return [value / factor for value in values], larger
    return values, unit


def log_axis(axis, base=10):
    """Ticks as people write them: 0.1, 1, 10, 1000."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}" if value == 0 or 1e-4 < value < 1e6 else f"$10^{{{math.log10(value):.0f}}}$"))
    axis.set_minor_formatter(NullFormatter())


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


def number_axis(axes, texts, width, labels=None, are_names=False):
    """Sets up the x axis, of `width` inches, for values of a parameter: (their positions, unit). Names, as which `labels` shows
    them, stand side by side, at 0, 1, 2 ..."""
    found = None if are_names else numbers(texts)
    if found is None:
        positions = list(range(len(texts)))
        words = [(labels or {}).get(text, text) for text in texts]
        letters = max(4, int(width / len(texts) / 0.055))
        lines = [textwrap.wrap(word, letters, break_long_words=False, break_on_hyphens=False) for word in words]
        crowded = any(len(line) > letters for each in lines for line in each)
        axes.set_xticks(positions, [plain(word if crowded else "\n".join(each)) for word, each in zip(words, lines)],
                        rotation=30 if crowded else 0,
                        ha="right" if crowded else "center", rotation_mode="anchor" if crowded else None)
        axes.set_xlim(-0.6, len(texts) - 0.4)
        return positions, ""
    positions, unit = readable(found[1], found[0]) if max(found[0]) > 0 else found
    logarithmic = min(positions) > 0 and max(positions) / min(positions) >= 16
    if logarithmic:
        axes.set_xscale("log", base=2 if unit == "B" else 10)
    if logarithmic or len(positions) <= 8:
        axes.set_xticks(*_ticks(positions, [short_bytes(p) if unit == "B" else f"{p:g}" for p in positions], logarithmic,
                                width))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())
    return positions, unit
