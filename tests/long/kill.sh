#!/usr/bin/env bash
# Kills the daemon under eight writers: kill.sh [CYCLES [SEED]]
#
# 5000 times, and from a seed of the clock, unless it is told otherwise. Every 45
# cycles there is a new store, with the next seed and other options. The line
# at the end says how many changes were acknowledged and how many were under way
# at the signals. The seed of a failure is in its message; its store is kept.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${BUILD:-$PWD/build-release}
# shellcheck source=tests/long/kills.bash
. tests/long/kills.bash
campaign "${1:-5000}" "${2:-$(date +%s)}" 45
