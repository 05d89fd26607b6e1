# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The page of `faultline explain --html`, used in headless Chromium as a reader would: steps both ways, jumps, keys, what is
# hovered over, paper, a telephone. Of the program's stories, and of made-up ones. Skipped where there is no Chromium or the
# program has no reports. FAULTLINE_KEEP=FOLDER keeps screenshots and pages there; FAULTLINE_STORIES=all steps through the made-up
# ones, too.
source "$(dirname "$0")/program.sh"
if grep -q 'FAULTLINE_REPORTS:BOOL=OFF' "$FAULTLINE_BUILD/CMakeCache.txt"; then
  run 2 "$program" explain fault-breakdown --html story.html
  expect "built without reports" "-DFAULTLINE_REPORTS=ON" "nodejs"
  echo "built without reports"
  exit 77
fi
node "$FAULTLINE_SOURCE/web/test/story.mjs"

# One file, the same bytes each time.
run 0 "$program" explain fault-breakdown --set workload.cold=destination --strategy fault/touch-ahead --html fault.html
expect "fault.html"
run 0 "$program" explain fault-breakdown --set workload.cold=destination --strategy fault/touch-ahead --html again.html
cmp fault.html again.html
run 0 "$program" explain fault-breakdown --set workload.cold=destination --compare pin-per-transfer fault/touch-ahead --html two.html
run 0 "$program" explain fault-breakdown --set workload.cold=destination --strategy fault/fixup-stall-256 --html stall.html

need_chromium
node "$FAULTLINE_SOURCE/web/test/explain.mjs" "$kept" fault.html two.html stall.html
