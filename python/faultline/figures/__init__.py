# SPDX-License-Identifier: Apache-2.0
"""Figures for papers: each kind by its name, made from a run's folder."""

import io
from dataclasses import dataclass
from pathlib import Path

from faultline.figures.breakdown import breakdown
from faultline.figures.curves import bandwidth, latency
from faultline.figures.heatmap import heatmap
from faultline.figures.style import plt, styled
from faultline.figures.tornado import read_sensitivity, tornado
from faultline.points import PlotError, read_points, tell_failed_checks


@dataclass
class Options:
    metric: str = None
    x: str = None
    by: str = None
    combinations: set = None  # numbers of those to show; None: all


def _of_points(draw):
    def draw_chosen(run, options):
        points = read_points(run)
        if options.combinations is not None:
            points = [point for point in points if point.number in options.combinations]
        tell_failed_checks(run, points)
        return draw(points, options)

    return draw_chosen


def _refuse(why, **given):
    for option, value in given.items():
        if value:
            raise PlotError(f"--{option}: {why}")


def _tornado(run, options):
    _refuse("a tornado has no axes; 'faultline sensitivity' chooses what is varied", x=options.x, by=options.by,
            where=options.combinations)
    return tornado(read_sensitivity(run, options.metric))


def _breakdown(run, options):
    _refuse("the breakdown is of each point's steps; --where chooses points", x=options.x, by=options.by,
            metric=options.metric)
    return _of_points(breakdown)(run, options)


FIGURES = {
    "latency": _of_points(latency),
    "bandwidth": _of_points(bandwidth),
    "breakdown": _breakdown,
    "heatmap": _of_points(heatmap),
    "tornado": _tornado,
}


def make(run, name, options=None):
    """The figure, drawn in the style of all figures."""
    with styled():
        return FIGURES[name](run, options or Options())


def save(figure, path):
    """By the path's suffix; the same bytes whenever it is called, for nothing in the file is a date or a version. OSError
    when it cannot be written."""
    nothing = {"pdf": {"CreationDate": None, "Creator": None, "Producer": None}, "png": {"Software": None}}
    kind = str(path).rsplit(".", 1)[-1]
    drawn = io.BytesIO()
    with styled():
        figure.savefig(drawn, format=kind, metadata=nothing[kind])
    Path(path).write_bytes(drawn.getvalue())
