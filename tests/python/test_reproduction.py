# SPDX-License-Identifier: Apache-2.0
"""The page of E1 to E14: what it is made of, apart from the runs (tests/scripts/reproduce.sh makes these)."""

import tempfile
import unittest
from pathlib import Path

from faultline.points import Point, Value
from faultline.reproduction.page import page
from faultline.reproduction.published import mark, read_published, tolerance
from faultline.reproduction.sections import SECTIONS, Section, _with_hops

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
        point = Point({"strategy": "resident", "workload.target": "25", "workload.size": "8 B"},
                      {"latency_mean": Value(1.0, 0.0, "us")})
        self.assertEqual(_with_hops([point])[0].parameters, {"strategy": "resident", "hops": "5", "workload.size": "8 B"})

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
