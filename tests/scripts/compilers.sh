# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The same bytes whoever compiles the program: g++ without optimisation and with, clang++. The experiment that takes
# every path runs with all three; every experiment that ships, as it stands, and random configurations with the two
# that are fast. All three accept every experiment: the unoptimised program does not merge literals, so that one which
# compares C strings by their addresses would refuse what others accept.
source "$(dirname "$0")/program.sh"
source "$(dirname "$0")/every_kind.sh"
command -v clang++ >/dev/null || {
  echo "no clang++: scripts/setup --clang"
  exit 77
}

# build_with NAME OPTION...
build_with() {
  local name="$1"
  shift
  run 0 cmake -S "$FAULTLINE_SOURCE" -B "$name" -G Ninja -DFAULTLINE_UNITY=ON -DBUILD_TESTING=OFF "$@"
  run 0 cmake --build "$name" --target faultline --parallel 2
}
build_with g++-O0 -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=None "-DCMAKE_CXX_FLAGS=-O0 -fno-merge-constants"
build_with g++ -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=Release
build_with clang++ -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Release -DFAULTLINE_WARNINGS_AS_ERRORS=ON

# same EXPERIMENT BUILD...: a point may fail (1), or its checks (2), and then does so whoever compiled the program.
same() {
  local experiment="$1" first="$2" build code codes=()
  shift
  for build; do
    code=0
    "$build/faultline" run "$experiment" --quiet --jobs 2 --out "runs/$build" >"$build.out" 2>&1 || code=$?
    codes+=("$code")
    if ((code > 2 || code != codes[0])); then
      echo "$experiment: exit codes ${codes[*]} of $*"
      cat "$build.out"
      exit 1
    fi
    cmp "runs/$first/results.json" "runs/$build/results.json"
  done
  rm -rf runs
}

every_kind >every_kind.toml
same every_kind.toml g++ g++-O0 clang++
for file in "$FAULTLINE_CONFIGS"/experiments/*.toml; do
  run 0 g++-O0/faultline run "$(basename "$file" .toml)" --dry-run
  same "$(basename "$file" .toml)" g++ clang++
done
mkdir cases
run 0 env FAULTLINE_CASES=200 FAULTLINE_FOLDER=cases "$FAULTLINE_BUILD/test_properties" "[.files]"
for file in cases/*.toml; do
  same "$file" g++ clang++
  count=$((${count:-0} + 1))
done
((count == 200))
