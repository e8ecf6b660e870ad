#!/usr/bin/env bats
# Whose the daemon is, and who mounts and unmounts for it.

load helper

NOBODY=65534

setup() {
	T=$BATS_TEST_TMPDIR
	LOG=$T/log
	[ "$(id -u)" -eq 0 ]
	# Where an ordinary user can go, too.
	PLACE=$(mktemp -d)
	chmod 755 "$PLACE"
	STORE=$PLACE/store
	M=$PLACE/mnt
	# As udev has it; a bare machine may not.
	DEVICE=$(stat -c %a /dev/fuse)
	chmod 666 /dev/fuse
	mkdir "$M"
	chown "$NOBODY" "$M"
}

teardown() {
	end_store
	chmod "$DEVICE" /dev/fuse
	rm -rf "$PLACE"
}

as_nobody() {
	setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups "$@"
}

# mount_there COMMAND...: as mount_store, when only some may look at it.
mount_there() {
	"$@" >"$LOG" 2>&1 3>&- &
	DAEMON=$!
	settled grep -q " $M fuse.cellfs " /proc/self/mounts
}

gone() {
	! grep -q " $M " /proc/self/mounts
}

# ends_by SIGNAL: the daemon ends with 0, has said nothing, and is unmounted.
ends_by() {
	kill "-$1" "$DAEMON"
	wait "$DAEMON"
	DAEMON=
	gone
	[ ! -s "$LOG" ]
}

@test "an ordinary user mounts, and SIGTERM unmounts" {
	cp "$CELLFS" "$PLACE/cellfs"
	mkdir "$STORE"
	chown "$NOBODY" "$STORE"
	mount_there setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups \
		"$PLACE/cellfs" "$STORE" "$M" -f \
		-o sandbox=auto
	as_nobody mkdir "$M/T"
	echo x | as_nobody tee "$M/T/.put/r/f:q"
	[ "$(as_nobody cat "$M/T/r/f:q")" = x ]
	as_nobody grep -q "^user $NOBODY\$" "$M/.cellfs/status"
	ends_by TERM
}

@test "an ordinary user mounts again where a daemon has died" {
	cp "$CELLFS" "$PLACE/cellfs"
	mkdir "$STORE"
	chown "$NOBODY" "$STORE"
	mount_there setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups \
		"$PLACE/cellfs" "$STORE" "$M" -f
	kill -KILL "$DAEMON"
	wait "$DAEMON" || true
	DAEMON=
	run ! as_nobody ls "$M"
	mount_there setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups \
		"$PLACE/cellfs" "$STORE" "$M" -f
	settled as_nobody test -e "$M/.cellfs/help"
	ends_by TERM
}

@test "root runs it as another user, whose the mount is then" {
	local mounter

	mount_there setpriv --groups=0,4 "$CELLFS" "$STORE" "$M" -f \
		-o run_as=nobody,sandbox=auto
	grep -q "^Uid:	$NOBODY	$NOBODY	$NOBODY" "/proc/$DAEMON/status"
	grep -q "^Gid:	$NOBODY	$NOBODY	$NOBODY" "/proc/$DAEMON/status"
	# Nor has it root's other groups.
	[ "$(sed -n 's/^Groups://p' "/proc/$DAEMON/status" | xargs -n 1 | sort)" = \
		"$(id -G nobody | xargs -n 1 | sort)" ]
	grep -q "^CapEff:	0*\$" "/proc/$DAEMON/status"
	grep -q "^NoNewPrivs:	1" "/proc/$DAEMON/status"
	# Who mounts is root's, in the name of that user.
	mounter=$(pgrep -P "$DAEMON" -x cellfs-mounter)
	grep -q "^Uid:	$NOBODY	0	0	0\$" "/proc/$mounter/status"
	grep -q "^Gid:	$NOBODY	0	0	0\$" "/proc/$mounter/status"
	as_nobody mkdir "$M/T"
	echo x | as_nobody tee "$M/T/.put/r/f:q"
	[ "$(as_nobody cat "$M/T/r/f:q")" = x ]
	as_nobody grep -q "^user $NOBODY\$" "$M/.cellfs/status"
	[ "$(find "$STORE" ! -user "$NOBODY")" = "" ]
	ends_by TERM
	# What is another's is not taken.
	chown root "$STORE"
	run -1 "$CELLFS" "$STORE" "$M" -f -o run_as=nobody
	[[ $output == *"$STORE"* ]]
}

ended() {
	! kill -0 "$1" 2>/dev/null
}

# replaced_by COMMAND...: the daemon has made its store and waits, its user removes it
# and has the command put something there. The daemon ends, and says why.
replaced_by() {
	local tracer code=0

	rm -f "$T/calls"
	ASAN_OPTIONS=detect_leaks=0 strace -qq -o "$T/calls" -P "$STORE" \
		-e trace=?mkdir,mkdirat -e inject=?mkdir,mkdirat:signal=STOP:when=1 \
		"$CELLFS" "$STORE" "$M" -f -o run_as=nobody >"$LOG" 2>&1 3>&- &
	tracer=$!
	settled grep -qs 'stopped by SIGSTOP' "$T/calls"
	DAEMON=$(pgrep -P "$tracer")
	as_nobody rmdir "$STORE"
	as_nobody "$@"
	kill -CONT "$DAEMON"
	settled eval 'ended "$tracer" || ! gone'
	gone
	DAEMON=
	wait "$tracer" || code=$?
	[ "$code" -eq 1 ]
	grep -qF "the store $STORE: " "$LOG"
}

@test "root gives its user the store that it made, and nothing that took its place" {
	chown "$NOBODY" "$PLACE"
	mkdir -m 700 "$PLACE/linked" "$PLACE/moved"
	touch "$PLACE/moved/secret"
	replaced_by ln -sT linked "$STORE"
	rm "$STORE"
	replaced_by mv -T "$PLACE/moved" "$STORE"
	[ "$(stat -c %u "$PLACE/linked" "$STORE")" = $'0\n0' ]
}

@test "with sandbox=no the daemon leaves a core, and its user may look at it" {
	# A sanitizer has a limit of its own.
	ASAN_OPTIONS=disable_coredump=0 TSAN_OPTIONS=disable_coredump=0 \
		mount_there prlimit --core=4096 "$CELLFS" "$STORE" "$M" -f \
		-o run_as=nobody,sandbox=no
	grep -qE '^Max core file size +4096 +4096 ' "/proc/$DAEMON/limits"
	# So may a debugger, which asks for more.
	as_nobody cat "/proc/$DAEMON/environ" >"$T/environ"
	[ "$(stat -c %u "/proc/$DAEMON/mem")" = "$NOBODY" ]
	as_nobody grep -qx "core as the system has it" "$M/.cellfs/status"
	ends_by TERM
}

@test "only who has mounted it has access without allow_other, not even root" {
	mount_there "$CELLFS" "$STORE" "$M" -f -o run_as=nobody
	as_nobody ls "$M"
	run ! ls "$M"
	[[ $output == *"Permission denied"* ]]
	ends_by TERM
	rm -r "$STORE"
	mount_there "$CELLFS" "$STORE" "$M" -f
	ls "$M"
	run ! as_nobody ls "$M"
	[[ $output == *"Permission denied"* ]]
	ends_by TERM
	mount_there "$CELLFS" "$STORE" "$M" -f -o allow_other
	as_nobody ls "$M"
	ends_by TERM
}

@test "who cannot be run as is named" {
	mkdir "$STORE"
	run -1 "$CELLFS" "$STORE" "$M" -f -o run_as=no-such-user
	[[ $output == *"run_as=no-such-user: there is no such user"* ]]
	cp "$CELLFS" "$PLACE/cellfs"
	chown "$NOBODY" "$STORE"
	run -1 as_nobody "$PLACE/cellfs" "$STORE" "$M" -f -o run_as=root
	[[ $output == *"run_as=root: only root can run as another user"* ]]
	gone
}

@test "the daemon of root keeps no capability" {
	mount_there "$CELLFS" "$STORE" "$M" -f -o sandbox=auto
	grep -q "^CapEff:	0*\$" "/proc/$DAEMON/status"
	grep -q "^CapPrm:	0*\$" "/proc/$DAEMON/status"
	grep -q "^capabilities dropped" "$M/.cellfs/status"
	ends_by TERM
	mount_there "$CELLFS" "$STORE" "$M" -f
	grep -q "^no_new_privs yes" "$M/.cellfs/status"
	grep -q "^sandbox auto" "$M/.cellfs/options"
	ends_by TERM
	mount_there "$CELLFS" "$STORE" "$M" -f -o sandbox=no
	grep -q "^no_new_privs no" "$M/.cellfs/status"
	grep -q "^capabilities kept" "$M/.cellfs/status"
	grep -q "^core as the system has it" "$M/.cellfs/status"
	grep -q "^sandbox no" "$M/.cellfs/options"
	ends_by TERM
	run -2 "$CELLFS" "$STORE" "$M" -o sandbox=maybe
	[[ $output == *"auto or no or required is wanted"* ]]
}

@test "what root makes in a user's store is that user's, and he goes on with it" {
	cp "$CELLCTL" "$PLACE/cellctl"
	mkdir "$STORE"
	chown "$NOBODY" "$STORE"
	as_nobody "$PLACE/cellctl" create "$STORE" t f
	rm "$STORE/LOCK"
	"$CELLCTL" put "$STORE" t r f:q root
	"$CELLCTL" flush "$STORE"
	[ "$(as_nobody "$PLACE/cellctl" get "$STORE" t r f:q -v)" = root ]
	as_nobody "$PLACE/cellctl" put "$STORE" t r f:p his
	mount_there "$CELLFS" "$STORE" "$M" -f -o sandbox=auto
	echo x >"$M/t/.put/r/f:q"
	echo t >"$M/.cellfs/flush"
	echo x >"$M/t/.put/r/f:q"
	# What is found there at the end is told.
	echo note >"$M/t/r/.note"
	kill "$DAEMON"
	wait "$DAEMON"
	DAEMON=
	[ -d "$STORE/lost+found" ]
	[ "$(find "$STORE" ! -user "$NOBODY")" = "" ]
	[ "$(as_nobody "$PLACE/cellctl" get "$STORE" t r f:q -v)" = x ]
	as_nobody "$PLACE/cellctl" compact "$STORE"
}

@test "root uses the store of a user, and what is made there is not lost to him" {
	cp "$CELLCTL" "$PLACE/cellctl"
	mkdir "$STORE"
	chown "$NOBODY" "$STORE"
	as_nobody "$PLACE/cellctl" create "$STORE" t f
	mount_there "$CELLFS" "$STORE" "$M" -f -o sandbox=auto
	# Of any file it changes content, mode and owner, and has no other right.
	grep -q "^CapPrm:	0*b\$" "/proc/$DAEMON/status"
	grep -q "^CapEff:	0*b\$" "/proc/$DAEMON/status"
	echo x >"$M/t/.put/r/f:q"
	ends_by TERM
	[ "$("$CELLCTL" get "$STORE" t r f:q -v)" = x ]
}

@test "the process that unmounts outlives signals and ends with the daemon" {
	local helper signal
	# A terminal sends some to both; what a shell starts apart ignores INT.
	for signal in TERM INT HUP PIPE; do
		mount_there env --default-signal "$CELLFS" "$STORE" "$M" -f \
			-o sandbox=auto
		helper=$(cat "/proc/$DAEMON/task/$DAEMON/children")
		[ "$(cat "/proc/${helper% }/comm")" = cellfs-mounter ]
		kill "-$signal" "${helper% }"
		ends_by TERM
		[ ! -e "/proc/${helper% }" ]
	done
	mount_there "$CELLFS" "$STORE" "$M" -f -o sandbox=auto
	helper=$(cat "/proc/$DAEMON/task/$DAEMON/children")
	kill -KILL "$DAEMON"
	wait "$DAEMON" || true
	DAEMON=
	settled [ ! -e "/proc/${helper% }" ]
	run ! ls "$M"
	[[ $output == *"not connected"* ]]
	fusermount3 -u -z "$M"
}

@test "the log and the socket of metrics are root's, and its user needs no right there" {
	mkdir -m 700 "$PLACE/root"
	mount_there "$CELLFS" "$STORE" "$M" -f \
		-o run_as=nobody,log="$PLACE/root/log",metrics="unix:$PLACE/root/s"
	[ "$(stat -c '%u %a' "$PLACE/root/log" "$PLACE/root/s")" = $'0 600\n0 660' ]
	curl -sS --max-time 60 --unix-socket "$PLACE/root/s" http://x/metrics |
		grep -qx 'cellfs_healthy 1'
	ends_by TERM
	grep -q 'notice: unmounted' "$PLACE/root/log"
}
