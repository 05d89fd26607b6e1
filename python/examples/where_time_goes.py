#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: where_time_goes.py RUN [STEPS]

The STEPS (5) steps that cost a transfer most, as shares of its time: a row for each combination of strategy and axes.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))  # in the tree; a package is found without
import faultline  # noqa: E402


def main(run_folder, steps=5):
    run = faultline.Run(run_folder)
    rows = run.mean_breakdown()
    times = rows.pivot_table(index=["strategy"] + run.axes, columns="step", values="time_us", aggfunc="sum", sort=False)
    total = times.sum(axis=1)
    costly = times.sum().sort_values(ascending=False).index[: int(steps)]
    table = (100 * times[costly].div(total, axis=0)).fillna(0)
    table["others"] = 100 - table.sum(axis=1)
    print("shares of a transfer's time [%]")
    table["all [us]"] = total
    failed = rows.groupby(["strategy"] + run.axes)["failed_transfers"].first()
    if failed.any():
        table["failed, in no step"] = failed
    print(table.round(1).to_string())


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except faultline.RunError as error:
        sys.exit(str(error))
