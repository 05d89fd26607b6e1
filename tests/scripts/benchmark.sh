# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# No part of the simulator is much slower than the committed baseline says, in wake-ups of SystemC's kernel.
source "$(dirname "$0")/common.sh"
pkg-config --exists benchmark || exit 77 # scripts/setup --benchmark
run 0 "$FAULTLINE_SOURCE/scripts/benchmark" --check --no-install
expect "baseline" "stream_page"
