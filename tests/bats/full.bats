# A disk that is full, and one that takes no more writes.
load helper

# small_disk OPTIONS: the store is on a small filesystem, logged.
small_disk() {
	unmount_store
	mkdir "$T/disk"
	mount -t tmpfs -o "$1" none "$T/disk"
	STORE=$T/disk/store
	SYSLOG=$T/syslog
	mount_store -o log="$SYSLOG"
}

teardown() {
	[ -z "${TRACER:-}" ] || heal
	end_store
	! mountpoint -q "$T/disk" || umount "$T/disk"
}

# fill ROW [N]: puts as a shell does, which sees errors of open and write alone,
# until N (1) in a row are refused, 50 ms apart: a flush gives space back while
# there is any to be had. Then $PUT is how many were acknowledged.
fill() {
	mkdir -p "$M/T/$1"
	PUT=$(python3 - "$M/T/$1" "${2:-1}" <<-'EOF'
		import os, sys, time
		n = refused = 0
		while refused < int(sys.argv[2]):
		    fd = -1
		    try:
		        fd = os.open(f"{sys.argv[1]}/f:q{n}",
		                     os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
		        os.write(fd, (b"%d " % n) + bytes(8000))
		    except OSError as e:
		        refused += 1
		        if fd >= 0:
		            try:
		                os.close(fd)
		            except OSError:
		                pass
		        time.sleep(0.05)
		        continue
		    try:
		        os.close(fd)
		    except OSError as e:
		        sys.exit(f"close of {n}: {e}")
		    n += 1
		    refused = 0
		print(n)
		EOF
	)
}

# acknowledged ROW: all that fill() put is there.
acknowledged() {
	python3 - "$M/T/$1" "$PUT" <<-'EOF'
		import sys
		for n in range(int(sys.argv[2])):
		    assert open(f"{sys.argv[1]}/f:q{n}", "rb").read() == \
		        (b"%d " % n) + bytes(8000), n
		EOF
}

@test "on a full disk a put is refused at open, and what was put stays" {
	small_disk size=8m
	mkdir "$M/T"
	fill R 60
	[ "$PUT" -gt 100 ]
	run bash -c "echo x > '$M/T/R/f:new'"
	[ "$status" -ne 0 ]
	[[ $output == *"No space left"* ]]
	run bash -c "echo x >> '$M/T/R/f:q1'"
	[ "$status" -ne 0 ]
	run bash -c "echo 1 > '$M/T/R/f/n/counter'"
	[ "$status" -ne 0 ]
	run bash -c "printf 'R\tf:s\t\tx\n' > '$M/T/.cells'"
	[ "$status" -ne 0 ]
	[[ $output == *"No space left"* ]]
	# Nor are many rows that one write brings.
	run bash -c "seq -f 'S%g	f:q		x' 50 > '$M/T/.cells'"
	[ "$status" -ne 0 ]
	[ "$(ls "$M/T")" = R ]
	grep -q "kept for deletes" "$M/.cellfs/errors"
	settled grep -q "is full: only deletes are taken" "$SYSLOG"
	[ "$(ls "$M/T/R/f" | wc -l)" -eq "$PUT" ]
	acknowledged R
	kill -9 "$DAEMON"
	wait "$DAEMON" || true
	fusermount3 -u -z "$M"
	mount_store -o log="$SYSLOG"
	acknowledged R
	: >"$SYSLOG"
	rm -r "$M/T/R"
	settled eval 'echo x > "$M/T/.put/R/f:new"'
	settled grep -q "has room: puts are taken again" "$SYSLOG"
}

# reserve_is BYTES: so much of the disk is kept back.
reserve_is() {
	settled test -s "$STORE/wal.reserve"
	[ "$(stat -c %s "$STORE/wal.reserve")" -eq "$1" ]
	[ $(($(stat -c '%b * %B' "$STORE/wal.reserve"))) -ge "$1" ]
}

@test "what is kept back from the start is 80 MiB, and 4 of a disk of 40" {
	reserve_is $((80 << 20))
	small_disk size=40m
	reserve_is $((4 << 20))
}

# traced: all threads of the daemon are.
traced() {
	! grep -qs '^TracerPid:[[:space:]]0$' "/proc/$DAEMON/task"/*/status
}

# inject CALLS ERRNO [N]: from now on, in each of the daemon's threads, every
# such call fails, or every one from the N-th on.
inject() {
	strace -f -qq -o "$T/trace" -p "$DAEMON" \
		-e "trace=$1" -e "inject=$1:error=$2:when=${3:-1}+" \
		2>"$T/strace" 3>&- &
	TRACER=$!
	settled traced
}

# says_crit: the one line of a store that takes no more writes.
says_crit() {
	settled grep -q "crit: .*takes no more writes" "$SYSLOG"
	[ "$(logged crit "")" -eq 1 ]
}

# heal: they do not fail any more.
heal() {
	kill "$TRACER"
	wait "$TRACER" || true
	TRACER=
}

# end_failed: the daemon says at its end too that the store has failed.
end_failed() {
	local code=0

	fusermount3 -u "$M"
	wait "$DAEMON" || code=$?
	DAEMON=
	[ "$code" -eq 1 ]
	: >"$LOG"
}

# Nothing that was acknowledged is lost when the log finds no next segment.
no_next_segment() {
	small_disk size=8m
	mkdir "$M/T"
	echo x > "$M/T/.put/R/f:first"
	inject fallocate "$1"
	fill R
	[ "$PUT" -gt 10 ]
	acknowledged R
}

@test "a log that gets no next segment (EIO) is known before the put that needs it" {
	no_next_segment EIO
	run bash -c "echo x > '$M/T/R/f:new'"
	[ "$status" -ne 0 ]
	run bash -c "echo x >> '$M/T/R/f:q1'"
	[ "$status" -ne 0 ]
	says_crit
	grep -q "takes no more writes.*wal" "$LOG"
	heal
	end_failed
	mount_store
	acknowledged R
	echo x > "$M/T/R/f:new"
}

@test "a quota is a full disk: puts are refused at open, the log has not failed" {
	no_next_segment EDQUOT
	[ "$(logged crit "")" -eq 0 ]
	rm "$M/T/R/f/q1/latest"
	heal
	settled eval 'echo x > "$M/T/R/f:new"'
	remount_store
	[ "$(ls "$M/T/R/f" | wc -l)" -eq "$((PUT + 1))" ]
}

# cycles OPTIONS N: fill, delete, kill -9, reopen, on a small filesystem.
cycles() {
	unmount_store
	mkdir "$T/disk"
	mount -t tmpfs -o "$1" none "$T/disk"
	run python3 "$BATS_TEST_DIRNAME/../mount/full_cycles.py" \
		"$CELLFS" "$T/disk/store" "$M" "$2"
	echo "$output"
	[ "$status" -eq 0 ]
	DAEMON=
}

@test "who deletes on a full disk gets space back, and nothing else is lost" {
	cycles size=8m 5
}

@test "who deletes on a disk without inodes gets them back" {
	cycles size=64m,nr_inodes=12 3
}

@test "each who asks for a sync is told that it fails, again and again" {
	small_disk size=8m
	mkdir -p "$M/T/R/f/q"
	echo x > "$M/T/R/f/q/5"
	inject fdatasync,pwritev2 EIO
	# What there is to sync: the daemon itself may have met the fault first.
	echo y > "$M/T/R/f/q/6" || true
	python3 - "$M" <<-'EOF'
		import errno, os, sys
		m = sys.argv[1]
		version = m + "/T/R/f/q/5"
		def sync(path, call=os.fsync):
		    fd = os.open(path, os.O_RDONLY)
		    try:
		        call(fd)
		    finally:
		        os.close(fd)
		def control():
		    with open(m + "/.cellfs/sync", "wb", buffering=0) as f:
		        f.write(b"\n")
		for ask in (lambda: sync(version), lambda: sync(version),
		            lambda: sync(version, os.fdatasync),
		            lambda: sync(m + "/T/R"), lambda: sync(m),
		            lambda: sync(m + "/T/.cells"), control):
		    try:
		        ask()
		    except OSError as e:
		        assert e.errno in (errno.EIO, errno.EROFS), e
		        continue
		    sys.exit("it was told that all is on disk")
		assert open(version).read() == "x\n"
	EOF
	heal
	run ! sync "$M/T/R/f/q/5"
	says_crit
	# Whoever looks is told.
	grep -qx 'cellfs_healthy 0' "$M/.cellfs/metrics"
	grep -q '^store: takes no writes: .*because' "$M/.cellfs/stats"
	run -1 "$CELLCTL" status "$M"
	[[ $output == *"takes no writes: "*because* ]]
	end_failed
}

@test "a sync that fails is one critical line, and the next open is refused" {
	small_disk size=8m
	mkdir "$M/T"
	remount_store -o log="$SYSLOG",sync
	mkdir "$M/T/R"
	echo x > "$M/T/R/f:q"
	inject fdatasync,pwritev2 EIO
	while [ ! -s "$LOG" ]; do
		echo x > "$M/T/R/f:q" || break
	done
	says_crit
	run bash -c "echo x > '$M/T/R/f:new'"
	[ "$status" -ne 0 ]
	[[ $output == *"Read-only"* ]]
	grep -q "takes no more writes.*because" "$M/.cellfs/errors"
	[ "$(logged crit "")" -eq 1 ]
	heal
	end_failed
}
