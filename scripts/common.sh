# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the scripts beside it: where the tree is, how to speak, how to configure and build a preset.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "error: $*"
  exit 1
}

# The comment at the head of a script, after its licence line, is its help.
print_help() {
  awk 'NR > 2 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"
}

# stage "Building" ... stage_done ["remark"]: what goes on now, and afterwards how long it took.
stage() {
  stage_name="$1"
  stage_start="$(date +%s%N)"
  say "==> $stage_name"
}
stage_done() {
  local ms=$((($(date +%s%N) - stage_start) / 1000000))
  say "    $(printf '%d.%d' $((ms / 1000)) $((ms % 1000 / 100))) s${1:+, $1}"
}

# Compiling one file against SystemC takes up to about 1 GB: small machines get fewer jobs than cores.
build_jobs() {
  local cores gigabytes
  cores="$(nproc)"
  gigabytes="$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)"
  ((gigabytes >= 1)) || gigabytes=1
  echo $((cores < gigabytes ? cores : gigabytes))
}

# The presets of CMakePresets.json that are built; tidy is for scripts/lint.
require_preset() {
  case "$1" in
    release | dev | asan | clang | coverage) ;;
    *)
      say "error: no preset '$1'; choose release, dev, asan, clang or coverage"
      exit 2
      ;;
  esac
}

# configure PRESET: only where it is not done yet; afterwards ninja itself sees to changed CMake files.
configure() {
  local dir="$root/build/$1" cache="$root/build/$1/CMakeCache.txt" log="$root/build/$1-configure.log"
  local -a fresh=()
  stage "Configuring build/$1"
  if [[ -f "$cache" ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
    say "    build/$1 was made in another place; configuring it anew"
    fresh=(--fresh)
  elif [[ -f "$dir/build.ninja" ]]; then
    stage_done "already configured"
    return
  fi
  mkdir -p "$root/build"
  if ! cmake "${fresh[@]}" -S "$root" --preset "$1" >"$log" 2>&1; then
    cat "$log" >&2
    fail "configuring failed; the output above is also in build/$1-configure.log"
  fi
  stage_done
}

# build PRESET [TARGET]
build() {
  local dir="$root/build/$1" marker
  stage "Building ${2:-everything} in build/$1"
  marker="$(mktemp)"
  cmake --build "$dir" -j "$(build_jobs)" ${2:+--target "$2"} >&2 || fail "the build failed; see the output above"
  if [[ -z "$(find "$dir" -maxdepth 1 -type f -perm -u+x -newer "$marker" -print -quit)" ]]; then
    stage_done "nothing to rebuild"
  else
    stage_done
  fi
  rm -f "$marker"
}
