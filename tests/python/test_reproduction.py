# SPDX-License-Identifier: Apache-2.0
"""The page of E1 to E14: what it is made of, apart from the runs (tests/scripts/reproduce.sh makes these)."""

import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

from matplotlib.container import ErrorbarContainer

from faultline.figures.style import plt, styled
from faultline.points import PlotError, Point, Step, Value
from faultline.quantities import Quantity
from faultline.reproduction.page import page
from faultline.reproduction.published import mark, read_published, tolerance
from faultline.reproduction.sections import SECTIONS, Runs, Section, _with_hops

CONFIGS = Path(__file__).parents[2] / "configs"


class Reproduction(unittest.TestCase):
    def test_every_experiment_is_there_and_names_what_ships(self):
        self.assertEqual([section.name for section in SECTIONS], [f"E{number}" for number in range(1, 15)])
        published = read_published(CONFIGS)
        for section in SECTIONS:
            self.assertTrue(section.figures and section.shows and section.missing, section.name)
            for run in section.runs:
                self.assertTrue((CONFIGS / "experiments" / f"{run}.toml").is_file(), run)
            for name in section.published:
                self.assertIn(name, published)

    def test_marks_are_the_files_own_values(self):
        published = read_published(CONFIGS)
        self.assertEqual(mark(published["T5"])[:2], (38, 3.8))
        self.assertEqual(mark(published["T5"], above=6.5),
                         (44.5, 3.8, "T5: 38 µs more than without a fault, published"))
        value, margin, text = mark(published["T4"], 0.16, "Gb/s")
        self.assertAlmostEqual(value, 13.12)
        self.assertAlmostEqual(margin, 0.32)
        self.assertEqual(text, "T4: 13.12 Gb/s, published")
        self.assertEqual(tolerance({"value": 20, "tolerance": "5 %"}), 1)
        self.assertEqual(tolerance({"value": 20, "tolerance": 2}), 2)

    def test_targets_are_shown_as_hops(self):
        """From the shape of the machine: QFDBs of four MPSoCs in rows of four, whose first MPSoC leads to other QFDBs."""
        def hops(source, target):
            (x, y), (to_x, to_y) = ((node // 4 % 4, node // 16) for node in (source, target))
            links = abs(x - to_x) + abs(y - to_y)
            return links + (source % 4 != 0) + (target % 4 != 0) if links else 1

        for run in ("message-hops", "latency-vs-hops"):
            with open(CONFIGS / "experiments" / f"{run}.toml", "rb") as file:
                experiment = tomllib.load(file)
            source, values = experiment["parameters"]["workload"]["initiator"], experiment["axes"]["workload"]["target"]
            targets = [each["value"] for each in values]
            self.assertEqual([int(each["label"].split(" hop")[0]) for each in values], [hops(source, target) for target in targets])
            points = _with_hops([Point({"strategy": "resident", "workload.target": str(target), "workload.size": "8 B"},
                                       {"latency_mean": Value(1.0, 0.0, "us")}) for target in targets])
            self.assertEqual([point.parameters["hops"].number for point in points], [hops(source, target) for target in targets])
            self.assertEqual(points[-1].parameters, {"strategy": "resident", "hops": "5", "workload.size": "8 B"})

    def stars(self, section, points):
        """[(figure, axes, x, y, (low, high), text)] of the section's figures that can be drawn from the points, all of one run."""
        found = []
        runs = Runs(Path("nowhere"), read_published(CONFIGS))
        with mock.patch("faultline.reproduction.sections.read_points", lambda folder: points.get(folder.name, [])), \
                mock.patch("faultline.reproduction.sections.read_sensitivity", side_effect=PlotError("no run")):
            for _, draw in section.figures:
                try:
                    with styled():
                        figure = draw(runs)
                except PlotError:
                    continue
                self.addCleanup(plt.close, figure)
                for axes in figure.axes:
                    for each in axes.containers:
                        if isinstance(each, ErrorbarContainer) and each[0].get_marker() == "*":
                            line, _, (bars,) = each
                            found.append((figure, axes, line.get_xdata()[0], line.get_ydata()[0], bars.get_segments()[0],
                                          each.get_label()))
        return found

    def test_every_star_stands_at_the_published_value(self):
        """Against the file itself, and labels of the axes: not by what draws the stars."""
        with open(CONFIGS / "validation" / "published.toml", "rb") as file:
            published = {}
            for figure in tomllib.load(file)["figure"]:
                published.setdefault(figure["name"], figure)

        def run(metric, unit, axis, values, **others):
            return [Point({"strategy": "fault/touch-ahead", **{axis: value}, **others}, {metric: Value(mean, 0.0, unit)},
                          [Step("user post", mean)]) for value, mean in values]

        def size(text, number):
            return Quantity(text, number, "B")

        points = {
            "message-hops": run("latency_typical", "us", "workload.target", [("2", 1.27), ("4", 1.6), ("5", 1.9), ("9", 2.2), ("25", 2.5)]),
            "link-rates": [point for rate, number in (("10 Gb/s", 10e9), ("16 Gb/s", 16e9)) for point in
                           run("goodput", "MB/s", "workload.size", [(size("64 B", 64), 90.0), (size("4 MiB", 2**22), 1200.0)],
                               **{"network.internal_rate": Quantity(rate, number, "b/s")})],
            "fault-breakdown": run("latency_mean", "us", "workload.cold", [("none", 6.5), ("destination", 44.5), ("both", 80.0)]),
            "cold-transfers": [point for cold, more in (("none", 0), ("destination", 39)) for point in
                               run("latency_mean", "us", "workload.size", [(size("64 B", 64), 6.4 + more), (size("4 KiB", 4096), 9.0 + more)],
                                   **{"workload.cold": cold})],
        }
        marked = 0
        for section in SECTIONS:
            with self.subTest(section.name):
                stars = self.stars(section, points)
                self.assertEqual(sorted(text.split(":")[0] for *_, text in stars), sorted(
                    name for name in section.published if "value" in published[name]))  # T7 is an order
                marked += len(stars)
                for figure, axes, x, y, ends, text in stars:
                    figure.canvas.draw()
                    value = published[text.split(":")[0]]["value"]
                    self.assertTrue(axes.get_xlim()[0] <= x <= axes.get_xlim()[1] and min(axes.get_ylim()) <= y <= max(axes.get_ylim()))
                    ticks = {round(place, 6): label.get_text() for place, label in zip(axes.get_xticks(), axes.get_xticklabels())}
                    place = section.name, text.split(":")[0]
                    if place == ("E1", "T1"):  # one hop, 1.3 us within 5 %
                        self.assertEqual((axes.get_xlabel(), ticks[x], y), ("hops", "1", value))
                        self.assertEqual([round(end, 9) for end in ends[:, 1]], [1.235, 1.365])
                    elif place == ("E2", "T4"):  # 82 % of 16 Gb/s within 2 points, for transfers of 4 MiB
                        self.assertEqual((ticks[x], axes.get_xlabel(), axes.get_ylabel()), ("4 Mi", "transfer size [B]", "goodput [Gb/s]"))
                        self.assertAlmostEqual(y, value / 100 * 16)
                        self.assertEqual([round(end, 9) for end in ends[:, 1]], [12.8, 13.44])
                    elif place == ("E3", "T5"):  # 38 us more than without a fault, in all
                        self.assertEqual(axes.get_title().split("\n")[0], "cold pages at: destination")
                        self.assertEqual(axes.get_xlabel(), "time since the transfer's begin [µs]")
                        self.assertAlmostEqual(x, 6.5 + value)
                        self.assertEqual(axes.get_yticklabels()[int(y)].get_text(), "published, in all")
                        self.assertEqual([round(end, 9) for end in ends[:, 0]], [40.7, 48.3])
                    elif place == ("E4", "T5"):  # the same, of 64 B
                        self.assertEqual((ticks[x], axes.get_ylabel()), ("64", "mean latency [µs]"))
                        self.assertAlmostEqual(y, 6.4 + value)
                    else:
                        self.fail(f"{place}: where this star has to stand is not said here")
        self.assertEqual(marked, 4)

    def test_the_page_tells_figures_published_values_and_troubles(self):
        section = Section("E1", "One & two", "shows", [], ["some-run"], ["T1"], "much")
        published = {"T1": {"name": "T1", "quantity": "latency", "value": 1.3, "unit": "us", "source": "a paper", "use": "fit"}}
        check = {"name": "T1", "at": "", "quantity": "latency", "published": "1.3 us", "allowed": "5 %", "simulated": "2 us",
                 "error": "+54 %", "use": "fit", "passed": False, "counts": True, "known_off": ""}
        off = check | {"name": "K8", "passed": True, "known_off": "a mechanism is missing"}
        with tempfile.TemporaryDirectory() as folder:
            png = Path(folder) / "E1-a.png"
            png.write_bytes(b"png")
            html = page([section], {"E1": ([("a < b", png)], ["it failed"])}, [check, off], published, "faultline 1", True)
        for text in ("E1: One &amp; two", "data:image/png;base64,cG5n", 'href="figures/E1-a.pdf"', "a &lt; b", "it failed",
                     "Published, T1: latency: 1.3 us (a paper; fit).", "<td>missed</td>", "<td>off</td>", "Not to be had: much",
                     "Made with --quick", "<code>faultline run some-run</code>"):
            self.assertIn(text, html)


if __name__ == "__main__":
    unittest.main()
