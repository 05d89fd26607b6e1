# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Each published figure can fail: for each that counts there is a wrong value in the legal range that its check refuses.
source "$(dirname "$0")/common.sh"
cd "$scratch"
export FAULTLINE_CONFIGS="$FAULTLINE_SOURCE/configs"
published="$FAULTLINE_CONFIGS/validation/published.toml"

# figures NAME...: their rows in the file; with wanted=0 all others.
figures() {
  awk -v names=" $* " -v wanted="${wanted:-1}" '
    function put() {if (mine == wanted) printf "%s", block; block = ""; mine = 0}
    /^\[\[figure\]\]/ {put(); inside = 1} inside {block = block $0 "\n"}
    /^name = / {split($0, part, "\""); mine = index(names, " " part[2] " ") > 0} END {put()}' "$published"
}

# with_wrong NAME KEY=VALUE...: validates NAME.toml, which is to fail.
with_wrong() {
  local name="$1" code=0 sets=() value
  shift
  for value in "$@"; do sets+=(--set "$value"); done
  "$FAULTLINE_BUILD/faultline" validate "$name.toml" --format json "${sets[@]}" >"$name.json" 2>"$name.err" || code=$?
  ((code == 1)) || {
    echo "expected exit code 1, got $code with $*"
    cat "$name.err"
    exit 1
  }
}

# Costs and structures: all that was fitted, and what the predictions rest on. Fork and mapped files are so slow that
# the slower board's come out right, which is known not to be so.
wanted=0 figures T7 T8 K8 V6a V6c V9a V9b V16a V16b V16c V17a V17b V18b >costs.toml
with_wrong costs \
  'os.gup_per_page=150 ns' 'os.private_map_per_page=20 ns' 'os.unpin_per_page=400 ns' \
  'network.injection_latency=1 us' 'exanest.block_contexts=2' 'cpu.irq_to_handler=10 us' \
  'os.wake_up=15 us' 'os.signal_catch=12 us' 'os.fork_fixed=750 us' 'os.exec_fixed=800 us' \
  'os.fault_around_page=450 ns' 'os.copy_bandwidth=1 GB/s' 'os.zero_bandwidth=2 GB/s'
# Mapping a file comes out right, on a core so slow.
figures K8 >clock.toml
with_wrong clock 'cpu.clock=400 MHz'
# What holds by construction: no cost refutes it, but another mechanism does. One size is enough.
figures T7 | sed 's/^axes\.workload\.size.*/axes.workload.size = ["16 KiB"]/' >pages.toml
with_wrong pages 'strategy.resolve=touch-a-page'
figures T8 | sed 's/^axes\.workload\.size.*/axes.workload.size = ["16 KiB"]/' >faults.toml
with_wrong faults 'workload.cold=destination'

# A NIC whose driver pushes nothing misses new memory; two writes of drawn peers are no mean, and make no line; a bus
# twice as wide is no longer what bounds Elan4.
figures V17a >reuse.toml
with_wrong reuse 'strategy.translate=on-demand'
figures V17b >polls.toml
with_wrong polls 'workload.iterations=2'
figures V18b >bus.toml
with_wrong bus 'axi.width=16 B'
# So is PCI where the bus bounds a cache that finds all buffers.
figures V6a V6c >pci.toml
with_wrong pci 'axi.width=8 B'

# A cache that does not look at sizes gains nothing by them; a registration that costs less pays from a shorter length on.
figures V9a V9b >sizes.toml
with_wrong sizes 'strategy.pin_cache.replacement=lru'
cp "${published%/*}/linear-costs.toml" . # their platform
figures V16a V16b V16c >thresholds.toml
with_wrong thresholds 'os.pin_fixed=12 us'

/usr/bin/python3 -B - "$published" <<'PYTHON'
import json
import sys
import tomllib

with open(sys.argv[1], "rb") as file:
    checked = {figure["name"] for figure in tomllib.load(file)["figure"] if figure["use"] != "reading"}
runs = ("costs", "clock", "pages", "faults", "reuse", "polls", "bus", "pci", "sizes", "thresholds")
rows = [row for name in runs for row in json.load(open(f"{name}.json"))]
troubles = [f"{row['name']}: {row['trouble']}" for row in rows if row["trouble"]]
never = sorted(checked - {row["name"] for row in rows if row["counts"] and not row["passed"]})
assert len(checked) >= 20, checked
assert not troubles, troubles
assert not never, f"nothing here makes these fail: {never}"
PYTHON
