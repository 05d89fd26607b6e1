# SPDX-License-Identifier: Apache-2.0
"""A metric against an axis: lines where the axis is of numbers; where it is of names bars, or on a log scale markers."""

import math
from dataclasses import dataclass

from matplotlib.container import BarContainer
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from faultline.figures.failures import failed_of, notes_on
from faultline.figures.looks import colour_of, dashes_of, looks_of, marker_of
from faultline.figures.style import (COLUMN, PAGE, PUBLISHED, ROW, columns_for, footnotes, kept, legend, log_axis, number_axis,
                                     own, panels, plain)
from faultline.labels import are_names, labels_of, name_of, with_unit
from faultline.points import PlotError, axes_of, follows, reason, values_of
from faultline.quantities import unit_text, value_text

_MOST_PANELS = 6
_FAR = 30  # the largest of the smallest value, from where on a scale is logarithmic
_FLAT = 0.1  # of the highest panel, below which another one has a scale of its own
HOLLOW = "not of all transfers"


def varying_axes(points, x, by):
    """What differs between the points; `x` and `by` must, where they are given."""
    varying = axes_of(points, [name for name in (x, by) if name])
    for option, name in (("--x", x), ("--by", by)):
        if name is not None and name not in varying:
            raise PlotError(f"{option} {name}: does not differ between the points; what does: "
                            f"{', '.join(varying) or 'nothing'}")
    if x is not None and x == by:
        raise PlotError(f"--by {by}: is the x axis already")
    return varying


def _choose_axes(points, x, by, preferred):
    varying = varying_axes(points, x, by)
    # Strategies are series: in their own colours.
    others = [name for name in varying if name not in (by, "strategy")]
    x = x or next((name for name in [preferred, *others] if name in others), "strategy")
    rest = [name for name in varying if name != x]
    by = by or ("strategy" if "strategy" in rest else next(iter(rest), None))
    return x, by, [name for name in rest if name != by and not follows(points, name, (x, by))]


def split_panels(points, names):
    """[(title, points)], one for each combination of the names' values."""
    groups, labels = {}, {name: labels_of(points, name)[0] for name in names}
    for point in points:
        title = "\n".join(f"{name_of(name)} = {labels[name][point.parameters.get(name, '')]}" for name in names)
        groups.setdefault(title, []).append(point)
    if len(groups) > _MOST_PANELS:
        raise PlotError(f"{len(groups)} panels, for each combination of {', '.join(names)}, are too many (of "
                        f"{_MOST_PANELS}); {where_example(points, names)}")
    places = {name: values_of(points, name) for name in names}
    return sorted(groups.items(), key=lambda group: [places[name].index(group[1][0].parameters.get(name, ""))
                                                     for name in names])


def where_example(points, names):
    """How to have fewer points: by the axis of `names` that has most values, if there is one."""
    if not names:
        return "choose points with --where"
    name = max(names, key=lambda each: len(values_of(points, each)))
    return f"choose points, as --where '{name}={values_of(points, name)[0]}'"


def measured(points, metric):
    """Those that have the metric, its unit."""
    having = [point for point in points if metric in point.metrics]
    if not having:
        known = list(dict.fromkeys(name for point in points for name in point.metrics))
        if not known:
            raise PlotError(f"no point has results: {reason(points) or 'nothing was measured'}")
        raise PlotError(f"--metric {metric}: no point has it; there are: {', '.join(known)}")
    return having, having[0].metrics[metric].unit


def _draw_lines(axes, places, series, looks, style):
    """`style`: dashes of a line, or a line of "none" between markers that stand beside each other."""
    for (label, values), at in zip(series, places):
        look = looks[label]
        means = [value.mean for value, _ in values.values()]
        errors = [value.half_width for value, _ in values.values()]
        axes.errorbar(at, means, yerr=errors if any(errors) else None, label=kept(label), color=colour_of(look),
                      marker=marker_of(look), capsize=1.8, elinewidth=0.7, capthick=0.7, markeredgewidth=0.7,
                      linestyle=style or dashes_of(look))
        failing = [(place, mean) for place, mean, (_, failed) in zip(at, means, values.values()) if failed]
        if failing:
            axes.plot(*zip(*failing), marker=marker_of(look), markeredgecolor=colour_of(look), markerfacecolor="white",
                      markeredgewidth=0.7, linestyle="none", label=HOLLOW, zorder=3)


def _draw_bars(axes, places, series, looks, width):
    for (label, values), at in zip(series, places):
        errors = [value.half_width for value, _ in values.values()]
        colour = colour_of(looks[label])
        bars = axes.bar(at, [value.mean for value, _ in values.values()], 0.92 * width, label=kept(label),
                        yerr=errors if any(errors) else None, capsize=1.8, error_kw={"elinewidth": 0.7, "capthick": 0.7},
                        color=colour, edgecolor=colour, linewidth=0)
        for bar, (_, failed) in zip(bars, values.values()):
            if failed:
                bar.set(facecolor="white", linewidth=0.9)
    axes.grid(False, axis="x")


def _draw(axes, texts, positions, series, looks, kind):
    """Bars stand beside each other, and so do the markers in their stead; lines share their places."""
    width = 0.8 / len(series)
    shift = [0.0 if kind == "lines" else (index + 0.5) * width - 0.4 for index in range(len(series))]
    places = [[positions[texts.index(text)] + by for text in values] for (_, values), by in zip(series, shift)]
    if kind == "bars":
        _draw_bars(axes, places, series, looks, width)
    else:
        _draw_lines(axes, places, series, looks, "none" if kind == "markers" else None)


def refuse_doubles(points, *names):
    """Points of an analysis lie at one place of the axes: a figure would show the last of them."""
    places = [tuple(point.parameters.get(name, "") for name in names) for point in points]
    if len(set(places)) < len(places):
        raise PlotError("several points have the same values of all axes, as those of 'faultline sensitivity' do; "
                        "--figure tornado draws these, --where chooses others")


def _series(points, x, by, metric, scale, order):
    """[(label, {text: (value, failed transfers or None)})]."""
    refuse_doubles(points, x, by)
    found = {text: {} for text in order}
    for point in points:
        value = point.metrics[metric]
        value = type(value)(value.mean * scale, value.half_width * scale, value.unit)
        found[point.parameters.get(by, "") if by else ""][point.parameters.get(x, "")] = value, failed_of(point)
    wanted = values_of(points, x)
    return [(label, {text: values[text] for text in wanted if text in values})
            for label, values in found.items() if values]


@dataclass
class _Scale:
    unit: str
    factor: float  # from the metric's own unit
    logarithmic: bool
    own: bool  # each panel has its own: in a common one some would be flat
    foot: float  # of a logarithmic scale with values of 0, that are below: the least of the others


def _values(all_series):
    return [value for series in all_series for _, line in series for value, _ in line.values()]


def _scale_for(all_series, unit, factor, from_zero, bars, marks):
    """Logarithmic where values are far apart; bars have no length there and become markers."""
    values = _values(all_series)
    low = factor * min(value.mean for value in values)
    high = factor * max(value.mean for value in values)
    for *_, value, _, _ in marks:
        low, high = min(low, value), max(high, value)
    positive = [factor * value.mean for value in values if value.mean > 0]
    least = min(positive, default=0.0)
    # Where some values are 0 the scale is linear below the least other one.
    foot = least if low == 0 and not marks else 0.0
    logarithmic = low >= 0 and (low > 0 or foot > 0) and high / (foot or low) >= _FAR and (bars or not from_zero)
    low = foot or low
    tops = [max(value.mean for value in _values([series])) for series in all_series]
    own = not logarithmic and 0 <= min(tops) < _FLAT * max(tops)
    for larger, of in (("s", 1e6), ("ms", 1e3)):
        if unit == "us" and (low >= of if logarithmic else high >= 10 * of):
            return _Scale(larger, factor / of, logarithmic, own, foot / of)
    return _Scale(unit, factor, logarithmic, own, foot)


def _set_limits(axes, all_series, scale, marks):
    values = _values(all_series)
    low = min([value.mean for value in values] + [mark[-3] for mark in marks])
    high = max([value.mean + value.half_width for value in values] + [mark[-3] + mark[-2] for mark in marks])
    if scale.logarithmic and scale.foot > 0:
        axes.set_yscale("symlog", linthresh=scale.foot, linscale=0.5)
        axes.set_ylim(0, 1.4 * high)
        decades = range(math.ceil(math.log10(scale.foot)), math.floor(math.log10(1.4 * high)) + 1)
        axes.set_yticks([0, *(10.0 ** decade for decade in decades)])
        log_axis(axes.yaxis)
    elif scale.logarithmic:
        axes.set_yscale("log")
        axes.set_ylim(0.7 * low, 1.4 * high)
        log_axis(axes.yaxis)
    elif low >= 0:
        axes.set_ylim(0, 1.06 * high or 1)


def _labels(points, names):
    """What the values of each axis are called, and the keys to be said below."""
    found = {name: labels_of(points, name) for name in names if name}
    return {name: labels for name, (labels, _) in found.items()}, [key for _, key in found.values() if key]


def _hidden(panels_of_series, names, what):
    """Lines that lie on each other in all panels, so that one is seen: "pin-once, mlock", of another axis "`what` 4, 128"."""
    lines = {}
    for series in panels_of_series:
        for label, values in series:
            lines.setdefault(label, []).append({text: value.mean for text, (value, _) in values.items()})

    def same(one, other):
        return len(one) == len(other) and all(a.keys() == b.keys() and all(
            math.isclose(a[text], b[text], rel_tol=0.005) for text in a) for a, b in zip(one, other))

    groups = []
    for label, line in lines.items():
        group = next((group for group in groups if same(lines[group[0]], line)), None)
        if group is None:
            groups.append([label])
        else:
            group.append(label)
    return [f"On top of each other: {what}{', '.join(names.get(label, label) for label in group)}."
            for group in groups if len(group) > 1]


def _legend_entries(shown, by, names, marks):
    """Of all panels, each series once."""
    entries = {}
    for axes in shown:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            if isinstance(handle, BarContainer):  # of which the first bar may be hollow
                handle = Patch(color=handle.patches[0].get_edgecolor())
            entries.setdefault(own(label), handle)
    hollow = entries.pop(HOLLOW, None)
    named = {}
    for label, handle in entries.items():
        text = label if handle_is_mark(label, marks) else names.get(by, {}).get(label, label)
        named[text if by in (None, "strategy") or handle_is_mark(label, marks) else f"{name_of(by)}: {text}"] = handle
    if hollow is not None:
        named[HOLLOW] = Line2D([], [], marker="o", markeredgecolor="black", markerfacecolor="white",
                                           markeredgewidth=0.7, linestyle="none")
    return {text: handle for text, handle in named.items() if text}


def curves(points, metric, x=None, by=None, preferred="workload.size", unit=None, scale=1.0, from_zero=False, marks=()):
    """A panel for each combination of what is neither `x` nor `by`.

    `scale` brings the metric into `unit`. `marks` are published values to draw into the first panel: (value, tolerance,
    text), or (x position, value, tolerance, text) for one place.
    """
    everything = points
    points, own_unit = measured(points, metric)
    x, by, rest = _choose_axes(points, x, by, preferred)
    texts = values_of(points, x)
    order = values_of(points, by) if by else [""]
    looks = looks_of(points, by, order)
    groups = split_panels(points, rest)
    names, notes = _labels(points, [x, by, *rest])
    is_bars = are_names(points, x)
    chosen = _scale_for([_series(each, x, by, metric, 1.0, order) for _, each in groups], unit or own_unit, scale, from_zero,
                        is_bars, marks)
    all_series = [_series(each, x, by, metric, chosen.factor, order) for _, each in groups]
    marks = [(*place, value * chosen.factor / scale, tolerance * chosen.factor / scale, text)
             for *place, value, tolerance, text in marks]
    width = COLUMN if len(groups) == 1 else PAGE
    columns = columns_for(len(groups))
    figure, strip, shown = panels(len(groups), width, ROW, share=not chosen.own)
    kind = "lines" if not is_bars else "markers" if chosen.logarithmic else "bars"
    for index, (axes, (title, _), series) in enumerate(zip(shown, groups, all_series)):
        positions, x_unit = number_axis(axes, texts, 0.8 * width / columns, names[x], is_bars)
        _draw(axes, texts, positions, series, looks, kind)
        axes.set_xlabel(with_unit(x, unit_text(x_unit)))
        axes.set_title(plain(title))
        if chosen.own or index == 0:
            _set_limits(axes, [series] if chosen.own else all_series, chosen, marks if index == 0 else [])
    for axes in shown[::columns]:
        axes.set_ylabel(with_unit(metric, unit_text(chosen.unit)) + (", log scale" if chosen.logarithmic else ""))
    _mark(shown[0], marks)
    entries = _legend_entries(shown, by, names, marks)
    if entries and (by or marks or len(entries) > 1 or HOLLOW in entries):
        legend(strip, list(entries.values()), [plain(text) for text in entries], width)
    if kind == "lines":
        notes += _hidden(all_series, names.get(by, {}), "" if by in (None, "strategy") else f"{name_of(by)} ")
    if chosen.logarithmic and chosen.foot > 0:
        notes.append("The scale begins at 0, and is logarithmic from the least value above it on.")
    if chosen.own:
        notes.append("Each panel has its own scale.")
    told = [name for name in (by, x, *rest) if name]
    footnotes(figure, notes + notes_on(everything, lambda point: ", ".join(
        names[name].get(text := point.parameters.get(name, ""), value_text(text)) for name in told), metric), width)
    return figure


def handle_is_mark(label, marks):
    return label in [mark[-1] for mark in marks]


def _mark(axes, marks):
    for mark in marks:
        *place, value, tolerance, text = mark
        if place:
            axes.errorbar(place, [value], yerr=[tolerance], fmt="*", color=PUBLISHED, markersize=8, capsize=2.5,
                          markeredgecolor="black", markeredgewidth=0.6, ecolor="black", elinewidth=0.8, label=text,
                          zorder=5)
        else:
            axes.axhspan(value - tolerance, value + tolerance, color=PUBLISHED, alpha=0.4, linewidth=0)
            axes.axhline(value, color="black", linewidth=0.9, linestyle=(0, (5, 2)), label=text)


def latency(points, options):
    return curves(points, options.metric or "latency_mean", options.x, options.by)


def bandwidth(points, options):
    metric = options.metric or "goodput"
    points, unit = measured(points, metric)
    in_gigabits = unit == "MB/s"
    return curves(points, metric, options.x, options.by, unit="Gb/s" if in_gigabits else None,
                  scale=0.008 if in_gigabits else 1.0, from_zero=True)
