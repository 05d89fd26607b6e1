# SPDX-License-Identifier: Apache-2.0
"""The published figures, as configs/validation/published.toml states them and nowhere else."""

import tomllib


def read_published(configs):
    """By name; other readings of a figure are left to `faultline validate`."""
    with open(configs / "validation" / "published.toml", "rb") as file:
        return {figure["name"]: figure for figure in tomllib.load(file)["figure"]
                if figure["use"] != "reading"}


def tolerance(figure):
    """In the figure's unit: "5 %" is a share of its value."""
    stated = figure["tolerance"]
    if isinstance(stated, str):
        return figure["value"] * float(stated.removesuffix("%")) / 100
    return stated


def mark(figure, scale=1.0, unit=None, above=None):
    """(value, tolerance, text) for a figure to be marked with; `above`: what the published value comes on top of."""
    value, margin = figure["value"] * scale, tolerance(figure) * scale
    unit = unit or figure["unit"].replace("us", "µs")
    if above is None:
        return value, margin, f"{figure['name']}: {value:g} {unit}, published"
    return above + value, margin, f"{figure['name']}: {value:g} {unit} more than without a fault, published"
