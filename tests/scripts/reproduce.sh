# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# scripts/reproduce --quick: one page with E1 to E14, every figure in it, published values marked; a second call runs no point again.
source "$(dirname "$0")/common.sh"
/usr/bin/python3 -c 'import matplotlib, pandas' 2>/dev/null || exit 77
cd "$scratch"
reproduce=("$FAULTLINE_SOURCE/scripts/reproduce" --quick --out page --program "$FAULTLINE_BUILD/faultline")
run 0 "${reproduce[@]}"
expect page/index.html
page="$(<page/index.html)"
for number in {1..14}; do
  [[ $page == *"<h2 id=\"E$number\">"* ]] || {
    echo "no E$number"
    exit 1
  }
  [[ -s page/figures/E$number-a.png && $(head -c 5 "page/figures/E$number-a.pdf") == %PDF- ]] || {
    echo "no figure of E$number"
    exit 1
  }
done
figures=(page/figures/*.png)
[[ $(grep -o 'src="data:image/png;base64,' page/index.html | wc -l) == "${#figures[@]}" ]]
# From one file: nothing is fetched.
if grep -oE '(src|href)="https?:[^"]*"' page/index.html; then exit 1; fi

# Again: every point of every run is there, and the page has the same bytes.
cp page/index.html before.html
run 0 "${reproduce[@]}"
expect "25 of 25 points are there already"
[[ $(grep -cE '^([0-9]+) of \1 points are there already' <<<"$output") == $(grep -cE '^==> (run|sensitivity) ' <<<"$output") ]]
cmp before.html page/index.html
PYTHONPATH="$FAULTLINE_SOURCE/python" run 0 /usr/bin/python3 -B "$FAULTLINE_SOURCE/tests/scripts/stars.py" \
  "$FAULTLINE_SOURCE/configs" page/runs
expect "E1, One-way latency of a small message against distance: star at (1, 1.3)"
