# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# --on slurm and MPI launchers against the real ones: a cluster of this one machine (scripts/slurm-local).
source "$(dirname "$0")/program.sh"
for tool in slurmctld slurmd munged sbatch; do
  PATH="$PATH:/usr/sbin" command -v "$tool" >/dev/null || { echo "skipped: no $tool (scripts/setup --slurm)"; exit 77; }
done
local_slurm="$FAULTLINE_SOURCE/scripts/slurm-local"
FAULTLINE_SLURM="$(mktemp -du /tmp/faultline-slurm.XXXXXX)" # its path has no blanks
export FAULTLINE_SLURM
export SLURM_CONF="$FAULTLINE_SLURM/slurm.conf"
trap '"$local_slurm" stop; rm -rf "$scratch"' EXIT
write_sweep
run 0 "$program" run sweep.toml --quiet --out alone

"$local_slurm" start
[[ -z $(ss -Hltn 2>/dev/null | awk -v port="$(sed -n 's/^SlurmctldPort=//p' "$SLURM_CONF")" \
  '$4 ~ ":" port "$" && $4 !~ /^127\.0\.0\.1:/') ]] || { echo "slurmctld listens beyond loopback"; exit 1; }

echo "a sweep"
run 0 "$program" run sweep.toml --on slurm --slurm-tasks 5 --slurm-time 10 --slurm-memory 300M --out swept
same_runs alone swept
[[ $(find swept/logs -name 'worker-*_*-*.log' | wc -l) -ge 2 ]] || { echo "fewer than two tasks were at work"; exit 1; }

echo "sbatch refuses"
run 2 "$program" run sweep.toml --on slurm --slurm-partition nope --out refused
expect "--on slurm: sbatch refuses the job: sbatch: error: " "nvalid partition"
[[ ! -e refused ]]

# Some seconds a point.
slow=(--set workload.iterations=300 --set "workload.size=64 KiB")
run 0 "$program" run sweep.toml "${slow[@]}" --quiet --out slow-alone

# in_the_middle RUN: the process of a worker that is at a point of RUN.
in_the_middle() {
  local record
  for _ in $(seq 600); do
    record="$(grep -ls '"at": {$' "$1"/workers/*.json | head -n 1 || true)"
    [[ -z $record ]] || break
    sleep 0.1
  done
  [[ -n $record ]] || return 1
  basename "$record" .json | sed 's/.*-//'
}

echo "a task that is killed: others do its points"
"$program" run sweep.toml "${slow[@]}" --on slurm --slurm-tasks 3 --out killed >/dev/null 2>killed.txt &
main=$!
kill -9 "$(in_the_middle killed)"
wait "$main" || { cat killed.txt; exit 1; }
cmp slow-alone/results.json killed/results.json

echo "a task that is killed, and no other: a row with Slurm's reason, and done by starting again"
"$program" run sweep.toml "${slow[@]}" --on slurm --slurm-tasks 1 --out lonely >/dev/null 2>lonely.txt &
main=$!
kill -9 "$(in_the_middle lonely)"
wait "$main" && { echo "a run whose only task was killed is fine"; exit 1; }
output="$(cat lonely.txt)"
expect "that was at it" "has ended: FAILED" "points have no result, starting again submits them"
run 0 "$program" status lonely
expect "1 host failed"
run 0 "$program" run lonely --on slurm --quiet
cmp slow-alone/results.json lonely/results.json

echo "Ctrl-C leaves the job, and the run follows it again"
"$program" run sweep.toml "${slow[@]}" --on slurm --slurm-tasks 2 --out left >/dev/null 2>left.txt &
main=$!
in_the_middle left >/dev/null
kill -INT "$main"
wait "$main" && { echo "it was over before it could be interrupted"; exit 1; }
output="$(cat left.txt)"
expect "interrupted; Slurm job" "goes on"
run 0 "$program" run left --on slurm
expect "goes on with"
cmp slow-alone/results.json left/results.json
[[ $(find left/logs -name 'slurm-*_0.log' | wc -l) == 1 ]] || { echo "it was submitted twice"; exit 1; }

echo "scancel: what is missing is submitted again"
"$program" run sweep.toml "${slow[@]}" --on slurm --slurm-tasks 1 --out cancelled >/dev/null 2>cancelled.txt &
main=$!
in_the_middle cancelled >/dev/null
scancel --user="$(id -un)"
wait "$main" && { echo "a run whose job was cancelled is fine"; exit 1; }
output="$(cat cancelled.txt)"
expect "has ended: CANCELLED"
run 0 "$program" run cancelled --on slurm --quiet
cmp slow-alone/results.json cancelled/results.json
"$local_slurm" stop

if [[ $EUID == 0 ]]; then
  echo "a folder that the compute node does not see"
  hide="$FAULTLINE_SLURM-hide"
  printf '#!/bin/sh\nmount -t tmpfs none "%s/unshared-parent" && exec "$@"\n' "$scratch" >"$hide"
  chmod +x "$hide"
  trap '"$local_slurm" stop; rm -rf "$scratch" "$hide"' EXIT
  mkdir unshared-parent
  FAULTLINE_SLURMD="unshare --mount $hide" "$local_slurm" start
  run 2 "$program" run sweep.toml --on slurm --slurm-tasks 2 --out unshared-parent/run
  expect "has left a trace in" "on a file system that the compute nodes share, at the same path? Name one that is with --out"
  run 0 "$program" run unshared-parent/run --quiet
  same_runs alone unshared-parent/run
  "$local_slurm" stop
fi

if command -v mpirun >/dev/null; then
  echo "mpirun"
  run 0 "$program" run sweep.toml --prepare --quiet --out ranks
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  run 0 mpirun --oversubscribe -n 3 "$program" worker ranks
  expect "points simulated"
  (($(grep -c "points simulated" <<<"$output") == 1)) || { echo "more than rank 0 speaks: $output"; exit 1; }
  [[ $(grep -l "at work, 1 points at a time" ranks/logs/worker-*.log | wc -l) == 3 ]] || { echo "no three workers"; exit 1; }
  run 0 "$program" run ranks
  expect "66 of 66 points are there already"
  same_runs alone ranks
else
  echo "mpirun is not there: skipped"
fi
