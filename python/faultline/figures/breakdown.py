# SPDX-License-Identifier: Apache-2.0
"""Where a transfer's time goes: one stacked bar a point."""

from faultline.figures.curves import where_example
from faultline.figures.style import AREAS, PAGE, REST, legend, panels
from faultline.names import name_of
from faultline.points import PlotError, axes_of, reason

_MOST_BARS = 16
_MOST_STEPS = 12


def _label(point, varying):
    texts = [point.parameters.get(name, "") if name == "strategy" else
             f"{name_of(name)}: {point.parameters.get(name, '')}" for name in varying]
    return "\n".join(texts) or point.parameters["strategy"]


def _times(point):
    """By step, all attempts of a block together: "tasklet (resend)" is time of "tasklet"."""
    times = {}
    for step in point.steps:
        name = step.name.split(" (resend")[0]
        times[name] = times.get(name, 0.0) + step.mean_us
    return times


def _chosen_steps(points):
    """The steps with the largest times, in the order of a transfer, and how many are left."""
    largest, place = {}, {}
    for point in points:
        for index, (name, time) in enumerate(_times(point).items()):
            largest[name] = max(largest.get(name, 0), time)
            place[name] = max(place.get(name, 0), index)
    timed = [name for name in largest if largest[name] > 0]
    chosen = sorted(timed, key=lambda name: -largest[name])[:_MOST_STEPS]
    return sorted(chosen, key=lambda name: place[name]), len(timed) - len(chosen)


def _segments(point, chosen):
    """Times by chosen step, and of all other steps together."""
    times = _times(point)
    return [*(times.get(name, 0.0) for name in chosen), sum(time for name, time in times.items() if name not in chosen)]


def breakdown(points, _options=None, marks=()):
    """`marks`: (index of the bar, value, tolerance, text), published totals in us."""
    timed = [point for point in points if point.steps]
    if not timed:
        why = reason(points) if not any(point.metrics for point in points) else ""
        raise PlotError(f"no point has results: {why}" if why else
                        "no point has a breakdown into steps: the workload is not one transfer at a time")
    varying = axes_of(timed)
    if len(timed) > _MOST_BARS:
        raise PlotError(f"{len(timed)} bars are too many (of {_MOST_BARS}); {where_example(timed, varying)}")
    chosen, left = _chosen_steps(timed)
    figure, strip, (axes,) = panels(1, PAGE, 1.0 + 0.33 * len(timed))
    places = list(range(len(timed)))[::-1]
    all_times = [_segments(point, chosen) for point in timed]
    longest = max(sum(times) for times in all_times)
    starts = [0.0] * len(timed)
    names = [*chosen, f"{left} other steps"] if left else chosen
    for index, name in enumerate(names):
        times = [each[index] for each in all_times]
        colour = REST if index == len(chosen) else AREAS[index % len(AREAS)]
        axes.barh(places, times, 0.62, starts, label=name, edgecolor="white", linewidth=0.4,
                  color=colour, hatch="/////" if index < len(chosen) and index >= len(AREAS) else "")
        for place, start, time in zip(places, starts, times):
            if time > 0.035 * longest:
                dark = colour in ("#332288", "#117733", "#882255", "#AA4499")
                axes.text(start + time / 2, place, f"{time:.1f}", ha="center", va="center", fontsize=5.5,
                          color="white" if dark else "black",
                          bbox={"facecolor": colour, "edgecolor": "none", "pad": 0.6})
        starts = [start + time for start, time in zip(starts, times)]
    for place, total in zip(places, starts):
        axes.text(total + 0.008 * longest, place, f"{total:.1f}", va="center", fontsize=6.5, fontweight="bold")
    for bar, value, tolerance, text in marks:
        axes.errorbar([value], [places[bar] + 0.42], xerr=[tolerance], fmt="v", color="black", markersize=4, capsize=2,
                      label=text)
    axes.set_yticks(places, [_label(point, varying) for point in timed])
    axes.set_xlabel("time [µs]")
    axes.set_xlim(0, 1.07 * longest)
    axes.grid(False, axis="y")
    legend(strip, *axes.get_legend_handles_labels(), PAGE - 1)
    return figure
