#!/usr/bin/env bash
# Reads rows beside threads that write them: rows.sh [ROWS]
#
# 100,000,000 rows unless it is told otherwise, with no sanitizer, while small
# memtables are flushed and merged all the time. Each must be of one mutation.
# ThreadSanitizer is what tests/run has for fewer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${BUILD:-$PWD/build-release}
ninja -C "$build" tests/test-rows >/dev/null
CELLFS_ROWS=${1:-100000000} "$build/tests/test-rows"
