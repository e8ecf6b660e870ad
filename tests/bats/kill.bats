load helper

# The daemon dies; its mount is taken away and the store mounted anew.
kill_daemon() {
	kill -9 "$DAEMON"
	wait "$DAEMON" || true
	fusermount3 -u -z "$M"
}

# writer N: puts cell after cell, and writes down each whose close(2) succeeded.
# A shell would not do: echo does not look at what close returns.
writer() {
	python3 - "$M/T/R$1" "$1" <<-'PY' > "$T/done.$1"
	import os, sys
	i = 0
	try:
	    while True:
	        fd = os.open(f"{sys.argv[1]}/f:q{i}", os.O_WRONLY | os.O_CREAT)
	        os.write(fd, f"{sys.argv[2]} {i}".encode())
	        os.close(fd)
	        os.write(1, f"{sys.argv[2]} {i}\n".encode())
	        i += 1
	except OSError:
	    pass
	PY
}

# Every writer has begun and together they have done some.
enough_done() {
	local f
	for f in "$T"/done.{1..8}; do
		[ -s "$f" ] || return 1
	done
	sleep 0.5
	[ "$(cat "$T"/done.* | wc -l)" -ge 80 ]
}

@test "what was closed survives kill -9 under eight writers" {
	local w pids=()
	mkdir "$M/T"
	for w in 1 2 3 4 5 6 7 8; do
		mkdir "$M/T/R$w"
		writer "$w" 3>&- &
		pids+=($!)
	done
	settled enough_done
	kill_daemon
	wait "${pids[@]}" || true
	mount_store
	# Nothing lost proves nothing when nothing was written.
	cat "$T"/done.* | python3 -c '
import sys
lines = sys.stdin.read().splitlines()
for line in lines:
    n, i = line.split()
    path = f"{sys.argv[1]}/T/R{n}/f/q{i}/latest"
    assert open(path).read() == line, path
assert len(lines) >= 80, len(lines)' "$M"
}

@test "a file that was not closed when the daemon died is not there" {
	a_column
	python3 - "$C/latest" "$DAEMON" <<-'PY'
	import os, signal, sys
	fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
	os.write(fd, b"half")
	os.kill(int(sys.argv[2]), signal.SIGKILL)
	try:
	    os.close(fd)
	except OSError:
	    pass
	PY
	wait "$DAEMON" || true
	fusermount3 -u -z "$M"
	mount_store
	[ -z "$(ls "$M/T")" ]
}

@test "SIGTERM ends with everything on disk" {
	a_column
	for i in 1 2 3; do echo "$i" > "$C/$i"; done
	kill "$DAEMON"
	wait "$DAEMON"
	[ ! -s "$LOG" ]
	mount_store
	[ "$(versions "$C")" -eq 3 ]
}

@test "a file that is open when the mount ends is kept as far as it was written" {
	a_column
	python3 - "$C/latest" "$DAEMON" <<-'PY'
	import os, signal, sys
	fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
	os.write(fd, b"all of it")
	os.kill(int(sys.argv[2]), signal.SIGTERM)
	try:
	    os.waitid(os.P_PID, int(sys.argv[2]), os.WEXITED)
	except OSError:
	    import time
	    time.sleep(0.5)
	PY
	wait "$DAEMON"
	fusermount3 -u -z "$M" 2>/dev/null || true
	mount_store
	[ "$(cat "$C/latest")" = "all of it" ]
}
