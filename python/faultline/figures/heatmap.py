# SPDX-License-Identifier: Apache-2.0
"""A metric over two axes, as shades with their values."""

import math

import numpy
from matplotlib.colors import LogNorm, Normalize

from faultline.figures.curves import measured, refuse_doubles, split_panels, varying_axes
from faultline.figures.failures import failed_mark, failed_of, notes_on
from faultline.figures.style import COLUMN, PAGE, columns_for, footnotes, panels, plain
from faultline.labels import labels_of, name_of, with_unit
from faultline.points import PlotError, follows, values_of
from faultline.quantities import unit_text


def _choose_axes(points, x, by):
    varying = varying_axes(points, x, by)
    if len(varying) < 2:
        raise PlotError("a heat map needs two axes whose values differ between the points; there is "
                        f"{varying[0] if varying else 'none'}")
    x = x or [name for name in varying if name != by][-1]
    # Strategies are panels, unless there is no second axis.
    by = by or [name for name in varying if name != x][-1]
    return x, by, [name for name in varying if name not in (x, by) and not follows(points, name, (x, by))]


def _short(number):
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    return f"{number:.0f}" if abs(number) >= 100 else f"{number:.3g}"


def _cells(points, x, by, metric, columns, rows):
    """Means by row and column, and the marks of cells that are not of all transfers."""
    refuse_doubles(points, x, by)
    table, failures = numpy.full((len(rows), len(columns)), math.nan), {}
    for point in points:
        place = rows.index(point.parameters.get(by, "")), columns.index(point.parameters.get(x, ""))
        table[place] = point.metrics[metric].mean
        if failed_of(point):
            failures[place] = f"\n{failed_mark(point.failures)}"
    return table, failures


def _fill(axes, table, failures, norm):
    image = axes.imshow(table, cmap="cividis", norm=norm, aspect="auto", origin="lower", interpolation="nearest")
    for (row, column), value in numpy.ndenumerate(table):
        if math.isnan(value):
            axes.text(column, row, "–", ha="center", va="center", fontsize=6)
        else:
            axes.text(column, row, _short(value) + failures.get((row, column), ""), ha="center", va="center", fontsize=6,
                      color="white" if norm(value) < 0.55 else "black")
    axes.grid(False)
    return image


def heatmap(points, options):
    metric = options.metric or "latency_mean"
    everything = points
    points, unit = measured(points, metric)
    x, by, rest = _choose_axes(points, options.x, options.by)
    columns, rows = values_of(points, x), values_of(points, by)
    groups = split_panels(points, rest)
    named = {name: labels_of(everything, name) for name in (x, by, *rest)}
    labels = {name: found for name, (found, _) in named.items()}
    values = [point.metrics[metric].mean for point in points]
    low, high = min(values), max(values)
    norm = LogNorm(low, high) if low > 0 and high / low >= 30 else Normalize(low, high)
    width = COLUMN if len(groups) == 1 and len(columns) <= 8 else PAGE
    across = columns_for(len(groups))
    figure, _, shown = panels(len(groups), width, max(1.6, 0.9 + 0.22 * len(rows)))
    for axes, (title, each) in zip(shown, groups):
        image = _fill(axes, *_cells(each, x, by, metric, columns, rows), norm)
        words = [labels[x][text] for text in columns]
        crowded = sum(map(len, words)) > 46 * width / COLUMN / across
        axes.set_xticks(range(len(columns)), map(plain, words), rotation=40 if crowded else 0,
                        ha="right" if crowded else "center")
        axes.set_yticks(range(len(rows)), [plain(labels[by][text]) for text in rows])
        axes.tick_params(length=0)
        axes.set_xlabel(name_of(x))
        axes.set_title(plain(title))
    for axes in shown[::across]:
        axes.set_ylabel(name_of(by))
    bar = figure.colorbar(image, ax=shown, pad=0.02)
    bar.set_label(with_unit(metric, unit_text(unit)))
    bar.outline.set_linewidth(0.4)
    notes = notes_on(everything, lambda point: ", ".join(
        labels[name].get(point.parameters.get(name, ""), "") for name in labels), metric, marked="!, !!: so many transfers failed, so many seeds have no result.")
    footnotes(figure, [key for _, key in named.values() if key] + notes, width)
    return figure
