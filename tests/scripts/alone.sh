# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Each source compiles by itself: the other builds compile several at once, where one finds what another has included.
source "$(dirname "$0")/program.sh"
run 0 cmake -S "$FAULTLINE_SOURCE" -B alone -G Ninja -DFAULTLINE_UNITY=OFF -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O0
run 0 cmake --build alone --parallel 2
