#!/usr/bin/env bats
# Random operations of the whole tree, compared with a model in memory.

load helper

setup() {
	not_over_hbase "the program mounts a store of its own, and kills its daemon"
	# In memory, since it syncs often.
	PLACE=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
}

teardown() {
	rm -rf "${PLACE:?}"
}

@test "10,000 random operations, over remounts and kills, do what the model does" {
	python3 "$BATS_TEST_DIRNAME/../mount/randomtree.py" "$CELLFS" "$PLACE"
}
