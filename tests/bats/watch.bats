#!/usr/bin/env bats
# cellctl status: what is mounted where; cellctl top: what a mount does.

load helper

teardown() {
	[ -z "${TOP:-}" ] || ! kill "$TOP" 2>/dev/null || wait "$TOP" || true
	[ -z "${DAEMON:-}" ] || unmount_store
}

# line: that of this mount, in a list that may have others.
line() {
	"$CELLCTL" status "$@" >"$T/list" || true
	grep -F "$M" "$T/list"
}

@test "status lists what is mounted where, and how it is" {
	not_over_hbase "a cluster has no files to tell of"
	a_row
	echo x >"$M/T/R/f:q"
	echo T >"$M/.cellfs/flush"
	[[ $(line) == "$STORE on $M: takes writes, 1 table, 1 file of "*" bytes, 0 damaged" ]]
	line --json | jq -e --arg s "$STORE" '.store == $s and .healthy and
		.tables == 1 and .files == 1 and .bytes > 0 and .damaged == 0'
}

@test "status of one tells of its tables too, mounted or not" {
	local how

	not_over_hbase "a cluster has no files to tell of"
	a_row
	mkdir "$M/U"
	echo x >"$M/T/R/f:q"
	for how in "$M" "$STORE"; do
		"$CELLCTL" status "$how" >"$T/one"
		grep -qF "$STORE on $M: takes writes, 2 tables" "$T/one"
		grep -qx '  T: 1 row, 1 cell, 0 files of 0 bytes, 0 damaged' \
			"$T/one"
		grep -q '^  U: 0 rows, 0 cells' "$T/one"
	done
	unmount_store
	"$CELLCTL" status "$STORE" --json >"$T/one"
	jq -se '.[0].healthy and (.[0] | has("mountpoint") | not) and
		.[1].table == "T" and .[1].exact and .[1].rows == 1' "$T/one"
	# Of a table that is not small it is an estimate.
	seq 600 | sed 's/.*/r&\tf:q\t1\tv\nr&\tf:p\t1\tv/' |
		"$CELLCTL" import "$STORE" T 2>"$T/said"
	"$CELLCTL" flush "$STORE"
	"$CELLCTL" status "$STORE" | grep -qE '^  T: ~[0-9]+ rows, ~[0-9]+ cells, 1 file of '
	"$CELLCTL" status "$STORE" --json | jq -se '.[1].exact == false'
}

@test "status exits with 1 where something is wrong, and says what" {
	not_over_hbase "it damages a file"
	a_row
	echo x >"$M/T/R/f:q"
	echo T >"$M/.cellfs/flush"
	unmount_store
	# The footer is read when the store is opened, and so is the index.
	python3 - "$STORE"/*.sst <<-'PY'
		import os, sys
		with open(sys.argv[1], "r+b") as f:
		    f.seek(max(0, os.path.getsize(sys.argv[1]) - 8))
		    f.write(b"\xff" * 8)
	PY
	run -1 "$CELLCTL" status "$STORE"
	[[ $output == *"1 damaged"* ]]
}

@test "status says that a daemon is dead, and goes on" {
	kill -9 "$DAEMON"
	wait "$DAEMON" || true
	DAEMON=
	run -1 "$CELLCTL" status
	[[ $output == *" on $M: $M: the filesystem that was mounted there has died"* ]]
	fusermount3 -u -z "$M"
}

@test "status where nothing is mounted says so, and exits with 1" {
	echo '21 1 0:20 / / rw - tmpfs none rw' >"$T/mounts"
	# shellcheck disable=SC2016 # the inner shell expands
	run -1 where_installed 'mount --bind "$1" "/proc/$$/mountinfo"
		exec "$2" status' "$T/mounts" "$CELLCTL"
	[[ $output == *"nothing is mounted"*"cellctl status STORE"* ]]
}

@test "top says that others may not watch" {
	local place as=()

	place=$(mktemp -d)
	chmod 755 "$place"
	cp "$CELLCTL" "$place/cellctl"
	mkdir -m 0 "$place/closed"
	[ "$(id -u)" -ne 0 ] ||
		as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	run -3 "${as[@]}" "$place/cellctl" top "$place/closed/mnt"
	[[ $output == *"only who mounted it may watch it"* ]]
	rm -r "$place"
}

# busy: rows of two tables are put while frames are written; true when the last
# frames have them.
busy() {
	local i

	for i in 1 2 3 4 5; do
		echo x >"$M/T/.put/user$i/f:q"
		cat "$M/T/user$i/f:q" >/dev/null
	done
	grep -qE '^  T  +[0-9]+/s +[1-9][0-9]*/s$' "$T/frames" &&
		grep -qE '^  T/user +[1-9][0-9]*/s$' "$T/frames" &&
		grep -qE '^  mutate +[1-9][0-9]*/s  \|.*\|  half <= [0-9.]+ [um]s, 99 % <= ' \
			"$T/frames" &&
		grep -qE '^  lookup +[1-9][0-9]*/s  \|' "$T/frames"
}

@test "top shows requests, latencies, the busiest tables and prefixes" {
	a_row
	"$CELLCTL" top "$M" --interval 0.2 >"$T/frames" 3>&- &
	TOP=$!
	settled busy
	kill -INT "$TOP"
	wait "$TOP"
	TOP=
	grep -qF "$M: takes writes, 0 failures/s" "$T/frames"
	# In a file there is nothing that is for terminals.
	run ! grep -q $'\033' "$T/frames"
}

@test "top ends after as many looks as it is told" {
	"$CELLCTL" top "$STORE" --interval 0.1 --count 2 >"$T/frames"
	[ "$(grep -cF "$M: takes writes" "$T/frames")" -eq 2 ]
	run -2 "$CELLCTL" top "$M" --interval 0
	[[ $output == *"seconds are wanted, 0.1 to 86400"* ]]
	# Who reads its output leaves.
	"$CELLCTL" top "$M" --interval 0.1 | head -n 1 | grep -qF "$M"
}

@test "top on a terminal draws anew, and q ends it" {
	python3 - "$CELLCTL" "$M" <<-'PY'
		import os, pty, sys
		pid, fd = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], [sys.argv[1], "top", sys.argv[2],
		                           "--interval", "0.1"])
		seen = b""
		while seen.count(b"\x1b[H\x1b[J") < 2:
		    seen += os.read(fd, 65536)
		os.write(fd, b"q")
		try:
		    while os.read(fd, 65536):
		        pass
		except OSError:
		    pass
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	PY
}

@test "top needs a mount, and says when it has ended" {
	local store=$STORE

	"$CELLCTL" top "$M" --interval 0.1 >"$T/frames" 2>"$T/said" 3>&- &
	TOP=$!
	settled grep -q requests "$T/frames"
	fusermount3 -u -z "$M"
	wait "$DAEMON" || true
	DAEMON=
	run -3 wait "$TOP"
	TOP=
	[ -s "$T/said" ]
	not_over_hbase "a cluster is always there"
	run -3 "$CELLCTL" top "$store"
	[[ $output == *"is not mounted: top watches a mount"* ]]
}
