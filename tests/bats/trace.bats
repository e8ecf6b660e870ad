load helper

# watch: what the trace shows from now on goes into $T/seen.
watch() {
	WATCHER=
	settled watching
}

# watching: it does. A reader that has ended may still be one of the four, for its
# RELEASE comes when it is gone.
watching() {
	[ -n "$WATCHER" ] && kill -0 "$WATCHER" 2>/dev/null || {
		cat "$M/.cellfs/trace" >"$T/seen" 2>/dev/null 3>&- &
		WATCHER=$!
	}
	asked_of "$T/seen"
}

# released N: what was closed is, which close(2) does not wait for: N files are open.
released() {
	settled grep -q "open handles *$1\$" "$M/.cellfs/stats"
}

# asked_of FILE: a name that nobody asked for is in it. The kernel believes the
# absence of a table.
asked_of() {
	local name=absent$RANDOM$RANDOM

	[ ! -e "$M/$name" ]
	grep -q "/$name\$" "$1"
}

teardown() {
	[ -z "${WATCHER:-}" ] || ! kill "$WATCHER" 2>/dev/null ||
		wait "$WATCHER" || true
	# libfuse keeps an interrupt that came behind the answer until the next request,
	# and to its end if there is none, which is a leak.
	[ ! -e "$M/absent$RANDOM$RANDOM" ]
	end_store
}

# shown OP RESULT PATH: a line with the time of day and how long it took.
shown() {
	grep -qE "^20[0-9]{2}(-[0-9]{2}){2}T[0-9:]{8}\.[0-9]{3}Z	[0-9]+\.[0-9]{3} ms	$1	$2	$3\$" \
		"$T/seen"
}

@test "the trace shows each request with its time, result and path" {
	a_row
	watch
	echo x > "$M/T/R/f:q"
	settled shown write ok /T/R/f:q
	shown create ok /T/R/f:q
	shown flush ok /T/R/f:q
	[ "$(cat "$M/T/R/f:q")" = x ]
	settled shown read ok /T/R/f:q
	run ! mkdir "$M/T/R"
	run ! touch "$M/T/R/f/q/0123"
	settled shown create EINVAL /T/R/f/q/0123
	[ ! -e "$M/T/nothing" ]
	settled shown lookup ENOENT /T/nothing
	# Its own reads are not among them, or there would be no end.
	run ! grep -q .cellfs/trace "$T/seen"
}

@test "no name makes a second line of the trace, nor a field of one" {
	a_row
	watch
	[ ! -e "$M/T/a"$'\n'"b"$'\t'"c"$'\177' ]
	settled shown lookup ENOENT '/T/a\?b\?c\?'
	touch "$M/T/.a"$'\n'"b"
	settled shown create ok '/T/\.a\?b'
	rm "$M/T/.a"$'\n'"b"
	settled shown unlink ok '/T/\.a\?b'
	run ! grep -vE '^20' "$T/seen"
}

@test "requests that come before the trace is opened are not in it" {
	a_row
	echo x > "$M/T/R/f:before"
	released 0
	watch
	echo x > "$M/T/R/f:q"
	settled shown write ok /T/R/f:q
	run ! grep -q before "$T/seen"
}

@test "slow MS leaves out of the trace what takes less" {
	a_row
	watch
	echo slow 3600000 > "$M/.cellfs/trace"
	echo x > "$M/T/R/f:fast"
	released 1
	echo slow 0 > "$M/.cellfs/trace"
	echo x > "$M/T/R/f:q"
	settled shown write ok /T/R/f:q
	run ! grep -q f:fast "$T/seen"
	local bad
	echo slow 1000000000 > "$M/.cellfs/trace"
	for bad in "slow" "slow -1" "slow x" "fast 1" "slow 1 2" "slow nan" \
		"slow 1000000001"; do
		run ! bash -c "echo '$bad' > '$M/.cellfs/trace'"
		grep -q 'trace: EINVAL: write "slow MS"' "$M/.cellfs/errors"
	done
}

@test "a reader of the trace ends with a signal and with the mount" {
	watch
	kill "$WATCHER"
	wait "$WATCHER" || [ $? -eq 143 ]
	watch
	kill -TERM "$DAEMON"
	wait "$DAEMON"
	DAEMON=
	wait "$WATCHER" || true
	[ ! -s "$LOG" ]
}

@test "the trace is for who mounted the store, and for four readers at a time" {
	[ "$(stat -c %a "$M/.cellfs/trace")" = 600 ]
	local i pids=()
	for i in 1 2 3 4; do
		cat "$M/.cellfs/trace" >"$T/seen$i" 3>&- &
		pids+=($!)
	done
	for i in 1 2 3 4; do
		settled asked_of "$T/seen$i"
	done
	run ! cat "$M/.cellfs/trace"
	[[ $output == *busy* ]]
	kill "${pids[@]}"
	wait "${pids[@]}" || true
	watch
}

# heard: something comes on 4 of what is asked now.
heard() {
	[ ! -e "$M/absent$RANDOM$RANDOM" ]
	read -r -t 1 -u 4
}

@test "a reader that falls behind is told how many requests it missed" {
	a_row
	mkfifo "$T/slow"
	cat "$M/.cellfs/trace" >"$T/slow" 3>&- &
	WATCHER=$!
	exec 4<"$T/slow"
	settled heard
	seq -f "$M/T/R/f:%g" 5000 | xargs stat >/dev/null 2>&1 || true
	timeout 60 grep -m 1 -E '^# [0-9]+ requests are left out$' <&4
	exec 4<&-
}

@test "who reads the trace a byte at a time reads the same lines" {
	a_row
	watch
	mkfifo "$T/bytes"
	dd if="$M/.cellfs/trace" of="$T/bytes" bs=1 status=none 3>&- &
	local reader=$!
	exec 4<"$T/bytes"
	settled heard
	[ ! -e "$M/T/nothing" ]
	timeout 60 grep -qxE "20.*Z	[0-9.]+ ms	lookup	ENOENT	/T/nothing" <&4
	kill "$reader"
	wait "$reader" || true
	exec 4<&-
}

# reads: how many reads the metrics tell of, this look's before it not included.
reads() {
	dd if="$M/.cellfs/metrics" bs=1M count=1 status=none |
		sed -n 's/^cellfs_request_seconds_count{op="read"} //p'
}

@test "who waits for the trace is not in the times of requests" {
	local first second third fourth

	cat "$M/.cellfs/help" >/dev/null
	first=$(reads)
	second=$(reads)
	watch
	third=$(reads)
	fourth=$(reads)
	[ $((fourth - third)) -eq $((second - first)) ]
}
