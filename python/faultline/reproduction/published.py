# SPDX-License-Identifier: Apache-2.0
"""The published figures, as configs/validation/published.toml states them and nowhere else."""

import tomllib


def read_published(configs):
    """By name."""
    with open(configs / "validation" / "published.toml", "rb") as file:
        return {figure["name"]: figure for figure in tomllib.load(file)["figure"]}


def tolerance(figure):
    """In the figure's unit: "5 %" is a share of its value."""
    stated = figure["tolerance"]
    if isinstance(stated, str):
        return figure["value"] * float(stated.removesuffix("%")) / 100
    return stated


def mark(figure, scale=1.0, unit=None):
    """(value, tolerance, text) for a figure to be marked with."""
    value, margin = figure["value"] * scale, tolerance(figure) * scale
    unit = unit or figure["unit"].replace("us", "µs")
    return value, margin, f"{figure['name']}: {value:g} {unit}, published"
