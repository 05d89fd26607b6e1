# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# faultline plot draws each kind of figure from runs of the program, whole files or none, and says what it cannot do.
source "$(dirname "$0")/program.sh"
/usr/bin/python3 -c 'import matplotlib, pandas' 2>/dev/null || exit 77
few=(--quiet --set workload.iterations=1 --set workload.warmup=0)

cat >mine.toml <<'EXPERIMENT'
platform = "exanest-qfdb"
strategies = ["resident", "fault/touch-ahead"]
parameters.workload.cold = "destination"
repetitions = 2
axes.workload.size = ["64 B", "4 KiB"]
axes.exanest.block_timeout = ["300 us", "1 ms"]
EXPERIMENT
run 0 "$program" run mine.toml "${few[@]}" --out mine
printf 'platform = "exanest-qfdb"\nstrategies = ["fault/touch-ahead"]\nparameters.workload.cold = "destination"\n' >one.toml
run 0 "$program" sensitivity one.toml "${few[@]}" --out sensitivity

check() { # FOLDER FIGURE PIXELS OPTION...
  run 0 "$program" plot "$1" --figure "$2" "${@:4}"
  expect "$1/figures/$2.pdf" "$1/figures/$2.png"
  [[ $(file --brief "$1/figures/$2.png") == "PNG image data, $3 x "* ]] || {
    echo "$2.png is $(file --brief "$1/figures/$2.png")"
    exit 1
  }
  [[ $(head -c 5 "$1/figures/$2.pdf") == %PDF- && $(wc -c <"$1/figures/$2.pdf") -gt 8000 ]] || {
    echo "$2.pdf is no figure"
    exit 1
  }
}
check mine latency 2148
check mine bandwidth 1050 --where 'exanest.block_timeout=1 ms'
check mine breakdown 2148
check mine heatmap 2148
check sensitivity tornado 2148

# Each waterfall ends where the database says that the latency is.
cat >ends.py <<'PYTHON'
import sqlite3
from matplotlib.container import BarContainer
from faultline import figures
latencies = [mean for (mean,) in sqlite3.connect("mine/results.sqlite").execute(
    "SELECT mean FROM means WHERE name = 'latency_mean' ORDER BY combination")]
axes = [each for each in figures.make("mine", "breakdown").axes if each.axison]
ends = [max(bar.get_x() + bar.get_width() for bars in each.containers if isinstance(bars, BarContainer) for bar in bars)
        for each in axes]
assert len(ends) == len(latencies) == 8, (ends, latencies)
assert all(abs(end - latency) < 1e-6 * latency for end, latency in zip(ends, latencies)), (ends, latencies)
PYTHON
PYTHONPATH="$FAULTLINE_SOURCE/python" run 0 /usr/bin/python3 -B ends.py

# The same bytes again; one file where --out says so.
run 0 "$program" plot mine --figure heatmap --out again.pdf
cmp again.pdf mine/figures/heatmap.pdf
[[ ! -e again.png ]]

run 2 "$program" plot mine --figure latnecy
expect "--figure: no figure 'latnecy'; allowed: latency, bandwidth, breakdown, heatmap, tornado; did you mean 'latency'?"
run 2 "$program" plot mine
expect "needs --figure NAME: latency, bandwidth, breakdown, heatmap or tornado"
run 2 "$program" plot nowhere --figure latency
expect "nowhere: no such folder"
run 2 "$program" plot . --figure latency
expect "results.sqlite: no such file: no run has ended there"
run 2 "$program" plot sensitivity --figure latency
expect "several points have the same values of all axes, as those of 'faultline sensitivity' do"
run 2 "$program" plot mine --figure tornado
expect "the tornado is of a run of 'faultline sensitivity'"
run 2 "$program" plot mine --figure latency --out figure.svg
expect "--out figure.svg: needs a name that ends in .pdf or .png"
run 2 "$program" plot mine --figure latency --out no/such/folder.pdf
expect "cannot be written: No such file or directory"
run 2 "$program" plot mine --figure latency --metric latency_meen
expect "--metric latency_meen: no point has it; there are: " latency_mean
# The conditions of query.
run 0 "$program" plot mine --figure latency --where 'workload.size >= 64B' --where strategy!=resident --where 'exanest.block_timeout=1000us' --out some.png
run 0 "$program" plot mine --figure latency --where 'strategy=fault/touch-ahead' --where 'exanest.block_timeout=1 ms' --out same.png
cmp some.png same.png
run 2 "$program" plot mine --figure latency --where 'workload.size=5 KiB'
expect "--where: no point of mine has workload.size=5 KiB; there are 64 B, 4 KiB"
for condition in seed=2 'seed >= 2' status=complete; do
  run 2 "$program" plot mine --figure latency --where strategy=resident --where "$condition" --out none.png
  expect "--where: $condition: a figure has means over all seeds that have results; allowed here: a parameter or strategy"
done
[[ ! -e none.png ]]
run 2 "$program" plot mine --figure latency --by strategy --by workload.size
expect "--by: a figure takes one"
run 2 "$program" plot mine --figure latency --where workload.size
expect "--where: 'workload.size' is no condition; allowed: KEY=VALUE, and with !=, <, <=, >, >="
run 2 "$program" plot sensitivity --figure tornado --where 'strategy=fault/touch-ahead'
expect "--where: a tornado has no axes"

# Points that have no results say why.
run 2 "$program" run one.toml --quiet --set workload.iterations=2000000 --timeout 1 --out late
for figure in latency breakdown; do
  run 2 "$program" plot late --figure "$figure"
  expect "no point has results: 1 of 1 points timed out: took longer than"
done

# A full disk, where this user may make one.
mkdir disk
if mount -t tmpfs -o size=600k tmpfs disk 2>/dev/null; then
  trap 'umount "$scratch/disk"; rm -rf "$scratch"' EXIT
  cp mine/results.sqlite disk
  head -c 600000 /dev/zero >disk/rest 2>/dev/null || true
  run 2 "$program" plot disk --figure latency
  expect "disk/figures/latency.pdf: cannot be written: No space left on device"
  refuse Traceback
  [[ ! -e disk/figures/latency.pdf ]]
else
  echo "a full disk was not tried: no right to mount one"
fi
run 2 "$program" plot mine --figure heatmap --format csv
expect "--format: no such option of 'faultline plot'"

# The Python of docs/figures.md.
run 0 "$program" run timeout "${few[@]}" --out runs/timeout
awk '/^```python$/ {shown = 1; next} /^```/ {shown = 0} shown' "$FAULTLINE_SOURCE/docs/figures.md" >own.py
PYTHONPATH="$FAULTLINE_SOURCE/python" run 0 /usr/bin/python3 -B own.py
[[ $(head -c 5 timeout.pdf) == %PDF- ]]

# Without matplotlib.
mkdir without
echo 'raise ImportError("No module named matplotlib", name="matplotlib")' >without/matplotlib.py
PYTHONPATH="$scratch/without" run 2 "$program" plot mine --figure latency
expect "faultline plot needs Debian's python3-matplotlib and python3-pandas" "No module named matplotlib"

# A figure of results that are wrong says so: khugepaged moves pages that the driver takes for locked to their frames.
cat >wrong.toml <<'EXPERIMENT'
platform = "exanest-qfdb"
[strategy.hoped]
strategy.registration = "mlock"
strategy.translate = "private"
[parameters]
workload.size = "2 MiB"
workload.iterations = 1
workload.warmup = 20
workload.madvise_hugepage = true
workload.advise_late = true
os.thp = "madvise"
os.rlimit_memlock = "64 MiB"
os.khugepaged_time_scale = 100
os.khugepaged_scan_sleep = "100 ms"
EXPERIMENT
run 1 "$program" run wrong.toml --quiet --out wrong
run 0 "$program" plot wrong --figure breakdown
expect "wrong: CHECK FAILED at 1 of 1 points of the figure: check failed: data at the destination differ from what was sent"
