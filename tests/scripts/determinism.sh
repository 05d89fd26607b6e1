# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The same experiment and seed give the same bytes: twice, elsewhere, with other jobs; another seed does not.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/every_kind.sh"
cd "$scratch"
program="$FAULTLINE_BUILD/faultline"
export FAULTLINE_CONFIGS="$FAULTLINE_SOURCE/configs"
every_kind >every_kind.toml

results() { # RESULT_FOLDER ARGUMENT...
  local out="$1"
  shift
  run 0 "$program" run "$scratch/every_kind.toml" --quiet --out "$out" "$@"
}
same() { # ONE OTHER FILE...
  local one="$1" other="$2"
  shift 2
  for file in "$@"; do
    cmp "$one/$file" "$other/$file" || {
      echo "$other differs from $one"
      exit 1
    }
  done
}
all=(results.json results.csv results.sqlite)
results one -j 1
results again -j 1
same one again "${all[@]}"
results jobs -j 2
same one jobs "${all[@]}"
results profiled -j 2 --profile
same one profiled "${all[@]}"
mkdir -p 'other folder/deep'
(cd 'other folder/deep' && results '../a name with blanks/run' -j 2)
same one 'other folder/a name with blanks/run' "${all[@]}"
results other -j 2 --seed 2
if cmp -s one/results.json other/results.json; then
  echo "another seed gave the same results"
  exit 1
fi
# A run folder says how to run it again.
run 0 "$program" run one/effective.toml --quiet --out effective
same one effective results.json results.csv
