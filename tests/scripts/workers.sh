# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Workers, several at a time in one folder, killed by kill -9 at random moments and started again: each point is
# simulated, and the tables have the bytes of a run that nobody disturbed.
source "$(dirname "$0")/program.sh"
write_sweep
run 0 "$program" run sweep.toml --quiet --out undisturbed

# Four workers and a run share 66 points, and each of these is simulated once: what they say adds up.
run 0 "$program" run sweep.toml --out shared --prepare
for worker in 1 2 3 4; do
  "$program" worker shared -j 1 >/dev/null 2>"worker-$worker.txt" &
done
run 0 "$program" run shared
wait
same_runs undisturbed shared
simulated="$(awk '/points simulated/ { sum += $3 } END { print sum }' worker-*.txt)"
echo "workers simulated $simulated of 66 points"
ours="$(grep -c . <(find shared/points -name '*.json'))"
((ours == 66)) || { echo "$ours results"; exit 1; }
# meta.json: what was there already when the run ended is what others did.
there="$(awk -F'[:,]' '/"points_there"/ { print $2 }' shared/meta.json)"
((simulated == there && simulated > 0)) || { echo "the workers say $simulated, the run found $there"; exit 1; }

# Kill -9, of workers and of their points.
RANDOM=23
killed=0
kills="${FAULTLINE_KILLS:-20}"
for ((round = 1; killed < kills; ++round)); do
  out="killed-$round"
  run 0 "$program" run sweep.toml --quiet --out "$out" --prepare
  for _ in 1 2 3 4 5; do
    workers=()
    for _ in 1 2 3; do
      "$program" worker "$out" -j 1 --quiet >/dev/null 2>&1 &
      workers+=("$!")
    done
    for worker in "${workers[@]}"; do
      sleep "0.$(printf %03d $((RANDOM % 150)))"
      victim="$worker"
      if ((RANDOM % 4 == 0)); then victim="$(pgrep -P "$worker" | head -n 1 || true)"; fi
      if [[ -n $victim ]] && kill -9 "$victim" 2>/dev/null; then killed=$((killed + 1)); fi
    done
    wait || true
  done
  # A point that was killed is a row with its reason, and done when the run is started again.
  "$program" run "$out" --quiet >/dev/null 2>&1 || true
  run 0 "$program" run "$out"
  same_runs undisturbed "$out"
done
echo "killed $killed times"
