# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of a build: which of them reach which mutant, and which of them notices one."""

import hashlib
import os
import resource
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from . import sites as finding

WHOLE = ["workloads", "traces", "properties"]  # the tests of what stands on all rooms
MOST_MUTANTS = 65536  # as mutant.hpp has it
MEMORY = 6 << 30      # a mutant that allocates without end is to end itself, not the machine


def programs(root):
    """The test programs of all rooms of models/, and then those of what stands on them."""
    rooms = [p.relative_to(root / "models") for p in sorted((root / "models").rglob("*")) if p.is_dir()]
    return [finding.program_of(r) for r in rooms if any((root / "tests" / r).glob("*.cpp"))] + WHOLE


def folder_of(program):
    """Of its tests: nic/exanest for nic_exanest."""
    for folder, prefix in finding.PREFIXES.items():
        if program.startswith(prefix + "_"):
            return f"{folder}/{program.removeprefix(prefix + '_')}"
    return program


def test_names(build, programs, root):
    """Program, case as Catch2 lists it, and a digest of the program's sources: a case that may have changed is
    another one."""
    names = []
    for program in programs:
        digest = hashlib.sha256()
        for path in [p for folder in (folder_of(program), "support") for p in sorted((root / "tests" / folder).rglob("*.?pp"))]:
            digest.update(path.read_bytes())
        listed = subprocess.run([build / f"test_{program}", "--list-test-names-only"], capture_output=True, text=True,
                                check=False).stdout
        names += [(program, line, digest.hexdigest()[:12]) for line in listed.splitlines() if line.strip()]
    return names


def limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


def run_test(build, test, seconds, environment):
    """(whether it passed, how long it took, what it printed last)"""
    program, name, _ = test
    for character in "\\,[]":
        name = name.replace(character, "\\" + character)
    # A property that fails is not to look for its smallest case.
    settings = {**os.environ, "RC_PARAMS": "noshrink=1", **environment}
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutant-") as scratch:
        process = subprocess.Popen([build / f"test_{program}", name], cwd=scratch, env=settings, preexec_fn=limits,
                                   start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        try:
            output, _ = process.communicate(timeout=seconds)
            passed = process.returncode == 0
            last = output.decode(errors="replace")[-2000:]
        except subprocess.TimeoutExpired:
            passed, last = False, "too slow"
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)  # it and what it started
            except ProcessLookupError:
                pass
            process.communicate()
    return passed, time.monotonic() - begun, last


def reach(build, test, seconds):
    """What a test does without a mutant, and the numbers of those that it reaches."""
    with tempfile.NamedTemporaryFile(prefix="reached-") as file:
        file.truncate(MOST_MUTANTS)
        passed, took, last = run_test(build, test, seconds, {"FAULTLINE_MUTANTS_REACHED": file.name})
        reached = [number for number, byte in enumerate(Path(file.name).read_bytes()) if byte]
    return {"test": list(test), "passed": passed, "took": round(took, 3), "reached": reached,
            "said": "" if passed else last}


def name_of(test):
    return ":".join(test[:2])


def order_of(room, killer):
    """Sorts the test that has killed the mutant before to the front, then the room's own tests before those of other
    rooms and of the whole, and short ones before long ones."""
    def key(known):
        program = known["test"][0]
        return (name_of(known["test"]) != killer, program != room, known["took"] > 1 and program in WHOLE,
                known["took"])
    return key


def try_mutant(build, number, tests):
    """The first of the tests that fails with it: (its name or None, names of those that passed)."""
    passed_all = []
    for known in tests:
        passed, _, last = run_test(build, known["test"], 10 * known["took"] + 10, {"FAULTLINE_MUTANT": str(number)})
        if not passed:
            how = " (too slow)" if last == "too slow" else ""
            return name_of(known["test"]) + how, passed_all
        passed_all.append(known["test"])
    return None, passed_all
