# SPDX-License-Identifier: Apache-2.0
"""Transfers that failed have no latency and no goodput: figures mark the points that have such transfers, and say how many."""

_MOST = 6  # points that are named below a figure


def failed_of(point):
    """(failed, of how many) of a point's measured transfers, means over its seeds; None where none failed."""
    failed, transfers = (point.metrics.get(name) for name in ("transfers_failed", "transfers"))
    if failed is None or transfers is None or not failed.mean > 0:
        return None
    return failed.mean, transfers.mean


def failed_text(failed):
    """"3 of 1000"."""
    return f"{failed[0]:g} of {failed[1]:g}"


def notes_on(points, label_of, metric=None, hollow=True):
    """Lines below a figure: what its hollow markers mean, if it has any, and which points are not there; they have no `metric`,
    or none at all."""
    failing = [point for point in points if failed_of(point)] if hollow else []
    notes = []
    if failing:
        named = "; ".join(f"{label_of(point)}: {failed_text(failed_of(point))} failed" for point in failing[:_MOST])
        more = len(failing) - _MOST
        notes.append(f"Hollow: transfers failed, and are in no value. {named}" + (f"; and {more} more points" if more > 0 else ""))
    missing = [point for point in points if point.trouble and (metric not in point.metrics if metric else not point.metrics)]
    if missing:
        named = "; ".join(f"{label_of(point)}: {point.trouble.split(':')[0]}" for point in missing[:_MOST])
        more = len(missing) - _MOST
        notes.append(f"Not there: {named}" + (f"; and {more} more points" if more > 0 else ""))
    return notes
