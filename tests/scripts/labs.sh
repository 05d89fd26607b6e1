# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The labs: every command runs, what a student should see is what the runs have, and each lab has its answers.
# FAULTLINE_LABS: their numbers (default: all).
source "$(dirname "$0")/program.sh"
labs="$FAULTLINE_SOURCE/docs/labs"
mkdir docs
ln -s "$labs" docs/labs
export PATH="$FAULTLINE_BUILD:$PATH"

for number in ${FAULTLINE_LABS:-1 2 3 4 5 6 7 8 9 10}; do
  printf -v page "%s/%02d-*.md" "$labs" "$number"
  page="$(compgen -G "$page")"
  answers="$labs/answers/$(basename "$page")"
  [[ -f $answers ]] || { echo "no $answers"; exit 1; }
  python3 "$FAULTLINE_SOURCE/tests/scripts/links.py" "$page" "$answers" "$labs/README.md"
  count=0
  while IFS= read -r command; do
    [[ $command == "faultline "* ]] || { echo "$(basename "$page"): no command of faultline: $command"; exit 1; }
    echo "$(basename "$page"): $command"
    started=$SECONDS
    run 0 bash -c "$command"
    echo "  $((SECONDS - started)) s"
    count=$((count + 1))
  done < <(python3 "$FAULTLINE_SOURCE/tests/scripts/labs.py" commands "$page")
  ((count >= 2)) || { echo "$page has $count commands"; exit 1; }
  python3 "$FAULTLINE_SOURCE/tests/scripts/labs.py" check "$labs" "$number"
done

# What students believe, and the commands that refute it.
if [[ -z ${FAULTLINE_LABS:-} ]]; then
  python3 "$FAULTLINE_SOURCE/tests/scripts/labs.py" beliefs "$labs/README.md"
fi
