# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# cmake --install: the program works from where it was put, with the configurations put beside it.
source "$(dirname "$0")/common.sh"
prefix="$scratch/a prefix"
run 0 cmake --install "$FAULTLINE_BUILD" --prefix "$prefix"
for path in bin/faultline share/faultline/configs/experiments share/doc/faultline/copyright \
  lib/python3/dist-packages/faultline/{run.py,plot.py,looks.json}; do
  [[ -e $prefix/$path ]] || {
    echo "not installed: $path"
    exit 1
  }
done

cd "$scratch"
run 0 "$prefix/bin/faultline" --version
expect "$(sed -n 's/.*kVersion = "\(.*\)";/\1/p' "$FAULTLINE_BUILD/build_info/faultline_build.hpp")"
run 0 "$prefix/bin/faultline" list
expect pinning-vs-faults

# The Python files that draw are found beside it, too.
run 2 "$prefix/bin/faultline" plot nowhere --figure latency
expect "nowhere: no such folder"

# It reads its own copies, not those of the tree that it was built from.
cp "$prefix/share/faultline/configs/experiments/pinning-vs-faults.toml" \
  "$prefix/share/faultline/configs/experiments/only-here.toml"
run 0 "$prefix/bin/faultline" list
expect only-here
