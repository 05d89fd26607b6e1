# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A build without optimisation and one with give the same bytes.
source "$(dirname "$0")/program.sh"
source "$(dirname "$0")/every_kind.sh"
every_kind >every_kind.toml
for level in 0 2; do
  run 0 cmake -S "$FAULTLINE_SOURCE" -B "build$level" -DCMAKE_BUILD_TYPE=None "-DCMAKE_CXX_FLAGS=-O$level" -DBUILD_TESTING=OFF
  run 0 cmake --build "build$level" --target faultline --parallel 2
  run 0 "build$level/faultline" run every_kind.toml --quiet --out "O$level"
done
cmp O0/results.json O2/results.json
