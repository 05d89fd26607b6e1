# SPDX-License-Identifier: Apache-2.0
"""The figures' own objects: axes, labels, bars and lines of runs that are written here."""

import io
import json
import unittest
from dataclasses import replace
from unittest import mock

import pandas

from faultline import figures, points, seal
from faultline.figures.curves import curves
from faultline.figures.style import COLUMN, PAGE, styled
from faultline.points import Plan, PlotError, Point
from faultline.quantities import Quantity, numbers, order_of, short_bytes
from made_points import NUMBERS, FigureTest, point
from matplotlib.legend import Legend


class Figures(FigureTest):
    def test_latency_has_a_line_a_strategy_with_error_bars_and_units(self):
        self.sweep()
        figure, (axes,) = self.make("latency")
        self.assertEqual(axes.get_xlabel(), "transfer size [B]")
        self.assertEqual(axes.get_ylabel(), "mean latency [µs]")
        self.assertEqual([text.get_text() for text in axes.get_xticklabels()], ["64", "4 Ki", "1 Mi"])
        self.assertEqual(axes.get_xscale(), "log")
        self.assertEqual(tuple(figure.get_size_inches())[0], COLUMN)
        self.assertEqual([text.get_text() for text in figure.axes[0].get_legend().get_texts()], ["pin", "fault"])
        line, _, (bars,) = axes.containers[1]
        self.assertEqual(list(line.get_xdata()), [64, 4096, 2**20])
        self.assertEqual([round(y, 6) for y in line.get_ydata()], [30, 60, 120])
        low, high = bars.get_segments()[0][:, 1]
        self.assertEqual((low, high), (27.5, 32.5))

    def test_bandwidth_is_in_gigabits_from_zero(self):
        self.sweep()
        _, (axes,) = self.make("bandwidth")
        self.assertEqual(axes.get_ylabel(), "goodput [Gb/s]")
        self.assertEqual(axes.get_ylim()[0], 0)
        self.assertEqual([round(y, 6) for y in axes.containers[0][0].get_ydata()], [80, 160, 320])

    def test_an_axis_of_names_has_bars_and_a_third_axis_has_panels(self):
        self.write([point(strategy, {"os.thp": thp, "workload.cold": cold}, {"latency_mean": 5.0 + index})
                    for strategy in ("pin", "fault")
                    for index, thp in enumerate(("never", "always")) for cold in ("none", "both")])
        figure, panels = self.make("latency", x="os.thp")
        self.assertEqual([axes.get_title() for axes in panels], ["cold pages at = none", "cold pages at = both"])
        self.assertEqual([text.get_text() for text in panels[0].get_xticklabels()], ["never", "always"])
        self.assertEqual([bar.get_height() for bar in panels[0].containers[0]], [5, 6])
        self.assertEqual(panels[0].get_ylim()[0], 0)
        self.assertEqual(tuple(figure.get_size_inches())[0], PAGE)

    def test_marks_are_published_values_with_their_tolerance(self):
        points_read = self.sweep()
        with styled():
            figure = curves(points_read, "latency_mean", marks=[(64, 38.0, 3.8, "38 µs ±10 %")])
        labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        self.assertEqual(labels, ["pin", "fault", "38 µs ±10 %"])

    def test_heatmap_has_the_values_at_their_places(self):
        self.write([point("fault", {"workload.size": size, "exanest.block_timeout": timeout},
                          {"latency_mean": 100.0 * i + j})
                    for i, size in enumerate(("4 KiB", "64 KiB")) for j, timeout in enumerate(("1 ms", "25 us"))])
        figure, (axes,) = self.make("heatmap", x="exanest.block_timeout", by="workload.size")
        self.assertEqual((axes.get_xlabel(), axes.get_ylabel()), ("block timeout", "transfer size"))
        self.assertEqual([text.get_text() for text in axes.get_xticklabels()], ["25 µs", "1 ms"])
        self.assertEqual(axes.images[0].get_array().tolist(), [[1, 0], [101, 100]])
        self.assertEqual(figure.axes[-1].get_ylabel(), "mean latency [µs]")

    def test_tornado_has_bars_to_either_side_of_the_default(self):
        def response(value, metric):
            return {"value": value, "metric": metric, "half_width": 0}

        def bar(name, low, high, marks=""):
            return {"name": name, "marks": marks, "low": low, "default": response("5 us", 100.0), "high": high}

        analysis = {"measure": "latency_mean", "metric": "latency_mean", "unit": "us", "tornado": {
            "point": "fault, a = $1 to $2", "low": "low end", "high": "high end", "marks": {}, "bars": [
                bar("a", response("1 us", 90.0), response("9 us", 130.0)), bar("b", None, response("9 us", 95.0))]}}
        content = json.dumps(analysis)[:-1].encode()
        file = self.run_folder / "sensitivity.json"
        file.write_bytes(content.replace(b"130.0", b"138.0") + seal.seal_of(content, seal.JSON))
        with self.assertRaisesRegex(PlotError, "is damaged"):
            self.make("tornado")
        file.write_bytes(content + seal.seal_of(content, seal.JSON))
        _, (axes,) = self.make("tornado")
        self.assertEqual(axes.get_title(), r"fault, a = \$1 to \$2")
        self.assertEqual(axes.get_xlabel(), "mean latency [µs]")
        self.assertEqual([text.get_text() for text in axes.get_yticklabels()], ["a = 5 µs", "b = 5 µs"])
        bars = {(bar.get_y() + bar.get_height() / 2, bar.get_width()) for group in axes.containers for bar in group}
        self.assertEqual({(round(place, 6), width) for place, width in bars}, {(1, 30), (1, -10), (0, -5)})
        for metric, words in (("goodput", "--metric goodput"),
                              ("latency_mean/resident", "--metric latency_mean --baseline resident"),
                              ("goodput/fault/stall", "--metric goodput --baseline fault/stall")):
            with self.assertRaisesRegex(PlotError, f"ranks latency_mean; 'faultline .* {words}' ranks this one"):
                self.make("tornado", metric=metric)
        # What else the folder has ranked, with a mark at what the ends do not tell.
        analysis |= {"measure": "latency_mean/resident", "baseline": "resident"}
        analysis["tornado"]["marks"] = {"^": "not monotonic over the range", "*": "of another bar"}
        analysis["tornado"]["bars"][0]["marks"] = "^"
        content = json.dumps(analysis)[:-1].encode()
        (self.run_folder / "sensitivity-latency_mean-to-resident.json").write_bytes(
            content + seal.seal_of(content, seal.JSON))
        figure, (axes,) = self.make("tornado", metric="latency_mean/resident")
        self.assertEqual(axes.get_xlabel(), "mean latency relative to resident")
        self.assertEqual([text.get_text() for text in axes.get_yticklabels()], ["a = 5 µs ^", "b = 5 µs"])
        texts = [text.get_text() for each in figure.findobj(Legend) for text in each.get_texts()]
        self.assertEqual(texts, ["low end", "high end", "^ not monotonic over the range"])

    def test_files_have_their_size_embedded_fonts_and_the_same_bytes_again(self):
        self.sweep()
        for suffix in ("pdf", "png"):
            files = [self.run_folder / f"{name}.{suffix}" for name in ("a", "b")]
            for file in files:
                figures.save(self.make("latency")[0], file)
            self.assertEqual(files[0].read_bytes(), files[1].read_bytes())
        pdf = (self.run_folder / "a.pdf").read_bytes()
        self.assertIn(b"/FontFile2", pdf)
        self.assertNotIn(b"/Type3", pdf)
        self.assertNotIn(b"CreationDate", pdf)
        width, height = (int.from_bytes((self.run_folder / "a.png").read_bytes()[at:at + 4], "big") for at in (16, 20))
        self.assertEqual((width, height), (1050, 727))

    def test_failed_checks_are_told_of_the_points_that_are_shown_and_of_any_seed(self):
        rows = [{"combination": 1, "strategy": "pin", "status": "complete", "error": None},
                {"combination": 2, "strategy": "pin", "status": "timed out", "error": "longer than 1 s"},
                {"combination": 2, "strategy": "pin", "status": "check failed", "error": "data differ"},
                {"combination": 3, "strategy": "pin", "status": "timed out", "error": "longer than 1 s"}]
        for row, failed in zip(rows, (0, 0, 2, 0)):
            row.update(transfers=0 if row["status"] == "timed out" else 40, failed=failed,
                       unfinished=int(row["status"] == "timed out"))
        columns = {"FROM points ORDER": rows, "FROM means": [
            {"combination": number, "name": "latency_mean", "mean": number, "half_width": 0.0, "unit": "us"}
            for number in (1, 2, 3)], "FROM point_axes": [
            {"combination": number, "key": "workload.size", "value": f"{number} B", "number": number, "unit": "B"}
            for number in (1, 2, 3)]}

        class Written:
            strategies = ["pin"]

            def __init__(self, folder):
                pass

            def __enter__(self):
                return self

            def __exit__(self, *exception):
                pass

            def sql(self, query):
                found = next((rows for part, rows in columns.items() if part in query), [])
                return pandas.DataFrame(found) if found else pandas.DataFrame(
                    columns=["key", "advances_with", "leads"] if "axes" in query else ["name", "look"])

        with mock.patch("faultline.points.Run", Written):
            of = [each.failures for each in points.read_points(self.run_folder)]
            self.assertEqual([(f.failed, f.transfers, f.unfinished, f.seeds) for f in of],
                             [(0, 40, 0, 1), (2, 40, 1, 2), (0, 0, 1, 1)])
            for shown, told in ((None, "CHECK FAILED at 1 of 3 points of the figure: check failed: data differ\n"),
                                ({1, 2}, "CHECK FAILED at 1 of 2 points of the figure: check failed: data differ\n"),
                                ({1, 3}, "")):
                with mock.patch("sys.stderr", io.StringIO()) as said:
                    self.make("latency", combinations=shown)
                self.assertEqual(said.getvalue(), f"{self.run_folder}: {told}" if told else "")

    def test_what_cannot_be_drawn_is_told_with_what_can(self):
        self.sweep()
        for options, message in (({"metric": "latncy"}, "no point has it; there are: latency_mean, goodput"),
                                 ({"x": "os.thp"}, "does not differ between the points; what does: strategy, workload.size"),
                                 ({"x": "strategy", "by": "strategy"}, "is the x axis already")):
            with self.assertRaisesRegex(PlotError, message):
                self.make("latency", **options)
        with self.assertRaisesRegex(PlotError, "needs two axes"):
            self.make("heatmap", combinations={1, 2, 3})
        with self.assertRaisesRegex(PlotError, "no point has a breakdown"):
            self.make("breakdown")
        with self.assertRaisesRegex(PlotError, "faultline sensitivity"):
            self.make("tornado")

    def test_points_that_failed_are_left_out(self):
        self.write([point("pin", {"workload.size": "64 B"}, {"latency_mean": 1.0}),
                    point("pin", {"workload.size": "4 KiB"}, {}, trouble="may not lock"),
                    point("pin", {"workload.size": "1 MiB"}, {"latency_mean": 3.0})])
        _, (axes,) = self.make("latency")
        self.assertEqual(list(axes.containers[0][0].get_xdata()), [64, 2**20])
        self.write([point("pin", {"workload.size": "64 B"}, {}, trouble="may not lock")])
        for figure in ("latency", "breakdown"):
            with self.assertRaisesRegex(PlotError, "no point has results: 1 of 1 points may not lock"):
                self.make(figure)

    def test_too_many_panels_are_told_with_a_condition_that_helps(self):
        self.write([point("pin", {"workload.size": f"{size} B", "cpu.cores": str(cores), "os.thp": thp}, {"latency_mean": 1.0})
                    for size in (1, 2) for cores in range(1, 8) for thp in ("never", "always")])
        with self.assertRaisesRegex(PlotError, "7 panels, for each combination of cpu.cores, are too many .of 6.; choose points, "
                                               "as --where 'cpu.cores=1'"):
            self.make("latency", by="os.thp")

    def test_too_many_waterfalls_are_told_with_a_condition_where_an_axis_varies(self):
        step = [("wire", 4.0)]
        # Points of a sensitivity analysis have no axis that varies.
        self.write([point("pin", {}, {"latency_mean": 1.0}, step) for _ in range(17)])
        with self.assertRaisesRegex(PlotError, "^17 waterfalls are too many .of 8.; choose points with --where$"):
            self.make("breakdown")
        self.write([point("pin", {"cpu.cores": str(cores)}, {"latency_mean": 1.0}, step) for cores in range(1, 10)])
        with self.assertRaisesRegex(PlotError, "choose points, as --where 'cpu.cores=1'"):
            self.make("breakdown")

    def test_axes_that_advance_together_are_one(self):
        plan = Plan(groups={"workload.iterations": "workload.iterations", "workload.size": "workload.iterations"},
                    followers={"workload.iterations"})
        sizes = [("10", "64 B"), ("10", "4 KiB"), ("5", "1 MiB")]
        self.write([replace(point("pin", {"workload.iterations": iterations, "workload.size": size, "os.thp": thp},
                                  {"latency_mean": 1.0}), plan=plan) for iterations, size in sizes for thp in ("never", "always")])
        _, panels = self.make("heatmap")
        self.assertEqual([(axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) for axes in panels],
                         [("huge pages", "transfer size", "")])
        _, (axes,) = self.make("latency")
        self.assertEqual(axes.get_xlabel(), "transfer size [B]")
        # Another of them by its name; where its values repeat the rest tells its points apart.
        figure, panels = self.make("latency", x="workload.iterations")
        self.assertEqual([axes.get_xlabel() for axes in panels], ["workload.iterations"] * 2)
        self.assertEqual([text.get_text() for text in figure.axes[0].get_legend().get_texts()],
                         ["transfer size: 64 B", "transfer size: 4 KiB", "transfer size: 1 MiB"])

    def test_names_come_in_the_experiments_order_whichever_point_is_first(self):
        plan = Plan(values={"os.thp": ["never", "madvise", "always"]})
        self.write([replace(point("pin", {"os.thp": thp}, {"latency_mean": 1.0}), plan=plan)
                    for thp in ("always", "never", "madvise")])
        _, (axes,) = self.make("latency")
        self.assertEqual([text.get_text() for text in axes.get_xticklabels()], ["never", "madvise", "always"])


class Quantities(unittest.TestCase):
    def test_values_are_numbers_with_their_dimension(self):
        rate = Quantity("16 Gb/s", 16e9, "b/s")
        self.assertEqual((rate, rate.number, rate.unit), ("16 Gb/s", 16, "Gb/s"))
        self.assertEqual(numbers([Quantity("0.5", 0.5, "1")]), ([0.5], ""))
        self.assertEqual(numbers([NUMBERS["1 ms"], NUMBERS["25 us"]]), ([1000, 25], "us"))
        self.assertIsNone(numbers([Quantity("always", float("nan"), "")]))
        self.assertIsNone(numbers([NUMBERS["1 ms"], ""]))
        self.assertEqual(order_of([NUMBERS[text] for text in ("1 ms", "25 us", "1 ms")]), ["25 us", "1 ms"])
        self.assertEqual(order_of(["never", "always"]), ["never", "always"])
        self.assertEqual([short_bytes(size) for size in (64, 4096, 2**20)], ["64", "4 Ki", "1 Mi"])

    def test_axes_are_what_differs_within_a_strategy(self):
        both = [Point({"strategy": name, "strategy.resolve": name, "workload.size": size})
                for name in ("a", "b") for size in ("1 B", "2 B")]
        self.assertEqual(points.axes_of(both), ["strategy", "workload.size"])


if __name__ == "__main__":
    unittest.main()
