#!/usr/bin/env bats
# What each call answers, to whom, in which mount: tests/mount/errnos.txt.

load helper

setup() {
	[ "$(id -u)" -eq 0 ] || skip "to be three users takes root"
	not_over_hbase "the table is the engine's, and of one store"
	# Where another user can go, too; in memory, since it syncs often.
	PLACE=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
	chmod 755 "$PLACE"
}

teardown() {
	rm -rf "${PLACE:?}"
}

@test "every call on every kind of node answers as the table of errnos says" {
	python3 "$BATS_TEST_DIRNAME/../mount/errnos.py" "$CELLFS" "$PLACE"
}
