#!/usr/bin/env bats
# What survives loss of power: the daemon runs over a disk that forgets what
# was not synced (tests/mount/cellfs-cut.c), and syncs nothing by itself.

load helper

setup() {
	T=$BATS_TEST_TMPDIR
	STORE=$T/store
	M=$T/mnt
	LOG=$T/log
	CELLFS=$BUILD/tests/cellfs-cut
}

# a_mount [-o ...]: with the table T, family f declared.
a_mount() {
	mount_store "$@"
	mkdir -p "$M/T/before/f"
}

# put ROW...: a value each, its row's name, that nobody syncs.
put() {
	local row
	for row; do
		mkdir -p "$M/T/$row"
		printf %s "$row" > "$M/T/$row/f:q"
	done
}

# power_cut: the store as it is then on the disk, in $STORE.cut.
power_cut() {
	rm -rf "$STORE.cut"
	kill -USR1 "$DAEMON"
	settled [ -d "$STORE.cut" ]
}

# lost ROW..., kept ROW...: after a power cut now.
lost() {
	local row
	power_cut
	for row; do
		run -1 "$CELLCTL" get "$STORE.cut" T "$row" f:q
	done
}

kept() {
	local row
	power_cut
	for row; do
		[ "$("$CELLCTL" get "$STORE.cut" T "$row" f:q | cut -f 4)" = \
			"$row" ] || {
			echo "$row is lost" >&2
			return 1
		}
	done
}

# synced_by CMD...: what was put before is lost before it, and kept behind it.
synced_by() {
	put a b
	lost a b
	"$@"
	kept a b
}

# on PATH FLAGS CALL: Python's os.CALL of a descriptor opened with os.FLAGS.
on() {
	python3 - "$@" <<-'EOF'
	import os, sys
	flags = 0
	for name in sys.argv[2].split('|'):
	    flags |= getattr(os, name)
	fd = os.open(sys.argv[1], flags)
	getattr(os, sys.argv[3])(fd)
	os._exit(0)
	EOF
}

# at_end ROW: it is on the disk that the ended daemon left.
at_end() {
	[ "$("$CELLCTL" get "$STORE.end" T "$1" f:q | cut -f 4)" = "$1" ]
	rm -rf "$STORE.end"
}

@test "what nobody syncs is lost in a power cut" {
	a_mount
	put a
	lost a
}

@test "syncfs, and sync without a file, never reach the daemon" {
	a_mount
	put a
	sync -f "$M/T"
	sync
	lost a
}

@test "umount, SIGTERM, SIGINT and SIGHUP end with everything on disk" {
	a_mount
	put a
	unmount_store
	at_end a
	local signal
	# What bash starts in the background ignores SIGINT.
	cat >"$T/daemon" <<-EOF
	#!/bin/sh
	exec env --default-signal=INT "$CELLFS" "\$@"
	EOF
	chmod +x "$T/daemon"
	CELLFS=$T/daemon
	for signal in TERM INT HUP; do
		a_mount
		put a
		kill -$signal "$DAEMON"
		wait "$DAEMON"
		DAEMON=
		at_end a
	done
}

@test "fsync and fdatasync of a file open for reading sync what was written" {
	a_mount
	synced_by sync "$M/T/a/f:q"
	put c
	sync -d "$M/T/c/f/q/latest"
	kept c
	put d
	on "$M/T/a/f/q/$(ls "$M/T/a/f/q")" O_RDONLY fdatasync
	kept d
}

@test "fsync of a file open for writing that wrote nothing syncs" {
	a_mount
	synced_by on "$M/T/a/f:q" O_RDWR fsync
	put c
	on "$M/T/a/f:q" 'O_WRONLY|O_APPEND' fdatasync
	kept c
}

@test "fsync publishes and syncs what its descriptor wrote, before any close" {
	a_mount
	put a
	exec 7> "$M/T/a/f:p"
	python3 -c 'import os; os.write(7, b"x"); os.fsync(7)'
	power_cut
	[ "$("$CELLCTL" get "$STORE.cut" T a f:p | cut -f 4)" = x ]
	# What was closed already, and is synced by another descriptor.
	put b
	exec 7>> "$M/T/b/f:q"
	python3 -c 'import os; os.fsync(7)'
	kept b
	exec 7>&-
}

@test "an empty value is on disk after fsync" {
	a_mount
	put a
	python3 - "$M/T/a/f:p" <<-'EOF'
	import os, sys
	os.fsync(os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY))
	os._exit(0)
	EOF
	power_cut
	"$CELLCTL" get "$STORE.cut" T a f:p
}

@test "fsync of any directory syncs" {
	a_mount
	put a
	lost a
	for dir in . T T/a T/a/f T/a/f/q T/.range/a..b .cellfs; do
		put "at$((i += 1))"
		sync "$M/$dir"
		kept a "at$i"
	done
}

@test "fsync of a stream syncs, of what it wrote and of all before" {
	a_mount
	synced_by on "$M/T/.cells" O_RDONLY fsync
	put d
	on "$M/T/d/.cells" O_WRONLY fdatasync
	kept d
	python3 - "$M/T/.cells" <<-'EOF'
	import os, sys
	fd = os.open(sys.argv[1], os.O_WRONLY)
	os.write(fd, b"c\tf:q\t\tc\n")
	os.fsync(fd)
	os._exit(0)
	EOF
	kept c
}

@test "fsync of a counter syncs" {
	a_mount
	mkdir -p "$M/T/n/f/q"
	synced_by on "$M/T/n/f/q/counter" O_RDONLY fsync
	put c
	on "$M/T/n/f/q/counter" O_WRONLY fdatasync
	kept c
}

@test "fsync of .schema, scratch and control files syncs" {
	a_mount
	synced_by sync "$M/T/.schema"
	put c
	on "$M/T/.schema" O_RDWR fsync
	kept c
	touch "$M/T/.tmp"
	put d
	sync "$M/T/.tmp"
	kept d
	mkdir -p "$M/T/.stage/r/f"
	echo x > "$M/T/.stage/r/f:q"
	put e
	sync "$M/T/.stage/r/f:q"
	kept e
	put f
	sync "$M/T/.stage/r"
	kept f
	put g
	sync "$M/.cellfs/stats"
	kept g
	rm -r "$M/T/.tmp" "$M/T/.stage/r"
}

@test "a write to .cellfs/sync syncs" {
	a_mount
	# shellcheck disable=SC2016
	synced_by sh -c 'echo > "$0"' "$M/.cellfs/sync"
	grep -q 'on disk when the write returns' "$M/.cellfs/sync"
}

@test "a write by O_SYNC or O_DSYNC is on disk when it returns" {
	a_mount
	put a
	for flag in O_SYNC O_DSYNC; do
		python3 - "$M/T/a/f:p" "$flag" <<-'EOF'
		import os, sys
		fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY |
			     getattr(os, sys.argv[2]))
		os.write(fd, sys.argv[2].encode())
		os._exit(0)
		EOF
		power_cut
		[ "$("$CELLCTL" get "$STORE.cut" T a f:p | cut -f 4)" = $flag ]
	done
	[ "$(versions "$M/T/a/f/p")" -eq 2 ]
	# Part by part, and still one version.
	printf abcdef | dd of="$M/T/a/f:o" bs=2 oflag=dsync status=none
	power_cut
	[ "$("$CELLCTL" get "$STORE.cut" T a f:o | cut -f 4)" = abcdef ]
	[ "$(versions "$M/T/a/f/o")" -eq 1 ]
}

@test "one write by RWF_DSYNC is on disk when it returns" {
	a_mount
	put a
	python3 - "$M/T/a/f:p" <<-'EOF'
	import os, sys
	fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
	os.pwritev(fd, [b"x"], 0, os.RWF_DSYNC)
	os._exit(0)
	EOF
	power_cut
	[ "$("$CELLCTL" get "$STORE.cut" T a f:p | cut -f 4)" = x ]
}

@test "a truncation by O_SYNC is on disk at close" {
	a_mount
	put abc
	python3 - "$M/T/abc/f:q" <<-'EOF'
	import os, sys
	fd = os.open(sys.argv[1], os.O_WRONLY | os.O_SYNC)
	os.ftruncate(fd, 1)
	os.close(fd)
	EOF
	power_cut
	[ "$("$CELLCTL" get "$STORE.cut" T abc f:q | cut -f 4)" = a ]
}

@test "streams and counters opened with O_DSYNC are on disk at close" {
	a_mount
	mkdir -p "$M/T/n/f/q"
	python3 - "$M/T/n/f/q/counter" <<-'EOF'
	import os, sys
	os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_DSYNC), b"5")
	os._exit(0)
	EOF
	power_cut
	[ "$("$CELLCTL" get "$STORE.cut" T n f:q | cut -f 4)" = \
		'%00%00%00%00%00%00%00%05' ]
	printf 'c\tf:q\t\tc\n' | dd of="$M/T/.cells" oflag=dsync status=none
	kept c
}

@test "with -o sync each kind of change is on disk when it is done" {
	a_mount -o sync
	put a b
	kept a b
	# An append, a truncation, a stream, a counter.
	printf x >> "$M/T/b/f:q"
	mkdir "$M/T/bx"
	printf bx > "$M/T/bx/f:q"
	truncate -s 1 "$M/T/bx/f:q"
	printf 'c\tf:q\t\tc\n' > "$M/T/.cells"
	mkdir -p "$M/T/n/f/q"
	echo 5 > "$M/T/n/f/q/counter"
	kept a c
	[ "$("$CELLCTL" get "$STORE.cut" T b f:q | cut -f 4)" = bx ]
	[ "$("$CELLCTL" get "$STORE.cut" T bx f:q | cut -f 4)" = b ]
	[ "$("$CELLCTL" get "$STORE.cut" T n f:q | cut -f 4)" = \
		'%00%00%00%00%00%00%00%05' ]
	# Deletes, of a version, of the newest, of a column.
	put d e g
	rm "$M/T/d/f/q/$(ls "$M/T/d/f/q")"
	rm "$M/T/e/f/q/latest"
	rm "$M/T/g/f:q"
	lost d e g
}

@test "with -o sync a rename that puts is on disk when it is done" {
	a_mount -o sync
	put a
	printf b > "$M/T/a/.tmp"
	mkdir "$M/T/b"
	printf b > "$M/T/b/.tmp"
	mv "$M/T/b/.tmp" "$M/T/b/f:q"
	kept b
	# A version into another column, in one mutation.
	mv "$M/T/a/f:q" "$M/T/a/f:p"
	power_cut
	[ "$("$CELLCTL" get "$STORE.cut" T a f:p | cut -f 4)" = a ]
	run -1 "$CELLCTL" get "$STORE.cut" T a f:q
	# A staged row.
	mkdir "$M/T/.stage/c"
	printf c > "$M/T/.stage/c/f:q"
	mv "$M/T/.stage/c" "$M/T/c"
	kept c
	rm "$M/T/a/.tmp"
}

@test "tables, schemas and snapshots are on disk when they are made" {
	a_mount
	mkdir "$M/U" "$M/V"
	rmdir "$M/V"
	printf 'family g\n\tversions 7\n' > "$M/U/.schema"
	put a
	mkdir "$M/T/.snapshot/s"
	power_cut
	[ "$("$CELLCTL" list "$STORE.cut" | tr '\n' ' ')" = "T U " ]
	"$CELLCTL" describe "$STORE.cut" U | grep -q 'versions 7'
	# A snapshot takes along what it shows.
	kept a
	mv "$M/U" "$M/W"
	power_cut
	[ "$("$CELLCTL" list "$STORE.cut" | tr '\n' ' ')" = "T W " ]
}

@test "what a program changes through the mount is on disk when it ends" {
	a_mount
	"$CELLCTL" put "$M" T a f:q a
	kept a
	printf 'b\tf:q\t5\tb\n' | "$CELLCTL" import "$M" T
	kept b
}

@test "fsync of a mount that is for reading only succeeds" {
	CELLFS=$BUILD/fs/cellfs
	a_mount
	put a
	remount_store -o ro
	sync "$M/T/a/f:q" "$M/T/a" "$M"
}

@test "what nobody syncs reaches the disk within a second" {
	CELLFS=$BUILD/fs/cellfs
	a_mount
	syncs() {
		sed -n 's/^ *wal_syncs_total *//p' "$M/.cellfs/stats"
	}
	local before
	sync "$M"
	before=$(syncs)
	more() {
		[ "$(syncs)" -gt "$before" ]
	}
	put a
	settled more
}

# power_cuts N [ARG...]: N cuts under eight writers.
power_cuts() {
	mkdir -p "$M"
	"$BUILD/tests/killtest" --cycles "$1" --work 20 "${@:2}" \
		--power "$BUILD/tests/cellfs-cut" "$BUILD/fs/cellfs" \
		"$STORE" "$M"
}

@test "what eight writers synced is there after power cuts" {
	power_cuts 6
	"$CELLCTL" check "$STORE"
}

@test "a disk that forgets what was synced is found out by power cuts" {
	export CELLFS_CUT_IGNORE=wal-
	run -1 power_cuts 10 --seed 1
	[[ $output == *"lost"* || $output == *"removal"* ||
		$output == *"older than"* || $output == *"not start"* ||
		$output == *"damaged"* ]]
	run ! mountpoint -q "$M"
}
