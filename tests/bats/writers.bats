#!/usr/bin/env bats
# The daemon is killed, again and again, under eight writers.

load helper

KILLTEST=$BUILD/tests/killtest

# sound: the store's files are whole. A cluster looks after its own.
sound() {
	[ -n "${CELLFS_TEST_CLUSTER:-}" ] || "$CELLCTL" check "$STORE"
}

@test "what was closed before kill -9 is there after it, with eight writers" {
	unmount_store
	"$KILLTEST" --cycles 5 --work 100 "$CELLFS" "$STORE" "$M"
	sound
}

@test "so it is while memory is flushed to table files" {
	unmount_store
	"$KILLTEST" --cycles 5 --work 100 --option write_buffer=1M,cache=1M \
		"$CELLFS" "$STORE" "$M"
	sound
}

@test "a store that loses its unsynced log is found out" {
	not_over_hbase "its log is the servers'"
	unmount_store
	cat >"$T/forgetful" <<-EOF
	#!/bin/sh
	rm -f "\$1/wal.ring" "\$1/wal.made"
	exec "$CELLFS" "\$@"
	EOF
	chmod +x "$T/forgetful"
	# A cycle loses nothing whose writers flushed last: the first one that does ends it.
	run -1 "$KILLTEST" --cycles 30 "$T/forgetful" "$STORE" "$M"
	[[ $output == *"removal"* || $output == *"lost"* ||
		$output == *"older than"* ]]
	run ! mountpoint -q "$M"
}
