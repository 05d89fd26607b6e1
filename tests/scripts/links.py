# SPDX-License-Identifier: Apache-2.0
"""Every relative link of the pages leads to a file, and to a heading that the file has: links.py PAGE..."""
import pathlib
import re
import sys


def text_of(page):
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text_of(page), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield f"{page}: leads nowhere: {link}"


found = [complaint for page in sys.argv[1:] for complaint in broken(pathlib.Path(page))]
sys.exit("\n".join(found) or None)
