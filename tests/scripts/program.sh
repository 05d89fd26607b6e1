# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the tests of the built program, which run it in the scratch folder with the configs of the tree.
source "$(dirname "$0")/common.sh"
program="$FAULTLINE_BUILD/faultline"
export FAULTLINE_CONFIGS="$FAULTLINE_SOURCE/configs"
cd "$scratch"

# 66 points of some milliseconds each: sweep.toml.
write_sweep() {
  cat >sweep.toml <<'TOML'
platform = "exanest-qfdb"
strategies = ["fault/touch-a-page", "fault/touch-ahead"]
repetitions = 3
[parameters]
workload.cold = "destination"
workload.iterations = 5
[axes]
workload.size = { from = "64 B", to = "64 KiB", scale = "log2" }
TOML
}

# same_files FOLDER OTHER FILE...: byte for byte.
same_files() {
  local one="$1" other="$2" file
  shift 2
  for file in "$@"; do
    cmp "$one/$file" "$other/$file" || exit 1
  done
}

# Two runs are of the same points and say the same of them, and nothing is half there.
same_runs() {
  same_files "$1" "$2" results.json results.csv manifest.json effective.toml
  [[ -z $(find "$2" -name '*.part') ]] || { echo "$2 has files that are half there"; exit 1; }
}

# For tests of pages: a browser, and the folder $kept for screenshots. Without a browser the test ends as skipped.
need_chromium() {
  CHROMIUM="$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)"
  if [[ -z $CHROMIUM || ! -d $FAULTLINE_SOURCE/web/node_modules/playwright-core ]]; then
    echo "no Chromium here (Debian package chromium): the page itself is not tested"
    exit 77
  fi
  export CHROMIUM
  kept="${FAULTLINE_KEEP:-$scratch/kept}"
  mkdir -p "$kept"
}
