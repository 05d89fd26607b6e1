# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# --on slurm against commands that behave as Slurm's do, and misbehave as a test wants them to. Against a real Slurm:
# slurm.sh.
source "$(dirname "$0")/program.sh"
mkdir bin queue
export QUEUE="$scratch/queue" MODE=works
cat >bin/sbatch <<'SHIM'
#!/bin/bash
printf '%s\n' "$@" >"$QUEUE/asked"
if [[ $MODE == refuses ]]; then
  echo "sbatch: error: invalid partition specified: nope" >&2
  echo "sbatch: error: Batch job submission failed: Invalid partition name specified" >&2
  exit 1
fi
for word in "$@"; do
  case "$word" in
    --array=0-*) last="${word#--array=0-}" ;;
    --output=*) output="${word#--output=}" ;;
    --wrap=*) wrap="${word#--wrap=}" ;;
  esac
done
job=$((100 + $(find "$QUEUE" -name '*_0' | wc -l)))
for ((task = 0; task <= last; task++)); do
  echo PENDING >"$QUEUE/${job}_$task"
  log="${output//%A/$job}"
  log="${log//%a/$task}"
  (
    case "$MODE" in
      works | does-not-answer)
        echo RUNNING >"$QUEUE/${job}_$task"
        SLURM_JOB_ID=9 SLURM_ARRAY_JOB_ID=$job SLURM_ARRAY_TASK_ID=$task bash -c "$wrap" >"$log" 2>&1 &&
          echo COMPLETED >"$QUEUE/${job}_$task" || echo FAILED >"$QUEUE/${job}_$task"
        ;;
      is-not-shared) echo FAILED >"$QUEUE/${job}_$task" ;;
      is-broken)
        echo "/bin/sh: 1: exec: $wrap: not found" >"$log"
        echo FAILED >"$QUEUE/${job}_$task"
        ;;
      out-of-memory)
        echo RUNNING >"$QUEUE/${job}_$task"
        SLURM_ARRAY_JOB_ID=$job SLURM_ARRAY_TASK_ID=$task bash -c "$wrap" >"$log" 2>&1 &
        # As the kernel does it: in the middle of a point.
        until grep -qs '"at": {$' "$(dirname "$output")"/../workers/*.json; do sleep 0.02; done
        kill -9 $!
        echo OUT_OF_MEMORY >"$QUEUE/${job}_$task"
        ;;
      waits) ;;
      is-cancelled) echo CANCELLED >"$QUEUE/${job}_$task" ;;
    esac
  ) </dev/null >/dev/null 2>&1 &
done
echo "$job"
SHIM
cat >bin/squeue <<'SHIM'
#!/bin/bash
if [[ $MODE == does-not-answer && ! -e $QUEUE/answered ]]; then
  touch "$QUEUE/answered"
  echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2
  exit 1
fi
for word in "$@"; do
  [[ $word == --jobs=* ]] && job="${word#--jobs=}"
done
for task in "$QUEUE/${job}"_*; do
  state="$(cat "$task")"
  reason=None
  [[ $state == PENDING ]] && reason=Resources
  echo "${task##*_}|$state|$reason"
done
SHIM
cat >bin/scancel <<'SHIM'
#!/bin/bash
echo "$*" >>"$QUEUE/cancelled"
SHIM
chmod +x bin/*
cat >sweep.toml <<'TOML'
platform = "exanest-qfdb"
strategies = ["fault/touch-a-page", "fault/touch-ahead"]
parameters.workload.cold = "destination"
parameters.workload.iterations = 5
axes.workload.size = ["64 B", "4 KiB", "64 KiB"]
[slurm]
partition = "long"
time = "2:00:00"
tasks = 3
TOML
run 0 "$program" run sweep.toml --quiet --out alone

# Slurm is not there.
run 2 env PATH=/usr/bin-without-slurm "$program" run sweep.toml --on slurm --out none
expect "--on slurm: there is no 'sbatch' in PATH: Slurm is not installed on this machine"
[[ ! -e none ]]

export PATH="$scratch/bin:$PATH"
run 0 "$program" run sweep.toml --on slurm --out works --slurm-memory 2G --slurm-sbatch --account=us
expect "Slurm job 100 simulates 6 points of works" "run folder: works"
same_files alone works results.json results.csv
for word in --array=0-2 --partition=long --time=2:00:00 --mem=2G --cpus-per-task=1 --account=us; do
  grep -qxF -- "$word" queue/asked || { echo "sbatch was not told $word"; exit 1; }
done
grep -q "points done" works/logs/worker-100_*.log
# All there: nothing is submitted.
run 0 "$program" run works --on slurm
expect "6 of 6 points are there already"
refuse "Slurm job"
# What the command line says wins over the file.
run 0 "$program" run sweep.toml --on slurm --out other --quiet --slurm-tasks 2 --slurm-partition short
grep -qxF -- --partition=short queue/asked
grep -qxF -- --array=0-1 queue/asked

MODE=refuses run 2 "$program" run sweep.toml --on slurm --out refused
expect "--on slurm: sbatch refuses the job: sbatch: error: invalid partition specified: nope | sbatch: error: Batch job"
[[ ! -e refused ]]
MODE=does-not-answer run 0 "$program" run sweep.toml --on slurm --out unanswered
expect "Slurm does not answer (slurm_load_jobs error: Unable to contact slurm controller (connect failure)); asking again"
cmp alone/results.json unanswered/results.json

MODE=is-not-shared run 2 "$program" run sweep.toml --on slurm --out unshared
expect "has left a trace in $scratch/unshared (FAILED 3): is this folder of" "on a file system that the compute nodes share"
# The same folder goes on when it is.
run 0 "$program" run unshared --on slurm
cmp alone/results.json unshared/results.json
MODE=is-broken run 2 "$program" run sweep.toml --on slurm --out broken
expect "has got to work in broken (FAILED 3)" "ends with: /bin/sh: 1: exec:" "not found"
MODE=is-cancelled run 2 "$program" run sweep.toml --on slurm --out gone
expect "was cancelled before any of its tasks was at work"

# A task that died: its point is a row with the reason, and done by starting again.
long=(--set workload.iterations=20000 --set "workload.size=64 KiB" --set "strategy.registration=nothing")
MODE=out-of-memory run 2 "$program" run sweep.toml "${long[@]}" --on slurm --slurm-tasks 1 --out died
expect "the Slurm task" "that was at it" "has ended: OUT_OF_MEMORY; ask for more --slurm-memory" "has ended (OUT_OF_MEMORY 1)"
run 0 "$program" status died
expect "1 host failed" "has ended: OUT_OF_MEMORY; ask for more --slurm-memory"

# Ctrl-C leaves the job; the same command follows it again, and submits nothing.
MODE=waits "$program" run sweep.toml --on slurm --out left >/dev/null 2>left.txt &
main=$!
for _ in $(seq 200); do
  [[ -e left/slurm.json ]] && break
  sleep 0.05
done
sleep 0.5
kill -INT "$main"
code=0
wait "$main" || code=$?
((code == 130)) || { cat left.txt; echo "exit code $code"; exit 1; }
output="$(cat left.txt)"
job="$(grep -o '"job":"[0-9]*"' left/slurm.json | tr -cd 0-9)"
expect "interrupted; Slurm job $job goes on. 'faultline run left --on slurm' follows it again" "'scancel $job' ends it"
[[ ! -e left/results.json ]]
rm queue/asked
"$program" run left --on slurm >/dev/null 2>follows.txt &
main=$!
sleep 0.5
SLURM_ARRAY_JOB_ID=$job SLURM_ARRAY_TASK_ID=0 "$program" worker left --quiet
wait "$main"
output="$(cat follows.txt)"
expect "Slurm job $job goes on with 6 points of left"
cmp alone/results.json left/results.json
[[ ! -e queue/asked ]]
# Tasks that would find nothing to do are not waited for.
grep -qxF -- "--state=PENDING $job" queue/cancelled

# What Slurm would refuse is told at once.
for bad in "--slurm-time 2h|--slurm-time: '2h' is no time for Slurm; allowed: MINUTES, MINUTES:SECONDS" \
  "--slurm-memory 4|--slurm-memory: '4' is no memory for Slurm; allowed: a whole number and K, M, G or T" \
  "--slurm-tasks 0|--slurm-tasks: '0'; allowed: a whole number from 1 to 1000000" \
  "--jobs 4|--on slurm and --jobs: choose one; --slurm-cpus is what a task simulates at a time"; do
  # shellcheck disable=SC2086 # an option and its value
  run 2 "$program" run sweep.toml --on slurm ${bad%%|*}
  expect "${bad#*|}"
done
run 2 "$program" run sweep.toml --slurm-time 60
expect "--slurm-time: needs --on slurm"
run 2 "$program" run sweep.toml --on slrum
expect "--on: 'slrum'; allowed: here, slurm; did you mean 'slurm'?"
