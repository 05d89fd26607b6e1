# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# README.md and docs/ tell the truth: every faultline command that they show runs, every experiment that they
# show runs, every line of output that they show is printed, and every link leads somewhere. (scripts/test is
# what runs this; scripts/quickstart is run by the nightly test beside this one.)
source "$(dirname "$0")/common.sh"
cd "$scratch"
mkdir -p build/release
ln -s "$FAULTLINE_BUILD/faultline" build/release/faultline
export PATH="$FAULTLINE_BUILD:$PATH" FAULTLINE_CONFIGS="$FAULTLINE_SOURCE/configs"
pages=("$FAULTLINE_SOURCE/README.md" "$FAULTLINE_SOURCE"/docs/*.md)
printed="$scratch/printed"
run 0 python3 "$FAULTLINE_SOURCE/tests/scripts/links.py" "${pages[@]}"

# The experiments in a page, as PAGE-1.toml, PAGE-2.toml ... The README's is the one that its commands name.
for page in "${pages[@]}"; do
  awk -v name="$(basename "$page" .md)" '
    /^```toml$/ {file = name "-" ++n ".toml"; next} /^```/ {file = ""} file != "" {print > file}' "$page"
done
cp README-1.toml mine.toml
for experiment in *-[0-9]*.toml; do
  [[ $experiment == extending-* ]] && continue # extending.sh has those
  echo "$experiment"
  few=(--set workload.iterations=2)
  grep -q '"flows"' "$experiment" && few=() # each flow has its own
  grep -q '^zip .*workload\.iterations' "$experiment" && few+=(--set 'workload.size=4 KiB') # all of a group or none
  run 0 faultline run "$experiment" --quiet "${few[@]}" --out "of $experiment"
done

# What scripts/quickstart runs; a mean over ten equal transfers is that over two.
run 0 faultline run pinning-vs-faults --quiet --set workload.iterations=2
echo "$output" >>"$printed"

count=0
for page in "${pages[@]}"; do
  while IFS= read -r command; do
    read -ra words <<<"${command%%#*}"
    echo "$(basename "$page"): ${words[*]}"
    run 0 "${words[@]}"
    echo "$output" >>"$printed"
    count=$((count + 1))
  done < <(grep -E '^    (build/release/)?faultline ' "$page")
done
((count >= 5)) || {
  echo "found only $count commands: has the layout of the documents changed?"
  exit 1
}

# Indented by four after an empty line, as Markdown's code is, and no command: a line that a command printed.
lines=0
for page in "${pages[@]}"; do
  while IFS= read -r line; do
    grep -qF -- "${line#    }" "$printed" || {
      echo "$(basename "$page") shows what is not printed: $line"
      exit 1
    }
    lines=$((lines + 1))
  done < <(awk '
    /^```/ {fenced = !fenced}
    {code = !fenced && /^    / && (code || blank); blank = /^$/}
    code' "$page" |
    grep -vE '^    ((build/release/)?faultline|scripts/)')
done
((lines >= 40)) || {
  echo "found only $lines lines of output in the documents"
  exit 1
}

# The README's table of latencies is a part of what scripts/quickstart prints: strategy, size and value of each cell.
cells=0
while IFS=, read -r strategy size value; do
  run 0 faultline query runs/pinning-vs-faults-1 latency_mean --quiet \
    --where "strategy=$strategy" --where "workload.size=$size"
  expect " $value "
  cells=$((cells + 1))
done < <(awk -F ' *[|] *' '
  /^\| strategy \|/ {split($0, size); on = 1}
  !/^\|/ {on = 0}
  on && split($2, name, "`") > 1 {for (i = 3; i < NF; ++i) print name[2] "," size[i] "," $i}' "$FAULTLINE_SOURCE/README.md")
((cells >= 20)) || {
  echo "found only $cells latencies in the README"
  exit 1
}

# A part of the fault matrix; all of it nightly.
matrix_row() {
  run 0 faultline run "$1" --quiet --set inject.mechanism="$2"
  expect_documented "## $3"
}
matrix_row fault-matrix compaction "The destination"
matrix_row fault-matrix-source fork "The source"
matrix_row fault-matrix-files reclaim "Mapped files"
