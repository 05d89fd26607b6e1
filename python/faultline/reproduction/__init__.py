# SPDX-License-Identifier: Apache-2.0
"""What scripts/reproduce runs: the experiments that the machine's publications call for, on one page."""
