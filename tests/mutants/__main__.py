# SPDX-License-Identifier: Apache-2.0
"""scripts/mutants: finds, chooses, builds and runs mutants, and says which of them no test notices."""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import equivalents, rewrite, running
from . import sites as finding


def say(text):
    print(text, file=sys.stderr, flush=True)


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/mutants", add_help=False, allow_abbrev=False)
    parser.add_argument("seed", type=int, nargs="?")
    parser.add_argument("count", type=int, nargs="?")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--room", action="append", default=[])
    parser.add_argument("--only", choices=["find"])
    parser.add_argument("--longest", type=float)
    parser.add_argument("--at-least", type=float, default=95)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--check-arguments", action="store_true")
    chosen = parser.parse_args()
    if (chosen.count is None) == (chosen.table is None):
        parser.error("SEED and COUNT, or --table FILE")
    if chosen.table is not None:
        if not chosen.table.is_file():
            parser.error(f"--table {chosen.table}: no such file")
        chosen.table = chosen.table.resolve()
    elif not 1 <= chosen.count <= running.MOST_MUTANTS:
        parser.error(f"COUNT is from 1 to {running.MOST_MUTANTS}")
    unknown = [room for room in chosen.room if not (chosen.root / "models" / room).is_dir()]
    if unknown:
        parser.error(f"--room {unknown[0]}: there is no models/{unknown[0]}")
    return chosen


def models_digest(root):
    """Of all that decides what the mutants are: models/ and this finder."""
    digest = hashlib.sha256()
    files = [p for folder in ("models", "tests/mutants") for p in sorted((root / folder).rglob("*"))
             if p.suffix in (".cpp", ".hpp") or p.name in ("sites.py", "rewrite.py")]
    for path in files:
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


class Work:
    """One set of mutants, and what is known of it: in a folder, so that a run that was ended goes on."""

    def __init__(self, options):
        self.options, self.root = options, options.root
        first = [options.table.stem] if options.table else [str(options.seed), str(options.count)]
        name = "-".join([*first, *sorted(options.room)])
        self.folder = self.root / "build" / "mutants" / name
        self.source, self.build = self.folder / "src", self.folder / "build"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.digest = models_digest(self.root)
        self.lock = threading.Lock()
        self.killers = {}
        if self.read("digest") != self.digest:
            for name in ("rejected", "reach.jsonl", "results.jsonl"):
                (self.folder / name).unlink(missing_ok=True)
            (self.folder / "digest").write_text(self.digest)
        self.rejected = set(json.loads(self.read("rejected") or "[]"))

    def read(self, name):
        path = self.folder / name
        return path.read_text() if path.is_file() else ""

    def lines(self, name):
        """What a killed run has begun to write is not there."""
        found = []
        for line in self.read(name).splitlines():
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:
                break
        return found

    def add(self, name, value):
        with self.lock, (self.folder / name).open("a") as file:
            file.write(json.dumps(value) + "\n")

    def reject(self, numbers):
        self.rejected |= numbers
        (self.folder / "rejected").write_text(json.dumps(sorted(self.rejected)))

    # -- choosing -----------------------------------------------------------------------------------------------

    def all_sites(self):
        rooms = sorted(self.options.room) or sorted(p.name for p in (self.root / "models").iterdir() if p.is_dir())
        cache = self.root / "build" / "mutants" / f"sites-{self.digest[:16]}-{'-'.join(self.options.room)}.json"
        if not cache.is_file():
            say("==> Looking for sites")
            finding.save(finding.find(self.root, [f"models/{room}" for room in rooms], say), cache)
        return finding.load(cache)

    def choose(self):
        """Those of the seed that compile: pairs of number, which is that of the site, and site."""
        sites = self.all_sites()
        while True:
            if self.options.table:
                self.killers, gone = rewrite.choose_again(sites, self.options.table)
                numbers = set(self.killers)
                missing = len(gone) + len(self.rejected & numbers)
                others = rewrite.choose(sites, 0, 2 * len(numbers) + missing, self.rejected | numbers)
                numbers = sorted([*(numbers - self.rejected), *others[:missing]])
                if missing:
                    say(f"    {missing} of the table are no more and give way to others")
            else:
                numbers = rewrite.choose(sites, self.options.seed, self.options.count, self.rejected)
            mutants = [(n, sites[n]) for n in numbers]
            if self.read("parsed") == json.dumps([self.digest, numbers]):
                return mutants
            refused = rewrite.not_compiling(self.root, mutants)
            if not refused:
                (self.folder / "parsed").write_text(json.dumps([self.digest, numbers]))
                return mutants
            say(f"    {len(refused)} do not compile and give way to others")
            self.reject(refused)

    # -- building -----------------------------------------------------------------------------------------------

    def compile(self, mutants):
        """Builds the tests with all mutants in them; what the compiler refuses is rejected. True: it is built."""
        rewrite.write(self.root, self.source, mutants)
        if not (self.build / "build.ninja").is_file():
            subprocess.run(["cmake", "-S", self.source, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=",
                            "-DCMAKE_CXX_FLAGS=-O1", "-DFAULTLINE_UNITY=ON", "-DFAULTLINE_REPORTS=OFF"],
                           check=True, stdout=subprocess.DEVNULL)
        targets = [f"test_{program}" for program in running.programs(self.root)]
        command = ["cmake", "--build", self.build, "-j", str(self.options.jobs), "--target", *targets, "--", "-k", "0"]
        built = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        (self.folder / "build.log").write_text(built.stdout)
        if built.returncode == 0:
            return True
        refused = rewrite.refused_by_compiler(self.root, mutants, "\n".join(
            line for line in built.stdout.splitlines() if re.search(r"error:|required from|In instantiation", line)))
        if not refused:
            raise SystemExit(f"error: the mutants do not build; see {self.folder}/build.log")
        say(f"    {len(refused)} do not compile and give way to others")
        self.reject(refused)
        return False

    # -- running ------------------------------------------------------------------------------------------------

    def reach(self):
        """By test: whether it passes, how long it takes, which mutants it reaches. New tests only are run."""
        known = {tuple(k["test"]): k for k in self.lines("reach.jsonl")}
        tests = running.test_names(self.build, running.programs(self.root), self.root)
        left = [t for t in tests if t not in known]
        if left:
            say(f"==> Running {len(left)} tests without a mutant")
        begun, done = time.monotonic(), 0

        def one(test):
            nonlocal done
            found = running.reach(self.build, test, 3600)
            self.add("reach.jsonl", found)
            with self.lock:
                known[test] = found
                done += 1
                if done % 100 == 0:
                    say(f"    {done}/{len(left)}, {remaining(begun, done, len(left))}")

        with ThreadPoolExecutor(self.options.jobs) as pool:
            list(pool.map(one, left))
        for test in tests:
            if not known[test]["passed"]:
                say(f"warning: {':'.join(test[:2])} fails without a mutant and is left out: {known[test]['said'][-200:]}")
        return [known[t] for t in tests if known[t]["passed"]]

    def run(self, mutants, listed):
        known = self.reach()
        if self.options.longest is not None:
            known = [k for k in known if k["took"] <= self.options.longest]
        results = {}
        for result in self.lines("results.jsonl"):
            earlier = results.get(result["mutant"], {"passed": []})
            results[result["mutant"]] = {**result, "passed": earlier["passed"] + result["passed"]}
        left = []
        for number, site in mutants:
            result = results.get(number)
            if result is None or result["killer"] is None:
                tried = {tuple(t) for t in result["passed"]} if result else set()
                tests = [k for k in known if number in k["reached"] and tuple(k["test"]) not in tried]
                if tests or result is None:
                    order = running.order_of(site.room, self.killers.get(number))
                    left.append((number, site, sorted(tests, key=order)))
        # What takes all tests that reach it last: what is listed to change nothing.
        left.sort(key=lambda task: (task[1].key() in listed, self.killers.get(task[0]) is None))
        if left:
            say(f"==> Trying {len(left)} mutants")
        begun, done = time.monotonic(), 0

        def one(task):
            nonlocal done
            number, site, tests = task
            killer, passed = running.try_mutant(self.build, number, tests)
            result = {"mutant": number, "killer": killer, "passed": [list(t) for t in passed]}
            self.add("results.jsonl", result)
            with self.lock:
                results[number] = {**result, "passed": results.get(number, {"passed": []})["passed"] + result["passed"]}
                done += 1
                fate = "killed" if killer else "SURVIVED" if passed else "NOT REACHED"
                say(f"    {done}/{len(left)}, {remaining(begun, done, len(left))}: {fate} {site.file}:{site.line} "
                    f"{site.before} -> {site.after}{' by ' + killer if killer else f' {len(passed)} tests'}")

        with ThreadPoolExecutor(self.options.jobs) as pool:
            list(pool.map(one, left))
        return results


def remaining(begun, done, of):
    seconds = (time.monotonic() - begun) / done * (of - done)
    return f"{seconds / 60:.0f} min left" if seconds >= 60 else f"{seconds:.0f} s left"


def table(mutants, results, listed):
    """(lines, how many died, how many survived)"""
    lines, dead, alive = [], 0, 0
    for number, site in mutants:
        result, reason = results[number], listed.get(site.key())
        if result["killer"]:
            dead += 1
            fate = f"killed by {result['killer']}"
            if reason:
                fate += "; WRONGLY LISTED as equivalent"
        elif reason:
            fate = f"equivalent: {reason}"
        else:
            alive += 1
            fate = f"survived {len(result['passed'])} tests" if result["passed"] else "reached by no test"
        lines.append(f"{number}\t{site.file}:{site.line}\t{site.function}\t{site.before} -> {site.after}\t{fate}")
    return lines, dead, alive


def main():
    options = arguments()
    if options.check_arguments:
        return 0
    options.root = options.root.resolve()
    work = Work(options)
    listed = equivalents.read(options.root / "tests" / "mutants" / "equivalent.txt")
    mutants = work.choose()
    if options.only == "find":
        for number, site in mutants:
            print(f"{number}\t{site.file}:{site.line}\t{site.function}\t{site.before} -> {site.after}")
        return 0
    say(f"==> Building {len(mutants)} mutants in {work.build}")
    while not work.compile(mutants):
        mutants = work.choose()
    results = work.run(mutants, listed)
    lines, dead, alive = table(mutants, results, listed)
    out = options.out or work.folder / "table.txt"
    out.write_text("mutant\tplace\tfunction\tchange\tfate\n" + "".join(line + "\n" for line in lines))
    for line in lines:
        if "\tkilled by " not in line or "WRONGLY LISTED" in line:
            print(line)
    share = 100 * dead / max(1, dead + alive)
    print(f"{dead} of {dead + alive} died ({share:.1f} %), {len(mutants) - dead - alive} change nothing; all: {out}")
    return 0 if share >= options.at_least else 1


if __name__ == "__main__":
    sys.exit(main())
