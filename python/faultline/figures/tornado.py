# SPDX-License-Identifier: Apache-2.0
"""What a metric makes of each parameter's range: the figure of faultline sensitivity."""

import json
from pathlib import Path

from matplotlib.lines import Line2D

from faultline import seal
from faultline.figures.style import HIGH, LOW, PAGE, legend, panels, plain
from faultline.labels import name_of, with_unit
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


def read_sensitivity(run, metric=None):
    """What the folder ranked first, or of what it has ranked the one that is named."""
    first = Path(run) / "sensitivity.json"
    if metric is None:
        return _read(first)
    all_ranked = [_read(file) for file in [first, *sorted(Path(run).glob("sensitivity-*.json"))]]
    for analysis in all_ranked:
        if analysis["measure"] == metric:
            return analysis
    # A strategy's name may have a slash, too; a metric's has none.
    name, _, baseline = metric.partition("/")
    words = f"--metric {name} --baseline {baseline}" if baseline else f"--metric {name}"
    raise PlotError(f"--metric {metric}: {run} ranks {', '.join(each['measure'] for each in all_ranked)}; 'faultline "
                    f"sensitivity EXPERIMENT --out {run} {words}' ranks this one")


def _reach(end, middle):
    """From the default to an end of the range; none where the range does not reach to that side, or its point failed."""
    return 0.0 if end is None or end["metric"] is None else end["metric"] - middle


def _draw_row(axes, place, bar, middle, legend_of, gap):
    """The longer end first: where both are at one side, the shorter one stays visible. Values stand at the furthest end."""
    ends = [(_reach(bar[side], middle), side) for side in ("low", "high")]
    values = {True: [], False: []}  # by whether they are below the default
    for reach, side in sorted(ends, key=lambda end: -abs(end[0])):
        if bar[side] is None or bar[side]["metric"] is None:
            continue
        axes.barh([place], [reach], 0.68, middle, color={"low": LOW, "high": HIGH}[side], label=legend_of(side), linewidth=0)
        values[reach < 0].append((reach, value_text(bar[side]["value"])))
    for below, each in values.items():
        if each:
            furthest = middle + (min if below else max)(reach for reach, _ in each)
            axes.text(furthest - gap if below else furthest + gap, place, plain(", ".join(text for _, text in each)),
                      va="center", fontsize=5.5, ha="right" if below else "left")


def tornado(analysis):
    """The bars that the analysis has ranked, at the point that it has chosen."""
    shown = analysis["tornado"]["bars"][:_MOST_ROWS]
    if not shown:
        raise PlotError(f"no parameter changes {analysis['measure']}")
    middle = shown[0]["default"]["metric"]
    figure, strip, (axes,) = panels(1, PAGE, 0.9 + 0.175 * len(shown))
    reaches = [_reach(bar[side], middle) for bar in shown for side in ("low", "high")]
    least, most = middle + min(reaches + [0.0]), middle + max(reaches + [0.0])
    places = range(len(shown) - 1, -1, -1)
    told = set()

    def legend_of(side):
        new = side not in told
        told.add(side)
        return analysis["tornado"][side] if new else None

    for place, bar in zip(places, shown):
        _draw_row(axes, place, bar, middle, legend_of, 0.006 * (most - least))
    axes.axvline(middle, color="black", linewidth=0.7)
    titles = [f"{bar['name']} = {value_text(bar['default']['value'])} {bar['marks']}".strip() for bar in shown]
    axes.set_yticks(places, [plain(title) for title in titles])
    axes.set_xlim(least - 0.1 * (most - least), most + 0.1 * (most - least))
    axes.set_ylim(-0.7, len(shown) - 0.3)
    relative = analysis.get("baseline")
    axes.set_xlabel(f"{name_of(analysis['metric'])} relative to {plain(relative)}" if relative
                    else with_unit(analysis["metric"], unit_text(analysis["unit"])))
    axes.set_title(plain(analysis["tornado"]["point"]))
    axes.grid(False, axis="y")
    percent = axes.secondary_xaxis("top", functions=(lambda value: 100 * (value - middle) / abs(middle or 1),
                                                     lambda share: middle + share * abs(middle or 1) / 100))
    percent.set_xlabel("change [%]")
    handles, names = axes.get_legend_handles_labels()
    entries = sorted(zip(handles, names), key=lambda entry: entry[1] != analysis["tornado"]["low"])
    used = {mark for bar in shown for mark in bar["marks"]}
    entries += [(Line2D([], [], linestyle="none"), f"{mark} {meaning}")
                for mark, meaning in analysis["tornado"]["marks"].items() if mark in used]
    legend(strip, [handle for handle, _ in entries], [name for _, name in entries], PAGE)
    return figure
