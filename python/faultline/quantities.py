# SPDX-License-Identifier: Apache-2.0
"""Values of parameters as a run has them ("64 KiB", "25 us", "0.5", "always"): texts, and where they are numbers those."""

import math

# What figures show instead of the database's unit, and how many of that it is.
_SHOWN = {"b/s": ("Gb/s", 1e9), "B/s": ("MB/s", 1e6), "Hz": ("MHz", 1e6), "1": ("", 1)}


class Quantity(str):
    """A value as files write it, with its number in a unit; None where it is no number."""

    def __new__(cls, text, number=None, unit=""):
        self = super().__new__(cls, text)
        self.unit, factor = _SHOWN.get(unit, (unit, 1))
        self.number = None if number is None or math.isnan(number) else number / factor
        return self


def numbers(texts):
    """(numbers, unit) where all of an axis' values are numbers, else None."""
    found = [getattr(text, "number", None) for text in texts]
    return None if not found or None in found else (found, texts[0].unit)


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
