#!/usr/bin/env bash
# Lets allocations fail, one after the other: no_memory.sh [FAILURES [SEED]]
#
# 200,000 in calls of the store, from seed 100, and as many in requests to a
# mount, with AddressSanitizer where BUILD=build-asan says so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${BUILD:-$PWD/build-release}
ninja -C "$build" tests/test-no_memory tests/test-no_memory_ops >/dev/null
export CELLFS_ALLOCATIONS=${1:-200000} CELLFS_SEED=${2:-100}
"$build/tests/test-no_memory"
"$build/tests/test-no_memory_ops"
