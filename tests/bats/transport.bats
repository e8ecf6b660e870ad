# How requests come: from /dev/fuse, or over io_uring where it is to be had.
load helper

# The library has io_uring; the kernel has it, and is allowed to.
library_has_it() {
	[ "$(printf '%s\n' 3.18 "$("$CELLFS" --version |
		sed -n 's/^libfuse //p')" | sort -V | head -n 1)" = 3.18 ]
}
kernel_has_it() {
	[ "$(cat /sys/module/fuse/parameters/enable_uring)" = Y ]
}

# Mounts with it where it is to be had.
mount_ring() {
	local with=()

	! library_has_it || ! kernel_has_it || with=(-o io_uring)
	remount_store "${with[@]}"
	[ -d "$M/T/R" ] || a_row
}

@test "without an option requests come from /dev/fuse" {
	grep -qx 'transport /dev/fuse' "$M/.cellfs/status"
	grep -qx 'io_uring no' "$M/.cellfs/options"
}

@test "with io_uring they come over it, or it is said what that takes" {
	unmount_store
	if ! library_has_it; then
		run -1 "$CELLFS" "$STORE" "$M" -f -o io_uring
		[[ $output == *"built with libfuse 3.18 or later"* ]]
		[[ $output == *"/sys/module/fuse/parameters/enable_uring"* ]]
		run ! mountpoint -q "$M"
		return
	fi
	SYSLOG=$T/syslog
	mount_store -o io_uring,log="$SYSLOG"
	a_row
	echo x >"$M/T/R/f:q"
	[ "$(cat "$M/T/R/f:q")" = x ]
	grep -qx 'io_uring yes' "$M/.cellfs/options"
	if kernel_has_it; then
		grep -qx 'transport io_uring' "$M/.cellfs/status"
		[ "$(logged notice "requests come over io_uring")" -eq 1 ]
		unmount_store
		return
	fi
	grep -qx 'transport /dev/fuse' "$M/.cellfs/status"
	[ "$(logged warning "does not offer io_uring")" -eq 1 ]
	grep -q "does not offer io_uring" "$LOG"
	: >"$LOG"
	unmount_store
}

# gone PID...: they end.
gone() {
	local pid

	for pid in "$@"; do
		settled eval "! kill -0 $pid 2>/dev/null" || return 1
	done
}

# made NAME: a row of that name is made on each processor, or the readers end.
made() {
	local cpu

	for ((cpu = 0; cpu < CPUS; cpu++)); do
		taskset -c "$cpu" mkdir -p "$M/T/$1.$cpu" 3>&- &
		gone "$!" || {
			kill "${READERS[@]}"
			return 1
		}
	done
}

@test "who waits for the trace has nobody wait, and ends with a signal" {
	local i

	CPUS=$(nproc)
	READERS=()
	mount_ring
	for i in 1 2 3 4; do
		taskset -c $((i % CPUS)) cat "$M/.cellfs/trace" \
			>"$T/trace.$i" 3>&- &
		READERS+=($!)
		until [ -s "$T/trace.$i" ]; do
			made "$i"
		done
	done
	made all
	kill "${READERS[@]}"
	gone "${READERS[@]}"
	unmount_store
}

# hold_device: a process has the daemon's /dev/fuse too, and says so.
hold_device() {
	python3 - "$DAEMON" <<-'PY' >"$T/held" 3>&- &
	import ctypes, os, sys, time
	pid = int(sys.argv[1])
	fds = f"/proc/{pid}/fd"
	fd = next(int(n) for n in os.listdir(fds)
	          if os.readlink(f"{fds}/{n}") == "/dev/fuse")
	syscall = ctypes.CDLL(None, use_errno=True).syscall
	pidfd_getfd = 438
	if syscall(pidfd_getfd, os.pidfd_open(pid), fd, 0) < 0:
	    sys.exit(os.strerror(ctypes.get_errno()))
	print("held", flush=True)
	time.sleep(1000)
	PY
	HOLDER=$!
	settled [ -s "$T/held" ]
}

@test "over io_uring the mount dies with the daemon, whoever has its device" {
	local reader died=yes

	mount_ring
	if grep -qx 'transport io_uring' "$M/.cellfs/status" &&
		[ "$(id -u)" -eq 0 ]; then
		hold_device
	fi
	cat "$M/.cellfs/trace" >/dev/null 2>&1 3>&- &
	reader=$!
	kill -9 "$DAEMON"
	gone "$reader" || died=no
	[ "$died" = no ] || run ! ls "$M"
	[ -z "${HOLDER:-}" ] || kill "$HOLDER"
	fusermount3 -u -z "$M"
	wait "$DAEMON" || true
	DAEMON=
	[ "$died" = yes ]
	[[ $output == *"not connected"* ]]
}

@test "what is asked when the mount ends is done, and the mount ends" {
	local asks pid turn

	cat >"$T/slow" <<-EOF
		#!/bin/sh
		ASAN_OPTIONS=detect_leaks=0 exec strace -f -qq -o "$T/calls" \
			-e trace=fdatasync,fsync \
			-e inject=fdatasync,fsync:delay_enter=1s "$CELLFS" "\$@"
	EOF
	chmod +x "$T/slow"
	CELLFS=$T/slow mount_ring
	pid=$(awk '$1 == "pid" {print $2}' "$M/.cellfs/stats")
	for turn in {1..20}; do
		python3 - "$M/T/R/f:q" <<-'PY' >"$T/said" 2>&1 3>&- &
		import os, sys
		fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
		os.write(fd, b"y")
		print("written", flush=True)
		os.fsync(fd)
		PY
		asks=$!
		settled grep -q written "$T/said"
		# It may have its answer before anybody looks.
		settled eval "! kill -0 $asks 2>/dev/null ||
			grep -qs request_wait_answer /proc/$asks/wchan"
		! kill -0 "$asks" 2>/dev/null || break
		wait "$asks"
	done
	[ "$turn" -lt 20 ]
	kill "$pid"
	gone "$DAEMON" || {
		kill -9 "$pid"
		return 1
	}
	wait "$asks" || true
	wait "$DAEMON"
	DAEMON=
	[ ! -s "$LOG" ]
	[ "$("$CELLCTL" get -v "$STORE" T R f:q)" = y ]
}
