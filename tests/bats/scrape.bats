#!/usr/bin/env bats
# Metrics over HTTP.
# shellcheck disable=SC2034

load helper

setup() {
	T=$BATS_TEST_TMPDIR
	STORE=$T/store
	M=$T/mnt
	LOG=$T/log
	not_over_hbase "it is the daemon's, whatever it mounts"
}

# mount_with_port: with metrics at $PORT, which was free; another one may have taken it
# meanwhile.
mount_with_port() {
	local turn

	for turn in {1..10}; do
		PORT=$(python3 -c 'import socket
print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
		mount_store -o metrics="$PORT" && return
		grep -q "Address already in use" "$LOG" || return
		wait "$DAEMON" || true
	done
	return 1
}

get() {
	curl -sS --max-time 60 "$@"
}

# status URL...: the number of the reply.
status() {
	get -o "$T/body" -w '%{http_code}' "$@"
}

@test "without the option nothing listens" {
	mount_store
	grep -qx 'metrics no' "$M/.cellfs/options"
	# The daemon has one socket, to the process that unmounts.
	[ "$(readlink "/proc/$DAEMON/fd"/* | grep -c socket:)" = 1 ]
	[ "$(ss -Hlnpt | grep -c "pid=$DAEMON,")" = 0 ]
}

@test "GET /metrics gives what .cellfs/metrics has" {
	mount_with_port
	mkdir "$M/T"
	get -D "$T/head" "http://127.0.0.1:$PORT/metrics" >"$T/got"
	grep -qi '^content-type: text/plain; version=0.0.4' "$T/head"
	grep '^# TYPE' "$M/.cellfs/metrics" | diff - <(grep '^# TYPE' "$T/got")
	grep -q '^cellfs_table_rows{table="T"} 0$' "$T/got"
	grep -qx "metrics $PORT" "$M/.cellfs/options"
}

# What `promtool check metrics` finds fault with, and what else a scrape refuses.
@test "the metrics keep to the rules of Prometheus" {
	mount_store
	mkdir "$M/T" "$M/T/R"
	echo x >"$M/T/R/f:q"
	echo 'quota 1MiB' >>"$M/T/.schema"
	python3 - "$M/.cellfs/metrics" <<-'END'
		import re, sys
		helps, types, seen, last = {}, {}, set(), None
		label = r'([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"'
		for line in open(sys.argv[1], encoding="utf-8"):
		    comment = re.fullmatch(r"# (HELP|TYPE) (\S+) (.+)\n", line)
		    if comment:
		        what, name, text = comment.groups()
		        assert name not in (helps, types)[what == "TYPE"], line
		        (helps, types)[what == "TYPE"][name] = text
		        continue
		    sample = re.fullmatch(r"([a-z_0-9]+)(?:\{(.*)\})? (\S+)\n", line)
		    assert sample, line
		    name, labels, value = sample.groups()
		    float(value)
		    labels = re.fullmatch(rf"(?:{label}(?:,|$))*", labels or "") and \
		        re.findall(label, labels or "")
		    assert labels is not None, line
		    family = re.sub("_(bucket|sum|count)$", "", name)
		    histogram = types.get(family) == "histogram"
		    family = family if histogram else name
		    # All of one family, with help and type, before the next.
		    assert family in helps and family in types, line
		    assert family == last or family not in {f for f, _ in seen}, line
		    last = family
		    assert (family, name + str(labels)) not in seen, line
		    seen.add((family, name + str(labels)))
		    assert ("le" in dict(labels)) == name.endswith("_bucket"), line
		for name, kind in types.items():
		    assert kind in ("counter", "gauge", "histogram"), name
		    assert name.endswith("_total") == (kind == "counter"), name
		    words = name.split("_")
		    assert kind == "histogram" or words[-1] not in (
		        "bucket", "sum", "count"), name
		    assert not set(words) & {
		        "counter", "gauge", "histogram", "summary", "metric",
		        "ms", "us", "ns", "s", "sec", "milliseconds",
		        "microseconds", "minutes", "hours", "days", "b", "kb",
		        "mb", "kilobytes", "megabytes", "bits", "percent"}, name
		assert set(helps) == set(types) == {f for f, _ in seen}, \
		    set(types) ^ {f for f, _ in seen}
		assert len(types) > 60
	END
}

@test "the board of Grafana asks for metrics that there are" {
	local board=$BATS_TEST_DIRNAME/../../tools/install/grafana.json

	mount_store
	mkdir "$M/T"
	sed -n 's/^# TYPE \([^ ]*\) \(.*\)/\1 \2/p' "$M/.cellfs/metrics" |
		awk '{ print $1 } $2 == "histogram" {
			print $1 "_bucket"; print $1 "_count"; print $1 "_sum" }' |
		sort >"$T/there"
	jq -r '[.panels[].targets[].expr, .templating.list[].query] | .[]' \
		"$board" | grep -oE '(cellfs|process)_[a-z0-9_]+' | sort -u >"$T/asked"
	[ "$(wc -l <"$T/asked")" -gt 20 ]
	[ -z "$(comm -13 "$T/there" "$T/asked")" ]
	# Labels too: each that it sums by is one of that metric's.
	local label
	for label in $(jq -r '.panels[].targets[].legendFormat' "$board" |
		grep -oE '\{\{[a-z]+' | tr -d '{' | sort -u); do
		[ "$label" = instance ] ||
			grep -q "[{,]$label=\"" "$M/.cellfs/metrics"
	done
}

@test "there is nothing but GET /metrics" {
	local url

	mount_store -o metrics="unix:$T/s"
	url=http://cellfs/metrics
	[ "$(status --unix-socket "$T/s" "$url")" = 200 ]
	[ "$(status --unix-socket "$T/s" -I "$url")" = 200 ]
	[ "$(status --unix-socket "$T/s" -X POST -d x "$url")" = 405 ]
	[ "$(status --unix-socket "$T/s" -D "$T/head" -X DELETE "$url")" = 405 ]
	grep -qi '^allow: GET, HEAD' "$T/head"
	[ "$(status --unix-socket "$T/s" -D "$T/head" http://cellfs/)" = 404 ]
	run ! grep -i '^allow:' "$T/head"
	[ "$(status --unix-socket "$T/s" --path-as-is "$url/../T")" = 404 ]
}

@test "a port alone is on this machine only, and another address is written" {
	mount_with_port
	[ "$(ss -Hltn "sport = :$PORT" | awk '{print $4}')" = "127.0.0.1:$PORT" ]
	remount_store -o metrics="0.0.0.0:$PORT"
	[ "$(ss -Hltn "sport = :$PORT" | awk '{print $4}')" = "0.0.0.0:$PORT" ]
	[ "$(status "http://127.0.0.1:$PORT/metrics")" = 200 ]
}

@test "a socket in the filesystem is for owner and group, and is used again" {
	mkdir "$T/run"
	[ "$(id -u)" -ne 0 ] || chgrp 65534 "$T/run"
	chmod 2750 "$T/run"
	mount_store -o metrics="unix:$T/run/s"
	[ "$(stat -c '%a %F %g' "$T/run/s")" = \
		"660 socket $(stat -c %g "$T/run")" ]
	kill -9 "$DAEMON"
	wait "$DAEMON" || true
	fusermount3 -u -z "$M"
	mount_store -o metrics="unix:$T/run/s"
	[ "$(status --unix-socket "$T/run/s" http://x/metrics)" = 200 ]
	# One that is in use is not taken, nor is what is no socket.
	mkdir "$T/m2"
	run -1 timeout 60 "$CELLFS" "$T/store2" "$T/m2" -f -o metrics="unix:$T/run/s"
	[[ $output == *"$T/run/s: cannot listen there: Address already in use"* ]]
	echo data >"$T/run/file"
	run -1 timeout 60 "$CELLFS" "$T/store2" "$T/m2" -f -o metrics="unix:$T/run/file"
	[ "$(cat "$T/run/file")" = data ]
	[ "$(status --unix-socket "$T/run/s" http://x/metrics)" = 200 ]
}

@test "a socket is in use where who listens takes nobody in" {
	mkdir "$M"
	coproc python3 -c 'import socket, sys
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1])
listening.listen(0)
waiting = []
try:
    while True:
        waiting.append(socket.socket(socket.AF_UNIX))
        waiting[-1].setblocking(False)
        waiting[-1].connect(sys.argv[1])
except BlockingIOError:
    print("full", flush=True)
sys.stdin.read()' "$T/s" 3>&-
	read -r _ <&"${COPROC[0]}"
	run -1 timeout 60 "$CELLFS" "$STORE" "$M" -f -o metrics="unix:$T/s"
	[[ $output == *"$T/s: cannot listen there: Address already in use"* ]]
	kill "$COPROC_PID"
}

@test "what is no address is refused in words, and nothing is mounted" {
	local where

	mkdir "$M"
	for where in 0 65536 x localhost:80 ::1:80 127.0.0.1 127.0.0.1: [::1]80 \
		unix: "unix:$(printf 'p%.0s' {1..120})"; do
		run -1 timeout 60 "$CELLFS" "$STORE" "$M" -f -o metrics="$where"
		[[ $output == *"metrics=$where: PORT, ADDRESS:PORT"* ]]
	done
	run ! mountpoint -q "$M"
}

# client: runs the Python on stdin, which has ask(TEXT), a connection, and half a
# request.
client() {
	{
		cat <<-'END'
			import socket, sys
			def ask(text):
			    s = socket.socket(socket.AF_UNIX)
			    s.connect(sys.argv[1])
			    s.sendall(text)
			    return s
			half = b"GET /metrics HTTP/1.1\r\nHost: x\r\n"
		END
		cat
	} | python3 - "$T/s"
}

@test "connections that say nothing keep nobody out: the oldest ends" {
	mount_store -o metrics="unix:$T/s"
	client <<-'END'
		held = [ask(half) for _ in range(8)]
		assert ask(half + b"\r\n").recv(12) == b"HTTP/1.1 200"
		assert held[0].recv(1) == b""
		held[1].sendall(b"\r\n")
		assert held[1].recv(12) == b"HTTP/1.1 200"
	END
}

@test "eight are served at a time, however many came before" {
	mount_store -o metrics="unix:$T/s"
	client <<-'END'
		for _ in range(20):
		    s = ask(half + b"Connection: close\r\n\r\n")
		    assert s.recv(12) == b"HTTP/1.1 200"
		    while s.recv(1 << 16):
		        pass
		held = [ask(half) for _ in range(8)]
		for s in held:
		    s.sendall(b"\r\n")
		    assert s.recv(12) == b"HTTP/1.1 200"
	END
}

@test "signals are the main thread's, also beside a scraper's" {
	mount_store -o metrics="unix:$T/s"
	local task threads=0
	for task in "/proc/$DAEMON/task"/*; do
		[ "${task##*/}" != "$DAEMON" ] || continue
		threads=$((threads + 1))
		# SIGTERM is the fifteenth.
		[ $((0x$(sed -n 's/^SigBlk:\t//p' "$task/status") & 1 << 14)) -ne 0 ]
	done
	[ "$threads" -gt 2 ]
	[ $((0x$(sed -n 's/^SigBlk:\t//p' "/proc/$DAEMON/status") & 1 << 14)) -eq 0 ]
}

@test "an unmount does not wait for who is connected" {
	mount_store -o metrics="unix:$T/s"
	coproc python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
print("there", flush=True)
sys.exit(s.recv(1) != b"")' "$T/s" 3>&-
	local pid=$COPROC_PID
	read -r _ <&"${COPROC[0]}"
	# Else it is closed when it has been silent for so long: see scrape.h.
	unmount_store
	wait "$pid"
}
