# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The Debian package: built, its fields right, unpacked, and the program runs from there.
source "$(dirname "$0")/common.sh"
for tool in cpack dpkg-deb dpkg-shlibdeps file; do
  command -v "$tool" >/dev/null || {
    echo "skipped: $tool is not installed (Debian packages cmake, dpkg-dev, file)"
    exit 77
  }
done

run 0 cpack --config "$FAULTLINE_BUILD/CPackConfig.cmake" -G DEB -B "$scratch/cpack"
package="$(find "$scratch/cpack" -maxdepth 1 -name 'faultline_*.deb')"
run 0 dpkg-deb --field "$package" Package Version Depends Maintainer Description
expect "Package: faultline" libsystemc libfmt9 libboost-program-options libstdc++6

mkdir "$scratch/root"
run 0 dpkg-deb -x "$package" "$scratch/root"
cd "$scratch"
run 0 root/usr/bin/faultline --version
run 0 root/usr/bin/faultline list
expect pinning-vs-faults
run 0 find root -type f
expect root/usr/share/doc/faultline/copyright root/usr/share/faultline/configs/experiments/pinning-vs-faults.toml \
  root/usr/lib/python3/dist-packages/faultline/__init__.py root/usr/share/doc/faultline/examples/compare_strategies.py
