# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The page of a run of 10^5 points: how large it is, how long it takes to write, to open and to use. docs/report.md has the
# figures of the release build.
source "$(dirname "$0")/program.sh"
web="$FAULTLINE_SOURCE/web"
need_chromium
if grep -q 'FAULTLINE_REPORTS:BOOL=OFF' "$FAULTLINE_BUILD/CMakeCache.txt"; then
  echo "built without reports"
  exit 77
fi
cat >small.toml <<'EOF'
question = "Which of 100,000 points is the fastest?"
platform = "exanest-qfdb"
workload = "write"
strategies = ["pin-once", "pin-per-transfer", "fault/touch-a-page", "fault/touch-ahead"]
[parameters]
workload.cold = "destination"
workload.iterations = 2
[axes]
workload.size = ["64 B", "1 KiB", "4 KiB", "64 KiB", "256 KiB"]
EOF
run 0 "$program" run small.toml --quiet --out small
node "$web/test/large_run.mjs" small large
begin="$(date +%s%N)"
run 0 "$program" report large
echo "written in $((($(date +%s%N) - begin) / 1000000)) ms from $(stat -c %s large/results.json) bytes of results"
# Progress beyond two seconds.
expect "reading the results: " "large/report.html"
node "$web/test/large.mjs" large/report.html
