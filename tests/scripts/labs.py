# SPDX-License-Identifier: Apache-2.0
"""The commands of a lab, and the ranges that its page tells a student to look for.

labs.py commands PAGE          the commands of the page's sh blocks, a line each
labs.py check LABS NUMBER      evaluates the lab's checks, on the runs in the working folder
labs.py beliefs README         runs the commands that refute beliefs; what is told beside them must be what they print
"""
import csv
import pathlib
import re
import subprocess
import sys
import tomllib


def commands(page):
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    return [line for block in blocks for line in block.splitlines()]


def value_of(check):
    where = [argument for condition in check["where"] for argument in ("--where", condition)]
    printed = subprocess.run(["faultline", "query", check["run"], check["metric"], "--format", "csv", *where],
                             check=True, capture_output=True, text=True).stdout
    rows = list(csv.DictReader(printed.splitlines()))
    if len(rows) != 1 or int(rows[0]["points"]) != 1:
        raise SystemExit(f"{check}: chooses {len(rows)} rows, not one point")
    return float(rows[0]["mean"])


def complaints(check, page):
    value = value_of(check)
    if not check["low"] <= value <= check["high"]:
        yield f"{check['metric']} of {check['where']} is {value}, not from {check['low']} to {check['high']}"
    if check["text"] not in re.sub(r"\s+", " ", page.read_text(encoding="utf-8")):
        yield f"the page does not say '{check['text']}'"


def is_printed(told, printed):
    """A time in microseconds, rounded as it is told."""
    digits = len(told.partition(".")[2])
    return any(f"{float(value):.{digits}f}" == told for value in re.findall(r"\d+(?:\.\d+)?", printed))


def beliefs(readme):
    rows = re.findall(r'^\| ".*?" \| `(faultline .*?)` \| (.*) \|$', readme.read_text(encoding="utf-8"), flags=re.M)
    if len(rows) < 5:
        raise SystemExit(f"{readme} refutes {len(rows)} beliefs")
    for command, told in rows:
        print(command, flush=True)
        printed = subprocess.run(["bash", "-c", command], check=True, capture_output=True, text=True).stdout
        missing = [name for name in re.findall(r"`(.*?)`", told) if name not in printed]
        missing += [time for time in re.findall(r"([\d.]+) us", told) if not is_printed(time, printed)]
        if missing:
            raise SystemExit(f"{command} does not print {missing}")


def main(what, folder, number=""):
    if what == "beliefs":
        beliefs(pathlib.Path(folder))
        return
    if what == "commands":
        print("\n".join(commands(pathlib.Path(folder))))
        return
    labs = pathlib.Path(folder)
    page = next(labs.glob(f"{int(number):02}-*.md"))
    own = [check for check in tomllib.loads((labs / "checks.toml").read_text())["check"] if check["lab"] == int(number)]
    if len(own) < 2:
        raise SystemExit(f"lab {number} has {len(own)} checks")
    found = [complaint for check in own for complaint in complaints(check, page)]
    # What is out of range, or not in the page, must be found.
    first = own[0]
    for broken in ({**first, "low": first["high"] + 1, "high": first["high"] + 2}, {**first, "text": "nowhere said"}):
        if not list(complaints(broken, page)):
            found.append("a broken check is not noticed")
    if found:
        raise SystemExit(f"lab {number}: " + "\n".join(found))


main(*sys.argv[1:])
