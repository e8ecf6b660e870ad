#!/usr/bin/env bash
# tests/long/random.sh [OPERATIONS [SEED]]: random operations of the whole tree
# through a mount, compared with a model in memory (tests/mount/randomtree.py),
# with flushes, compactions, remounts and kills. 1,000,000 take half an hour.
set -euo pipefail
build=${BUILD:-$(dirname "$0")/../../build-release}
dir=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'fusermount3 -q -u -z "$dir/mnt" || :; rm -rf "$dir"' EXIT
seed=()
[ -z "${2:-}" ] || seed=(--seed "$2")
python3 "$(dirname "$0")/../mount/randomtree.py" --steps "${1:-1000000}" \
	"${seed[@]}" "$build/fs/cellfs" "$dir"
