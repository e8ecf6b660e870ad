#!/usr/bin/env bash
# Cuts the power under eight writers: power.sh [CUTS [SEED]]
#
# 2000 times, and from a seed of the clock, unless it is told otherwise. What the
# writers synced must be on every disk that is left, and nothing torn. Every 50
# cuts there is a new store, with the next seed and other options. The line at
# the end says how many changes were synced in time, and how many more were in
# flight. The seed of a failure is in its message; its store is kept.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${BUILD:-$PWD/build-release}
# shellcheck source=tests/long/kills.bash
. tests/long/kills.bash
campaign "${1:-2000}" "${2:-$(date +%s)}" 50 --power "$build/tests/cellfs-cut"
