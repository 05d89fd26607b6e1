# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What scripts/benchmark makes of its programs' results, with programs that take no time and say what they are told:
# figures, reasons, the comparison with another build, an interruption.
source "$(dirname "$0")/common.sh"
command -v python3 >/dev/null || exit 77
mkdir -p "$scratch/tree/build/release/benchmarks"
cp -r "$FAULTLINE_SOURCE/configs" "$FAULTLINE_SOURCE/benchmarks" "$scratch/tree"
cd "$scratch/tree"
touch build/release/CMakeCache.txt
programs=build/release/benchmarks

# A program that prints what it is told by variables: host times in seconds, the simulated time of the cells.
cat >"$programs/bench_network" <<'EOS'
#!/bin/bash
host=$TRAINS_HOST ps=1000
[[ "$*" == *--cells-per-train* ]] && host=$CELLS_HOST ps=$CELLS_PS
echo "Info: SystemC says something"
echo "{\"host_s\": $host, \"wall_s\": $host, \"hops\": 1000000, \"final_ps\": $ps, \"out_of_order\": 0}"
EOS
cat >"$programs/bench_ns3" <<'EOS'
#!/bin/bash
echo "{\"host_s\": 4, \"wall_s\": 4, \"hops\": 1000000, \"final_ps\": 1000}"
EOS
cat >"$programs/bench_transfers" <<'EOS'
#!/bin/bash
faults=0 host=2
[[ "$*" == *window=4* ]] && host=$STREAM_HOST
[[ "$*" == *cold=destination* ]] && faults=1000 host=3
[[ "$*" == *--trace* ]] && host=$TRACED_HOST
[[ $SLEEPS ]] && echo $$ >asleep && exec sleep 60
echo "{\"host_s\": $host, \"wall_s\": 3, \"pages\": 1000, \"bytes\": 4096000, \"faults\": $faults, \"simulated_s\": 6, \"filled_mib\": 100, \"filling_s\": 1, \"major_faults\": 5,
  \"nodes\": 10, \"transfers\": 250, \"hops\": 6000000, \"events\": 120000000, \"peak_mib\": 100,
  \"told\": 400000, \"traced\": \"left out\", \"traced_whole\": $TRACED_WHOLE}"
EOS
cat >"$programs/bench_cluster" <<'EOS'
#!/bin/bash
echo "no memory left" >&2
exit 1
EOS
cat >"$programs/bench_micro" <<'EOS'
#!/bin/bash
echo '{"benchmarks": ['
for name in kernel_wakeup/1 event_loop/1 event_loop/100 router_hop/1 router_hop/16 serve_train later_of_two trace_unheard; do
  echo "{\"run_name\": \"$name\", \"aggregate_name\": \"mean\", \"items_per_second\": 1},"
  echo "{\"run_name\": \"$name\", \"aggregate_name\": \"median\", \"items_per_second\": 1e7},"
done
echo '{"run_name": "kernel_wakeup/100", "aggregate_name": "median", "items_per_second": 5e6}]}'
EOS
chmod +x "$programs"/*
export TRAINS_HOST=0.02 CELLS_HOST=1 CELLS_PS=1000 STREAM_HOST=2 TRACED_HOST=3 TRACED_WHOLE=true SLEEPS=''
value() { python3 -c "import json, sys; print(json.load(open('figures.json'))$1)"; }
is() {
  [[ $(value "$1") == "$2" ]] || {
    echo "$1 is $(value "$1"), not $2"
    exit 1
  }
}

# Figures are what they claim to be; what a failing program leaves open is null, with its own words as the reason.
run 3 python3 benchmarks/run.py --quick --json figures.json
expect "wakeups_per_page" "not measured: run build_4096 ended with 1: no memory left"
is "['wakeups_per_page']" 20000.0 # 2 s for 1000 pages, in wake-ups of 100 ns
is "['realtime_factor']" 3.0
is "['ns3_ratio_64']" 200.0
is "['ns3_ratio_cells_64']" 4.0
is "['cell_hop_wakeups_loaded']" 10.0 # 1 s for a million hops
is "['train_speedup_saturated']" 50.0
is "['growth_model_1024']" 1.0
is "['ns3_ratio_loaded']" 200.0
is "['train_speedup_irregular']" 50.0
is "['fault_host_us']" 1000.0 # 3 ms with, 2 ms without
is "['fault_wakeups']" 10000.0
is "['trace_on_stream']" 1.5
is "['trace_on_faults']" 1.0
is "['trace_off_share']" 0.02 # 400 hooks of 100 ns in 2 ms a page
is "['build_s_4096']" None
is "['meta']['reasons']['build_mib_4096']" "run build_4096 ended with 1: no memory left"
is "['meta']['in_wakeups_of_100_pending']['stream_page']" 10000.0

# A ratio of runs that did not do the same is none, and trains that end at another time than cells are told of.
CELLS_PS=1001 run 3 python3 benchmarks/run.py --quick --json figures.json --only ns3_ratio_1 --only train_speedup_contended --only train_speedup_loaded
expect "final_ps is 1001 cell by cell and 1000 in ns-3" "final_ps of trains differs from that of cells by -1 of 1001"
is "['ns3_ratio_1']" None
is "['train_speedup_contended']" 50.0
is "['meta']['reasons']['train_speedup_loaded']" "loaded: trains end at 1000, cells at 1001"

# So is that of a trace that ends early.
TRACED_WHOLE=false run 3 python3 benchmarks/run.py --quick --json figures.json --only trace_on_stream
expect "stream_traced: left out"
is "['trace_on_stream']" None

# Without a package the rest is still measured.
mv "$programs/bench_ns3" "$scratch"
run 3 python3 benchmarks/run.py --quick --json figures.json --only ns3_ratio_1 --only realtime_factor
expect "libns3-dev is not installed"
is "['realtime_factor']" 3.0
mv "$scratch/bench_ns3" "$programs"

# Another build: a quarter slower is let pass, more is not, and is measured again before it is said.
cp -r "$programs" earlier
sed -i 's/\$STREAM_HOST/2/' earlier/bench_transfers
against=(python3 benchmarks/run.py --quick --against earlier)
STREAM_HOST=2.49 run 3 "${against[@]}" --json figures.json
expect "not measured: earlier: run build_4096 ended with 1: no memory left"
is "['ratios']['stream_page']" "[1.245]"
is "['ratios']['hop_cells_64']" "[1.0]"
STREAM_HOST=2.51 run 1 "${against[@]}"
expect "measuring again: stream_page" "WORSE by more than 25%"
STREAM_HOST=0.1 run 3 "${against[@]}"
refuse "WORSE"
sed -i 's/host=3/host=2/' earlier/bench_transfers # no fault costs anything
run 1 "${against[@]}"
expect "not measured: what it is the difference of is within noise"

# The table of sizes, as far as it can be measured.
run 3 python3 benchmarks/run.py --quick --json figures.json --scaling
expect "not measured: build_16384: run build_16384 ended with 1: no memory left" "| 16384 | - | - | - | 20 | 500 | 100 | 2 |"
is "['scaling'][0]['nodes']" 2
is "['scaling'][0]['hop_ns']" 500.0          # 3 s for 6 million cell-hops
is "['scaling'][0]['events_per_us_node']" 2.0 # 120 million events in 6 s of 10 nodes
is "['patterns_4096']['ring']['event_ns']" 25.0
run 2 python3 benchmarks/run.py --figure figure.svg
expect "--figure goes with --scaling"

# Interrupted: no child goes on, nothing is written.
rm figures.json
SLEEPS=yes python3 benchmarks/run.py --quick --json figures.json --only realtime_factor 2>interrupted &
driver=$!
for ((i = 0; i < 200; ++i)); do
  [[ ! -s asleep ]] || break
  sleep 0.1
done
kill -TERM $driver
code=0
wait $driver || code=$?
[[ $code == 130 && ! -e figures.json && $(<interrupted) == *"interrupted: nothing was written"* ]]
if kill -0 "$(<asleep)" 2>/dev/null; then
  echo "a program was left running"
  exit 1
fi

# A name that nobody knows.
run 2 python3 benchmarks/run.py --only realtime_facto
expect "did you mean realtime_factor?"
