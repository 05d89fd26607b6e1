# SPDX-License-Identifier: Apache-2.0
"""What a metric makes of each parameter's range: the figure of faultline sensitivity."""

import json
from pathlib import Path

from matplotlib.lines import Line2D

from faultline import seal
from faultline.figures.style import HIGH, LOW, PAGE, legend, panels
from faultline.names import name_of, with_unit
from faultline.points import PlotError
from faultline.quantities import unit_text, value_text

_MOST_ROWS = 20


def _read(file):
    try:
        data = file.read_bytes()
    except OSError as error:
        raise PlotError(f"{file}: {error.strerror}; the tornado is of a run of 'faultline sensitivity'") from error
    if not seal.is_sealed(data, seal.JSON):
        raise PlotError(f"{file}: is damaged; the same 'faultline sensitivity' writes it again")
    return json.loads(data)


def measure_of(analysis):
    """What is ranked: "latency_mean", or of a ratio to a strategy "latency_mean/resident"."""
    return analysis["metric"] + (f"/{analysis['baseline']}" if analysis.get("baseline") else "")


def read_sensitivity(run, metric=None):
    """What the folder ranked first, or of what it has ranked the one that is named."""
    first = Path(run) / "sensitivity.json"
    if metric is None:
        return _read(first)
    all_ranked = [_read(file) for file in [first, *sorted(Path(run).glob("sensitivity-*.json"))]]
    for analysis in all_ranked:
        if measure_of(analysis) == metric:
            return analysis
    # A strategy's name may have a slash, too; a metric's has none.
    name, _, baseline = metric.partition("/")
    words = f"--metric {name} --baseline {baseline}" if baseline else f"--metric {name}"
    raise PlotError(f"--metric {metric}: {run} ranks {', '.join(measure_of(each) for each in all_ranked)}; 'faultline "
                    f"sensitivity EXPERIMENT --out {run} {words}' ranks this one")


def _metric_of(end):
    return None if end is None else end["metric"]


def _ends_at(row, point):
    """The row's default and the ends of its range at a point; for choices, where the metric is least and greatest."""
    entry = next((each for each in row["points"] if each["point"] == point), None)
    if entry is None or entry["default"]["metric"] is None:
        return None
    middle = entry["default"]["metric"]
    others = [each for each in entry["others"] if each["metric"] is not None]
    if row["range"] == "choices":
        least = min(others, key=lambda each: each["metric"], default=None)
        most = max(others, key=lambda each: each["metric"], default=None)
        low = least if least is not None and least["metric"] < middle else None
        high = most if most is not None and most["metric"] >= middle else None
    else:
        low = entry["others"][0] if row["low"] is not None else None
        high = entry["others"][-1] if row["high"] is not None else None
    metrics = [middle] + [each["metric"] for each in others]
    return {"name": row["name"], "range": row["range"], "default": entry["default"], "low": low, "high": high,
            "monotonic": entry.get("monotonic", True), "effect": max(metrics) - min(metrics)}


def _draw(axes, place, middle, end, color, label):
    """A bar from the middle to what the metric is at an end of the range."""
    if _metric_of(end) is None:
        return
    reach = end["metric"] - middle
    axes.barh([place], [reach], 0.68, middle, color=color, label=label, linewidth=0)


def tornado(analysis):
    """Bars of several points have no common middle: all are of the point at which the greatest effect is."""
    ranked = [row for row in analysis["parameters"] if row["effect"] > 0]
    if not ranked:
        raise PlotError(f"no parameter changes {measure_of(analysis)}")
    point = ranked[0]["greatest_at"]
    rows = [row for row in (_ends_at(row, point) for row in ranked) if row is not None and row["effect"] > 0]
    shown = sorted(rows, key=lambda row: -row["effect"])[:_MOST_ROWS]
    middle = shown[0]["default"]["metric"]
    figure, strip, (axes,) = panels(1, PAGE, 0.9 + 0.175 * len(shown))
    reaches = [end["metric"] for row in shown for end in (row["low"], row["high"]) if _metric_of(end) is not None]
    span = max(reaches + [middle]) - min(reaches + [middle])
    labels = set()
    for place, row in zip(range(len(shown) - 1, -1, -1), shown):
        ends = [(row["low"], LOW, "low end of the range"), (row["high"], HIGH, "high end")]
        # The longer one first: where both are at one side, the shorter one stays visible.
        ends.sort(key=lambda end: -abs((_metric_of(end[0]) if _metric_of(end[0]) is not None else middle) - middle))
        texts = {"left": [], "right": []}
        for end, color, label in ends:
            _draw(axes, place, middle, end, color, None if label in labels else label)
            if _metric_of(end) is not None:
                labels.add(label)
                texts["left" if end["metric"] < middle else "right"].append(end)
        for side, each in texts.items():
            if each:
                furthest = (min if side == "left" else max)(end["metric"] for end in each)
                gap = 0.006 * span
                axes.text(furthest - gap if side == "left" else furthest + gap, place,
                          ", ".join(value_text(end["value"]) for end in each), va="center", fontsize=5.5,
                          ha="right" if side == "left" else "left")
    axes.axvline(middle, color="black", linewidth=0.7)
    axes.set_yticks(range(len(shown) - 1, -1, -1),
                    [f"{row['name']} = {value_text(row['default']['value'])}{' *' if row['range'] == 'half to double' else ''}"
                     f"{'' if row['monotonic'] else ' ^'}" for row in shown])
    axes.set_xlim(min(reaches + [middle]) - 0.1 * span, max(reaches + [middle]) + 0.1 * span)
    axes.set_ylim(-0.7, len(shown) - 0.3)
    relative = analysis.get("baseline")
    axes.set_xlabel(f"{name_of(analysis['metric'])} relative to {relative}" if relative
                    else with_unit(analysis["metric"], unit_text(analysis["unit"])))
    axes.set_title(point)
    axes.grid(False, axis="y")
    percent = axes.secondary_xaxis("top", functions=(lambda value: 100 * (value - middle) / abs(middle or 1),
                                                     lambda share: middle + share * abs(middle or 1) / 100))
    percent.set_xlabel("change [%]")
    handles, names = axes.get_legend_handles_labels()
    order = sorted(range(len(names)), key=lambda index: names[index] != "low end of the range")
    if not all(row["monotonic"] for row in shown):
        order.append(len(names))
        handles.append(Line2D([], [], linestyle="none"))
        names.append("^ not monotonic over the range")
    legend(strip, [handles[index] for index in order], [names[index] for index in order], PAGE)
    return figure
