#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: compare_strategies.py RUN [METRIC]

Which strategy has the least METRIC (latency_mean) at each combination of the axes, by how much, and is the second one's
confidence interval clear of it? The bound, which nobody can have, is no strategy to choose: it stands behind.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))  # in the tree; a package is found without
import faultline  # noqa: E402

BOUND = "resident"


def main(run_folder, metric="latency_mean"):
    run = faultline.Run(run_folder)
    means = run.means(metric).dropna(subset=[metric])
    print(f"{metric} [{run.units[metric]}] over {run.info['repetitions']} seeds")
    means["place"] = [", ".join(f"{axis} = {row[axis]}" for axis in run.leading_axes) for _, row in means.iterrows()]
    for place, rows in means.groupby("place", sort=False):
        bound = rows[rows["strategy"] == BOUND]
        rows = rows.drop(bound.index) if len(bound) < len(rows) else rows
        best, *others = rows.sort_values(metric).to_dict("records")
        line = f"{place}: {best['strategy']} {best[metric]:.2f}"
        if others:
            second = others[0]
            width = metric + "_half_width"
            clear = best[metric] + best[width] < second[metric] - second[width]
            line += f", {second['strategy']} {second[metric]:.2f} ({second[metric] / best[metric] - 1:+.1%}"
            line += ")" if clear else ", which may be noise)"
        if len(bound) and best["strategy"] != BOUND:
            line += f"; bound: {bound[metric].iloc[0]:.2f}"
        print(line)


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except faultline.RunError as error:
        sys.exit(str(error))
