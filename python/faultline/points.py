# SPDX-License-Identifier: Apache-2.0
"""The points of a run as figures need them: repetitions over seeds are one point with a mean and a confidence interval."""

from dataclasses import dataclass, field

from faultline.run import Run, RunError


class PlotError(Exception):
    """What a person has to know about a figure that cannot be made."""


@dataclass
class Value:
    mean: float
    half_width: float  # of the 95 % confidence interval over seeds; 0 of a single one
    unit: str


@dataclass
class Step:
    name: str
    mean_us: float


@dataclass
class Point:
    """One combination of strategy and parameters, all its seeds."""

    parameters: dict  # name to text; "strategy" is one of them
    metrics: dict = field(default_factory=dict)  # name to Value
    steps: list = field(default_factory=list)
    trouble: str = ""


def _combinations(run):
    """Strategy, trouble and axes of each, in the run's order; the texts are as files write them."""
    points = {}
    for row in run.sql("SELECT combination, strategy, error FROM points ORDER BY number").itertuples():
        point = points.setdefault(row.combination, Point({"strategy": row.strategy}))
        point.trouble = point.trouble or row.error or ""
    axes = run.sql("SELECT p.combination, a.key, a.value FROM point_axes AS a JOIN points AS p ON p.number = a.point "
                   "ORDER BY a.point, a.position")
    for row in axes.itertuples():
        points[row.combination].parameters[row.key] = row.value
    return points


def read_points(folder):
    """A run's points in its order."""
    try:
        with Run(folder) as run:
            points = _combinations(run)
            for row in run.sql("SELECT combination, name, mean, half_width, unit FROM means").itertuples():
                half_width = 0.0 if row.half_width is None or row.half_width != row.half_width else row.half_width
                points[row.combination].metrics[row.name] = Value(row.mean, half_width, row.unit)
            for row in run.sql("SELECT combination, step, time_us FROM mean_breakdown ORDER BY combination, position"
                               ).itertuples():
                points[row.combination].steps.append(Step(row.step, row.time_us))
    except RunError as error:
        raise PlotError(str(error)) from error
    if not points:
        raise PlotError(f"{folder}: has no points")
    return list(points.values())


def axes_of(points):
    """Names of what differs between points: "strategy", then parameters that differ within a strategy."""
    strategies = dict.fromkeys(point.parameters["strategy"] for point in points)
    names = dict.fromkeys(name for point in points for name in point.parameters)
    texts = {}
    for point in points:
        for name in names:
            texts.setdefault((name, point.parameters["strategy"]), set()).add(point.parameters.get(name))
    return ["strategy"] * (len(strategies) > 1) + [
        name for name in names if any(len(texts[name, strategy]) > 1 for strategy in strategies)]


def where(points, conditions):
    """Those of the points that have all the values, e.g. {"workload.size": "4 KiB"}."""
    for name, text in conditions.items():
        texts = list(dict.fromkeys(point.parameters.get(name, "(default)") for point in points))
        points = [point for point in points if point.parameters.get(name, "(default)") == text]
        if not points:
            raise PlotError(f"--where {name}={text}: no such point; there are: {', '.join(texts)}")
    return points
