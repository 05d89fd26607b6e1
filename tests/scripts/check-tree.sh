# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# scripts/check-tree on a small tree: silent when all is well, and each kind of find with file and line.
source "$(dirname "$0")/common.sh"
check() { run "$1" "$FAULTLINE_SOURCE/scripts/check-tree" "$tree"; }
# source FILE LINE...: a file with its licence line
source_file() {
  mkdir -p "$tree/$(dirname "$1")"
  { echo "// SPDX-License-Identifier: Apache-2.0" && printf '%s\n' "${@:2}"; } >"$tree/$1"
}
fresh_tree() {
  tree="$(mktemp -d "$scratch/tree.XXXX")"
  source_file models/ground/a.hpp
  source_file models/first/b.hpp '#include "models/ground/a.hpp"' '#include <vector>'
  source_file models/aside/c.hpp
  source_file app/d.cpp '#include "models/first/b.hpp"' '#include "models/ground/a.hpp"' '#include "app/e.hpp"'
  source_file tests/first/b.cpp '#include "models/first/b.hpp"' '#include "tests/support/mock.hpp"' \
    '#include "tests/first/bench.hpp"'
  cat >"$tree/CMakeLists.txt" <<'CMAKE'
# SPDX-License-Identifier: Apache-2.0
faultline_room(ground models/ground USES)
faultline_room(first  models/first  USES ground)
faultline_room(aside  models/aside  USES ground)
faultline_room(app    app           USES first)
CMAKE
}

fresh_tree
check 0
[[ -z $output ]]

source_file models/ground/a.hpp '' '#include "models/first/b.hpp"'
check 1
expect "models/ground/a.hpp:3: room ground may not include room first"

fresh_tree
source_file models/aside/c.hpp '#include "models/first/b.hpp"' # earlier in the list, but not in its USES
source_file tests/first/b.cpp '#include "models/aside/c.hpp"'
check 1
expect "models/aside/c.hpp:2: room aside may not include room first" \
  "tests/first/b.cpp:2: room first may not include room aside"

fresh_tree
source_file models/first/b.hpp '#include "a.hpp"'
source_file tests/aside/c.cpp '#include "tests/first/bench.hpp"'
check 1
expect 'models/first/b.hpp:2: "a.hpp" is in no room' 'tests/aside/c.cpp:2: "tests/first/bench.hpp" is in no room'

fresh_tree # a room deeper down has its tests at the same path
echo 'faultline_room(card models/nic/card USES ground)' >>"$tree/CMakeLists.txt"
source_file models/nic/card/card.hpp '#include "models/ground/a.hpp"'
source_file tests/nic/card/card.cpp '#include "models/nic/card/card.hpp"' '#include "models/aside/c.hpp"'
check 1
expect "tests/nic/card/card.cpp:3: room card may not include room aside"
refuse "card.cpp:2:"

fresh_tree # whatever its USES says
{
  echo 'faultline_room(card models/nic/card USES ground)'
  echo 'faultline_room(workloads workloads USES card)'
} >>"$tree/CMakeLists.txt"
source_file models/nic/card/card.hpp
source_file workloads/w.cpp '#include "models/nic/card/card.hpp"'
check 1
expect 'workloads/w.cpp:2: "models/nic/card/card.hpp" is of one NIC, driver or SMMU'

fresh_tree
source_file models/os/mm.hpp 'int Mm::of(int);'
source_file tests/first/b.cpp 'int x = Mm::of(1);'
check 0
source_file models/first/b.hpp 'int x = Mm::of(1);'
check 1
expect "models/first/b.hpp:2: Mm::of is for models/os and tests"
refuse "models/os/mm.hpp"

fresh_tree
sed -i 's/USES first/USES first later/' "$tree/CMakeLists.txt"
check 1
expect "CMakeLists.txt:5: room app uses later, which is not a room above it"

fresh_tree
echo "int x;" >"$tree/app/d.cpp"
printf -v wide '// %0117d' 0
source_file app/e.hpp "$wide" "${wide}0" "// TO""DO later"
check 1
expect "app/d.cpp:1: no line 'SPDX" "app/e.hpp:3: longer than 120 columns" "app/e.hpp:4:// TO""DO later"
refuse "app/e.hpp:2:"
