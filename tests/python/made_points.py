# SPDX-License-Identifier: Apache-2.0
"""Runs that are written in a test, and figures of them."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from faultline import figures
from faultline.figures import Options
from faultline.figures.style import plt
from faultline.points import Failures, Point, Step, Value
from faultline.quantities import Quantity

# As the database has them, which these runs do without.
NUMBERS = {text: Quantity(text, number, unit)
           for text, number, unit in (("64 B", 64, "B"), ("4 KiB", 4096, "B"), ("64 KiB", 65536, "B"), ("1 MiB", 2**20, "B"),
                                      ("25 us", 25, "us"), ("1 ms", 1000, "us"), ("5", 5, "1"), ("10", 10, "1"))}

SOURCE = ("user post", "poll")


def notes(figure):
    """What stands below the panels."""
    return " ".join(text.get_text().replace("\n", " ") for text in figure.texts)


def point(strategy, parameters, metrics, steps=(), trouble="", failures=()):
    """`metrics`: a mean, or a mean and half of its confidence interval; `failures`: as Failures has them."""
    units = {"latency_mean": "us", "goodput": "MB/s", "faults": "1"}
    values = {name: Value(*(each if isinstance(each, tuple) else (each, 0.0)), units[name])
              for name, each in metrics.items()}
    texts = {name: NUMBERS.get(text, text) for name, text in parameters.items()}
    return Point({"strategy": strategy, **texts}, values, [Step(name, time, "source" if name in SOURCE else "destination") for name, time in steps], trouble,
                 failures=Failures(*failures))


class FigureTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(plt.close, "all")
        self.run_folder = Path(folder.name)

    def write(self, points_of_run):
        for number, each in enumerate(points_of_run, 1):
            each.number = number
        reader = mock.patch("faultline.figures.read_points", lambda folder: points_of_run)
        reader.start()
        self.addCleanup(reader.stop)
        return points_of_run

    def make(self, name, **options):
        figure = figures.make(self.run_folder, name, Options(**options))
        return figure, [axes for axes in figure.axes if axes.axison and axes.get_label() != "<colorbar>"]

    def sweep(self):
        return self.write([point(strategy, {"workload.size": size}, {"latency_mean": (factor * mean, 2.5),
                                                                     "goodput": 1000.0 * mean})
                           for strategy, factor in (("pin", 1.0), ("fault", 3.0))
                           for size, mean in (("64 B", 10), ("4 KiB", 20), ("1 MiB", 40))])
