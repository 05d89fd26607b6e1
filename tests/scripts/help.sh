# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Every script says what it does, from any folder, and does not guess at what it does not know.
source "$(dirname "$0")/common.sh"
cd "$scratch"
for script in setup quickstart test lint check-tree benchmark slurm-local reproduce mutants compare-move; do
  run 0 "$FAULTLINE_SOURCE/scripts/$script" --help
  expect "Usage: scripts/$script"
  refuse "Apache-2.0"
done
for script in setup quickstart lint benchmark slurm-local reproduce compare-move; do
  run 2 "$FAULTLINE_SOURCE/scripts/$script" --no-such-option
  expect "--no-such-option" "--help"
done
for arguments in "" "1" "1 0" "one 1" "1 1 --no-such-option" "1 1 --room attic" "1 1 --table nowhere"; do
  # shellcheck disable=SC2086 # words
  run 2 "$FAULTLINE_SOURCE/scripts/mutants" $arguments
  expect "scripts/mutants --help"
done
run 2 "$FAULTLINE_SOURCE/scripts/test" --preset fastest
expect "fastest" "release"
run 2 "$FAULTLINE_SOURCE/scripts/lint" --only beauty
