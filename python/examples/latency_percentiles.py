#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: latency_percentiles.py RUN [SHARE...]

Percentiles of the latency of each strategy, over all of its points' transfers together: histograms are added, which
percentiles cannot be; of transfers that failed there is no latency. SHARE is between 0 and 1 (0.5 0.9 0.99 0.999).
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))  # in the tree; a package is found without
import faultline  # noqa: E402


def percentiles(buckets, shares):
    """Of a histogram: the greatest value of the bucket in which each share of the counts is reached."""
    together = buckets.groupby("upper")["count"].sum()
    reached = together.cumsum() / together.sum()
    return [reached.index[(reached >= share - 1e-12).argmax()] for share in shares]


def main(run_folder, shares):
    run = faultline.Run(run_folder)
    failed = run.points().groupby("strategy")["failed_transfers"].sum()
    print("strategy".ljust(24), *(f"{share:>10.2%}" for share in shares), "[us]")
    for strategy, buckets in run.buckets("latency").groupby("strategy", sort=False):
        print(strategy.ljust(24), *(f"{value:10.2f}" for value in percentiles(buckets, shares)),
              *([f"  !{failed[strategy]:.0f} failed"] if failed[strategy] else []))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        main(sys.argv[1], [float(share) for share in sys.argv[2:]] or [0.5, 0.9, 0.99, 0.999])
    except faultline.RunError as error:
        sys.exit(str(error))
