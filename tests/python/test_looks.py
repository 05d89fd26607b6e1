# SPDX-License-Identifier: Apache-2.0
"""How points look in figures: colours and markers, scales that hide nothing, failed transfers, names, and words that do not collide."""

import unittest
from dataclasses import replace

from faultline.figures.looks import COLOURS, colour_of, dashes_of, marker_of
from faultline.labels import flow_labels
from faultline.points import Plan
from faultline.quantities import Quantity
from made_points import FigureTest, notes, point
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle


class Looks(FigureTest):
    def test_a_strategy_has_its_own_colour_whichever_are_there(self):
        plan = Plan(looks={"resident": 0, "fault/touch-ahead": 2, "populate": 8})
        everything = [replace(point(strategy, {"workload.size": size}, {"latency_mean": 1.0}), plan=plan)
                      for strategy in ("resident", "fault/touch-ahead", "populate") for size in ("64 B", "4 KiB")]

        def lines(points_of_run):
            self.write(points_of_run)
            (axes,) = self.make("latency")[1]
            return {each.get_label(): (each[0].get_color(), each[0].get_marker(), each[0].get_linestyle() == "-")
                    for each in axes.containers}

        expected = {name: (colour_of(look), marker_of(look), look < 8) for name, look in plan.looks.items()}
        self.assertEqual(lines(everything), expected)
        self.assertEqual(list(lines(everything[2:4]).values()), [expected["fault/touch-ahead"]])
        self.assertEqual(lines(everything[2:]), {name: expected[name] for name in ("fault/touch-ahead", "populate")})

    def test_no_look_is_there_twice(self):
        looks = [(colour_of(look), tuple(map(tuple, marker_of(look).vertices))) for look in range(24 * 24)]
        self.assertEqual(len(set(looks)), len(looks))
        for each in zip(*looks[:24]):
            self.assertEqual(len(set(each)), 24)
        self.assertEqual(len({str(dashes_of(look)) for look in range(0, 64, 8)}), 8)
        self.assertEqual(len(set(COLOURS)), 24)
        # Nor in a figure with strategies of one's own beside those that ship, or with values of an axis.
        plan = Plan(looks={"mine": 0, "resident": 1, **{f"s{look}": look for look in range(2, 40)}})
        self.write([replace(point(name, {"workload.size": size}, {"latency_mean": 1.0 + look}), plan=plan)
                    for name, look in plan.looks.items() for size in ("64 B", "4 KiB")])
        (axes,) = self.make("latency")[1]
        drawn = [(to_hex(line.get_color()), str(line.get_marker().vertices)) for line, *_ in axes.containers]
        self.assertEqual((len(drawn), len(set(drawn))), (40, 40))

    def test_bars_become_markers_on_a_log_axis(self):
        self.write([point(strategy, {"os.thp": thp}, {"latency_mean": mean, "goodput": mean})
                    for strategy, factor in (("pin", 1), ("fault", 10)) for thp, mean in (("never", factor), ("always", 10 * factor))])
        for figure in ("latency", "bandwidth"):
            _, (axes,) = self.make(figure)
            self.assertEqual(axes.get_yscale(), "log")
            self.assertIn(", log scale", axes.get_ylabel())
            self.assertEqual([bar for bar in axes.patches if isinstance(bar, Rectangle)], [])
            places = [list(line.get_xdata()) for line, *_ in axes.containers]
            self.assertEqual([[round(x) for x in each] for each in places], [[0, 1], [0, 1]])
            self.assertNotEqual(*places)
            self.assertEqual({line.get_linestyle() for line, *_ in axes.containers}, {"None"})

    def test_values_of_0_stand_at_the_foot_of_a_log_axis(self):
        self.write([point(strategy, {"os.thp": thp}, {"latency_mean": mean})
                    for strategy, mean in (("resident", 0.0), ("pin", 5.0), ("fault", 900.0)) for thp in ("never", "always")])
        figure, (axes,) = self.make("latency")
        figure.canvas.draw()
        self.assertEqual((axes.get_yscale(), axes.get_ylim()[0]), ("symlog", 0))
        places = [axes.transAxes.inverted().transform(axes.transData.transform((0, mean)))[1] for mean in (0, 5, 900)]
        self.assertAlmostEqual(places[0], 0)
        self.assertTrue(0.05 < places[1] < 0.4 and places[2] > 0.9, places)
        self.assertEqual([text.get_text() for text in axes.get_yticklabels()], ["0", "10", "100", "1000"])
        self.assertIn("The scale begins at 0", notes(figure))

    def test_a_panel_that_would_be_flat_has_its_own_scale(self):
        self.write([point(strategy, {"workload.size": size, "workload.cold": cold}, {"latency_mean": mean})
                    for strategy in ("pin", "fault") for cold, mean in (("none", 5.0), ("both", 100.0))
                    for size in ("64 B", "4 KiB")])
        figure, panels = self.make("latency")
        self.assertIn("Each panel has its own scale.", notes(figure))
        for axes, mean in zip(panels, (5.0, 100.0), strict=True):
            self.assertTrue(mean < axes.get_ylim()[1] < 1.2 * mean)

    def test_lines_on_top_of_each_other_are_told(self):
        self.write([point(strategy, {"workload.size": size}, {"latency_mean": mean * factor})
                    for strategy, factor in (("pin", 1), ("mlock", 1.001), ("fault", 2)) for size, mean in (("64 B", 1), ("4 KiB", 2))])
        figure, _ = self.make("latency")
        self.assertEqual(notes(figure), "On top of each other: pin, mlock.")
        self.write([point("pin", {"workload.size": size, "os.thp": thp}, {"latency_mean": mean})
                    for thp in ("never", "always") for size, mean in (("64 B", 1), ("4 KiB", 2))])
        self.assertEqual(notes(self.make("latency")[0]), "On top of each other: huge pages never, always.")

    def test_points_with_failed_transfers_are_hollow_and_counted(self):
        def pin(size, failed=0, unfinished=0, strategy="pin", thp="never", **more):
            return point(strategy, {"workload.size": size, "os.thp": thp}, {"latency_mean": 5.0, "goodput": 7.0},
                         failures=(failed, 1000, unfinished, 3), **more)

        self.write([pin("64 B"), pin("4 KiB", 3), pin("64 KiB", unfinished=1),
                    point("pin", {"workload.size": "1 MiB", "os.thp": "never"}, {}, trouble="timed out: longer than 1 s",
                          failures=(0, 0, 3, 3))])
        figure, (axes,) = self.make("latency")
        line = axes.containers[0][0]
        (hollow,) = [each for each in axes.lines if each.get_markerfacecolor() == "white"]
        self.assertEqual((list(hollow.get_xdata()), list(hollow.get_ydata())), ([4096, 65536], [5, 5]))
        self.assertEqual((hollow.get_markeredgecolor(), hollow.get_marker()), (line.get_color(), line.get_marker()))
        self.assertEqual(notes(figure), "Hollow: not of all transfers. 4 KiB: 3 of 1000 failed; "
                                        "64 KiB: 1 of 3 seeds without a result Not there: 1 MiB: timed out")
        self.assertEqual([text.get_text() for text in figure.axes[0].get_legend().get_texts()], ["not of all transfers"])
        self.write([pin("64 B", steps=[("poll", 5.0)]), pin("64 B", 3, 1, "fault", steps=[("poll", 5.0)])])
        figure, (axes,) = self.make("latency")
        faces = [to_hex(bar.get_facecolor()) for bar in axes.patches if isinstance(bar, Rectangle)]
        self.assertEqual(faces, [COLOURS[0], "#ffffff"])
        both = "3 of 1000 failed, 1 of 3 seeds without a result"
        self.assertIn(f"fault: {both}", notes(figure))
        figure, panels = self.make("breakdown")
        self.assertIn(f"{both}, not in it", panels[1].get_title())
        self.write([pin(size, failed, thp=thp) for size, failed in (("64 B", 0), ("4 KiB", 3)) for thp in ("never", "always")])
        figure, (axes,) = self.make("heatmap")
        self.assertEqual(sorted(text.get_text() for text in axes.texts), ["5", "5", "5\n!3", "5\n!3"])
        self.assertTrue(notes(figure).startswith("!, !!: so many transfers failed, so many seeds have no result. never, 4 KiB: 3 of"),
                        notes(figure))

    def test_legends_have_all_series_in_their_colours(self):
        self.write([point("_hid", {"workload.size": size}, {"latency_mean": 5.0}) for size in ("64 B", "4 KiB")]
                   + [point("pin", {"workload.size": size}, {"latency_mean": 6.0}) for size in ("64 B", "4 KiB")])
        figure, _ = self.make("latency")
        texts = [text.get_text().strip("\u200b") for text in figure.axes[0].get_legend().get_texts()]
        self.assertEqual(texts, ["_hid", "pin"])
        self.write([point(name, {"workload.kind": kind}, {"latency_mean": 5.0}, failures=(kind == "ring", 9, 0, 1))
                    for name in ("_hid", "pin") for kind in ("ring", "pairs")])
        figure, (axes,) = self.make("latency")
        bars = [to_hex(bars[1].get_facecolor()) for bars in axes.containers]
        self.assertEqual([to_hex(each.get_facecolor()) for each in figure.axes[0].get_legend().get_patches()], bars)
        self.assertNotIn("#ffffff", bars)

    def test_long_times_are_in_milliseconds(self):
        self.write([point("pin", {"workload.size": size}, {"latency_mean": mean})
                    for size, mean in (("64 B", 4000.0), ("4 KiB", 24000.0))])
        _, (axes,) = self.make("latency")
        self.assertEqual(axes.get_ylabel(), "mean latency [ms]")
        self.assertEqual(list(axes.containers[0][0].get_ydata()), [4, 24])

    def test_ticks_of_a_log_axis_are_plain_numbers(self):
        self.write([point("pin", {"workload.size": size}, {"latency_mean": mean})
                    for size, mean in (("64 B", 4.0), ("4 KiB", 2000.0))])
        figure, (axes,) = self.make("latency")
        figure.canvas.draw()
        self.assertLessEqual({"10", "100", "1000"}, {text.get_text() for text in axes.get_yticklabels()})

    def test_numbers_of_nodes_are_names(self):
        self.write([point("pin", {"workload.target": Quantity(text, int(text), "1")}, {"latency_mean": 1.0 + int(text)})
                    for text in ("2", "4", "25")])
        _, (axes,) = self.make("latency")
        self.assertEqual([text.get_text() for text in axes.get_xticklabels()], ["2", "4", "25"])
        self.assertEqual([round(bar.get_x() + bar.get_width() / 2, 6) for bar in axes.containers[0]], [0, 1, 2])

    def test_strategies_are_series_where_another_axis_differs(self):
        self.write([point(strategy, {"workload.kind": kind}, {"latency_mean": 1.0})
                    for strategy in ("pin", "fault") for kind in ("ring", "all-to-all")])
        figure, (axes,) = self.make("latency")
        self.assertEqual([text.get_text() for text in axes.get_xticklabels()], ["ring", "all-to-all"])
        self.assertEqual([text.get_text() for text in figure.axes[0].get_legend().get_texts()], ["pin", "fault"])

    def test_lists_of_flows_have_short_names(self):
        one, two = "from=1, to=0, size=64 KiB", "from=1, to=0, size=64 KiB; from=2, to=0, size=64 KiB"
        cold = f"{one}; from=2, to=0, size=64 KiB, cold=destination"
        self.assertEqual(list(flow_labels([one, two, cold]).values()), ["1→0", "1+2→0", "1→0; 2→0 cold destination"])
        self.assertEqual(list(flow_labels([one, "to=2, size=4 KiB, kind=read, start=3 us"]).values()),
                         ["1→0 64 KiB", "0→2 4 KiB, read, start 3 µs"])
        # Flows need not set the same fields.
        some = "from=1, to=0, size=64 KiB; from=2, to=0, size=64 KiB, cold=destination, cold_share=0.5"
        self.assertEqual(list(flow_labels([one, some]).values()), ["1→0", "1→0; 2→0 cold destination, cold_share 0.5"])
        paced = "from=1, to=0, size=64 KiB, arrivals=poisson, interval=50 us, burst=2, think_time=1 us, cold_every=4"
        self.assertEqual(list(flow_labels([one, paced]).values()),
                         ["1→0", "1→0 arrivals poisson, interval 50 µs, burst 2, think_time 1 µs, cold_every 4"])
        self.write([point("pin", {"workload.flows": text}, {"latency_mean": 1.0}) for text in (one, two, cold)])
        _, (axes,) = self.make("latency")
        self.assertEqual([text.get_text().replace("\n", " ") for text in axes.get_xticklabels()],
                         ["1→0", "1+2→0", "1→0; 2→0 cold destination"])
        # What is longer than a tick has room for has a letter, and the key below.
        many = "; ".join(f"from={sender}, to={sender + 1}, size={sender + 1} KiB" for sender in range(8))
        self.write([point("pin", {"workload.flows": text}, {"latency_mean": 1.0}) for text in (one, many)])
        figure, (axes,) = self.make("latency")
        self.assertEqual([text.get_text() for text in axes.get_xticklabels()], ["A", "B"])
        self.assertIn("A: 1→0 64 KiB B: 0→1 1 KiB; 1→2 2 KiB; 2→3", notes(figure))

    def test_values_have_the_labels_that_a_run_gives_them(self):
        plan = Plan()
        plan.labels = {"workload.target": {"2": "1 hop", "25": "5 hops"}}
        self.write([replace(point("pin", {"workload.target": text}, {"latency_mean": 1.0}), plan=plan) for text in ("2", "25")])
        _, (axes,) = self.make("latency")
        self.assertEqual([text.get_text() for text in axes.get_xticklabels()], ["1 hop", "5 hops"])
        # Numbers that have labels are names, whatever their distances.
        plan = Plan(labels={"workload.size": {"4 KiB": "a page"}})
        self.write([replace(point("pin", {"workload.size": text}, {"latency_mean": 1.0}), plan=plan)
                    for text in ("64 B", "4 KiB", "1 MiB")])
        _, (axes,) = self.make("latency")
        self.assertEqual([text.get_text() for text in axes.get_xticklabels()], ["64 B", "a page", "1 MiB"])
        self.assertEqual([round(tick) for tick in axes.get_xticks()], [0, 1, 2])

    def test_no_words_lie_on_each_other(self):
        names = [f"fault/touch-ahead-{2 ** number}" for number in range(11)]
        self.write([point(name, {"workload.size": size}, {"latency_mean": factor * mean})
                    for factor, name in enumerate(names, 1) for size, mean in (("64 B", 10), ("4 KiB", 20), ("64 KiB", 25), ("1 MiB", 4000))])
        figure, (axes,) = self.make("latency")
        figure.canvas.draw()
        bottom, top = axes.get_ylim()
        ticks = [text for text in axes.get_yticklabels() if bottom <= text.get_position()[1] <= top]
        self.assertGreater(len(ticks), 2)
        texts = [*figure.axes[0].get_legend().get_texts(), *axes.get_xticklabels(), *ticks, axes.xaxis.label, axes.yaxis.label,
                 *figure.texts]
        boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]
        for index, (one, box) in enumerate(boxes):
            self.assertTrue(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1, one)
            for other, another in boxes[index + 1:]:
                self.assertFalse(box.shrunk(0.98, 0.98).overlaps(another), f"{one} and {other}")


if __name__ == "__main__":
    unittest.main()
