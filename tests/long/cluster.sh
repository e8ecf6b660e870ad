#!/usr/bin/env bash
# Compares random programs with a real HBase (10,000, from a seed that no run
# before has had), lets its regions move and a server of two die ten times, then
# kills all of it under a mount as often as is said (100 times).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
dir=$(mktemp -d)
trap 'tests/hbase/lab/lab stop "$dir/lab"; rm -rf "$dir"' EXIT
tests/hbase/lab/lab start "$dir/lab" 2 >/dev/null
tests/hbase/against build-asan "$dir/lab" \
	--seed "$((($(date +%s) - 1700000000) / 64 * 64))"
tests/hbase/moves.py build-asan "$dir/lab" 10
tests/hbase/kills.py build-asan "${1:-100}"
