# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Each topic of the quiz, with some seeds: the program refuses to print a question whose two computations do not agree.
# Nightly a hundred seeds of each of the ten topics.
source "$(dirname "$0")/program.sh"
seeds="${FAULTLINE_QUIZ_SEEDS:-1}"

run 0 "$program" quiz
mapfile -t topics < <(awk '{print $1}' <<<"$output")
((${#topics[@]} == 10)) || { echo "expected ten topics, got ${topics[*]}"; exit 1; }
for topic in "${topics[@]}"; do
  for ((seed = 1; seed <= seeds; ++seed)); do
    run 0 "$program" quiz "$topic" --seed "$seed" --answers
    expect "   Answer: "
  done
done

# The same problem everywhere; the answers are all that --answers adds; a secret makes another problem.
page() { "$program" quiz first-fault --seed 3 "$@"; }
page >one.txt
page >again.txt
cmp one.txt again.txt
page --format json >without.json
page --format json --answers >with.json
page --format json --secret key >secret.json
python3 - <<'PYTHON'
import json
without, answered, secret = (json.load(open(f"{name}.json")) for name in ("without", "with", "secret"))
for question in answered["questions"]:
    assert question.pop("answer") in "abcd"[:len(question["options"])], question
    assert question.pop("why"), question
assert answered.pop("command").startswith("faultline explain configs/quizzes/first-fault.toml --point "), answered
assert without == answered
assert secret["secret"] and not without["secret"]
assert secret["scene"] != without["scene"] or secret["questions"] != without["questions"]
PYTHON
if grep -q key secret.json; then
  echo "the page tells the secret"
  exit 1
fi
# The command at the end tells of the same transfer.
command="$(python3 -c 'import json; print(json.load(open("with.json"))["command"])')"
read -ra arguments <<<"${command#faultline }"
(cd "$FAULTLINE_SOURCE" && "$program" "${arguments[@]}" -q) >story.txt
for first in "One RDMA " "source: " "destination: "; do
  told="$(grep -m 1 "^$first" story.txt)"
  grep -q "^${told%% of *}" one.txt || { echo "the page does not have: $told"; exit 1; }
done
run 0 "$program" quiz --format json
python3 -c 'import json, sys; assert len(json.loads(sys.argv[1])) == 10' "$output"
run 2 "$program" quiz --answers
expect "--seed, --answers and --secret need a topic"
run 2 "$program" quiz first-fualt
expect "no topic 'first-fualt'" "did you mean 'first-fault'?"
run 2 "$program" quiz time --format csv
run 2 "$program" quiz time --secret ""
