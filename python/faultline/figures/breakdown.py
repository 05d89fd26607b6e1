# SPDX-License-Identifier: Apache-2.0
"""Where a transfer's time goes: of each point a waterfall of its steps, in order of time, as `faultline run` prints it."""

import re
from dataclasses import dataclass

from matplotlib import colormaps
from matplotlib.colors import to_hex
from matplotlib.patches import Patch

from faultline.figures.curves import where_example
from faultline.figures.failures import failed_of, failed_text, notes_on
from faultline.figures.style import COLUMN, PAGE, PUBLISHED, footnotes, legend, panels, plain
from faultline.labels import labels_of, name_of
from faultline.points import PlotError, axes_of, reason

_MOST_PANELS = 8
_MOST_ROWS = 50  # of a panel; later attempts are one row each where there are more
_ROW = 0.12  # inches
_FAR = 6  # the longest of the shortest waterfall, from where on each has a scale of its own
_SIDES = {"source": "Blues", "destination": "Oranges", "": "Greys"}
_RESEND = re.compile(r"(.*) \((resend(?: \d+)?)\)$")


@dataclass
class Row:
    name: str
    side: str
    start: float  # us
    time: float


def _attempt(name):
    found = _RESEND.match(name)
    return found[2] if found else ""


def _together(rows, attempts):
    """Those of each of the attempts as one row: its steps follow each other."""
    kept = []
    for row in rows:
        attempt = _attempt(row.name)
        if attempt not in attempts:
            kept.append(row)
        elif kept and kept[-1].name.startswith(f"{attempt}: "):
            kept[-1].time += row.time
        else:
            kept.append(Row(f"{attempt}: all its steps", "", row.start, row.time))
    return kept


def waterfall(steps):
    """Each step begins where the one before it ends. Where there are too many rows the attempts are one each, the last ones
    first, and then all that are left together."""
    rows, start = [], 0.0
    for step in steps:
        rows.append(Row(step.name, step.side, start, step.mean_us))
        start += step.mean_us
    attempts = list(dict.fromkeys(_attempt(row.name) for row in rows if _attempt(row.name)))
    together = []
    while len(_together(rows, together)) > _MOST_ROWS and attempts:
        together.append(attempts.pop())
    rows = _together(rows, together)
    if len(rows) > _MOST_ROWS:
        rest = rows[_MOST_ROWS - 1:]
        rows = [*rows[:_MOST_ROWS - 1], Row(f"{len(rest)} later rows", "", rest[0].start, sum(row.time for row in rest))]
    return rows


def colours_of(waterfalls):
    """Of each step its own shade: blues at the source, oranges at the destination, darker the later it is."""
    steps = {}
    for rows in waterfalls:
        for row in rows:
            steps.setdefault(row.side, {})[row.name] = None
    shades = {}
    for side, names in steps.items():
        colours = colormaps[_SIDES.get(side, _SIDES[""])]
        for index, name in enumerate(names):
            shades[name, side] = to_hex(colours(0.4 + 0.55 * index / max(1, len(names) - 1)))
    return shades


def _title(point, names, total, unit):
    texts = [labels[point.parameters.get(name, "")] if name == "strategy" else
             f"{name_of(name)}: {labels[point.parameters.get(name, '')]}" for name, labels in names.items()]
    note = f"; {failed_text(point.failures)}, not in it" if failed_of(point) else ""
    return "\n".join(texts or [point.parameters["strategy"]]) + f"\n{total:.2f} {unit} in all{note}"


def _draw(axes, rows, colours, longest, scale, thickness):
    """Times beside their bars: to the right of a bar, unless it ends near the right edge."""
    for place, row in enumerate(rows):
        start, time = row.start * scale, row.time * scale
        axes.barh([place], [time], thickness, start, color=colours[row.name, row.side], label=row.name,
                  edgecolor=colours[row.name, row.side], linewidth=0.5)
        right = start + time < 0.7 * longest
        axes.text(start + time + 0.015 * longest if right else start - 0.015 * longest, place, f"{time:.2f}", va="center",
                  ha="left" if right else "right", fontsize=5.5)
    for place, row in enumerate(rows[1:]):
        axes.plot([row.start * scale] * 2, [place, place + 1], color="#999999", linewidth=0.4, zorder=0.5)
    axes.set_yticks(range(len(rows)), [plain(row.name) for row in rows], fontsize=6)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 1.02 * longest)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")


def _mark(axes, rows, value, tolerance, text):
    """In a row of its own, below the last one."""
    axes.set_yticks(range(len(rows) + 1), [*(plain(row.name) for row in rows), "published, in all"], fontsize=6)
    axes.set_ylim(len(rows) + 0.8, -0.6)
    axes.errorbar([value], [len(rows)], xerr=[tolerance], fmt="*", color=PUBLISHED, markersize=8, capsize=2.5,
                  markeredgecolor="black", markeredgewidth=0.6, ecolor="black", elinewidth=0.8, label=text, zorder=5)


def _chosen(points):
    timed = [point for point in points if point.steps]
    if not timed:
        why = reason(points) if not any(point.metrics for point in points) else ""
        raise PlotError(f"no point has results: {why}" if why else
                        "no point has a breakdown into steps: the workload is not one transfer at a time")
    varying = axes_of(timed)
    if len(timed) > _MOST_PANELS:
        raise PlotError(f"{len(timed)} waterfalls are too many (of {_MOST_PANELS}); {where_example(timed, varying)}")
    return timed, varying


def _empty(count, heights):
    """A figure of `count` panels, two beside each other, whose rows have the heights in inches."""
    columns = min(2, count)
    figure, strip, shown = panels(count, COLUMN if count == 1 else PAGE, 1.0, columns, share=False)
    figure.set_figheight(sum(heights))
    shown[0].get_gridspec().set_height_ratios([0.01, *heights])
    return figure, strip, shown


def breakdown(points, _options=None, marks=()):
    """`marks`: (index of the panel, value, tolerance, text), published totals in us."""
    timed, varying = _chosen(points)
    waterfalls = [waterfall(point.steps) for point in timed]
    totals = [sum(step.mean_us for step in point.steps) for point in timed]
    colours = colours_of(waterfalls)
    labels = [labels_of(timed, name) for name in varying]
    names = dict(zip(varying, (found for found, _ in labels)))
    lines = 2 + max(0, len(varying) - 1)
    columns = min(2, len(timed))
    most = [max(len(rows) for rows in waterfalls[at:at + columns]) for at in range(0, len(timed), columns)]
    heights = [0.45 + 0.1 * lines + _ROW * rows for rows in most]
    figure, strip, shown = _empty(len(timed), heights)
    width = COLUMN if len(timed) == 1 else PAGE
    own = max(totals) > _FAR * min(totals)
    scale, unit = (1e-3, "ms") if max(totals) >= 1e4 else (1.0, "µs")
    for index, (axes, point, rows, total) in enumerate(zip(shown, timed, waterfalls, totals)):
        longest = scale * (total if own else max(totals))
        reaching = [value + tolerance for panel, value, tolerance, _ in marks if not own or shown[panel] is axes]
        _draw(axes, rows, colours, max([longest, *(scale * end for end in reaching)]), scale,
              0.8 * len(rows) / most[index // columns])
        axes.set_title(plain(_title(point, names, scale * total, unit)), fontsize=6.5)
        axes.set_xlabel(f"time since the transfer's begin [{unit}]")
    for panel, value, tolerance, text in marks:
        _mark(shown[panel], waterfalls[panel], scale * value, scale * tolerance, text)
    _explain(figure, strip, shown, colours, marks, width)
    notes = ["Each waterfall has its own scale."] if own else []
    notes += [key for _, key in labels if key]
    footnotes(figure, notes + notes_on(points, lambda point: ", ".join(
        names[name].get(point.parameters.get(name, ""), "") for name in varying) or point.parameters["strategy"],
                      marked=""), width)
    return figure


def _explain(figure, strip, shown, colours, marks, width):
    """Which family of colours is which side, and what the stars are."""
    entries = {}
    for side, label in (("source", "at the source"), ("destination", "at the destination"), ("", "several steps")):
        shades = [shade for (_, where), shade in colours.items() if where == side]
        if shades:
            entries[label] = Patch(color=shades[len(shades) // 2])
    texts = [mark[-1] for mark in marks]
    for axes in shown:
        entries |= {label: handle for handle, label in zip(*axes.get_legend_handles_labels()) if label in texts}
    if entries:
        legend(strip, list(entries.values()), [plain(text) for text in entries], width)
