# SPDX-License-Identifier: Apache-2.0
"""The points of a run as figures need them: repetitions over seeds are one point with a mean and a confidence interval."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path

# Student's t for a two-sided interval of 95 %, by degrees of freedom from 1 on.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
            2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)


class PlotError(Exception):
    """What a person has to know about a figure that cannot be made."""


def student(freedom):
    """Beyond the table the expansion in 1/freedom, exact to four digits there."""
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    return 1.95996 + 2.37227 / freedom + 2.8225 / freedom**2


@dataclass
class Value:
    mean: float
    half_width: float  # of the 95 % confidence interval; 0 of a single seed
    unit: str


@dataclass
class Step:
    name: str
    where: str
    mean_us: float


@dataclass
class Point:
    """One combination of strategy and parameters, all its seeds."""

    parameters: dict  # name to text; "strategy" is one of them
    metrics: dict = field(default_factory=dict)  # name to Value
    steps: list = field(default_factory=list)
    trouble: str = ""


def read_results(run):
    """The points as results.json has them, one a seed."""
    file = Path(run) / "results.json"
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise PlotError(f"{file}: {error.strerror}: is {run} the folder of a run that has ended?") from error
    except ValueError as error:
        raise PlotError(f"{file}: is damaged: {error}") from error


def _value(values, unit):
    mean = sum(values) / len(values)
    if len(values) < 2:
        return Value(mean, 0.0, unit)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return Value(mean, student(len(values) - 1) * math.sqrt(variance / len(values)), unit)


def _steps(repetitions):
    """Means over all seeds, of those without the step, too; in the order of the first that has it."""
    found = {}
    for entry in repetitions:
        for row in entry["breakdown"]:
            found.setdefault((row["step"], row["where"]), []).append(row["mean"]["value"])
    return [Step(step, where, sum(values) / len(repetitions)) for (step, where), values in found.items()]


def _merge(parameters, repetitions):
    point = Point(parameters)
    troubles = [entry.get("error") or entry.get("refused") or "; ".join(entry["failed_checks"])
                for entry in repetitions]
    point.trouble = next((trouble for trouble in troubles if trouble), "")
    complete = [entry for entry in repetitions if entry["status"] == "complete" and not entry.get("refused")]
    values = {}
    for entry in complete:
        for name, metric in entry["metrics"].items():
            if metric["value"] is not None:
                values.setdefault((name, metric["unit"]), []).append(metric["value"])
    point.metrics = {name: _value(each, unit) for (name, unit), each in values.items()}
    point.steps = _steps(complete) if complete else []
    return point


def read_points(run):
    """A run's points in its order."""
    groups = {}
    for entry in read_results(run):
        parameters = {"strategy": entry["strategy"], **entry["parameters"]}
        groups.setdefault(tuple(parameters.items()), (parameters, []))[1].append(entry)
    if not groups:
        raise PlotError(f"{run}: has no points")
    return [_merge(parameters, repetitions) for parameters, repetitions in groups.values()]


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
