#!/usr/bin/env bash
# The designs with a million rows, and a row of a million columns.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
CELLFS_SIZE=1000000 BUILD=$PWD/build-asan \
	bats -f 'tall table|month|reverse timestamps' tests/bats/designs.bats
