# SPDX-License-Identifier: Apache-2.0
"""Values of parameters as a run writes them ("64 KiB", "25 us", "0.5", "always"), as numbers with a dimension."""

import re

# To the dimension's first unit: bytes, microseconds, Gb/s, MB/s, MHz.
_UNITS = {
    "B": ("B", 1), "KiB": ("B", 2**10), "MiB": ("B", 2**20), "GiB": ("B", 2**30), "TiB": ("B", 2**40),
    "kB": ("B", 1e3), "MB": ("B", 1e6), "GB": ("B", 1e9),
    "ps": ("us", 1e-6), "ns": ("us", 1e-3), "us": ("us", 1), "ms": ("us", 1e3), "s": ("us", 1e6),
    "b/s": ("Gb/s", 1e-9), "kb/s": ("Gb/s", 1e-6), "Mb/s": ("Gb/s", 1e-3), "Gb/s": ("Gb/s", 1), "Tb/s": ("Gb/s", 1e3),
    "B/s": ("MB/s", 1e-6), "kB/s": ("MB/s", 1e-3), "MB/s": ("MB/s", 1), "GB/s": ("MB/s", 1e3), "TB/s": ("MB/s", 1e6),
    "KiB/s": ("MB/s", 2**10 / 1e6), "MiB/s": ("MB/s", 2**20 / 1e6), "GiB/s": ("MB/s", 2**30 / 1e6),
    "Hz": ("MHz", 1e-6), "kHz": ("MHz", 1e-3), "MHz": ("MHz", 1), "GHz": ("MHz", 1e3),
}
_NUMBER = re.compile(r"(-?[0-9.]+(?:e[-+]?[0-9]+)?)(?: ([A-Za-z/]+))?")


def quantity(text):
    """(number, unit) of a text; unit is "" for a plain number. None for what is no number."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    number, unit = match.groups()
    if unit is None:
        return float(number), ""
    if unit not in _UNITS:
        return None
    dimension, factor = _UNITS[unit]
    return float(number) * factor, dimension


def numbers(texts):
    """(numbers, unit) where all texts are numbers of one dimension, else None. A plain 0 has any."""
    found = [quantity(text) for text in texts]
    if None in found:
        return None
    units = {unit for number, unit in found if unit or number != 0}
    return ([number for number, _ in found], units.pop() if units else "") if len(units) <= 1 else None


def order_of(texts):
    """The texts, each once: by value where they are numbers, else as they came."""
    once = list(dict.fromkeys(texts))
    found = numbers(once)
    return once if found is None else [text for _, text in sorted(zip(found[0], once))]


def unit_text(unit):
    return "µs" if unit == "us" else unit


def value_text(text):
    """A parameter's value as a figure shows it."""
    return text.replace(" us", " µs")


def short_bytes(number):
    """4096 as "4 Ki": what stands at the tick of an axis in bytes."""
    for factor, prefix in ((2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki")):
        if number >= factor:
            return f"{number / factor:.4g} {prefix}"
    return f"{number:g}"
