# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The page of `faultline report`, used in headless Chromium as a reader would: charts drawn, no word on the console, no
# request, filters, choices, exports, colours, paper. Skipped where there is no Chromium or the program has no reports.
# FAULTLINE_KEEP=FOLDER keeps screenshots and downloads there.
source "$(dirname "$0")/program.sh"
cat >costs.toml <<'EOF'
question = "What does <b>fresh</b> memory cost & when?"
platform = "exanest-qfdb"
workload = "write"
strategies = ["pin-once", "fault/touch-a-page"]
repetitions = 2
[parameters]
workload.cold = "destination"
workload.iterations = 2
workload.window = 4
workload.checks = "count"
series.period = "5 us"
[axes]
workload.size = ["64 B", "64 KiB", "1 MiB"]
os.rlimit_memlock = ["1 MiB", "1 GiB"]
[[report]]
view = "points"
[[report]]
view = "matrix"
metric = "latency_mean"
rows = "workload.size"
[[report]]
view = "breakdown"
[[report]]
view = "verdict"
rows = "workload.size"
EOF
run 0 "$program" run costs.toml --quiet --out costs
cat >many.toml <<'EOF'
platform = "exanest-qfdb"
strategies = ["fault/touch-ahead", "resident", "pin-per-transfer"]
parameters.workload.cold = "destination"
zip = [["workload.size", "workload.iterations"]]
[axes]
workload.size = ["64 B", "4 KiB"]
workload.iterations = [2, 1]
workload.cold_share = [0.5, 1]
exanest.block_timeout = ["300 us", "1 ms", "3 ms"]
[[report]]
view = "points"
[[report]]
view = "matrix"
rows = "workload.size"
baseline = "resident"
EOF
run 0 "$program" run many.toml --quiet --out many
# Requests for retransmission are lost, so that transfers fail.
cat >lossy.toml <<'EOF'
platform = "exanest-qfdb"
workload = "write"
strategies = ["resident", "fault/touch-a-page", "fault/touch-ahead", "pin-once"]
[parameters]
workload.cold = "destination"
workload.iterations = 40
exanest.rapf_loss = 0.6
exanest.retry_limit = 2
exanest.block_timeout = "100 us"
os.thp = "never"
[axes]
workload.size = ["64 B", "16 KiB", "32 KiB"]
[[report]]
view = "points"
[[report]]
view = "matrix"
metric = "goodput"
[[report]]
view = "breakdown"
[[report]]
view = "matrix"
baseline = "fault/touch-a-page"
EOF
run 1 "$program" run lossy.toml --quiet --out lossy
expect "of 40 transfers ended with an error completion"
if grep -q 'FAULTLINE_REPORTS:BOOL=OFF' "$FAULTLINE_BUILD/CMakeCache.txt"; then
  run 2 "$program" report costs
  expect "built without reports" "-DFAULTLINE_REPORTS=ON" "nodejs"
  echo "built without reports"
  exit 77
fi

# One file, the same bytes each time, nothing half there.
run 0 "$program" report costs
expect "costs/report.html"
run 0 "$program" report costs --out again.html
cmp costs/report.html again.html

# What cannot be: each with the way out.
run 2 "$program" report nowhere
expect "nowhere"
mkdir empty
run 2 "$program" report empty
expect "empty: holds no run"
cp -r costs damaged
rm -f damaged/report.html
head -c 5000 costs/results.json >damaged/results.json
run 2 "$program" report damaged
expect "damaged/results.json: is damaged" "faultline run" "--out damaged"
[[ ! -e damaged/report.html ]]
run 2 "$program" report costs --out empty
expect "is a folder; name a file"

node "$FAULTLINE_SOURCE/web/test/texts.mjs"
need_chromium
node "$FAULTLINE_SOURCE/web/test/page.mjs" costs/report.html costs/results.json "$kept"
run 0 "$program" report many
node "$FAULTLINE_SOURCE/web/test/choices.mjs" many/report.html "$kept"
run 0 "$program" report lossy
node "$FAULTLINE_SOURCE/web/test/pictures.mjs" lossy/report.html lossy/results.json "$kept"
node "$FAULTLINE_SOURCE/web/test/address.mjs" costs/report.html
cat >named.toml <<'EOF'
platform = "exanest-qfdb"
strategies = ["resident", "fault/touch-ahead"]
workload = "flows"
[axes]
workload.flows = [
  { value = "from=1, to=0, transfers=2", label = "1 sender" },
  { value = "from=1, to=0, transfers=2; from=2, to=0, transfers=2", label = "2 senders" },
]
[[report]]
view = "points"
[[report]]
view = "matrix"
[[report]]
view = "verdict"
EOF
run 0 "$program" run named.toml --quiet --out named
expect "1 sender" "2 senders"
refuse "from=1"
run 0 "$program" report named
node "$FAULTLINE_SOURCE/web/test/named.mjs" named/report.html
# Of three repetitions: points that draw nothing, bars with intervals, intervals that reach below 0.
cat >seeds.toml <<'EOF'
platform = "exanest-qfdb"
workload = "flows"
strategies = ["resident", "fault/touch-ahead"]
repetitions = 3
parameters.workload.start_spread = "0 us"
[axes]
workload.flows = [
  { value = "from=1, to=0, transfers=4", label = "alone" },
  { value = "from=1, to=0, arrivals=poisson, interval=100 us, transfers=20; from=2, to=0, arrivals=poisson, interval=100 us, transfers=20", label = "busy" },
  { value = "from=1, to=0, arrivals=poisson, interval=1 ms, transfers=20; from=2, to=0, arrivals=poisson, interval=1 ms, transfers=20", label = "idle" },
]
[[report]]
view = "matrix"
[[report]]
view = "matrix"
metric = "queueing_mean"
[[report]]
view = "points"
columns = ["latency_mean", "queueing_mean"]
EOF
run 0 "$program" run seeds.toml --quiet --out seeds
expect "2 of 6 combinations draw no random number" "0.04 ±0.18"
run 0 "$program" report seeds
node "$FAULTLINE_SOURCE/web/test/seeds.mjs" seeds/report.html
