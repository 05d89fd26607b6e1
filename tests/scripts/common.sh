# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the tests beside it: a scratch folder, and run/expect.
set -euo pipefail
: "${FAULTLINE_SOURCE:?}" "${FAULTLINE_BUILD:?}"
# The blank catches paths that somebody forgot to quote.
scratch="$(mktemp -d "${TMPDIR:-/tmp}/faultline test.XXXXXX")"
trap 'rm -rf "$scratch"' EXIT

# run EXIT_CODE COMMAND...: what it prints on either stream goes to $output.
run() {
  local expected="$1" code=0
  shift
  output="$("$@" 2>&1)" || code=$?
  if ((code != expected)); then
    printf 'expected exit code %d, got %d from: %s\n%s\n' "$expected" "$code" "$*" "$output"
    exit 1
  fi
}

# expect TEXT...: $output contains each, as it stands.
expect() {
  local text
  for text in "$@"; do
    if [[ $output != *"$text"* ]]; then
      printf 'expected "%s" in:\n%s\n' "$text" "$output"
      exit 1
    fi
  done
}

refuse() {
  if [[ $output == *"$1"* ]]; then
    printf 'did not expect "%s" in:\n%s\n' "$1" "$output"
    exit 1
  fi
}

# The rows of the verdicts in $output, as docs/fault-matrix.md has them.
verdict_rows() {
  awk '
    /^faults of the device/ {on = 1; body = 0; mechanism = ""; if (split($0, t, "inject.mechanism = ") > 1) mechanism = t[2]; next}
    /^$/ || /^faults: in/ {on = 0}
    on && /^---/ {body = 1; next}
    on && body {
      sub(/^ +/, ""); n = split($0, cell, /  +/)
      line = mechanism == "" ? "| `" cell[1] "` |" : "| `" mechanism "` | " cell[1] " |"
      for (i = 2; i <= n; ++i) line = line " " cell[i] " |"
      print line
    }' <<<"$output"
}

# documented HEADING: that section of docs/fault-matrix.md.
documented() {
  awk -v heading="$1" '/^##/ {on = $0 == heading} on' "$FAULTLINE_SOURCE/docs/fault-matrix.md"
}

# same_rows A B: each row of text A is one of text B, and there are some.
same_rows() {
  local row rows=0
  while IFS= read -r row; do
    rows=$((rows + 1))
    grep -qxF -- "$row" <<<"$2" || {
      echo "docs/fault-matrix.md and the program do not agree on: $row"
      exit 1
    }
  done < <(grep -E '[a-z]+ [0-9]+/[0-9]+' <<<"$1")
  ((rows > 0)) || {
    echo "no verdicts to compare"
    exit 1
  }
}

# What was printed is documented; of the kernels, where the page has no more than the rows that differ, the other way round.
expect_documented() { same_rows "$(verdict_rows)" "$(documented "$1")"; }
expect_printed() { same_rows "$(documented "$1")" "$(verdict_rows)"; }
