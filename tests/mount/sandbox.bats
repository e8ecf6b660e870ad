#!/usr/bin/env bats
# All that the daemon gives up, in a build without a sanitizer.

load ../bats/helper

@test "without an option it is on, and -o sandbox=no leaves it off" {
	remount_store
	grep -q '^landlock yes' "$M/.cellfs/status"
	grep -q '^seccomp yes' "$M/.cellfs/status"
	grep -q '^Seccomp:	2' "/proc/$DAEMON/status"
	remount_store -o sandbox=no
	grep -q '^landlock no' "$M/.cellfs/status"
	grep -q '^Seccomp:	0' "/proc/$DAEMON/status"
}

@test "the sandbox is on in all parts, in every thread" {
	remount_store -o sandbox=required
	a_column
	local i task status
	for i in 1 2 3; do
		cat "$M/.cellfs/help" >/dev/null &
	done
	wait -n
	for task in "/proc/$DAEMON/task"/*; do
		# One that was idle may have ended.
		status=$(cat "$task/status" 2>/dev/null) || continue
		grep -q '^NoNewPrivs:	1' <<<"$status"
		grep -q '^Seccomp:	2' <<<"$status"
		grep -qE '^CapEff:	0+$' <<<"$status"
	done
	# The first thread has not.
	[ -n "$(cat "/proc/$DAEMON/task/$DAEMON/status")" ]
	grep -q '^Max core file size  *0  *0 ' "/proc/$DAEMON/limits"
	grep -q '^landlock yes' "$M/.cellfs/status"
	grep -q '^seccomp yes' "$M/.cellfs/status"
	grep -q '^core none' "$M/.cellfs/status"
}

@test "in it the thread that tells the kernel has the device apart, too" {
	remount_store -o sandbox=required
	[ "$(threads_apart)" -eq 1 ]
}

@test "work goes on in it: puts, scans, flushes, snapshots, lost and found" {
	remount_store -o sandbox=required -o log="$T/syslog"
	a_column
	local i
	for ((i = 0; i < 200; i++)); do
		echo "$i" >"$C/$i"
	done
	echo all >"$M/.cellfs/flush"
	echo all >"$M/.cellfs/compact"
	mkdir "$M/T/.snapshot/s"
	cat "$M/T/.cells" "$M/.cellfs/stats" "$M/.cellfs/metrics" >/dev/null
	rsync -a "$M/T/R/" "$T/copy/"
	"$CELLCTL" put "$M" T r2 f:q y
	[ "$("$CELLCTL" get "$STORE" T r2 f:q -v)" = y ]
	sync "$C/199"
	mkdir "$M/T/R/f/n"
	echo 5 >"$M/T/R/f/n/counter"
	echo note >"$C/note.tmp"
	mv "$M/T" "$M/U"
	# It says what it keeps, so that its log is not silent.
	fusermount3 -u "$M"
	wait "$DAEMON"
	mount_store -o sandbox=required
	[ "$(cat "$M/U/R/f/n/counter")" = 5 ]
	[ -d "$STORE/lost+found" ]
}

@test "metrics are served in it, over the network and by a socket" {
	local port where
	local -a curl=(curl -sS --max-time 60)

	# None that the system gives to connections.
	port=$(python3 -c 'import random, socket
while True:
    port = random.randrange(10000, 32768)
    try:
        socket.create_server(("127.0.0.1", port)).close()
        break
    except OSError:
        continue
print(port)')
	remount_store -o sandbox=required,metrics="$port"
	"${curl[@]}" "http://127.0.0.1:$port/metrics" | grep -qx 'cellfs_healthy 1'
	remount_store -o sandbox=required,metrics="unix:$T/s"
	for where in 1 2; do
		"${curl[@]}" --unix-socket "$T/s" http://x/metrics |
			grep -qx 'cellfs_healthy 1'
	done
}

@test "in the background too, and it unmounts itself" {
	unmount_store
	"$CELLFS" "$STORE" "$M" -o sandbox=required 3>&-
	[ "$(ls "$M/.cellfs/status")" = "$M/.cellfs/status" ]
	DAEMON=
	local pid
	pid=$(awk '$1 == "pid" {print $2}' "$M/.cellfs/stats")
	kill -TERM "$pid"
	settled [ ! -e "/proc/$pid" ]
	run ! mountpoint -q "$M"
}

@test "nothing that the daemon asks for is refused" {
	unmount_store
	mkdir -p "$M"
	strace -f -qq -e trace=all -e status=failed -o "$T/trace" \
		"$CELLFS" "$STORE" "$M" -f -o sandbox=auto \
		>"$LOG" 2>&1 3>&- &
	DAEMON=$!
	settled mountpoint -q "$M"
	a_column
	echo x >"$C/1"
	cat "$M/T/.cells" "$M/.cellfs/metrics" "$M/.cellfs/stats" >/dev/null
	echo all >"$M/.cellfs/flush"
	"$CELLCTL" put "$M" T r2 f:q y
	rm -r "$M/T"
	unmount_store
	run ! grep -E ' (EPERM|EACCES) ' "$T/trace"
}

@test "no store is made in another, where the sandbox looks at none above" {
	mkdir "$T/m"
	run -1 "$CELLFS" "$STORE/new" "$T/m" -o sandbox=required
	[[ $output == *"is in $STORE, which is a store"* ]]
	[ ! -e "$STORE/new" ]
}
