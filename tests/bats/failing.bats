# Calls of the daemon that the kernel refuses, one after the other: it ends with
# no signal, and what was acknowledged is there when they work again.
load helper

setup() {
	T=$BATS_TEST_TMPDIR
	BASE=$T/base
	STORE=$T/store
	M=$T/mnt
	LOG=$T/log
	SYSLOG=$T/syslog
}

teardown() {
	[ -z "${TRACER:-}" ] || heal
	[ -z "${DAEMON:-}" ] || fusermount3 -u -z "$M"
	[ -z "${DAEMON:-}" ] || wait "$DAEMON" || true
}

# a_base: a store that was killed, with table files of two levels and a log.
a_base() {
	local i

	STORE=$BASE
	mount_store
	mkdir "$M/T"
	for i in 1 2 3; do
		put "base$i" "$(seq 1000)"
		echo > "$M/.cellfs/flush"
	done
	echo T > "$M/.cellfs/compact"
	put base4 x
	echo > "$M/.cellfs/flush"
	put base5 x
	kill -9 "$DAEMON"
	wait "$DAEMON" || true
	fusermount3 -u -z "$M"
	DAEMON=
	cp "$T/put" "$T/base.put"
	STORE=$T/store
}

# again: the store as a_base() left it.
again() {
	rm -rf "$STORE"
	cp -a --sparse=always "$BASE" "$STORE"
	cp "$T/base.put" "$T/put"
}

# put ROW VALUE: says in $T/put what was acknowledged, by close too.
put() {
	python3 - "$M/T/.put/$1/f:q" "$2" "$T/put" "$1" <<-'EOF'
		import os, sys
		path, value, put, row = sys.argv[1:]
		try:
		    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
		    try:
		        os.write(fd, value.encode())
		    finally:
		        os.close(fd)
		except OSError as e:
		    sys.exit(str(e))
		open(put, "a").write(f"{row} {len(value)}\n")
	EOF
}

# traced: all threads of the daemon are.
traced() {
	! grep -qs '^TracerPid:[[:space:]]0$' "/proc/$DAEMON/task"/*/status
}

# inject CALLS ERRNO N: from now on, in each of the daemon's threads, every such
# call fails from the N-th on.
inject() {
	strace -f -qq -o "$T/trace" -p "$DAEMON" \
		-e "trace=$1" -e "inject=$1:error=$2:when=$3+" \
		2>"$T/strace" 3>&- &
	TRACER=$!
	settled traced
}

# heal: they do not fail any more.
heal() {
	kill "$TRACER"
	wait "$TRACER" || true
	TRACER=
}

# flushes: how many memories were written to files.
flushes() {
	awk '$1 == "flushes_total" { print $2 }' "$M/.cellfs/stats"
}

# use: reads and writes all there is, whatever comes of it; only a flush that
# says that it was done must have been.
use() {
	local before

	put new1 x || true
	cat "$M/T/base1/f:q" "$M/T/base5/f:q" >/dev/null || true
	before=$(flushes)
	# shellcheck disable=SC2016
	if sh -c 'echo > "$0"' "$M/.cellfs/flush" && grep -q new1 "$T/put"; then
		[ "$(flushes)" -gt "$before" ]
	fi
	put new2 x || true
	rm "$M/T/base2/f:q" && sed -i '/^base2 /d' "$T/put"
	# shellcheck disable=SC2016
	sh -c 'echo T > "$0"' "$M/.cellfs/compact" || true
	ls "$M/T" "$M/T/base3/f" >/dev/null || true
}

# ended: with 0, or with 1 and a reason.
ended() {
	local code=0

	wait "$DAEMON" || code=$?
	DAEMON=
	[ "$code" -eq 0 ] || { [ "$code" -eq 1 ] && [ -s "$LOG" ]; } || {
		echo "the daemon ended with $code" >&2
		cat "$LOG" >&2
		return 1
	}
}

# whole: what was acknowledged is there, and nothing is broken.
whole() {
	local row size

	[ "$("$CELLCTL" check "$STORE")" = "$STORE: 0 faults" ]
	while read -r row size; do
		[ "$("$CELLCTL" get "$STORE" T "$row" f:q -v | wc -c)" -eq \
			"$size" ] || {
			echo "$row is lost" >&2
			return 1
		}
	done <"$T/put"
}

# survives CALLS ERRNO N...: a daemon in use for which they begin to fail.
survives() {
	local n

	a_base
	for n in "${@:3}"; do
		echo "$1 $2 from call $n on"
		again
		mount_store -o log="$SYSLOG"
		inject "$1" "$2" "$n"
		use
		heal
		[ "$n" -gt 1 ] || grep -q INJECTED "$T/trace"
		fusermount3 -u "$M"
		ended
		whole
	done
}

@test "reads that fail end no daemon in use by a signal, and lose nothing" {
	survives pread64 EROFS 1 2 4 8
}

@test "files that cannot be opened end no daemon, and lose nothing" {
	survives openat EMFILE 1 2 5
}

@test "a quota that is used up ends no daemon, and loses nothing" {
	survives pwrite64,pwritev2,fallocate EDQUOT 1 3
}

# Of the store's files alone: without its libraries it is no daemon.
@test "reads that fail while a store is opened end no daemon by a signal" {
	local n file paths

	a_base
	for n in 1 2 3 4 6 8 11 14 18; do
		echo "from read $n on"
		again
		paths=()
		for file in "$STORE"/*; do
			paths+=(-P "$file")
		done
		ASAN_OPTIONS=detect_leaks=0 strace -f -qq -o "$T/trace" \
			"${paths[@]}" -e trace=pread64 \
			-e "inject=pread64:error=EROFS:when=$n+" \
			"$CELLFS" "$STORE" "$M" -f >"$LOG" 2>&1 3>&- &
		DAEMON=$!
		settled ended_or_mounted
		if mountpoint -q "$M"; then
			cat "$M/T/base1/f:q" >/dev/null || true
			fusermount3 -u "$M"
		fi
		[ "$n" -gt 1 ] || grep -q INJECTED "$T/trace"
		ended
		whole
	done
}

ended_or_mounted() {
	mountpoint -q "$M" || ! kill -0 "$DAEMON" 2>/dev/null
}

# refused_by NAME DATA: the control file does not take it.
refused_by() {
	run python3 - "$M/.cellfs/$1" "$2" <<-'EOF'
		import os, sys
		os.write(os.open(sys.argv[1], os.O_WRONLY), sys.argv[2].encode())
		EOF
	[ "$status" -ne 0 ]
	[[ $output == *"Too many open files"* ]]
}

# said_once WHAT N: that it fails, and N times that it works again.
said_once() {
	[ "$(logged err "the $1 .*table files fails: .*Too many open")" -eq 1 ]
	[ "$(logged err "")" -eq 1 ]
	[ "$(logged notice "the $1 .*table files works again")" -eq "$2" ]
	[ "$(wc -l <"$LOG")" -eq 1 ]
}

@test "a flush that fails is said to who waits, and once in the log" {
	mount_store -o log="$SYSLOG"
	mkdir "$M/T"
	put r x
	inject openat EMFILE 1
	refused_by flush all
	refused_by flush all
	said_once flush 0
	heal
	settled grep -q "works again" "$SYSLOG"
	echo > "$M/.cellfs/flush"
	said_once flush 1
	fusermount3 -u "$M"
	wait "$DAEMON"
	DAEMON=
	whole
}

@test "a merge that fails is said to who waits, and once in the log" {
	mount_store -o log="$SYSLOG"
	mkdir "$M/T"
	put r x
	echo > "$M/.cellfs/flush"
	put r y
	echo > "$M/.cellfs/flush"
	inject openat EMFILE 1
	refused_by compact T
	refused_by compact T
	said_once merge 0
	heal
	echo T > "$M/.cellfs/compact"
	said_once merge 1
	fusermount3 -u "$M"
	wait "$DAEMON"
	DAEMON=
	whole
}

@test "what cannot be kept at unmount is not there, as the log says" {
	# Leaks cannot be looked for under a tracer.
	ASAN_OPTIONS=detect_leaks=0 mount_store -o log="$SYSLOG"
	mkdir "$M/T"
	echo x > "$M/T/.x.tmp"
	mkdir "$STORE/lost+found"
	inject fsync EIO 1
	fusermount3 -u "$M"
	wait "$DAEMON" || true
	DAEMON=
	wait "$TRACER" || true
	TRACER=
	[ "$(logged err "T/.x.tmp .* is lost: ")" -eq 1 ]
	[ -z "$(ls "$STORE/lost+found")" ]
}
