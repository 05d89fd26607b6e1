# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A missing or wrong SystemC is one plain sentence at configure time, and scripts/setup is the way out.
source "$(dirname "$0")/common.sh"
configure() { run "$1" cmake -S "$FAULTLINE_SOURCE" -B "$scratch/build" -G Ninja; }
one_sentence() {
  expect "$1" "Run scripts/setup"
  [[ $(grep -c "Faultline needs\|The SystemC" <<<"$output") == 1 ]]
}
pc="$scratch/pc/systemc.pc"
mkdir "$scratch/pc"
export PKG_CONFIG_LIBDIR="$scratch/pc"

configure 1
one_sentence "Faultline needs SystemC 2.3.4 (Debian package libsystemc-dev) and found none."

printf '%s\n' 'prefix=/opt/sc3' 'Name: SystemC' 'Description: another one' 'Version: 3.0.1' 'Libs: -lsystemc' >"$pc"
configure 1
one_sentence "Faultline needs SystemC 2.3.4 (Debian package libsystemc-dev) but pkg-config finds 3.0.1 in /opt/sc3."

# The right number over the wrong thing: the library is not there.
printf '%s\n' 'prefix=/opt/half' 'Name: SystemC' 'Description: half' 'Version: 2.3.4' 'Libs: -lno_such_systemc' >"$pc"
configure 1
one_sentence "The SystemC 2.3.4 in /opt/half does not build and link a C++17 program"

# The same build folder works once the packages are right.
unset PKG_CONFIG_LIBDIR
configure 0
expect "with SystemC 2.3.4, fmt"
