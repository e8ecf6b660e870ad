#!/usr/bin/env bash
# The unit programs that take a sample otherwise, over all they can try.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export CELLFS_THOROUGH=1
for name in wal_crash catalog visibility_random damage_every repair_every; do
	"build-asan/tests/test-$name"
done
