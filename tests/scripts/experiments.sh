# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Every experiment, platform and strategy that ships is read, and runs (one transfer a point, small sizes).
source "$(dirname "$0")/program.sh"
configs="$FAULTLINE_SOURCE/configs"
programs_with_iterations() { awk '$1 == "name" { gsub(/"/, ""); name = $3 } $1 == "iterations" { print name }' "$1"; }
count=0
for file in "$configs"/experiments/*.toml; do
  name="$(basename "$file" .toml)"
  run 0 "$program" config "$name" --configs "$configs"
  few=(--set workload.iterations=1 --set workload.warmup=0)
  grep -qE 'message|^zip .*workload\.size' "$file" || few+=(--set 'workload.size=4 KiB')
  grep -q '"flows"' "$file" && few=() # each flow has its own
  while IFS= read -r one; do few+=(--set "program.$one.iterations=1"); done < <(programs_with_iterations "$file")
  # One kernel and one draw of the matrices; tests/workloads/fault_matrix*.cpp have others.
  grep -q '^os.kernel = \[' "$file" && few+=(--set os.kernel=4.19)
  grep -q '^inject.draw = \[' "$file" && few+=(--set inject.draw=1)
  run 0 "$program" run "$name" --configs "$configs" --quiet --jobs 2 --out "out/$name" "${few[@]}"
  output="${output//data_errors/}" # a metric
  refuse error
  [[ -s "out/$name/results.json" ]] || {
    echo "$name left no results"
    exit 1
  }
  count=$((count + 1))
done
((count >= 9)) || {
  echo "only $count experiments"
  exit 1
}

# Each platform, between its first MPSoC and its last.
declare -A last=([exanest-qfdb]=3 [exanest-blade]=15 [exanest-prototype]=127 [torus-4x4x4]=63 [fat-tree-64]=63
  [dragonfly-72]=71 [elan3]=63 [elan4]=63 [myrinet-pm]=63 [myrinet-pm-166]=63
  [wide-100g]=3 [wide-400g]=3 [ethernet-openmx]=63)
platforms=0
for file in "$configs"/platforms/*.toml; do
  name="$(basename "$file" .toml)"
  {
    printf 'platform = "%s"\nworkload = "write"\nstrategies = ["resident"]\n[parameters]\n' "$name"
    printf 'workload.iterations = 1\nworkload.warmup = 0\nworkload.target = %d\n' "${last[$name]}"
    printf '[axes]\nworkload.size = ["64 KiB"]\nnetwork.routing = ["minimal"'
    case "$name" in torus* | fat* | dragonfly*) printf ', "adaptive"' ;; esac
    printf ']\n'
  } >"$name.toml"
  run 0 "$program" run "$name.toml" --configs "$configs" --quiet --jobs 2 --out "out/$name"
  refuse error
  platforms=$((platforms + 1))
done
((platforms == ${#last[@]}))

# Wide links carry what their coding (64 of 66 bits) and their headers (32 B a cell of 256 B) leave, and little less.
for rate in 100 400; do
  printf 'platform = "wide-%dg"\nworkload = "write"\nstrategies = ["resident"]\n' "$rate" >wide.toml
  printf '[parameters]\nworkload.iterations = 2\nworkload.size = "8 MiB"\n' >>wide.toml
  run 0 "$program" run wide.toml --configs "$configs" --quiet --replace --out out/wide
  python3 -c '
import json, sys
share = json.load(open("out/wide/results.json"))[0]["metrics"]["goodput"]["value"] * 8e-3 / float(sys.argv[1])
bound = 64 / 66 * 256 / 288
assert 0.93 * bound < share < bound, (sys.argv[1], share, bound)' "$rate"
done

# Each strategy, by its name, with everything cold.
strategies=()
while IFS= read -r file; do
  name="${file#"$configs/strategies/"}"
  strategies+=("\"${name%.toml}\"")
done < <(find "$configs/strategies" -name '*.toml' | sort)
((${#strategies[@]} >= 9))
{
  echo 'question = "Does every strategy run?"'
  echo 'platform = "exanest-qfdb"'
  echo 'workload = "write"'
  (IFS=, && echo "strategies = [${strategies[*]}]")
  printf '[parameters]\nworkload.iterations = 2\nworkload.warmup = 0\nworkload.cold = "both"\n'
  printf '[axes]\nworkload.size = ["64 B", "20000 B"]\nworkload.kind = ["write", "read"]\n'
} >every.toml
run 0 "$program" run every.toml --configs "$configs" --quiet --jobs 2 --format csv --out every
for strategy in "${strategies[@]}"; do expect "${strategy//\"/}"; done
