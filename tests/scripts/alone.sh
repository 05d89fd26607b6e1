# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Each source compiles by itself: the other builds compile several at once, where one finds what another has included.
# The benchmarks, too, as far as their libraries are installed (scripts/setup --benchmark): no other test builds them all.
source "$(dirname "$0")/program.sh"
run 0 cmake -S "$FAULTLINE_SOURCE" -B alone -G Ninja -DFAULTLINE_UNITY=OFF -DFAULTLINE_BENCHMARKS=ON -DCMAKE_BUILD_TYPE=None \
  -DCMAKE_CXX_FLAGS=-O0
run 0 cmake --build alone --parallel 2 --target all benchmarks
