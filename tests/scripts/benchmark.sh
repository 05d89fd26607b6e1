# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# No part of the simulator is much slower than it was at the commit that benchmarks/baseline names, on this machine.
source "$(dirname "$0")/common.sh"
pkg-config --exists benchmark || exit 77 # scripts/setup --benchmark
baseline="$(<"$FAULTLINE_SOURCE/benchmarks/baseline")"
git -C "$FAULTLINE_SOURCE" cat-file -e "$baseline" || exit 77 # a tree without its history
run 0 "$FAULTLINE_SOURCE/scripts/benchmark" --against "$baseline" --no-install
expect "stream_page"
refuse "not measured"
