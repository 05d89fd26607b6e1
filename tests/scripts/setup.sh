# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# scripts/setup against a package database and an apt-get that are not the machine's own.
source "$(dirname "$0")/common.sh"
# A tree of its own, whose npm packages are there.
tree="$scratch/a tree"
setup="$tree/scripts/setup"
mkdir -p "$scratch/bin" "$tree/web/node_modules"
cp -r "$FAULTLINE_SOURCE/scripts" "$tree"
cp "$FAULTLINE_SOURCE"/web/package*.json "$FAULTLINE_SOURCE/web/.npmrc" "$tree/web"
touch -d '+1 minute' "$tree/web/node_modules/.package-lock.json"
export PATH="$scratch/bin:$PATH" ABSENT='' CALLS="$scratch/calls"

cat >"$scratch/bin/dpkg-query" <<'SHIM'
#!/bin/bash
code=0
for name in "${@:4}"; do # after -W -f FORMAT
  if [[ " $ABSENT " == *" $name "* ]]; then
    echo "dpkg-query: no packages found matching $name" >&2
    code=1
  else
    echo "installed $name"
  fi
done
exit $code
SHIM
cat >"$scratch/bin/apt-get" <<'SHIM'
#!/bin/bash
echo "apt-get $*" >>"$CALLS"
[[ $1 != "$APT_FAILS" ]]
SHIM
cat >"$scratch/bin/sudo" <<'SHIM'
#!/bin/bash
exec "$@"
SHIM
chmod +x "$scratch/bin"/*
export APT_FAILS=nothing
cd "$scratch"

# All there: one line, and nobody calls apt-get.
run 0 "$setup"
expect "installed"
[[ $(wc -l <<<"$output") == 1 && ! -e $CALLS ]]

# Only checking: what, why, and the line that installs exactly what is missing.
ABSENT="libsystemc-dev catch2"
run 1 "$setup" --no-install
expect "SystemC 2.3.4 and TLM-2.0" "unit tests" "apt-get install -y --no-install-recommends libsystemc-dev catch2"
refuse "ninja-build"
[[ ! -e $CALLS ]]

# Installing: the list is brought up to date first, and only the missing is installed.
run 0 "$setup"
diff "$CALLS" - <<'EXPECTED'
apt-get update -q
apt-get install -y --no-install-recommends libsystemc-dev catch2
EXPECTED

# Without a network the list stays old, which alone is no failure; without the packages it is one.
APT_FAILS=update
run 0 "$setup"
expect "apt-get update failed"
APT_FAILS=install
run 1 "$setup"
expect "could not install" "libsystemc-dev catch2"

# What lint needs is asked for by lint only.
ABSENT=clang-tidy
run 0 "$setup" --no-install
run 1 "$setup" --no-install --lint
expect "clang-tidy"

# What reads results in Python is asked for by itself; it can do without.
ABSENT=python3-pandas
run 0 "$setup" --no-install
run 1 "$setup" --no-install --python
expect "python3-pandas"

# What the benchmarks need is asked for by them only.
ABSENT="libns3-dev libbenchmark-dev"
run 0 "$setup" --no-install
run 1 "$setup" --no-install --benchmark
expect "ns-3" "libbenchmark-dev libns3-dev"

# What reads the sources for mutants is asked for by scripts/mutants only.
ABSENT=python3-clang-14
run 0 "$setup" --no-install
run 1 "$setup" --no-install --mutants
expect "scripts/mutants" "python3-clang-14"

# So is a Slurm to try --on slurm with.
ABSENT="slurm-wlm"
run 0 "$setup" --no-install
run 1 "$setup" --no-install --slurm
expect "slurmctld and slurmd"
# The npm packages of the page of faultline report: those of the lock file, in the tree, once.
ABSENT=
rm -r "$tree/web/node_modules"
cat >"$scratch/bin/npm" <<'SHIM'
#!/bin/bash
echo "npm $* in ${PWD##*/}" >>"$CALLS"
[[ $APT_FAILS != npm ]] && mkdir -p node_modules && touch node_modules/.package-lock.json
SHIM
ln -s "$(command -v true)" "$scratch/bin/node"
chmod +x "$scratch/bin/npm"
rm -f "$CALLS"
run 1 "$setup" --no-install
expect "Missing npm packages" "npm --prefix $tree/web ci"
[[ ! -e $CALLS ]]
APT_FAILS=npm
run 1 "$setup"
expect "npm could not install" "FAULTLINE_REPORTS=OFF"
APT_FAILS=nothing
rm -f "$CALLS"
run 0 "$setup"
run 0 "$setup" --no-install
run 0 "$setup"
diff "$CALLS" - <<<"npm ci --ignore-scripts in web"
# A lock file that has changed since asks for another installation.
touch -d '+1 minute' "$tree/web/package-lock.json"
run 1 "$setup" --no-install

# Debian's node and npm are asked for where there is none.
mkdir "$scratch/bare"
for tool in bash awk grep dirname cat date env; do ln -s "$(command -v "$tool")" "$scratch/bare/$tool"; done
mv "$scratch/bin/npm" "$scratch/no-npm"
ABSENT="nodejs npm" PATH="$scratch/bin:$scratch/bare" run 1 "$setup" --no-install
expect "apt-get install -y --no-install-recommends nodejs npm"
