# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The README's first command, in a clone without a build folder: it builds, prints the main result and says
# where the run folder is; the second call builds nothing.
source "$(dirname "$0")/common.sh"
git clone --quiet "$FAULTLINE_SOURCE" "$scratch/clone"
cd "$scratch/clone"
run 0 scripts/quickstart # installs the npm packages of the report in the clone
expect "latency_mean" "pin-per-transfer" "fault/touch-ahead" "run folder: runs/pinning-vs-faults-1"
test -s runs/pinning-vs-faults-1/results.json
run 0 scripts/quickstart --no-install
refuse "Building CXX"
expect "run folder: runs/pinning-vs-faults-2"

# With the program that it built each experiment that ships takes less than a minute, as it stands.
for file in configs/experiments/*.toml; do
  name="$(basename "$file" .toml)"
  run 0 timeout 300 build/release/faultline run "$name" --quiet --out "shipped/$name"
  refuse "CHECK FAILED"
  case "$name" in
    fault-matrix) expect_documented "## The destination" ;;
    fault-matrix-source) expect_documented "## The source" ;;
    fault-matrix-files) expect_documented "## Mapped files" ;;
    fault-matrix-kernels) expect_printed "### The destination, by kernel" ;;
    fault-matrix-kernels-source) expect_printed "### The source, by kernel" ;;
  esac
done
