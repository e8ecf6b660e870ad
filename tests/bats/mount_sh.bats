#!/usr/bin/env bats
# mount.sh: what it mounts, what it refuses and in which words.

load helper

setup() {
	T=$(cd "$BATS_TEST_TMPDIR" && pwd -P)
	STORE=$T/store
	M=$T/mnt
	SH=$BATS_TEST_DIRNAME/../../mount.sh
	CELLFS_BUILD=$(cd "$BUILD" && pwd)
	export CELLFS_BUILD
	cd "$T"
}

teardown() {
	local point

	cd /
	for point in "$T"/mnt*; do
		mountpoint -q "$point" || [ -e "$point.dead" ] || continue
		fusermount3 -u -z "$point" || true
	done
}

mounted() {
	"$SH" "$@" 3>&-
}

# The pid of the daemon on a mountpoint.
daemon_of() {
	awk '$1 == "pid" { print $2 }' "$1/.cellfs/stats"
}

# kill_daemon POINT: its mount is dead when it returns.
kill_daemon() {
	local pid

	pid=$(daemon_of "$1")
	touch "$1.dead"
	kill -KILL "$pid"
	settled refuses "$1"
}

refuses() {
	! ls "$1" >/dev/null 2>&1
}

@test "it makes store and mountpoint, mounts, and unmounts" {
	run -0 mounted store mnt
	[[ $output == *"Mounted store at mnt."* ]]
	mkdir mnt/T mnt/T/R
	echo x >mnt/T/R/f:q
	run -0 mounted store mnt
	[[ $output == *"Already mounted at mnt"*"table T"* ]]
	run -0 mounted -u mnt
	[[ $output == *"Unmounted $T/mnt."* ]]
	run ! mountpoint -q mnt
}

@test "of many tables it names ten, and succeeds" {
	local name

	run -0 mounted store mnt
	name=$(printf 'n%.0s' {1..200})
	(cd mnt && seq -f "$name%g" 300 | xargs mkdir)
	run -0 mounted store mnt
	[ "$(grep -c '^  table n' <<<"$output")" -eq 10 ]
}

@test "another store on the mountpoint is not taken for the one that is named" {
	mounted store mnt
	run -1 mounted other mnt
	[[ $output == *"another store, $T/store, is mounted at mnt"* ]]
	[ ! -e other ]
	# One store has many names.
	ln -s store link
	run -0 mounted "$T/./link" mnt
	[[ $output == *"Already mounted"* ]]
}

@test "after kill -9 it mounts again what was there" {
	mounted store mnt
	mkdir mnt/T mnt/T/R
	echo x >mnt/T/R/f:q
	kill_daemon mnt
	run -0 mounted store mnt
	[ "$(cat mnt/T/R/f:q)" = x ]
}

@test "after kill -9 it unmounts what is dead, in words" {
	mounted store mnt
	kill_daemon mnt
	run -0 mounted -u mnt
	[[ $output == *"Removed the dead mount"* ]]
	run -1 mounted -u mnt
	[[ $output == *"nothing is mounted at mnt"* ]]
}

@test "after kill -9 cellctl opens the store that the dead daemon had" {
	mounted store mnt
	mkdir mnt/T mnt/T/R
	echo x >mnt/T/R/f:q
	kill_daemon mnt
	run -0 "$CELLCTL" get store T R f:q
	[[ $output == *x%0A ]]
	run -0 "$CELLCTL" check store
	run -3 "$CELLCTL" get mnt T R f:q
	[[ $output == *"has died"* ]]
}

@test "a file is not taken for a mountpoint or for a store" {
	echo text >file
	run -1 mounted store file
	[[ $output == *"the mountpoint file is not a directory"* ]]
	run -1 mounted file mnt
	[[ $output == *"the store file is not a directory"* ]]
	[ "$(cat file)" = text ]
	[ ! -e store ]
}

@test "what is in the mount is neither a store nor a mountpoint" {
	mounted store mnt
	mkdir mnt/T mnt/T/R
	run -1 mounted mnt/T/s mnt2
	[[ $output == *"lies in the cellfs mount $T/mnt"* ]]
	run -1 mounted store2 mnt/T/R
	[[ $output == *"lies in the cellfs mount $T/mnt"* ]]
	run -1 mounted mnt mnt2
	[[ $output == *"that store is the directory $T/store"* ]]
	# The daemon by itself says so too.
	mkdir mnt2
	run -1 "$CELLFS" mnt/T/s mnt2
	[[ $output == *"is inside $T/mnt, where a store is mounted"* ]]
	run -1 "$CELLFS" store2 mnt/T/R
	[[ $output == *"is inside $T/mnt, where a store is mounted"* ]]
	[ "$(ls -A mnt)" = T ]
	[ "$(ls -A mnt/T)" = "$(printf '%s\n' .schema R)" ]
	[ ! -e store2 ]
}

@test "-u in the mount says what keeps it busy and what to type" {
	mounted store mnt
	mkdir mnt/T
	cd mnt
	run -1 mounted -u .
	[[ $output == *"this shell stands in the mount $T/mnt"* ]]
	[[ $output == *"cd / && "*"mount.sh -u $T/mnt"* ]]
	cd "$T"
	run -1 mounted -u mnt/T
	[[ $output == *"mnt/T is a directory of the mount $T/mnt"* ]]
	mountpoint -q mnt
}

@test "paths are those of the directory that it is called in" {
	mkdir deep deep/er
	cd deep/er
	mounted ../store ../../mnt
	cd "$T/deep"
	run -0 mounted -u ../mnt
	run ! mountpoint -q "$T/mnt"
	# What it prints to type works from there.
	run -0 mounted store ../mnt
	cd "$T/deep"
	bash -c "$(sed -n 's/^To unmount: //p' <<<"$output")"
	run ! mountpoint -q "$T/mnt"
}

@test "a path with blanks is one path" {
	mounted "a store" "mnt of mine"
	mkdir "mnt of mine/T"
	run -0 mounted "a store" "mnt of mine"
	[[ $output == *"Already mounted"* ]]
	run -0 mounted -u "mnt of mine"
}

@test "what is not cellfs is not unmounted" {
	run -1 mounted -u /proc
	[[ $output == *"is not cellfs"* ]]
	run -1 mounted store /proc
	[[ $output == *"another filesystem (proc)"* ]]
}

@test "a demo that could be loaded in half only is not there" {
	mkdir bin
	cat >bin/apt-cache <<-'EOF'
	#!/bin/sh
	printf 'Package: a\nVersion: 1\n\nPackage: b\nVersion: 2\n\n'
	[ ! -e fail ] || exit 100
	EOF
	chmod +x bin/apt-cache
	touch fail
	PATH=$T/bin:$PATH run -1 mounted --demo store mnt
	[[ $output == *"the package index could not be loaded"* ]]
	run ! mountpoint -q mnt
	run -1 "$CELLCTL" exists store debian
	rm fail
	PATH=$T/bin:$PATH run -0 mounted --demo store mnt
	[ "$(ls mnt/debian | tr '\n' ' ')" = "a b " ]
	run -0 mounted -u mnt
}
