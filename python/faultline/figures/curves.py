# SPDX-License-Identifier: Apache-2.0
"""A metric against an axis: lines where the axis is of numbers, bars where it is of names."""

from faultline.figures.style import (COLUMN, LINES, MARKERS, PAGE, PUBLISHED, ROW, columns_for, legend, number_axis,
                                     panels)
from faultline.names import name_of, with_unit
from faultline.points import PlotError, axes_of, follows, reason, values_of
from faultline.quantities import numbers, unit_text, value_text

_MOST_PANELS = 6


def _choose_axes(points, x, by, preferred):
    varying = axes_of(points, [name for name in (x, by) if name])
    for option, name in (("--x", x), ("--by", by)):
        if name is not None and name not in varying:
            raise PlotError(f"{option} {name}: does not differ between the points; what does: "
                            f"{', '.join(varying) or 'nothing'}")
    if x is not None and x == by:
        raise PlotError(f"--by {by}: is the x axis already")
    others = [name for name in varying if name != by]
    x = x or next((name for name in [preferred, *others, "strategy"] if name in [*others, "strategy"]), "strategy")
    rest = [name for name in varying if name != x]
    by = by or ("strategy" if "strategy" in rest else next(iter(rest), None))
    return x, by, [name for name in rest if name != by and not follows(points, name, (x, by))]


def split_panels(points, names):
    """[(title, points)], one for each combination of the names' values."""
    groups = {}
    for point in points:
        title = "\n".join(f"{name_of(name)} = {value_text(point.parameters.get(name, ''))}" for name in names)
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


def _looks(points, by, labels):
    """The number of each line's colour, marker and dashes: a strategy's own, or the place of the value. From 24 on they
    repeat."""
    looks = points[0].plan.looks if by == "strategy" else {}
    return {label: looks.get(label, index) for index, label in enumerate(labels)}


def _draw_lines(axes, texts, positions, series, looks):
    for label, values in series:
        look = looks[label]
        at = [positions[texts.index(text)] for text in values]
        means = [value.mean for value in values.values()]
        errors = [value.half_width for value in values.values()]
        axes.errorbar(at, means, yerr=errors if any(errors) else None, label=label, color=LINES[look % len(LINES)],
                      marker=MARKERS[look % len(MARKERS)], capsize=1.8, elinewidth=0.7, capthick=0.7,
                      linestyle=("-", "--", ":")[look // len(LINES) % 3])


def _draw_bars(axes, texts, positions, series, looks):
    width = 0.8 / len(series)
    for index, (label, values) in enumerate(series):
        at = [positions[texts.index(text)] + (index + 0.5) * width - 0.4 for text in values]
        errors = [value.half_width for value in values.values()]
        axes.bar(at, [value.mean for value in values.values()], 0.92 * width, label=label,
                 yerr=errors if any(errors) else None, capsize=1.8, error_kw={"elinewidth": 0.7, "capthick": 0.7},
                 color=LINES[looks[label] % len(LINES)], edgecolor="white", linewidth=0,
                 hatch=("", "////", "....")[looks[label] // len(LINES) % 3])
    axes.grid(False, axis="x")


def refuse_doubles(points, *names):
    """Points of an analysis lie at one place of the axes: a figure would show the last of them."""
    places = [tuple(point.parameters.get(name, "") for name in names) for point in points]
    if len(set(places)) < len(places):
        raise PlotError("several points have the same values of all axes, as those of 'faultline sensitivity' do; "
                        "--figure tornado draws these, --where chooses others")


def _series(points, x, by, metric, scale, order):
    refuse_doubles(points, x, by)
    found = {text: {} for text in order}
    for point in points:
        value = point.metrics[metric]
        value = type(value)(value.mean * scale, value.half_width * scale, value.unit)
        found[point.parameters.get(by, "") if by else ""][point.parameters.get(x, "")] = value
    wanted = values_of(points, x)
    return [(label, {text: values[text] for text in wanted if text in values})
            for label, values in found.items() if values]


def _set_scale(axes, series, from_zero, marks):
    """Logarithmic where values are far apart, else from 0."""
    values = [value for each in series for _, line in each for value in line.values()]
    low = min([value.mean for value in values] + [mark[-3] for mark in marks])
    high = max([value.mean + value.half_width for value in values] + [mark[-3] + mark[-2] for mark in marks])
    if not from_zero and low > 0 and high / low >= 30:
        axes.set_yscale("log")
        axes.set_ylim(0.7 * low, 1.4 * high)
    elif low >= 0:
        axes.set_ylim(0, 1.06 * high or 1)


def curves(points, metric, x=None, by=None, preferred="workload.size", unit=None, scale=1.0, from_zero=False, marks=()):
    """A panel for each combination of what is neither `x` nor `by`.

    `scale` brings the metric into `unit`. `marks` are published values to draw into the first panel: (value, tolerance,
    text), or (x position, value, tolerance, text) for one place.
    """
    points, own_unit = measured(points, metric)
    x, by, rest = _choose_axes(points, x, by, preferred)
    texts = values_of(points, x)
    order = values_of(points, by) if by else [""]
    looks = _looks(points, by, order)
    groups = split_panels(points, rest)
    is_bars = numbers(texts) is None
    width = COLUMN if len(groups) == 1 else PAGE
    columns = columns_for(len(groups))
    figure, strip, shown = panels(len(groups), width, ROW)
    all_series = [_series(each, x, by, metric, scale, order) for _, each in groups]
    for axes, (title, _), series in zip(shown, groups, all_series):
        positions, x_unit = number_axis(axes, texts, 0.8 * width / columns)
        (_draw_bars if is_bars else _draw_lines)(axes, texts, positions, series, looks)
        axes.set_xlabel(with_unit(x, unit_text(x_unit)))
        axes.set_title(title)
    for axes in shown[::columns]:
        axes.set_ylabel(with_unit(metric, unit_text(unit or own_unit)))
    _set_scale(shown[0], all_series, from_zero, marks)
    _mark(shown[0], marks)
    handles, labels = shown[0].get_legend_handles_labels()
    for axes in shown[1:]:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            if label not in labels:
                handles.append(handle)
                labels.append(label)
    if by or marks:
        named = [(handle, label if by in (None, "strategy") or handle_is_mark(label, marks) else
                  f"{name_of(by)}: {value_text(label)}") for handle, label in zip(handles, labels) if label]
        legend(strip, [handle for handle, _ in named], [label for _, label in named], width)
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
