# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A full disk and a read-only folder: what was computed stays, the message says what to do, and the next run ends it.
# Databases that are locked or damaged: tests/app/queries.cpp.
source "$(dirname "$0")/program.sh"
cat >small.toml <<'EOF'
platform = "exanest-qfdb"
strategies = ["resident", "fault/touch-ahead"]
parameters.workload.iterations = 2
parameters.workload.cold = "destination"
EOF
run 0 "$program" run small.toml --quiet --out whole
json=$(($(stat -c %s whole/results.json) / 1024 + 2))
database=$(($(stat -c %s whole/results.sqlite) / 1024))
((json < database)) || { echo "results.json is as large as the database: choose another size"; exit 1; }

# No file may be larger than results.json, so that the database is what meets the end of the disk.
limited() (
  ulimit -f "$json"
  exec "$program" run small.toml --quiet --out full
)
run 2 limited
expect "resident" "full/results.sqlite: cannot be written: " "the points' results are kept, and the same command writes it"
[[ ! -e full/results.sqlite && ! -e full/.results.sqlite.part && -e full/results.json && ! -e full/meta.json ]]
[[ $(find full/points -name '*.json' | wc -l) == 2 ]]
run 0 "$program" run small.toml --out full
expect "2 of 2 points are there already"
cmp whole/results.sqlite full/results.sqlite

# A trace that meets the end of the disk fails, with the file and the reason; the results are whole.
for option in "--trace cut.trace" "--vcd cut.vcd"; do
  traced() (
    ulimit -f 4
    # shellcheck disable=SC2086 # two words
    exec "$program" run small.toml --trace-point 1 $option --quiet --out whole
  )
  run 2 traced
  expect "trace of resident" "ERROR: ${option#* }: cannot be written: File too large; it ends early"
done
run 0 "$program" run small.toml --trace-point 1 --vcd all.vcd --quiet --out whole
tail -5 all.vcd | grep -q "^end of the recording$"

# A disk that is full, where this user may make one.
mkdir disk
if mount -t tmpfs -o size=128k tmpfs disk 2>/dev/null; then
  trap 'umount "$scratch/disk"; rm -rf "$scratch"' EXIT
  run 2 "$program" run small.toml --quiet --out disk/run
  expect "resident" "cannot be written: database or disk is full"
  [[ $(find disk/run/points -name '*.json' | wc -l) == 2 ]]
  mount -o remount,size=10m disk
  run 0 "$program" run small.toml --out disk/run
  expect "2 of 2 points are there already"
  cmp whole/results.sqlite disk/run/results.sqlite
else
  echo "a full disk was not tried: no right to mount one"
fi

# Read-only: questions are answered, runs are refused before they simulate. Nothing keeps root from writing.
chmod -R a-w whole
as_user=()
if ((EUID == 0)); then
  chmod a+rx "$scratch"
  as_user=(setpriv --reuid=65534 --clear-groups)
fi
if "${as_user[@]}" "$program" --version >/dev/null 2>&1; then
  run 0 "${as_user[@]}" "$program" query whole latency_mean
  expect "resident"
  run 2 "${as_user[@]}" "$program" run small.toml --out whole
  expect "whole" "Permission denied"
else
  echo "a read-only folder was not tried: another user cannot run the program"
fi
chmod -R u+w whole

# A folder of a run of another version is left alone, and its database, if it is of this schema, is read.
echo '{"format": 99}' >whole/manifest.json
run 2 "$program" run small.toml --out whole
expect "holds a run of another version of the program"
run 0 "$program" query whole latency_mean
sqlite3="$(command -v sqlite3 || true)"
if [[ -n $sqlite3 ]]; then
  "$sqlite3" whole/results.sqlite 'PRAGMA user_version = 99'
  run 2 "$program" query whole latency_mean
  expect "has schema version 99, and this program reads 5"
fi

# Closed standard streams: no file of the run gets their numbers, and what cannot be told is an error.
run 0 "$program" run small.toml --quiet --out streams
closed=0
"$program" run small.toml --out closed <&- >&- 2>&- || closed=$?
((closed == 2)) || { echo "expected exit code 2 where nothing can be printed, got $closed"; exit 1; }
cmp streams/results.sqlite closed/results.sqlite
cmp streams/.locks closed/.locks
run 0 "$program" run small.toml --quiet --out closed
