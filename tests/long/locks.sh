#!/usr/bin/env bash
# 16 processes, each with 10,000 appends and 10,000 adds to a counter, and a
# hundred races for one column.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
CELLFS_EACH=10000 CELLFS_ROUNDS=100 BUILD=$PWD/build-asan \
	bats tests/bats/locks.bats
