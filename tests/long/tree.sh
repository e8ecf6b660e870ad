#!/usr/bin/env bash
# Puts, deletes, mkdir and rmdir of the same directories by nine processes, for
# the minutes given (10).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
BUILD=$PWD/build-asan CELLFS_SECONDS=$((60 * ${1:-10} / 2)) \
	bats -f '^(directories stay|they do in a table)' \
	tests/bats/directories.bats
