# SPDX-License-Identifier: Apache-2.0
"""How series look: a colour, a marker and dashes for each number that a run gives its strategies, from looks.json, which the page
of a run reads, too."""

import json
from pathlib import Path

from matplotlib.path import Path as Outline

_LOOKS = json.loads((Path(__file__).parents[1] / "looks.json").read_text(encoding="utf-8"))
COLOURS = tuple(_LOOKS["light"])
_DASHES = _LOOKS["dashes"]
_MARKERS = [Outline([*each["corners"], each["corners"][0]], closed=True) for each in _LOOKS["markers"]]
_DASH_UNIT = 0.5  # of a dash's lengths, in widths of the line


def colour_of(look):
    return COLOURS[look % len(COLOURS)]


def marker_of(look):
    """A colour and a marker meet once in 24 times 24 looks."""
    return _MARKERS[(look + look // len(COLOURS)) % len(_MARKERS)]


def dashes_of(look):
    lengths = _DASHES[look // 8 % len(_DASHES)]
    return (0, tuple(_DASH_UNIT * length for length in lengths)) if lengths else "-"


def looks_of(points, by, labels):
    """The number of each series: a strategy's own, also where it is alone, or the place of the value."""
    strategies = {point.parameters["strategy"] for point in points}
    if by is None and len(strategies) == 1:
        return dict.fromkeys(labels, points[0].plan.looks.get(*strategies, 0))
    looks = points[0].plan.looks if by == "strategy" else {}
    taken = set(looks.values())
    free = (number for number in range(len(labels) + len(taken)) if number not in taken)
    return {label: looks[label] if label in looks else next(free) for label in labels}
