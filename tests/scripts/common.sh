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
