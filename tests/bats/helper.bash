# One mount a test: its own store, mountpoint and log.
#
# $BUILD is the build that is tested, $CELLFS its daemon, $CELLCTL its tool; $M
# is the mountpoint, $T a folder of the test's own.
# $CELLFS_TEST_CLUSTER, hbase://HOST:PORT, is mounted instead of a store, in each
# test without a table: it is to be a lab, since all its tables are dropped. What
# HBase cannot do a test says by not_over_hbase.
# A test ends with an unmount: the daemon must exit with 0 and have said
# nothing. `run !` tests a failure; a bare `! cmd` would not fail a test.

bats_require_minimum_version 1.5.0

BUILD=${BUILD:-$BATS_TEST_DIRNAME/../../build}
CELLFS=${CELLFS:-$BUILD/fs/cellfs}
CELLCTL=${CELLCTL:-$BUILD/tools/cellctl}

# Before each command bats notes where it is, in case the command fails. That takes longer
# than most commands. Here bats looks only when one has failed, and finds the same place.
bats_debug_trap() {
	:
}

bats_error_trap() {
	bats_check_status_from_trap
	bats_capture_stack_trace
	# shellcheck disable=SC2034 # bats reads it
	BATS_DEBUG_LAST_STACK_TRACE_IS_VALID=1
}

# pause: a hundredth of a second, without a process for it.
pause() {
	local never=$BATS_FILE_TMPDIR/never

	[ -p "$never" ] || mkfifo "$never"
	read -rt 0.01 <>"$never" || true
}

# mount_store [-o ...]: mounts $T/store on $M, making it when it is not there.
mount_store() {
	local code under below=$M until=$((SECONDS + 60))

	# The directory below is another than that of the mount. Nobody can look below a mount
	# that a killed daemon has left.
	[ -d "$M" ] || mkdir -p "$M"
	{ exec {under}<"$M"; } 2>/dev/null || {
		below=/dev/null
		exec {under}<$below
	}
	"$CELLFS" "$STORE" "$M" -f "$@" >"$LOG" 2>&1 3>&- {under}<&- &
	DAEMON=$!
	while [ "$SECONDS" -lt "$until" ]; do
		if [ -d "$M" ] && [ ! "$M" -ef "/dev/fd/$under" ] &&
			{ [ "$below" = "$M" ] || mountpoint -q "$M"; }; then
			exec {under}<&-
			return 0
		fi
		kill -0 "$DAEMON" 2>/dev/null || break
		pause
	done
	exec {under}<&-
	code=running
	kill -0 "$DAEMON" 2>/dev/null || {
		code=0
		wait "$DAEMON" || code=$?
	}
	echo "no mount, at $((until - SECONDS)) s to go, the daemon's code is" \
		"$code: $(cat "$LOG")" >&2
	return 1
}

# unmount_store: exit 0 and a silent log, or the test fails.
unmount_store() {
	local code=0
	fusermount3 -u "$M" || fusermount3 -u -z "$M"
	wait "$DAEMON" || code=$?
	DAEMON=
	[ "$code" -eq 0 ] || {
		echo "the daemon's exit code was $code" >&2
		cat "$LOG" >&2
		return 1
	}
	[ ! -s "$LOG" ] || {
		echo "the daemon, which was to be silent, said:" >&2
		cat "$LOG" >&2
		return 1
	}
}

remount_store() {
	unmount_store
	mount_store "$@"
}

setup() {
	T=$BATS_TEST_TMPDIR
	STORE=$T/store
	M=$T/mnt
	LOG=$T/log
	[ -z "${CELLFS_TEST_CLUSTER:-}" ] || empty_cluster
	mount_store
}

# empty_cluster: the cluster is the test's store, and has no table, snapshot of
# one or namespace of a test.
empty_cluster() {
	local table name

	STORE=$CELLFS_TEST_CLUSTER
	"$CELLCTL" tables "$STORE" >"$T/tables"
	while read -r table _; do
		"$CELLCTL" snapshot -t "$table" "$STORE" >"$T/snapshots"
		while read -r name _; do
			"$CELLCTL" snapshot -t "$table" "$STORE" drop "$name"
		done <"$T/snapshots"
		"$CELLCTL" drop --force "$STORE" "$table"
	done <"$T/tables"
	"$CELLCTL" list_namespace "$STORE" >"$T/namespaces"
	while read -r name _; do
		case $name in
		default | hbase) ;;
		*) "$CELLCTL" drop_namespace "$STORE" "$name" ;;
		esac
	done <"$T/namespaces"
}

# not_over_hbase REASON: over a cluster the test is left out.
not_over_hbase() {
	[ -z "${CELLFS_TEST_CLUSTER:-}" ] || skip "not over HBase: $*"
}

# Who counts what the kernel asks for keeps the caches of the machine until the test
# ends, and who drops them waits for that: what is dropped is asked for once more.
keep_caches() {
	lock_caches -s
}

drop_caches_from_now_on() {
	[ "$(id -u)" -eq 0 ] || skip "only root may drop the kernel's caches"
	lock_caches -x
}

lock_caches() {
	local lock

	exec {lock}<"$BATS_TEST_DIRNAME/helper.bash"
	flock "$1" "$lock"
}

# nodes: how many files and directories the mount keeps in mind.
nodes() {
	awk '$1 == "nodes" { print $2 }' "$M/.cellfs/stats"
}

# close_files: closes what the test has open in the mount, which an unmount would
# wait for.
close_files() {
	local fd fds

	cd /
	mapfile -t fds < <(find "/proc/$BASHPID/fd" -lname "$M*" -printf '%f\n')
	for fd in "${fds[@]}"; do
		[ "$fd" -le 2 ] || exec {fd}>&-
	done
}

# end_store: what a teardown does about the mount. Of a test that failed the
# daemon is told to end, and killed when it does not: processes that the test
# left behind may keep files open, and the daemon may be stuck.
end_store() {
	local i

	[ -n "${DAEMON:-}" ] || return 0
	close_files
	if [ -n "${BATS_TEST_COMPLETED:-}${BATS_TEST_SKIPPED:-}" ]; then
		unmount_store
		return
	fi
	kill "$DAEMON" 2>/dev/null || true
	for ((i = 0; i < 1000; i++)); do
		kill -0 "$DAEMON" 2>/dev/null || break
		pause
	done
	kill -9 "$DAEMON" 2>/dev/null || true
	wait "$DAEMON" || echo "the daemon's exit code was $?" >&2
	fusermount3 -u -z "$M" 2>/dev/null || true
	cat "$LOG" >&2
}

teardown() {
	end_store
}

# apart CMD...: with mounts that nobody else sees, and the right to make some.
apart() {
	local as=-m

	[ "$(id -u)" -eq 0 ] || as=-rm
	unshare "$as" "$@" 3>&-
}

# where_installed SCRIPT ARG...: runs a script where cellfs is in /usr/local/bin,
# with mounts that nobody else sees: mount(8) hands no PATH on to its helper.
where_installed() {
	mkdir -p "$T/bin"
	ln -sf "$(realpath "$CELLFS")" "$T/bin/cellfs"
	# shellcheck disable=SC2016 # the inner shell expands
	apart bash -e -c \
		'mount --bind "$0" /usr/local/bin; '"$1" "$T/bin" "${@:2}"
}

# new_store NAME: the test's store is another one, which is empty; over a cluster it
# is the same one, emptied.
new_store() {
	STORE=$T/$1
	[ -z "${CELLFS_TEST_CLUSTER:-}" ] || empty_cluster
}

# a_past TABLE FAMILY...: a table that shows its past. Over HBase that takes
# families that keep what is deleted, and more versions than are put.
a_past() {
	local family

	mkdir "$M/$1"
	[ -n "${CELLFS_TEST_CLUSTER:-}" ] || return 0
	{
		echo families open
		for family in "${@:2}"; do
			printf 'family %s\n\tversions 99\n\tkeep_deleted yes\n' \
				"$family"
		done
	} >"$M/$1/.schema"
}

# versions DIR: how many versions a column has.
versions() {
	# shellcheck disable=SC2012 # their names are numbers
	ls "$1" | wc -l
}

# a_row: the row T/R with an open table.
a_row() {
	mkdir "$M/T" "$M/T/R"
}

# a_column: the empty column T/R/f/q, in $C.
a_column() {
	mkdir -p "$M/T/R/f/q"
	# shellcheck disable=SC2034 # for the tests
	C=$M/T/R/f/q
}

# settled CMD...: becomes true; a minute (or $SETTLES seconds) is for a machine that does
# much else. RELEASE, which publishes an empty value, comes after close(2) has
# returned.
settled() {
	local until=$((SECONDS + ${SETTLES:-60}))

	while [ "$SECONDS" -lt "$until" ]; do
		"$@" && return 0
		pause
	done
	echo "never true: $*" >&2
	return 1
}

# threads_apart: how many threads of the daemon have the device and none of its files.
# A thread that waits for a lock in the kernel outlives kill -9 for as long: who holds the
# lock waits for a reply, and gets an error when the session's device is closed, which is
# when nobody has the daemon's files any more.
threads_apart() {
	local task fd own=0

	for task in "/proc/$DAEMON/task"/*; do
		for fd in "$task/fd"/*; do
			[ "${fd##*/}" -gt 2 ] || continue
			[ "$(readlink "$fd")" = /dev/fuse ] || continue 2
		done
		own=$((own + 1))
	done
	echo "$own"
}

# opens_what_it_lists ROW N: changes N columns of the row's family f at random; in each,
# after each change, the versions that are listed can be opened, and no others.
opens_what_it_lists() {
	python3 - "$@" <<-'EOF'
		import os, random, sys
		row, rng = sys.argv[1], random.Random(sys.argv[1][-9:])
		def opened(path):
		    try:
		        with open(path) as f:
		            f.read()
		        return True
		    except FileNotFoundError:
		        return False
		for n in range(int(sys.argv[2])):
		    column, did = f"{row}/f/q{n}", []
		    for step in range(9):
		        os.makedirs(column, exist_ok=True)
		        ts, way = rng.randint(1, 9), rng.random()
		        version = f"{column}/{ts}"
		        try:
		            if way < .65:
		                did.append(f"put {ts}")
		                with open(version, "w") as f:
		                    f.write(str(step))
		            elif way < .85:
		                did.append(f"rm {ts}")
		                os.unlink(version)
		            else:
		                did.append("rm F:Q")
		                os.unlink(f"{row}/f:q{n}")
		        except FileNotFoundError:
		            did[-1] += " (not there)"
		        listed = sorted(os.listdir(column)) if os.path.isdir(column) else []
		        can = [str(i) for i in range(1, 10) if opened(f"{column}/{i}")]
		        if listed != can:
		            sys.exit(f"{column}: {did}: listed {listed}, can be opened {can}")
	EOF
}

# remount_logged [-o ...]: mounts anew, with what the daemon says to nobody in
# particular in $SYSLOG.
remount_logged() {
	SYSLOG=$T/syslog
	unmount_store
	mount_store -o log="$SYSLOG" "$@"
}

# logged LEVEL PATTERN: how many lines of that level the daemon logged, such as
# `[ "$(logged notice mounted)" -eq 1 ]`.
logged() {
	grep -cE "^[^ ]+ cellfs\[[0-9]+\] $1: .*$2" "$SYSLOG" || true
}
