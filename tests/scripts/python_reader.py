# SPDX-License-Identifier: Apache-2.0
"""Compares what the module says of the run in argv[1] with its results.json."""

import json
import math
import pathlib
import shutil
import sqlite3
import statistics
import sys

import faultline
from faultline.labels import labels_of
from faultline.points import read_points, values_of
from faultline.quantities import numbers

folder = pathlib.Path(sys.argv[1])
expected = json.loads((folder / "results.json").read_text())
run = faultline.Run(folder)

assert run.info["question"] == "Does touching ahead pay?" and run.info["repetitions"] == 3
assert run.axes == ["workload.size", "os.thp"] and run.units["workload.size"] == "B"
assert run.strategies == ["fault/touch-a-page", "fault/touch-ahead"]

points, metrics, series = run.points(), run.metrics(), run.series("faults")
steps, distributions, buckets = run.breakdown(), run.distributions(), run.buckets("latency")
assert list(points.index) == list(metrics.index) == list(range(1, 25)) and len(expected) == 24
sizes = {"4 KiB": 4096, "64 KiB": 65536}
for number, point in enumerate(expected, 1):
    row = points.loc[number]
    assert (row["strategy"], row["seed"], row["status"]) == (point["strategy"], point["seed"], "complete")
    assert row["workload.size"] == sizes[point["parameters"]["workload.size"]]
    assert row["os.thp"] == point["parameters"]["os.thp"]
    assert row["events"] == point["events"] and row["simulated_ps"] == point["simulated_time"]["value"]
    for name, metric in point["metrics"].items():
        value = metrics.loc[number, name]
        assert math.isnan(value) if metric["value"] is None else value == metric["value"], name
        assert run.units[name] == metric["unit"]
        assert run.metric_docs.loc[name, "description"] == metric["description"]
    rows = steps.loc[[number]]
    assert list(rows["step"]) == [step["step"] for step in point["breakdown"]]
    assert list(rows["time_us"]) == [step["mean"]["value"] for step in point["breakdown"]]
    latency = distributions.loc[[number]].set_index("name").loc["latency"]
    for column, name in (("count", "count"), ("p50", "p50"), ("p999", "p99.9"), ("max", "max")):
        assert latency[column] == point["distributions"]["latency"][name]
    assert buckets.loc[[number], "count"].sum() == latency["count"]
    values = series.loc[[number]]
    assert list(values["value"]) == point["series"]["faults"]["values"]
    assert values["time_us"].iloc[1] == point["series"]["faults"]["interval"]["value"]
    for key, value in point["parameters"].items():
        assert run.parameters(number).loc[key, "value"] == value

# Figures have the database's numbers, in the experiment's order.
drawn = read_points(folder)
assert numbers(values_of(drawn, "workload.size")) == ([4096, 65536], "B")
assert values_of(drawn, "os.thp") == ["always", "never"] and numbers(values_of(drawn, "os.thp")) is None
assert drawn[0].plan.labels == {"os.thp": {"always": "huge pages"}}
assert labels_of(drawn, "os.thp") == ({"always": "huge pages", "never": "never"}, "")

means = run.means("latency_mean", "faults")
assert len(means) == 8
assert list(means.columns)[:5] == ["strategy", "workload.size", "os.thp", "latency_mean", "latency_mean_half_width"]
for combination, row in means.iterrows():
    values = list(metrics.loc[points["combination"] == combination, "latency_mean"])
    assert math.isclose(row["latency_mean"], statistics.mean(values))
    half_width = 4.302652729911275 * statistics.stdev(values) / math.sqrt(3)
    assert math.isclose(row["latency_mean_half_width"], half_width, rel_tol=1e-9, abs_tol=1e-12)
    assert row["latency_mean_seeds"] == 3
assert math.isclose(
    run.mean_breakdown().loc[1, "time_us"].sum(),
    statistics.mean(steps.loc[[n], "time_us"].sum() for n in (1, 2, 3)),
)
parts, limits = run.parts(), run.limits()
busy = [name for name in run.metric_docs.index if name.startswith("utilisation_")]
assert list(parts.columns)[:6] == ["strategy", "workload.size", "os.thp", "seed", "part", "about"] and len(busy) == 8
for number, point in enumerate(expected, 1):
    rows = parts.loc[[number]].set_index("part")
    assert list(rows.index) == sorted(point["parts"])
    for name, part in point["parts"].items():
        assert all(rows.loc[name, metric] == part[metric]["value"] for metric in busy if metric in part)
    assert limits.loc[number, "limit"] == point["limit"]

# Failed transfers of all seeds stand beside a latency, and not beside other metrics.
assert list(means.columns)[-2:] == ["failed_transfers", "unfinished_points"]
assert not any("failed" in column for column in run.means("faults").columns)
assert list(run.metrics("goodput").columns)[-1] == "failed_transfers"
assert run.sql("SELECT count(*) AS n FROM points WHERE seed = ?", (2,))["n"][0] == 8


def refusal(what):
    try:
        what()
    except faultline.RunError as error:
        return str(error)
    raise AssertionError("accepted")


assert "did you mean 'latency_mean'?" in refusal(lambda: run.metrics("latncy_mean"))
assert "there are: " in refusal(lambda: run.series("nothing of the kind"))
assert "no such column: x" in refusal(lambda: run.sql("SELECT x FROM points"))
assert "readonly" in refusal(lambda: run.sql("DELETE FROM notes"))
run.close()

file = folder.parent / "copy.sqlite"
shutil.copy(folder / "results.sqlite", file)
writer = sqlite3.connect(file)
writer.execute("PRAGMA user_version = 99")
writer.commit()
assert "has schema version 99, and this module reads 5" in refusal(lambda: faultline.Run(file))
writer.execute("BEGIN EXCLUSIVE")
assert "another program has locked it" in refusal(lambda: faultline.Run(file))
writer.close()
whole = (folder / "results.sqlite").read_bytes()
for at in range(0, len(whole), len(whole) // 97):
    file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1:])
    refusal(lambda: faultline.Run(file))
file.write_bytes(whole[:20000])
assert "is damaged" in refusal(lambda: faultline.Run(file))
file.write_bytes(b"something else")
assert "is damaged" in refusal(lambda: faultline.Run(file))
file.write_bytes(b"")
assert "is no database" in refusal(lambda: faultline.Run(file))
assert "no such file" in refusal(lambda: faultline.Run(folder.parent / "nowhere"))
print("checked")
