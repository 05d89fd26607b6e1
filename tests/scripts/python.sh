# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The Python reader: what it says of a run is what results.json says; its examples run; bad runs have clear messages.
source "$(dirname "$0")/program.sh"
python=/usr/bin/python3 # Debian's: another one does not see Debian's pandas
"$python" -c 'import pandas' 2>/dev/null || {
  echo "skipped: no pandas (Debian package python3-pandas)"
  exit 77
}
export PYTHONDONTWRITEBYTECODE=1
cat >sweep.toml <<'EOF'
question = "Does touching ahead pay?"
platform = "exanest-qfdb"
strategies = ["fault/touch-a-page", "fault/touch-ahead"]
repetitions = 3
[parameters]
workload.cold = "destination"
workload.cold_share = 0.5
workload.iterations = 5
series.period = "20 us"
[axes]
workload.size = ["4 KiB", "64 KiB"]
os.thp = [{ value = "always", label = "huge pages" }, "never"]
EOF
run 0 "$program" run sweep.toml --quiet --out 'a run'
PYTHONPATH="$FAULTLINE_SOURCE/python" run 0 "$python" "$FAULTLINE_SOURCE/tests/scripts/python_reader.py" 'a run'
expect "checked"
printf 'strategies = ["resident"]\nparameters.workload.iterations = 2\n' >single.toml
run 0 "$program" run single.toml --quiet --out single

examples="$FAULTLINE_SOURCE/python/examples"
run 0 "$python" "$examples/compare_strategies.py" 'a run'
expect "latency_mean [us] over 3 seeds" "workload.size = 65536.0, os.thp = never: fault/touch-ahead "
[[ $output != *Warning* && $(wc -l <<<"$output") == 5 ]]
# The bound is not the best, unless it is alone.
cat >bounded.toml <<'EOF'
platform = "exanest-qfdb"
strategies = ["resident", "pin-per-transfer", "fault/touch-ahead"]
parameters.workload.cold = "destination"
zip = [["workload.iterations", "workload.size"]]
axes.workload.iterations = [2, 2, 1]
axes.workload.size = ["64 B", "4 KiB", "64 KiB"]
axes.os.thp = ["always", "never"]
EOF
run 0 "$program" run bounded.toml --quiet --out runs/mine-1
run 0 "$python" "$examples/compare_strategies.py" runs/mine-1
said="$output"
PYTHONPATH="$FAULTLINE_SOURCE/python" run 0 "$python" - <<'EOF'
import faultline

means = faultline.Run("runs/mine-1").means("latency_mean")
there = means[(means["workload.size"] == 4096) & (means["os.thp"] == "never")]
latency = dict(zip(there["strategy"], there["latency_mean"]))
bound = latency.pop("resident")
(best, least), (second, most) = sorted(latency.items(), key=lambda each: each[1])
assert bound < least, "a bound that is not the least shows nothing"
print(f"workload.size = 4096.0, os.thp = never: {best} {least:.2f}, {second} {most:.2f} ({most / least - 1:+.1%}, "
      f"which may be noise); bound: {bound:.2f}")
EOF
line="$output" output="$said"
expect "$line"
run 0 "$python" "$examples/where_time_goes.py" runs/mine-1
expect "prepare"

# What docs/results.md shows, of two axes and one that advances with another.
awk '/^```python$/ {shown = 1; next} /^```/ {shown = 0} shown' "$FAULTLINE_SOURCE/docs/results.md" |
  sed 's/, run.series("goodput")//; /^lines.plot/d' >shown.py
echo 'print(lines.shape, int(lines.isna().sum().sum()))' >>shown.py
PYTHONPATH="$FAULTLINE_SOURCE/python" run 0 "$python" shown.py
expect "(3, 6) 0"
run 0 "$python" "$examples/compare_strategies.py" single goodput
expect "resident "
run 1 "$python" "$examples/compare_strategies.py" single goodputt
expect "no metric 'goodputt'; did you mean 'goodput'?"
run 0 "$python" "$examples/latency_percentiles.py" 'a run' 0.5 1
expect "50.00%" "fault/touch-ahead  "
run 0 "$python" "$examples/where_time_goes.py" 'a run' 3
expect "shares of a transfer's time [%]" "others" "all [us]"
run 0 "$python" "$examples/where_time_goes.py" single
for example in "$examples"/*.py; do
  run 1 "$python" "$example"
  expect "Usage: $(basename "$example") RUN"
  run 1 "$python" "$example" nowhere
  expect "nowhere: no such file"
done

# Failed transfers are counted over all seeds, and marked wherever one is called the best.
cat >lossy.toml <<'EOF'
platform = "exanest-qfdb"
strategies = ["fault/touch-a-page"]
repetitions = 2
[parameters]
workload.checks = "count"
workload.cold = "destination"
workload.size = "16 KiB"
workload.iterations = 20
exanest.rapf_loss = 0.6
exanest.retry_limit = 2
exanest.block_timeout = "100 us"
os.thp = "never"
EOF
run 0 "$program" run lossy.toml --quiet --out lossy
PYTHONPATH="$FAULTLINE_SOURCE/python" run 0 "$python" - <<'EOF'
import faultline
from faultline.figures.failures import failed_of, failed_text
from faultline.points import read_points

run = faultline.Run("lossy")
each = run.metrics("transfers_failed", "latency_mean")
failed = int(each["transfers_failed"].sum())
assert failed > 0 and each["failed_transfers"].sum() == failed and run.means("latency_mean")["failed_transfers"].item() == failed
assert failed_text(failed_of(read_points("lossy")[0])) == f"{failed} of 40 failed"
print(f" !{failed}")
EOF
mark="$output"
run 0 "$python" "$examples/compare_strategies.py" lossy
expect "fault/touch-a-page " "$mark"
run 0 "$python" "$examples/latency_percentiles.py" lossy
expect "$mark failed"
run 0 "$python" "$examples/where_time_goes.py" lossy
expect "failed, in no step"

# Where `cmake --install` puts it.
run 0 cmake --install "$FAULTLINE_BUILD" --prefix "$scratch/prefix"
PYTHONPATH="$scratch/prefix/lib/python3/dist-packages" run 0 "$python" -c \
  'import faultline; print(faultline.__file__, list(faultline.Run("single").means("latency_mean")))'
expect "$scratch/prefix/lib/python3/dist-packages/faultline/__init__.py" "latency_mean_half_width"
