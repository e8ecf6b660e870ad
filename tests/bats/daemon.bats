#!/usr/bin/env bats
# The daemon's life: start, refusals, healing, the end.

load helper

# As a user starts it; returns when it is mounted.
start_daemon() {
	unmount_store
	"$CELLFS" "$STORE" "$M" 3>&-
}

# The pid that the daemon on $M has.
pid_of_mount() {
	awk '$1 == "pid" { print $2 }' "$M/.cellfs/stats"
}

gone() {
	! kill -0 "$1" 2>/dev/null || [ "$(ps -o stat= -p "$1")" = Z ]
}

# Unmounts, and waits until the daemon has put everything away.
end_daemon() {
	local pid

	pid=$(pid_of_mount)
	fusermount3 -u "$M"
	settled gone "$pid"
}

@test "the command returns when the mount is there, and can be left" {
	start_daemon
	mountpoint -q "$M"
	mkdir "$M/T" "$M/T/R"
	echo x >"$M/T/R/f:q"
	end_daemon
	mount_store
	[ "$(cat "$M/T/R/f:q")" = x ]
}

@test "the daemon keeps nothing open that its caller had" {
	mkfifo "$T/pipe"
	{ cat "$T/pipe" && : >"$T/ended"; } 3>&- &
	unmount_store
	"$CELLFS" "$STORE" "$M" 3>&- 9>"$T/pipe" >&9 2>&9
	settled test -e "$T/ended"
	mountpoint -q "$M"
	# Nor is it in its caller's directory, which may be unmounted.
	[ "$(readlink "/proc/$(pid_of_mount)/cwd")" = / ]
	end_daemon
}

@test "a caller without stdin, stdout and stderr is served as any other" {
	unmount_store
	"$CELLFS" "$STORE" "$M" 3>&- <&- >&- 2>&-
	mkdir "$M/T" "$M/T/R"
	echo x >"$M/T/R/f:q"
	# What took their numbers would be lost: the store's lock among it.
	mkdir "$T/other"
	run "$CELLFS" "$STORE" "$T/other"
	[ "$status" -eq 1 ]
	end_daemon
	mount_store
	[ "$(cat "$M/T/R/f:q")" = x ]
}

@test "SIGTERM, SIGINT and SIGHUP end it with 0 and everything on disk" {
	local signal

	# A shell's background jobs ignore SIGINT, and so would the daemon.
	printf '#!/bin/sh\nexec env --default-signal=INT "%s" "$@"\n' \
		"$CELLFS" >"$T/cellfs"
	chmod +x "$T/cellfs"
	CELLFS=$T/cellfs
	for signal in TERM INT HUP; do
		remount_store
		mkdir -p "$M/T/R"
		echo "$signal" >"$M/T/R/f:q"
		kill "-$signal" "$DAEMON"
		wait "$DAEMON"
		DAEMON=
		[ ! -s "$LOG" ]
		run ! mountpoint -q "$M"
		mount_store
		[ "$(cat "$M/T/R/f:q")" = "$signal" ]
	done
}

@test "SIGTERM is seen at once, whichever thread it is sent to" {
	local thread threads

	for thread in $(ls "/proc/$DAEMON/task" | wc -l | xargs seq); do
		threads=($(ls "/proc/$DAEMON/task"))
		[ "$thread" -le "${#threads[@]}" ] || break
		kill -TERM "${threads[thread - 1]}"
		settled gone "$DAEMON"
		wait "$DAEMON"
		DAEMON=
		run ! mountpoint -q "$M"
		mount_store
	done
}

@test "after kill -9 the next start heals the mountpoint" {
	mkdir "$M/T" "$M/T/R"
	echo x >"$M/T/R/f:q"
	kill -KILL "$DAEMON"
	wait "$DAEMON" || true
	run ! ls "$M"
	mount_store
	settled test -e "$M/T/R/f:q"
	[ "$(cat "$M/T/R/f:q")" = x ]
}

traced() {
	! grep -q '^TracerPid:[[:space:]]0$' "/proc/$1/status"
}

@test "requests that nobody can answer end with the daemon, and nothing keeps the mount" {
	local mounter tracer

	mounter=$(pgrep -P "$DAEMON" -x cellfs-mounter)
	strace -y -qq -o "$T/calls" -e trace=%file,%desc -p "$mounter" 2>/dev/null 3>&- &
	tracer=$!
	settled traced "$mounter"
	kill -KILL "$DAEMON"
	wait "$DAEMON" || true
	wait "$tracer"
	fusermount3 -u "$M"
	grep -qE '^write\([0-9]+<.*/abort>, "1", 1\) += 1' "$T/calls"
	# What it opened there it could be holding when somebody unmounts.
	run ! grep -F "$M" "$T/calls"
	DAEMON=
}

# The kernel gives the next mount the number of one that has gone.
@test "who sees to a daemon's death ends no later mount" {
	local mounter number

	mounter=$(pgrep -P "$DAEMON" -x cellfs-mounter)
	kill -STOP "$mounter"
	kill -KILL "$DAEMON"
	wait "$DAEMON" || true
	fusermount3 -u -z "$M"
	mount_store
	number=$(stat -c %d "$M")
	kill -CONT "$mounter"
	settled gone "$mounter"
	mkdir "$M/T"
	[ "$(stat -c %d "$M")" -eq "$number" ]
}

@test "a daemon whose connection somebody has ended says so, and is no success" {
	local connections=/sys/fs/fuse/connections number code=0

	number=$(stat -c %d "$M")
	if [ ! -w "$connections/$number/abort" ]; then
		[ "$(id -u)" -eq 0 ] || skip "only root may mount"
		connections=$T/connections
		mkdir "$connections"
		mount -t fusectl none "$connections"
	fi
	echo 1 >"$connections/$number/abort"
	[ "$connections" != "$T/connections" ] || umount "$connections"
	wait "$DAEMON" || code=$?
	DAEMON=
	[ "$code" -eq 1 ]
	grep "$M has lost its connection" "$LOG"
	grep -F "fusermount3 -u -z $M" "$LOG"
	fusermount3 -u -z "$M"
}

@test "a store in use names the pid that holds it" {
	mkdir "$T/other"
	run "$CELLFS" "$STORE" "$T/other"
	[ "$status" -eq 1 ]
	[[ $output == *"$DAEMON"* ]]
}

@test "a mountpoint in use is refused" {
	run "$CELLFS" "$T/store2" "$M"
	[ "$status" -eq 1 ]
	[[ $output == *"mounted on"* ]]
}

@test "a mountpoint that is no directory is refused at once" {
	mkfifo "$T/pipe"
	run -1 timeout 20 "$CELLFS" "$T/other" "$T/pipe"
	[[ $output == *"the mountpoint $T/pipe is not a directory"* ]]
}

@test "store and mountpoint in each other are refused" {
	mkdir -p "$T/a/b"
	run "$CELLFS" "$T/a/b" "$T/a"
	[ "$status" -eq 1 ]
	[[ $output == *"is inside the mountpoint"* ]]
	run "$CELLFS" "$T/a" "$T/a/b"
	[ "$status" -eq 1 ]
	[[ $output == *"is inside the store"* ]]
	ln -s "$T/a" "$T/link"
	run "$CELLFS" "$T/a" "$T/link/b"
	[ "$status" -eq 1 ]
	run "$CELLFS" "$T/a" "$T/a"
	[ "$status" -eq 1 ]
}

@test "what cannot be mounted is said" {
	run "$CELLFS" "$T/s" "$T/nowhere"
	[ "$status" -eq 1 ]
	[[ $output == *"does not exist"* ]]
	touch "$T/file"
	run "$CELLFS" "$T/s" "$T/file"
	[ "$status" -eq 1 ]
	[[ $output == *"not a directory"* ]]
	mkdir "$T/mnt2"
	run "$CELLFS" "$T/file" "$T/mnt2"
	[ "$status" -eq 1 ]
	[[ $output == *"not a directory"* ]]
}

@test "a mount that is for reading only makes no store" {
	mkdir "$T/mnt2"
	run "$CELLFS" "$T/none" "$T/mnt2" -o ro
	[ "$status" -eq 1 ]
	[[ $output == *"no store at $T/none, and with -o ro none is made"* ]]
	[ ! -e "$T/none" ]
}

# store_is: each file of the store with its bytes, and when it was written. Who
# has the store notes that in LOCK.
store_is() {
	(cd "$STORE" && find . ! -name LOCK -printf '%p %s %T@ %m\n' | sort &&
		find . -type f ! -name LOCK -exec cksum {} + | sort)
}

@test "a mount for reading changes nothing of the store, with a log to recover either" {
	a_row
	echo x >"$M/T/R/f:q"
	echo T >"$M/.cellfs/flush"
	echo y >"$M/T/R/f:r"
	kill -KILL "$DAEMON"
	wait "$DAEMON" || true
	fusermount3 -u "$M"
	store_is >"$T/before"
	mount_store -o ro
	[ "$(cat "$M/T/R/f:q" "$M/T/R/f:r")" = $'x\ny' ]
	unmount_store
	store_is | diff "$T/before" -
	mount_store
}

@test "a directory that holds something else is not taken for a store" {
	mkdir "$T/home" "$T/mnt2"
	touch "$T/home/thesis"
	run "$CELLFS" "$T/home" "$T/mnt2"
	[ "$status" -eq 1 ]
	[ "$(ls "$T/home")" = thesis ]
}

@test "a store or a mountpoint without a name is refused" {
	mkdir "$T/here" "$T/mnt2"
	cd "$T/here"
	run -2 "$CELLFS" '' "$T/mnt2"
	[ "$output" = "cellfs: STORE is empty: name a directory" ]
	run -2 "$CELLFS" "$T/s" ''
	[ "$output" = "cellfs: MOUNTPOINT is empty: name a directory" ]
	[ -z "$(ls)" ]
	[ ! -e "$T/s" ]
}

@test "-d prints every request, and stays in the foreground" {
	unmount_store
	"$CELLFS" "$STORE" "$M" -d >"$T/said" 2>&1 3>&- &
	DAEMON=$!
	settled mountpoint -q "$M"
	mkdir "$M/T"
	kill -0 "$DAEMON"
	fusermount3 -u "$M"
	wait "$DAEMON"
	grep -q MKDIR "$T/said"
	mount_store
}

@test "unknown options are refused by name, with those that are known" {
	mkdir "$T/mnt2"
	run "$CELLFS" "$T/s" "$T/mnt2" -o sync,frobnicate
	[ "$status" -eq 2 ]
	[[ $output == *frobnicate* && $output == *scratch_max* ]]
	[ ! -e "$T/s" ]
	run "$CELLFS" "$T/s" "$T/mnt2" -o scratch_max=much
	[ "$status" -eq 2 ]
	run "$CELLFS"
	[ "$status" -eq 2 ]
}

@test "help and the refusal of an unknown option name every option" {
	local name

	"$CELLFS" --help >"$T/help"
	run -2 "$CELLFS" "$T/s" "$M" -o frobnicate
	for name in $(cut -d ' ' -f 1 "$M/.cellfs/options"); do
		grep -qE "^  -o $name=? +[a-z]" "$T/help"
		[[ $output =~ [\ ,]$name=?(,|$) ]]
	done
}

@test "what mount(8) and fstab add is accepted" {
	unmount_store
	mount_store -o rw,noauto,user,_netdev,x-systemd.automount,nofail,exec
}

@test "dirsync is sync" {
	remount_store -o dirsync
	grep -qx 'sync yes' "$M/.cellfs/options"
}

@test "mount(8)'s helper mounts the type fuse.cellfs" {
	unmount_store
	mkdir "$T/bin"
	ln -s "$(realpath "$CELLFS")" "$T/bin/cellfs"
	PATH=$T/bin:/usr/sbin:/sbin:$PATH mount.fuse3 "$STORE" "$M" \
		-t fuse.cellfs -o rw,noauto,user 3>&-
	mkdir "$M/T"
	[ "$(ls "$M")" = T ]
	end_daemon
}

@test "with cellfs installed mount(8) and fstab mount a store" {
	unmount_store
	"$CELLCTL" create "$STORE" T f
	echo "$STORE $M fuse.cellfs noauto,user,nofail,root=T 0 0" >"$T/fstab"
	where_installed '
		mount -t fuse.cellfs -o rw "$1" "$2"
		mkdir "$2/T/R"
		echo -n x >"$2/T/R/f:q"
		umount "$2"
		mount -T "$3" "$2"
		[ "$(findmnt -n -o FSTYPE "$2")" = fuse.cellfs ]
		cat "$2/R/f:q" >"$4"
		umount "$2"' "$STORE" "$M" "$T/fstab" "$T/got"
	[ "$(cat "$T/got")" = x ]
	[ "$("$CELLCTL" get "$STORE" T R f:q -v)" = x ]
}

@test "help is one screen, version says the version" {
	run "$CELLFS" --help
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -le 40 ]
	run "$CELLFS" --version
	[ "$status" -eq 0 ]
	[[ $output == "cellfs "*$'\n'"libfuse "[0-9]* ]]
	[ "$output" = "$(cat "$M/.cellfs/version")" ]
	# What cannot be written has failed.
	local option
	for option in --help --version; do
		# shellcheck disable=SC2016
		run -1 sh -c '"$0" "$1" >/dev/full' "$CELLFS" "$option"
		[[ $output == *"cannot write the output: No space left"* ]]
		# shellcheck disable=SC2016
		run -1 sh -c '"$0" "$1" >&-' "$CELLFS" "$option"
	done
}

@test "the kernel enforces the modes, and nothing is set-uid" {
	grep " $M " /proc/mounts | grep -q default_permissions
	grep " $M " /proc/mounts | grep -q nosuid,nodev,noatime
}

@test "with noexec, which user implies, nothing is executed" {
	a_row
	a_script() {
		mkdir "$M/T/R/.bin"
		printf '#!/bin/sh\n' >"$M/T/R/.bin/run"
		chmod 755 "$M/T/R/.bin/run"
	}
	a_script
	"$M/T/R/.bin/run"
	rm "$M/T/R/.bin/run"
	remount_store -o rw,noexec,nosuid,nodev,user
	mkdir "$M/T/R"
	a_script
	run -126 "$M/T/R/.bin/run"
	rm "$M/T/R/.bin/run"
	findmnt -n -o OPTIONS "$M" | grep -qw noexec
	# The last of them counts.
	remount_store -o noexec,exec
	run ! grep -q noexec <(findmnt -n -o OPTIONS "$M")
}

@test "the control files say what they promise" {
	grep -q latest "$M/.cellfs/help"
	grep -q "^cellfs " "$M/.cellfs/version"
	grep -q "^sync no" "$M/.cellfs/options"
	grep -q lookup "$M/.cellfs/stats"
	[ "$(ls "$M")" = "" ]
	[ "$(ls "$M/.cellfs" | tr '\n' ' ')" = \
		"compact errors flush help metrics options stats status sync trace version " ]
	run ! cat "$M/.cellfs/nothing"
	run ! touch "$M/.cellfs/new"
}

@test "show_control lists what is otherwise only reached by name" {
	unmount_store
	mount_store -o show_control
	[ "$(ls -A "$M" | tr '\n' ' ')" = ".cellfs .snapshot " ]
}

@test "mount(8) calls it mount.cellfs, with letters of its own" {
	unmount_store
	ln -s "$(realpath "$CELLFS")" "$T/mount.cellfs"
	"$T/mount.cellfs" "$STORE" "$M" -sfnv -o rw 3>&-
	run ! mountpoint -q "$M"
	run -1 "$T/mount.cellfs" "$STORE" "$T/absent" -f
	"$T/mount.cellfs" "$STORE" "$M" -o rw,noatime,user -t cellfs 3>&-
	[ "$(findmnt -n -o FSTYPE "$M")" = fuse.cellfs ]
	mkdir "$M/T"
	end_daemon
	"$T/mount.cellfs" "$STORE" "$M" -r 3>&-
	[ "$(ls "$M")" = T ]
	run -1 rmdir "$M/T"
	[[ $output == *"Read-only file system"* ]]
	end_daemon
	mount_store
}

# a_supervisor: what it hears is in $T/said, until the daemon says that it ends.
a_supervisor() {
	rm -f "$T/socket"
	python3 - "$T/socket" >"$T/said" 3>&- <<-'EOF' &
		import socket, sys
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.bind(sys.argv[1])
		state = ""
		while state != "STOPPING=1":
		    state = s.recv(99).decode()
		    print(state, flush=True)
	EOF
	settled test -S "$T/socket"
}

@test "a supervisor hears that it is mounted, that it answers, and that it ends" {
	unmount_store
	a_supervisor
	export NOTIFY_SOCKET=$T/socket WATCHDOG_USEC=20000
	mount_store
	unset NOTIFY_SOCKET WATCHDOG_USEC
	settled grep -q READY "$T/said"
	settled eval '[ "$(grep -c WATCHDOG=1 "$T/said")" -ge 3 ]'
	unmount_store
	wait %2 || true
	[ "$(head -n 1 "$T/said")" = READY=1 ]
	settled grep -q STOPPING=1 "$T/said"
	mount_store
}

@test "a supervisor does not hear that a store is mounted that is not" {
	unmount_store
	a_supervisor
	NOTIFY_SOCKET=$T/socket WATCHDOG_USEC=20000 \
		run -1 "$CELLFS" "$STORE" "$M" -f -o root=nothing
	settled grep -q STOPPING=1 "$T/said"
	[ "$(cat "$T/said")" = STOPPING=1 ]
	mount_store
}

@test "beneath a mount whose daemon has died may be one that lives" {
	mkdir "$T/x" "$T/y"
	# shellcheck disable=SC2016 # the inner shell expands
	apart bash -e -c '
		"$0" "$1/a" "$1/x" -f & above=$!
		"$0" "$1/b" "$1/y" -f & below=$!
		for dir in x y; do
			until mountpoint -q "$1/$dir"; do sleep 0.01; done
		done
		mkdir "$1/y/T"
		mount --move "$1/x" "$1/y"
		kill -9 "$above"
		wait "$above" || true
		if "$0" "$1/c" "$1/y" 2> "$1/said"; then false; fi
		[ -d "$1/y/T" ]
		umount "$1/y"
		wait "$below"
	' "$(realpath "$CELLFS")" "$T"
	grep -q "a store is mounted on .* already" "$T/said"
}
