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
	[ -z "${DAEMON:-}" ] || unmount_store
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
	fill R 30
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
	grep -q "kept for deletes" "$M/.cellfs/errors"
	[ "$(ls "$M/T/R/f" | wc -l)" -eq "$PUT" ]
	acknowledged R
	kill -9 "$DAEMON"
	wait "$DAEMON" || true
	fusermount3 -u -z "$M"
	mount_store -o log="$SYSLOG"
	acknowledged R
}

# mount_failing CALLS ERRNO N [-o ...]: of each of the daemon's threads every
# such call fails from the N-th on.
mount_failing() {
	unmount_store
	ASAN_OPTIONS=detect_leaks=0 strace -f -qq -o "$T/trace" \
		-e "trace=$1" -e "inject=$1:error=$2:when=$3+" \
		"$CELLFS" "$STORE" "$M" -f -o log="$SYSLOG" "${@:4}" \
		>"$LOG" 2>&1 3>&- &
	DAEMON=$!
	settled mountpoint -q "$M"
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
	mount_failing fallocate "$1" 8
	fill R "$2"
	[ "$PUT" -gt 10 ]
	acknowledged R
}

@test "a log that gets no next segment (EIO) is known before the put that needs it" {
	no_next_segment EIO 30
	run bash -c "echo x > '$M/T/R/f:new'"
	[ "$status" -ne 0 ]
	run bash -c "echo x >> '$M/T/R/f:q1'"
	[ "$status" -ne 0 ]
	[ "$(logged crit "takes no more writes")" -eq 1 ]
	grep -q "takes no more writes.*wal" "$LOG"
	end_failed
	mount_store
	acknowledged R
	echo x > "$M/T/R/f:new"
}

@test "a quota is a full disk: puts are refused at open, the log has not failed" {
	no_next_segment EDQUOT 1
	[ "$(logged crit "")" -eq 0 ]
	rm "$M/T/R/f/q1/latest"
	unmount_store
	mount_store
	[ "$(ls "$M/T/R/f" | wc -l)" -eq "$((PUT - 1))" ]
	echo x > "$M/T/R/f:new"
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

@test "a sync that fails is one critical line, and the next open is refused" {
	small_disk size=8m
	mkdir "$M/T"
	mount_failing fdatasync,pwritev2 EIO 6 -o sync
	mkdir "$M/T/R"
	while [ ! -s "$LOG" ]; do
		echo x > "$M/T/R/f:q" || break
	done
	[ "$(logged crit "takes no more writes")" -eq 1 ]
	run bash -c "echo x > '$M/T/R/f:new'"
	[ "$status" -ne 0 ]
	[[ $output == *"Read-only"* ]]
	[ "$(logged crit "")" -eq 1 ]
	end_failed
}
