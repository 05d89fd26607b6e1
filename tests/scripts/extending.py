# SPDX-License-Identifier: Apache-2.0
"""Takes the examples of docs/extending.md and puts them into a copy of the tree: extending.py TREE.

"New file `PATH`:" and the block behind it is a file; a block of diff changes files: behind each @@ lines that stay, go or
come, which must stand in the file just so, once.
"""
import pathlib
import re
import sys


def changed(text, hunk, where):
    old = "\n".join(line[1:] for line in hunk if line[:1] in (" ", "-", ""))
    new = "\n".join(line[1:] for line in hunk if line[:1] in (" ", "+", ""))
    if text.count(old) != 1:
        sys.exit(f"{where}: the page and the tree do not agree; this stands there {text.count(old)} times:\n{old}")
    return text.replace(old, new)


def apply_diff(tree, block):
    path, hunk = None, []

    def end():
        if path and hunk:
            path.write_text(changed(path.read_text(encoding="utf-8"), hunk, path), encoding="utf-8")
        hunk.clear()

    for line in block.split("\n"):
        if line.startswith("--- "):
            end()
        elif line.startswith("+++ b/"):
            path = tree / line[6:]
        elif line.startswith("@@"):
            end()
        elif line:
            hunk.append(line)
    end()


def main():
    tree = pathlib.Path(sys.argv[1])
    page = (tree / "docs/extending.md").read_text(encoding="utf-8")
    files = diffs = 0
    for name, kind, block in re.findall(r"(?:New file `([^`]+)`:\n\n)?```(\w+)\n(.*?)\n```", page, flags=re.S):
        if name:
            path = tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block + "\n", encoding="utf-8")
            files += 1
        elif kind == "diff":
            apply_diff(tree, block)
            diffs += 1
        else:
            (tree / "seen-together.toml").write_text(block + "\n", encoding="utf-8")
    print(f"{files} new files, {diffs} changes")
    if files < 6 or diffs < 4:
        sys.exit("the page has lost examples")


main()
