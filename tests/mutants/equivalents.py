# SPDX-License-Identifier: Apache-2.0
"""The list of mutants that change nothing: blocks of three lines, with empty lines between.

    models/smmu/tcu.cpp Tcu::begin
        what stands there -> what the mutant has
        why that changes nothing
"""


def read(path):
    """Reasons by (file, function, before, after)."""
    reasons = {}
    text = path.read_text() if path.is_file() else ""
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
        if not lines:
            continue
        if len(lines) != 3 or " -> " not in lines[1]:
            raise SystemExit(f"error: {path}: not three lines, the second with an arrow:\n{block}")
        file, _, function = lines[0].partition(" ")
        before, _, after = lines[1].strip().partition(" -> ")
        reasons[(file, function.strip(), before, after)] = lines[2].strip()
    return reasons
