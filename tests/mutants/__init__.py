# SPDX-License-Identifier: Apache-2.0
"""Mutants of models/: see README.md."""
