# SPDX-License-Identifier: Apache-2.0
"""The points of a run as figures need them: repetitions over seeds are one point with a mean and a confidence interval."""

import sys
from dataclasses import dataclass, field

from faultline.quantities import Quantity, order_of
from faultline.run import Run, RunError


class PlotError(Exception):
    """What a person has to know about a figure that cannot be made."""


@dataclass
class Value:
    mean: float
    half_width: float  # of the 95 % confidence interval over seeds; 0 of a single one
    unit: str


@dataclass
class Failures:
    """What is in no latency and no goodput, of all seeds together."""

    failed: int = 0  # transfers
    transfers: int = 0  # these among them
    unfinished: int = 0  # seeds without a result
    seeds: int = 0


@dataclass
class Step:
    name: str
    mean_us: float
    side: str = ""  # source or destination of the data


@dataclass
class Plan:
    """What a run's points have in common."""

    groups: dict = field(default_factory=dict)  # axes that advance together: to the first of them
    followers: set = field(default_factory=set)  # of these, those that the others stand for
    values: dict = field(default_factory=dict)  # texts of each axis in the experiment's order; "strategy" is one of them
    labels: dict = field(default_factory=dict)  # of axes' values that have one: by axis, by text
    looks: dict = field(default_factory=dict)  # strategy to the number of its colour, marker and dashes


@dataclass
class Point:
    """One combination of strategy and parameters, all its seeds."""

    parameters: dict  # name to text, of axes a Quantity; "strategy" is one of them
    metrics: dict = field(default_factory=dict)  # name to Value
    steps: list = field(default_factory=list)
    trouble: str = ""  # why a seed of it has no result, or what is wrong with it
    failed_check: str = ""  # of a seed whose result is wrong, whatever became of the others
    failures: Failures = field(default_factory=Failures)
    plan: Plan = field(default_factory=Plan)
    number: int = 0  # of the combination, from 1


def _plan(run):
    axes = run.sql("SELECT key, advances_with, leads FROM axes ORDER BY position")
    plan = Plan(groups={row.key: row.advances_with for row in axes.itertuples() if row.advances_with},
                followers={row.key for row in axes.itertuples() if not row.leads},
                looks=dict(run.sql("SELECT name, look FROM strategies").itertuples(index=False)),
                values={"strategy": run.strategies})
    for row in run.sql("SELECT key, value, label FROM axis_values ORDER BY key, position").itertuples():
        plan.values.setdefault(row.key, []).append(row.value)
        if row.label:
            plan.labels.setdefault(row.key, {})[row.value] = row.label
    return plan


def _combinations(run):
    """Strategy, trouble and axes of each, in the run's order; the texts are as files write them."""
    points, plan = {}, _plan(run)
    query = ("SELECT combination, strategy, status, error, coalesce(transfers, 0) AS transfers, "
             "coalesce(failed_transfers, 0) AS failed, transfers IS NULL AS unfinished FROM points ORDER BY number")
    for row in run.sql(query).itertuples():
        point = points.setdefault(row.combination, Point({"strategy": row.strategy}, plan=plan, number=row.combination))
        of = point.failures
        of.seeds += 1
        of.transfers, of.failed, of.unfinished = of.transfers + row.transfers, of.failed + row.failed, of.unfinished + row.unfinished
        if row.status == "complete":
            continue
        trouble = f"{row.status}: {row.error}" if row.error else row.status
        point.trouble = point.trouble or trouble
        if row.status == "check failed":
            point.failed_check = point.failed_check or trouble
    axes = run.sql("SELECT p.combination, a.key, a.value, a.number, a.unit FROM point_axes AS a "
                   "JOIN points AS p ON p.number = a.point ORDER BY a.point, a.position")
    for row in axes.itertuples():
        points[row.combination].parameters[row.key] = Quantity(row.value, row.number, row.unit)
    return points


def read_points(folder):
    """A run's points in its order."""
    try:
        with Run(folder) as run:
            points = _combinations(run)
            for row in run.sql("SELECT combination, name, mean, half_width, unit FROM means").itertuples():
                half_width = 0.0 if row.half_width is None or row.half_width != row.half_width else row.half_width
                points[row.combination].metrics[row.name] = Value(row.mean, half_width, row.unit)
            for row in run.sql("SELECT combination, step, time_us, side FROM mean_breakdown ORDER BY combination, position"
                               ).itertuples():
                points[row.combination].steps.append(Step(row.step, row.time_us, row.side))
    except RunError as error:
        raise PlotError(str(error)) from error
    if not points:
        raise PlotError(f"{folder}: has no points")
    return list(points.values())


def tell_failed_checks(folder, points):
    """On standard error, of the points that a figure shows."""
    wrong = [point.failed_check for point in points if point.failed_check]
    if wrong:
        print(f"{folder}: CHECK FAILED at {len(wrong)} of {len(points)} points of the figure: {wrong[0]}", file=sys.stderr)


def axes_of(points, wanted=()):
    """Names of what differs between points: "strategy", then parameters that differ within a strategy. Of axes that advance
    together those that stand for the others, unless others are `wanted`."""
    strategies = dict.fromkeys(point.parameters["strategy"] for point in points)
    names = dict.fromkeys(name for point in points for name in point.parameters)
    texts = {}
    for point in points:
        for name in names:
            texts.setdefault((name, point.parameters["strategy"]), set()).add(point.parameters.get(name))
    varying = ["strategy"] * (len(strategies) > 1) + [
        name for name in names if any(len(texts[name, strategy]) > 1 for strategy in strategies)]
    plan = points[0].plan if points else Plan()
    kept = [name for name in varying if name not in plan.followers or name in wanted]
    for group in {plan.groups[name] for name in wanted if name in plan.groups}:
        for other in [name for name in kept if name not in wanted and plan.groups.get(name) == group]:
            rest = [name for name in kept if name != other and plan.groups.get(name) == group]
            if rest and follows(points, other, rest):
                kept.remove(other)
    return kept


def follows(points, name, others):
    """Whether the value of `name` is given by those of the others, as of axes that advance together."""
    seen = {}
    for point in points:
        key = tuple(point.parameters.get(other) for other in others)
        if seen.setdefault(key, point.parameters.get(name)) != point.parameters.get(name):
            return False
    return True


def values_of(points, name):
    """The texts that points have on an axis, each once: numbers by size, names in the experiment's order."""
    values = [point.parameters.get(name, "") for point in points]
    there = dict(zip(values, values))
    planned = points[0].plan.values.get(name, []) if points else []
    return order_of([there[text] for text in planned if text in there] + [text for text in there if text not in planned])


def reason(points):
    """Why points have no results: "4 timed out: longer than 1 s", for what is most frequent; empty where they have."""
    troubles = [point.trouble for point in points if point.trouble]
    if not troubles:
        return ""
    most = max(dict.fromkeys(troubles), key=troubles.count)
    return f"{troubles.count(most)} of {len(points)} points {most}"
