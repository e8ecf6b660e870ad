#!/usr/bin/env bats
# What programs expect of any filesystem: tests/mount/posix, a group a test.

load helper

# cases GROUP: of a mount that other users see, where one may have such.
cases() {
	if [ "$(id -u)" -eq 0 ]; then
		remount_store -o allow_other
	fi
	timeout 120 "$BUILD/tests/posixtest" "$M" "$1"
}

@test "a path that leads nowhere is the same error for every call" {
	cases paths
}

@test "files open, and descriptors do, what POSIX says" {
	cases open
}

@test "holes, ends, limits, appends and removed files are what POSIX says" {
	cases files
}

@test "directories are made, removed and listed as POSIX says" {
	cases directories
}

@test "rename does what POSIX says" {
	cases rename
}

@test "times change with what POSIX says, and with nothing else" {
	cases times
}

@test "mode and owner let in who POSIX says" {
	cases users
}

@test "who made a scratch file publishes it, whatever owner the mount shows" {
	[ "$(id -u)" -eq 0 ] || skip "to be another user takes root"
	remount_store -o allow_other,uid=12345
	mkdir -p "$M/T/R"
	chmod 0777 "$M/T"
	(
		cd "$M/T/R"
		setpriv --reuid=65534 --regid=65534 --clear-groups sh -euc '
			umask 077
			echo hello >a.tmp
			mv a.tmp f:q'
	)
	[ "$(cat "$M/T/R/f:q")" = hello ]
}
