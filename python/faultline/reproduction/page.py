# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML page of the figures, beside what is published."""

import base64
from html import escape

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; }
h2 { margin-top: 3rem; border-top: 1px solid #8886; padding-top: 1rem; }
figure { margin: 1.5rem 0; }
figure img { max-width: 100%; background: white; border: 1px solid #8884; padding: 0.5rem; box-sizing: border-box; }
figcaption { font-size: 0.9rem; }
table { border-collapse: collapse; font-size: 0.85rem; }
td, th { text-align: left; padding: 0.15rem 0.7rem 0.15rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
code { font-size: 0.85em; }
.missing, .trouble { border-left: 4px solid #8888; padding-left: 0.8rem; }
.trouble { border-color: #d55e00; }
@media print { h2 { break-before: page; } body { max-width: none; } }
"""


def _table(head, rows):
    cells = "".join(f"<th>{escape(text)}</th>" for text in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>\n" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>\n{body}</tbody></table>\n"


def _verdict(check):
    if not check["counts"]:
        return "agrees" if check["passed"] else "differs"
    # What is known to be off passes where it is.
    return ("off" if check["known_off"] else "holds") if check["passed"] else "missed"


def _checks(checks):
    rows = [(f"{each['name']} {each['at']}", each["quantity"], each["published"], each["allowed"], each["simulated"],
             each["error"], each["use"], _verdict(each)) for each in checks]
    return _table(("", "quantity", "published", "tolerance", "simulated", "error", "use", ""), rows)


def image(png):
    return "data:image/png;base64," + base64.b64encode(png.read_bytes()).decode("ascii")


def _figure(caption, png):
    alt = escape(caption, quote=True)
    return (f'<figure><img src="{image(png)}" alt="{alt}">\n<figcaption>{escape(caption)} '
            f'(<a href="figures/{png.stem}.pdf">PDF</a>)</figcaption></figure>\n')


def _section(section, figures, troubles, published):
    html = f'<h2 id="{section.name}">{section.name}: {escape(section.title)}</h2>\n<p>{escape(section.shows)}</p>\n'
    for caption, png in figures:
        html += _figure(caption, png)
    for trouble in troubles:
        html += f'<p class="trouble">{escape(trouble)}</p>\n'
    for name in section.published:
        figure = published[name]
        html += (f"<p>Published, {name}: {escape(figure['quantity'])}"
                 + (f": {figure['value']:g} {escape(figure['unit'])}" if "value" in figure else "")
                 + f" ({escape(figure['source'])}; {escape(figure['use'])}).</p>\n")
    if section.missing:
        html += f'<p class="missing">Not to be had: {escape(section.missing)}</p>\n'
    runs = ", ".join(f"<code>faultline run {name}</code>" for name in section.runs)
    return html + f"<p>Runs: {runs}</p>\n"


def page(sections, drawn, checks, published, version, quick):
    """`drawn`: by section's name, ([(caption, PNG file)], [trouble])."""
    links = " · ".join(f'<a href="#{section.name}">{section.name}</a>' for section in sections)
    html = (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Faultline: E1 to E14</title>\n'
            f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style></head><body>\n'
            f"<h1>RDMA that meets page faults: the experiments E1 to E14</h1>\n"
            f"<p>What the publications on the ExaNeSt prototype and on its page-fault-tolerant RDMA compare, simulated. "
            f"Axes and series are reconstructions: no figure of the publications was readable. Every published number of "
            f"this machine that the project knows is marked in its figure with its tolerance; what is not marked is "
            f"prediction. {escape(version)}</p>\n")
    if quick:
        html += '<p class="trouble">Made with --quick: one or two transfers a point.</p>\n'
    html += (f"<p>{links}</p>\n<h2>Published figures</h2>\n<p>A figure of use <i>fit</i> was used to choose parameters and "
             f"validates nothing, nor does one that holds <i>by construction</i>; an <i>other reading</i> of a figure's words is "
             f"not checked. Why a figure is known to be <i>off</i> is told by <code>faultline validate</code>.</p>\n{_checks(checks)}")
    for section in sections:
        html += _section(section, *drawn[section.name], published)
    return html + "</body></html>\n"
