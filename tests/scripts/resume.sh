# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A run that is killed many times, at random moments, by kill -9, and one whose points are: what is left goes on, and
# ends with the bytes of a run that nobody disturbed. FAULTLINE_KILLS: how many times.
source "$(dirname "$0")/program.sh"
kills="${FAULTLINE_KILLS:-30}"
write_sweep
run 0 "$program" run sweep.toml --quiet --out undisturbed

RANDOM=17
killed=0
rounds=0
while ((killed < kills)); do
  rounds=$((rounds + 1))
  out="killed-$rounds"
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    "$program" run sweep.toml --quiet --out "$out" >/dev/null 2>&1 &
    main=$!
    sleep "0.$(printf %03d $((RANDOM % 250)))"
    victim="$main"
    # Now and then one of its points.
    if ((RANDOM % 4 == 0)); then victim="$(pgrep -P "$main" | head -n 1 || true)"; fi
    if [[ -n $victim ]] && kill -9 "$victim" 2>/dev/null; then killed=$((killed + 1)); fi
    wait "$main" 2>/dev/null || true
  done
  # A point that was killed is a row with its reason, and done when the run is started again.
  "$program" run sweep.toml --quiet --out "$out" >/dev/null 2>&1 || true
  run 0 "$program" run sweep.toml --quiet --out "$out"
  same_runs undisturbed "$out"
  same_files undisturbed "$out" results.sqlite
done
echo "killed $killed times in $rounds runs"

# Without --out, too; now and then while the tables are written.
for _ in 1 2 3 4 5; do
  "$program" run sweep.toml --quiet >/dev/null 2>&1 &
  main=$!
  for _ in $(seq 200); do
    [[ $(find runs/sweep-1/points -name '*.json' 2>/dev/null | wc -l) -ge 60 || -e runs/sweep-1/results.json ]] && break
    sleep 0.02
  done
  kill -9 "$main" 2>/dev/null || true
  wait "$main" 2>/dev/null || true
done
run 0 "$program" run sweep.toml
same_files undisturbed runs/sweep-1 results.json results.sqlite
rm -r runs

# Ctrl-C leaves a folder that the same command continues.
"$program" run sweep.toml -j 1 >/dev/null 2>interrupted.txt &
main=$!
for _ in $(seq 200); do
  [[ -n $(find runs/sweep-1/points -name '*.json' 2>/dev/null) ]] && break
  sleep 0.02
done
kill -INT "$main"
wait "$main" && { echo "it was over before it could be interrupted"; exit 1; }
output="$(cat interrupted.txt)"
expect "points are complete and kept; the same command goes on from there" "run folder: runs/sweep-1"
run 0 "$program" run sweep.toml
expect "points are there already" "run folder: runs/sweep-1"
cmp undisturbed/results.json runs/sweep-1/results.json
