# SPDX-License-Identifier: Apache-2.0
"""Transfers that failed, and seeds without a result, are in no latency and no goodput: figures mark the points that have such
ones, and say how many."""

_MOST = 6  # points that are named below a figure


def failed_of(point):
    """What is not in a point's values, over all its seeds; None where nothing is missing."""
    return point.failures if point.failures.failed or point.failures.unfinished else None


def failed_text(failures):
    """"3 of 1000 failed, 1 of 3 seeds without a result"."""
    texts = [f"{failures.failed} of {failures.transfers} failed"] if failures.failed else []
    return ", ".join(texts + [f"{failures.unfinished} of {failures.seeds} seeds without a result"] * bool(failures.unfinished))


def failed_mark(failures):
    """"!3 !!1": the same, as the tables of a run have it."""
    return " ".join([f"!{failures.failed}"] * bool(failures.failed) + [f"!!{failures.unfinished}"] * bool(failures.unfinished))


def _named(points, text_of):
    more = len(points) - _MOST
    return "; ".join(map(text_of, points[:_MOST])) + (f"; and {more} more points" if more > 0 else "")


def notes_on(points, label_of, metric=None, marked="Hollow: not of all transfers."):
    """Lines below a figure: what its marks mean, if it has any, and which points are not there; they have no `metric`, or none
    at all."""
    def is_there(point):
        return not point.trouble or (metric in point.metrics if metric else bool(point.metrics))

    missing = [point for point in points if not is_there(point)]
    failing = [point for point in points if marked and failed_of(point) and is_there(point)]
    notes = []
    if failing:
        notes.append(f"{marked} "
                     + _named(failing, lambda point: f"{label_of(point)}: {failed_text(point.failures)}"))
    if missing:
        notes.append("Not there: " + _named(missing, lambda point: f"{label_of(point)}: {point.trouble.split(':')[0]}"))
    return notes
