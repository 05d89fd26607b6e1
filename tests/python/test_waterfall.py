# SPDX-License-Identifier: Apache-2.0
"""The breakdown of a transfer as a waterfall: places, colours and sums of its bars."""

import unittest

from made_points import SOURCE, FigureTest, notes, point
from matplotlib.colors import to_hex, to_rgb
from matplotlib.container import BarContainer


class Waterfalls(FigureTest):
    def bars(self, axes):
        """(place of the row, start, end, colour) of each step of a waterfall, in order of the rows."""
        found = [(bar.get_y() + bar.get_height() / 2, bar.get_x(), bar.get_x() + bar.get_width(), to_hex(bar.get_facecolor()))
                 for group in axes.containers if isinstance(group, BarContainer) for bar in group]
        return sorted(found)

    def test_breakdown_is_a_waterfall_in_order_of_time(self):
        steps = [("user post", 1.0), ("wire", 4.0), ("nothing", 0.0), ("poll", 0.5)]
        again = [("user post", 1.0), ("wire", 4.0), ("handler", 2.0), ("wire (resend)", 3.0), ("poll", 0.5)]
        self.write([point("fault", {"workload.cold": "none"}, {"latency_mean": 5.5}, steps),
                    point("fault", {"workload.cold": "both"}, {"latency_mean": 10.5}, again)])
        _, panels = self.make("breakdown")
        for axes, expected in zip(panels, (steps, again), strict=True):
            self.assertEqual(axes.get_xlabel(), "time since the transfer's begin [µs]")
            self.assertEqual([text.get_text() for text in axes.get_yticklabels()], [name for name, _ in expected])
            rows = self.bars(axes)
            self.assertEqual([round(row[0], 6) for row in rows], list(range(len(expected))))
            # From top to bottom, and each begins where the one before it ends.
            self.assertGreater(axes.get_ylim()[0], axes.get_ylim()[1])
            ends = [0.0, *(row[2] for row in rows)]
            self.assertEqual([row[1] for row in rows], ends[:-1])
            self.assertEqual([round(row[2] - row[1], 6) for row in rows], [time for _, time in expected])
            self.assertEqual(ends[-1], sum(time for _, time in expected))
            self.assertEqual(len({row[3] for row in rows}), len(rows), "a colour twice")
        self.assertEqual([axes.get_title() for axes in panels],
                         ["cold pages at: none\n5.50 µs in all", "cold pages at: both\n10.50 µs in all"])
        # A step has one colour in both, and those of a side are of one family.
        first, second = ({text.get_text(): row[3] for text, row in zip(axes.get_yticklabels(), self.bars(axes))}
                         for axes in panels)
        self.assertEqual({name: first[name] for name in ("user post", "wire", "poll")},
                         {name: second[name] for name in ("user post", "wire", "poll")})
        for name, colour in second.items():
            red, _, blue = to_rgb(colour)
            self.assertEqual(blue > red, name in SOURCE, name)
        # One scale where it hides nothing.
        self.assertEqual(panels[0].get_xlim(), panels[1].get_xlim())

    def test_breakdown_of_far_totals_has_scales_of_their_own(self):
        self.write([point("fault", {"workload.size": size}, {"latency_mean": time}, [("user post", time / 4), ("wire", 0.75 * time)])
                    for size, time in (("64 B", 4.0), ("1 MiB", 40000.0))])
        figure, panels = self.make("breakdown")
        self.assertIn("Each waterfall has its own scale.", notes(figure))
        self.assertEqual([axes.get_xlabel() for axes in panels], ["time since the transfer's begin [ms]"] * 2)
        for axes, total in zip(panels, (0.004, 40.0), strict=True):
            self.assertAlmostEqual(self.bars(axes)[-1][2], total)
            self.assertTrue(total <= axes.get_xlim()[1] < 1.1 * total)

    def test_breakdown_puts_later_attempts_together_and_keeps_the_sum(self):
        steps = [(f"{name}{suffix}", 1.0) for suffix in ("", " (resend)", " (resend 2)", " (resend 3)")
                 for name in (f"step {index}" for index in range(20))] + [("poll", 2.0)]
        self.write([point("fault", {}, {"latency_mean": 82.0}, steps)])
        _, (axes,) = self.make("breakdown")
        names = [text.get_text() for text in axes.get_yticklabels()]
        self.assertEqual(names[38:], ["step 18 (resend)", "step 19 (resend)", "resend 2: all its steps",
                                      "resend 3: all its steps", "poll"])
        rows = self.bars(axes)
        self.assertEqual([row[2] - row[1] for row in rows[-3:]], [20, 20, 2])
        self.assertEqual(rows[-1][2], 82)
        self.write([point("fault", {}, {"latency_mean": 300.0}, [(f"step {index}", 3.0) for index in range(100)])])
        _, (axes,) = self.make("breakdown")
        self.assertEqual(axes.get_yticklabels()[-1].get_text(), "51 later rows")
        self.assertEqual(self.bars(axes)[-1][2], 300)

    def test_times_of_a_waterfall_stand_inside_of_it(self):
        self.write([point("fault", {}, {"latency_mean": 50.0}, [(f"step {index}", 10.0) for index in range(5)])])
        figure, (axes,) = self.make("breakdown")
        figure.canvas.draw()
        frame = axes.get_window_extent()
        for text in axes.texts:
            box = text.get_window_extent()
            self.assertTrue(frame.x0 <= box.x0 and box.x1 <= frame.x1 + 1, text.get_text())


if __name__ == "__main__":
    unittest.main()
