# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Every faultline command that README.md and docs/ show runs, as they show it. (scripts/test is what runs
# this; scripts/quickstart is run by the nightly test beside this one.)
source "$(dirname "$0")/common.sh"
cd "$scratch"
mkdir -p build/release
ln -s "$FAULTLINE_BUILD/faultline" build/release/faultline
export PATH="$FAULTLINE_BUILD:$PATH" FAULTLINE_CONFIGS="$FAULTLINE_SOURCE/configs"

# The README's own experiment is the file that its commands name.
awk '/^```toml/ {inside = 1; next} /^```/ {inside = 0} inside' "$FAULTLINE_SOURCE/README.md" >mine.toml
grep -q strategies mine.toml

count=0
for page in "$FAULTLINE_SOURCE/README.md" "$FAULTLINE_SOURCE"/docs/*.md; do
  while IFS= read -r command; do
    read -ra words <<<"${command%%#*}"
    echo "$(basename "$page"): ${words[*]}"
    run 0 "${words[@]}"
    count=$((count + 1))
  done < <(grep -E '^    (build/release/)?faultline ' "$page")
done
((count >= 5)) || {
  echo "found only $count commands: has the layout of the documents changed?"
  exit 1
}
