#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: compare_strategies.py RUN [METRIC]

Which strategy has the least METRIC (latency_mean) at each combination of the axes, by how much, and is the second one's
confidence interval clear of it? The bound, which nobody can have, is no strategy to choose: it stands behind. Behind a
value !3 says that three transfers failed and are not in it, !!1 that a seed has no result: who loses the slowest is not the best.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))  # in the tree; a package is found without
import faultline  # noqa: E402

BOUND = "resident"


def value_of(row, metric):
    """With the mark of what is not in it."""
    marks = [f" !{row['failed_transfers']:.0f}"] * bool(row.get("failed_transfers"))
    marks += [f" !!{row['unfinished_points']:.0f}"] * bool(row.get("unfinished_points"))
    return f"{row[metric]:.2f}{''.join(marks)}"


def main(run_folder, metric="latency_mean"):
    run = faultline.Run(run_folder)
    means = run.means(metric).dropna(subset=[metric])
    print(f"{metric} [{run.units[metric]}] over {run.info['repetitions']} seeds")
    means["place"] = [", ".join(f"{axis} = {row[axis]}" for axis in run.leading_axes) for _, row in means.iterrows()]
    for place, rows in means.groupby("place", sort=False):
        bound = rows[rows["strategy"] == BOUND]
        rows = rows.drop(bound.index) if len(bound) < len(rows) else rows
        best, *others = rows.sort_values(metric).to_dict("records")
        line = f"{place}: {best['strategy']} {value_of(best, metric)}"
        if others:
            second = others[0]
            width = metric + "_half_width"
            clear = best[metric] + best[width] < second[metric] - second[width]
            line += f", {second['strategy']} {value_of(second, metric)} ({second[metric] / best[metric] - 1:+.1%}"
            line += ")" if clear else ", which may be noise)"
        if len(bound) and best["strategy"] != BOUND:
            line += f"; bound: {value_of(bound.iloc[0], metric)}"
        print(line)


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except faultline.RunError as error:
        sys.exit(str(error))
