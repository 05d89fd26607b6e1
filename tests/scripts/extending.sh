# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The lists of docs/extending.md are true: its examples fit into a copy of the tree. Nightly (FAULTLINE_EXTENDING=build)
# the copy is built, what was added runs, and the tests of the rooms that the examples touch pass, which shows that no
# place is missing from a list.
source "$(dirname "$0")/common.sh"
cd "$scratch"
mkdir tree
git -C "$FAULTLINE_SOURCE" ls-files -z --cached --others --exclude-standard | (cd "$FAULTLINE_SOURCE" && xargs -0 tar c --ignore-failed-read 2>/dev/null) | tar x -C tree
run 0 python3 "$FAULTLINE_SOURCE/tests/scripts/extending.py" tree
run 0 "$FAULTLINE_SOURCE/scripts/check-tree" tree
shared="$(grep -oE '", [0-9]+\}' tree/src/results/strategy_looks.cpp | sort | uniq -d)"
[[ -z $shared ]] || {
  echo "two strategies have one look:$shared"
  exit 1
}
[[ ${FAULTLINE_EXTENDING-} == build ]] || exit 0

run 0 cmake -S tree -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DFAULTLINE_UNITY=ON -DBUILD_TESTING=ON -DFAULTLINE_REPORTS=OFF
run 0 cmake --build build --target faultline test_rdma test_network test_results --parallel 2
run 0 ctest --test-dir build --parallel 2 --no-tests=error --output-on-failure -R '^(rdma|network):|^results:every strategy that ships'
expect "rdma:" "network:" "results:every strategy that ships"
program="build/faultline"
export FAULTLINE_CONFIGS="tree/configs"
run 0 "$program" list strategies first-page
expect "strategy.registration = first-page: touches the first pages" "adds      a core of the target"
run 0 "$program" list metrics blocks_sent
expect "blocks handed to the send unit, retransmissions included"
run 0 "$program" run tree/seen-together.toml --quiet --out seen --format csv
expect "full_mesh" "fault/touch-ahead-32" "blocks_sent"
run 0 "$program" run latency-vs-size --quiet --out latency --set workload.iterations=2 --set workload.size="64 KiB" --set strategy.registration=first-page
