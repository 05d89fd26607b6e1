# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The commit in the program is that of the tree at build time, and the file changes only when the commit does.
source "$(dirname "$0")/common.sh"
command -v git >/dev/null || {
  echo "skipped: git is not installed"
  exit 77
}
# Neither the user's git settings nor a checkout that the scratch folder might lie in.
export HOME="$scratch" GIT_CONFIG_NOSYSTEM=1 GIT_CEILING_DIRECTORIES="$scratch"
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
tree="$scratch/tree"
found="$scratch/commit.cpp"
look_up() { run 0 cmake "-DSOURCE=$1" "-DOUTPUT=$found" -P "$FAULTLINE_SOURCE/cmake/BuildInfo.cmake"; }
reads() {
  output="$(cat "$found")"
  expect "return \"$1\";"
}

mkdir -p "$tree/inner"
look_up "$tree"
reads unknown

git -C "$tree" init -q
echo 1 >"$tree/file"
git -C "$tree" add file
git -C "$tree" commit -qm one
first="$(git -C "$tree" rev-parse --short HEAD)"
look_up "$tree"
reads "$first"

touch -d '2001-01-01' "$found"
look_up "$tree"
[[ $(date -r "$found" +%Y) == 2001 ]]

echo 2 >"$tree/file"
look_up "$tree"
reads "$first-dirty"

# A copy inside somebody else's checkout has no commit of its own.
look_up "$tree/inner"
reads unknown
