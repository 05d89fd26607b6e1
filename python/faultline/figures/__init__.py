# SPDX-License-Identifier: Apache-2.0
"""Figures for papers: each kind by its name, made from a run's folder."""

from dataclasses import dataclass, field

from faultline.figures.breakdown import breakdown
from faultline.figures.curves import bandwidth, latency
from faultline.figures.heatmap import heatmap
from faultline.figures.style import plt, styled
from faultline.figures.tornado import read_sensitivity, tornado
from faultline.points import PlotError, read_points, where


@dataclass
class Options:
    metric: str = None
    x: str = None
    by: str = None
    conditions: dict = field(default_factory=dict)


def _of_points(draw):
    return lambda run, options: draw(where(read_points(run), options.conditions), options)


def _tornado(run, options):
    for option, value in (("--x", options.x), ("--by", options.by), ("--where", options.conditions)):
        if value:
            raise PlotError(f"{option}: a tornado has no axes; 'faultline sensitivity' chooses what is varied")
    return tornado(read_sensitivity(run, options.metric))


def _breakdown(run, options):
    for option, value in (("--x", options.x), ("--by", options.by), ("--metric", options.metric)):
        if value:
            raise PlotError(f"{option}: the breakdown is of each point's steps; --where chooses points")
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
    """By the path's suffix; the same bytes whenever it is called, for nothing in the file is a date or a version."""
    nothing = {"pdf": {"CreationDate": None, "Creator": None, "Producer": None}, "png": {"Software": None}}
    kind = str(path).rsplit(".", 1)[-1]
    with styled():
        figure.savefig(path, metadata=nothing[kind])
