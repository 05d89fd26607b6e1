# SPDX-License-Identifier: Apache-2.0
"""Chooses mutants by a seed and writes all of them into one copy of the tree, each behind its number."""

import hashlib
import os
import re
import subprocess

from . import sites as finding

HEADER = '#include "tests/mutants/mutant.hpp"'  # instead of a file's first line, so that no other line moves


def copy_tree(root, target):
    """The files that git knows or would know; one that has not changed keeps its time, so that little is rebuilt."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            check=True, capture_output=True).stdout.decode().split("\0")
    wanted = {name for name in listed if name and (root / name).is_file()}
    for path in [p for p in target.rglob("*") if p.is_file()]:
        if path.relative_to(target).as_posix() not in wanted:
            path.unlink()
    for name in sorted(wanted):
        put(target / name, (root / name).read_bytes(), os.access(root / name, os.X_OK))


def put(path, content, executable=False):
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if executable:
        path.chmod(0o755)


def choose(sites, seed, count, rejected=()):
    """The first of an order that the seed gives: each room has its share, and a change elsewhere in models/ changes
    few of them. Who is rejected (it does not compile) gives way to the next."""
    def place(number):
        return hashlib.sha256(f"{seed}/{'/'.join(sites[number].key())}".encode()).digest()
    order = sorted((n for n in range(len(sites)) if n not in rejected), key=place)
    return sorted(order[:count])


def choose_again(sites, table):
    """Those of a table that an earlier run wrote: by what they change, wherever it stands now. By number the test that
    killed the mutant then, if one did; and the lines that stand for none."""
    by_key = {}
    for number, site in enumerate(sites):
        by_key.setdefault(site.key(), []).append(number)
    killers, gone = {}, []
    for line in table.read_text().splitlines()[1:]:
        _, place, function, change, *fate = line.split("\t")
        file, _, at = place.rpartition(":")
        before, _, after = change.partition(" -> ")
        found = [n for n in by_key.get((file, function, before, after), []) if n not in killers]
        if found:
            number = min(found, key=lambda n: abs(sites[n].line - int(at)))
            killer = re.match(r"killed by (.*?)( \(too slow\))?(; WRONGLY LISTED.*)?$", "".join(fate))
            killers[number] = killer[1] if killer else None
        else:
            gone.append(line)
    return killers, gone


def render(text, inside, begin, end):
    """text[begin:end] with what `inside` (pairs of number and site) says. Sites are nested or apart."""
    out, at = [], begin
    # The widest first; of two on the same range the condition is outside.
    inside = sorted(inside, key=lambda m: (m[1].begin, -m[1].end, m[1].kind != "condition", m[1].kind != "return"))
    while inside:
        number, site = inside[0]
        within = [m for m in inside[1:] if m[1].begin < site.end]
        inside = [m for m in inside[1:] if m[1].begin >= site.end]
        out.append(text[at:site.begin])
        for part in site.parts:
            if isinstance(part, str):
                out.append(part.replace("@", f"faultline_mutant({number})"))
            else:
                first, last, flat = part
                piece = render(text, [m for m in within if first <= m[1].begin and m[1].end <= last], first, last)
                out.append(finding.one_line(piece) if flat else piece)
        at = site.end
    out.append(text[at:end])
    return "".join(out)


def rewritten(tree, mutants):
    """The changed files' contents, by path; mutants are pairs of number and site."""
    files = {}
    for number, site in mutants:
        files.setdefault(site.file, []).append((number, site))
    contents = {}
    for file, inside in files.items():
        text = (tree / file).read_bytes().decode("latin-1")
        first = text.index("\n")  # of the licence's line
        contents[file] = (HEADER + render(text, inside, first, len(text))).encode("latin-1")
    return contents


def refused_by_compiler(tree, mutants, messages):
    """Numbers of those on the lines of a compiler's errors, and of where it says that they come from."""
    places = {(m.group(1), int(m.group(2))) for m in re.finditer(r"(models/[\w/]+\.[ch]pp):(\d+)", messages)}
    return {number for number, site in mutants if on(site, places, tree)}


def not_compiling(tree, mutants):
    """Numbers of those that libclang refuses."""
    contents = rewritten(tree, mutants)
    overlay = [(file, content.decode("latin-1")) for file, content in contents.items()]
    refused = set()
    folders = sorted({file.rsplit("/", 1)[0] for file in contents})
    for folder in folders:
        for files in finding.room_batches(tree, folder):
            if not any(f in contents for f in files):
                continue
            unit = finding.parse(tree, files, overlay)
            wrong = [d for d in unit.diagnostics if d.severity >= 3]
            places = {(str(d.location.file).removeprefix(f"{tree}/"), d.location.line) for d in wrong}
            refused |= {number for number, site in mutants if on(site, places, tree)}
    return refused


def on(site, places, tree):
    """Whether one of the places is a line of the site: lines do not move."""
    text = (tree / site.file).read_bytes()[site.begin:site.end]
    return any((site.file, site.line + k) in places for k in range(text.count(b"\n") + 1))


def write(root, target, mutants):
    """The copy of the tree with all mutants."""
    copy_tree(root, target)
    for file, content in rewritten(root, mutants).items():
        put(target / file, content)
