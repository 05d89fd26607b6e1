# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The same experiment and seed give the same bytes: twice, elsewhere, with other jobs; another seed does not.
source "$(dirname "$0")/program.sh"
source "$(dirname "$0")/every_kind.sh"
every_kind >every_kind.toml

results() { # RESULT_FOLDER ARGUMENT...
  local out="$1"
  shift
  run 0 "$program" run "$scratch/every_kind.toml" --quiet --out "$out" "$@"
}
all=(results.json results.csv results.sqlite)
results one -j 1
results again -j 1
same_files one again "${all[@]}"
results jobs -j 2
same_files one jobs "${all[@]}"
results profiled -j 2 --profile
same_files one profiled "${all[@]}"
mkdir -p 'other folder/deep'
(cd 'other folder/deep' && results '../a name with blanks/run' -j 2)
same_files one 'other folder/a name with blanks/run' "${all[@]}"
results other -j 2 --seed 2
if cmp -s one/results.json other/results.json; then
  echo "another seed gave the same results"
  exit 1
fi
# A run folder says how to run it again.
run 0 "$program" run one/effective.toml --quiet --out effective
same_files one effective results.json results.csv
