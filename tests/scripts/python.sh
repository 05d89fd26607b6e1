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
os.thp = ["always", "never"]
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

# Where `cmake --install` puts it.
run 0 cmake --install "$FAULTLINE_BUILD" --prefix "$scratch/prefix"
PYTHONPATH="$scratch/prefix/lib/python3/dist-packages" run 0 "$python" -c \
  'import faultline; print(faultline.__file__, faultline.Run("single").means("latency_mean"))'
expect "$scratch/prefix/lib/python3/dist-packages/faultline/__init__.py" "latency_mean_half_width"
