# What the daemon says to people who are not looking.
load helper

@test "mount, recovery and unmount are in the log, and stderr is silent" {
	remount_logged
	a_row
	echo x > "$M/T/R/f:q"
	[ "$(logged notice "mounted $STORE on $M")" -eq 1 ]
	unmount_store
	[ "$(logged notice "unmounted $STORE from $M")" -eq 1 ]
	[ "$(wc -l < "$SYSLOG")" -eq 3 ]
}

@test "the log says what was recovered after kill -9" {
	remount_logged
	a_row
	echo x > "$M/T/R/f:q"
	echo y > "$M/T/R/f:r"
	kill -9 "$DAEMON"
	wait "$DAEMON" || true
	fusermount3 -u -z "$M"
	mount_store -o log="$SYSLOG"
	[ "$(logged notice \
		"recovered $STORE: 1 segments and 2 records of the log in [0-9]+ ms")" -eq 1 ]
	grep -q '^  recovered_records *2$' "$M/.cellfs/stats"
}

logged_all() {
	[ "$(logged notice unmounted)" -eq 2 ]
}

@test "a daemon in the background says its errors in the log" {
	remount_logged
	unmount_store
	"$CELLFS" "$STORE" "$M" -o log="$SYSLOG" 3>&-
	settled mountpoint -q "$M"
	pid=$(awk '$1 == "pid" { print $2 }' "$M/.cellfs/stats")
	fusermount3 -u "$M"
	settled logged_all
	[ "$(grep -c "cellfs\[$pid\] notice: " "$SYSLOG")" -eq 3 ]
}

@test "without -o log the log is syslog" {
	unmount_store
	# Leaks cannot be looked for under a tracer.
	ASAN_OPTIONS=detect_leaks=0 strace -f -o "$T/trace" \
		-e trace=connect,sendto "$CELLFS" "$STORE" "$M" 3>&- &
	pid=$!
	settled mountpoint -q "$M"
	fusermount3 -u "$M"
	wait "$pid"
	grep -q '"/dev/log"' "$T/trace"
}

@test "log=syslog and log=journald are syslog, and no files of those names" {
	local name

	unmount_store
	for name in syslog journald; do
		ASAN_OPTIONS=detect_leaks=0 strace -f -o "$T/trace" \
			-e trace=connect,sendto env -C "$T" "$CELLFS" "$STORE" "$M" \
			-o log=$name 3>&- &
		pid=$!
		settled mountpoint -q "$M"
		fusermount3 -u "$M"
		wait "$pid"
		grep -q '"/dev/log"' "$T/trace"
		[ ! -e "$T/$name" ]
	done
}

@test "a log that was copied and truncated goes on from its beginning" {
	remount_logged
	[ -s "$SYSLOG" ]
	: >"$SYSLOG"
	unmount_store
	[ "$(head -c 1 "$SYSLOG")" = 2 ]
	[ "$(wc -l <"$SYSLOG")" -eq 1 ]
	[ "$(logged notice "unmounted $STORE from $M")" -eq 1 ]
}

@test "a log that cannot be opened is said, and nothing is mounted" {
	unmount_store
	run "$CELLFS" "$STORE" "$M" -o log="$T/none/log"
	[ "$status" -eq 1 ]
	[[ $output == *"$T/none/log"* ]]
	run ! mountpoint -q "$M"
}
