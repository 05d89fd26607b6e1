# SPDX-License-Identifier: Apache-2.0
"""Results of a Faultline run as pandas DataFrames: docs/results.md."""

from .run import Run, RunError

__all__ = ["Run", "RunError"]
