# How far a long command has come, and stopping it.

load helper

setup() {
	T=$BATS_TEST_TMPDIR
	STORE=$T/store
	M=$T/mnt
	LOG=$T/log
	ctl create "$STORE" T f:versions=9
	awk 'BEGIN { for (i = 0; i < 3000; i++)
		printf "%06d\tf:q\t7\tvalue of row %d, and %0100d\n", i, i, i
	}' >"$T/cells"
	ctl import "$STORE" T "$T/cells" 2>"$T/said"
}

ctl() {
	"$CELLCTL" "$@"
}

# stoppable CMD...: in the background, where bash has SIGINT ignored.
stoppable() {
	env --default-signal=INT "$@" 3>&- &
	TOOL=$!
}

# ended_by SIGNAL: so did the tool, which had said words in $T/said.
ended_by() {
	local code=0
	wait "$TOOL" || code=$?
	[ "$code" -eq $((128 + $(kill -l "$1"))) ] || {
		echo "it ended with $code: $(cat "$T/said")" >&2
		return 1
	}
	grep -q "^cellctl: stopped; $2" "$T/said"
}

@test "in a pipe nothing is said of it, with --progress lines" {
	local c

	for c in "snapshot @ take s" "export @ T" "copy @ T T2" "backup @ b" \
		"restore b new" "check b" "check @" "compact @" "compact @ T" \
		"repair @ saved" "snapshot @ clone s T3 T" \
		"import @ T $T/cells"; do
		# shellcheck disable=SC2086
		(cd "$T" && ctl ${c//@/store}) >"$T/out" 2>"$T/said"
		run ! grep -vE '^[0-9]+ cells$' "$T/said"
	done
	rm -r "$T/b" "$T/new" "$T/saved"
	ctl drop --force "$STORE" T2
	ctl drop --force "$STORE" T3
	for c in "export @ T" "copy @ T T2" "backup @ b" "restore b new" \
		"check b" "check @" "compact @" "repair @ saved" \
		"snapshot @ clone s T3 T" "import @ T $T/cells"; do
		# shellcheck disable=SC2086
		(cd "$T" && ctl ${c//@/store} --progress) >"$T/out" 2>"$T/said"
		set -- $c
		[ "$1" != snapshot ] || shift 2
		grep -qE "^$1( \[|  [0-9])" "$T/said"
		run ! grep -q $'\r' "$T/said" "$T/out"
	done
	ctl backup "$STORE" "$T/b2" --progress 2>&1 >"$T/out" | grep -qF \
		'backup [####################] 100 %'
}

@test "a terminal shows a line, drawn anew, which goes at the end" {
	# As long as the line is not there, more comes.
	cat >"$T/show.py" <<-'EOF'
		import os, pty, sys
		to, out = os.pipe(), b""
		pid, tty = pty.fork()
		if pid == 0:
		    os.dup2(to[0], 0)
		    os.close(to[1])
		    os.execv(sys.argv[1], sys.argv[1:])
		os.set_blocking(tty, False)
		n, piece = 0, 0
		while b"cells" not in out:
		    lines = "".join(f"x{n + i}\tf:q\t\tv\n" for i in range(1000))
		    os.write(to[1], lines.encode())
		    n += 1000
		    try:
		        out += os.read(tty, 4096)
		    except BlockingIOError:
		        pass
		os.close(to[1])
		os.set_blocking(tty, True)
		try:
		    while part := os.read(tty, 4096):
		        out += part
		except OSError:
		    pass
		sys.stdout.buffer.write(out)
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	EOF
	python3 "$T/show.py" "$CELLCTL" import "$STORE" T >"$T/seen"
	grep -qP '\rimport  \d+ cells(  \d+/s)?\x1b\[K' "$T/seen"
	grep -qP '\r\x1b\[K\d+ cells\r$' "$T/seen"
	# Not among what is printed on the same terminal.
	script -qec "'$CELLCTL' export '$STORE' T" /dev/null >"$T/seen"
	run ! grep -q 'export \[' "$T/seen"
}

# at_call CALL N WORDS...: the tool has SIGINT as it returns from its Nth such call,
# of the file $OF if there is one, and what it says is in $T/said. With $HELD, a
# second call is held up a second, so that the tool has seen the signal before.
at_call() {
	local inject=(-e "trace=$1${HELD:+,${HELD%%:*}}")

	inject+=(-e "inject=$1:signal=INT:when=$2" ${OF:+-P "$OF"})
	[ -z "${HELD:-}" ] || inject+=(-e "inject=$HELD:delay_enter=1s")
	# What it starts has no signal ignored.
	ASAN_OPTIONS=detect_leaks=0 env --default-signal=INT strace -f -qq \
		-o "$T/trace" "${inject[@]}" "$CELLCTL" "${@:3}" \
		>"$T/out" 2>"$T/all"
}

# stops WORDS CALL N ARG...: there it ends by the signal, has printed nothing, and
# says the words.
stops() {
	local code=0

	at_call "${@:2}" || code=$?
	grep -v ^strace: "$T/all" >"$T/said" || true
	if [ "$code" -ne 130 ] || [ -s "$T/out" ] || ! grep -q "$1" "$T/said"; then
		echo "it ended with $code: ${*:2}: $(cat "$T/said")" >&2
		return 1
	fi
	grep -q "^cellctl: stopped; " "$T/said"
}

# late: the tool was done before it saw the signal, as it is now and then where the
# machine is busy.
late() {
	LATE=$((LATE + 1))
	[ "$LATE" -lt 20 ] && run ! grep "stopped;" "$T/said"
}

@test "each that reads or copies a store is stopped early and late, and done again" {
	local OF HELD LATE=0 n none

	ctl flush "$STORE"
	ctl snapshot "$STORE" take s
	ctl export "$STORE" T >"$T/whole"
	ctl backup "$STORE" "$T/full" >"$T/out"
	n=$(cut -f 4 "$T/out")
	none="no backup was made.*before are as they were"
	# The last file has its name, so that what is left is to verify them.
	stops "$none" renameat 1 backup --copy "$STORE" "$T/b"
	stops "$none" renameat "$n" backup --copy "$STORE" "$T/b"
	grep -q "the next one goes on with what $T/b/incomplete has" "$T/said"
	[ "$(ls "$T/b")" = incomplete ]
	run ! grep -q "keeps its log" "$T/said"
	ctl backup "$STORE" "$T/b"
	[ "$(ls "$T/b")" = 1 ]
	stops "$none" renameat 1 backup --copy "$STORE" "$T/b"
	ctl backup "$STORE" "$T/b"
	for n in 1 "$n"; do
		stops "$T/new was not made: do it again" \
			renameat "$n" restore "$T/full" "$T/new"
		stops "$T/new was not made: do it again" renameat "$n" \
			restore "$T/b" "$T/new" --at "$(date +%s%3N)"
		[ -z "$(compgen -G "$T/new*")" ]
	done
	ctl restore "$T/b" "$T/new"
	ctl export "$T/new" T | cmp - "$T/whole"

	OF=$(ls "$T/b/1"/*.sst)
	stops "stopped; 0 of 2 backups" pread64 1 check "$T/b"
	OF=$(ls "$T/b/1"/CATALOG-*)
	stops "begins anew" pread64 2 check "$T/b"
	OF=$(ls "$STORE"/*.sst)
	stops "begins anew" pread64 1 check "$STORE"
	# It has not read what it has not read.
	[ "$(grep -o '[0-9]* bytes' "$T/said" | cut -d ' ' -f 1)" -lt \
		"$(stat -c %s "$OF")" ]
	[ "$(ctl check "$STORE")" = "$STORE: 0 faults" ]
	[ "$(ctl check "$T/b")" = "$T/b: 0 faults" ]

	unset OF
	HELD=fsync:when=2+
	until
		stops "remove that, if it is there, and do it again" \
			fdatasync 1 repair "$STORE" "$T/saved"
	do
		late
		rm -r "$T/saved"
	done
	[ ! -e "$T/saved" ]
	rm -r "$T/saved.part"
	ctl repair "$STORE" "$T/saved"
	ctl export "$T/saved" T | cmp - "$T/whole"
	HELD=fsync
	until
		stops "nothing was changed: do it again" \
			fdatasync 1 snapshot "$STORE" clone s C T
	do
		late
		ctl drop --force "$STORE" C
	done
	[ "$(ctl tables "$STORE")" = T ]
	ctl snapshot "$STORE" clone s C T
	ctl scan "$STORE" C | cmp - <(ctl scan "$STORE" T)
	[ "$(ctl check "$STORE")" = "$STORE: 0 faults" ]
}

@test "a second signal ends it at once, of another kind as well" {
	local second turn code

	ctl flush "$STORE"
	ctl snapshot "$STORE" take s
	for second in INT TERM; do
		for turn in {1..20}; do
			code=0
			# The first one is seen, and what is done goes on to where it is
			# safe.
			ASAN_OPTIONS=detect_leaks=0 env --default-signal=INT,TERM \
				strace -f -qq -o "$T/trace" -e trace=fdatasync,fsync \
				-e inject=fdatasync:signal=INT:when=1 \
				-e inject=fsync:signal=$second:when=1 \
				"$CELLCTL" snapshot "$STORE" clone s C T \
				2>"$T/said" || code=$?
			[ "$(ctl tables "$STORE")" = T ]
			# Where the second one comes late the first one stops it.
			grep -q "stopped;" "$T/said" || break
			[ "$code" -eq 130 ]
		done
		run ! grep "stopped;" "$T/said"
		[ "$code" -eq $((128 + $(kill -l $second))) ]
		[ "$(ctl check "$STORE")" = "$STORE: 0 faults" ]
	done
}

@test "a backup that is stopped says that the log is kept nevertheless" {
	stops "before are as they were; the store keeps its log from now on" \
		renameat 5 backup "$STORE" "$T/b" --copy --keep-log 8
	ctl put "$STORE" T r f:q v
	ctl flush "$STORE"
	compgen -G "$STORE/kept-*"
}

@test "an export goes on at the row that it says" {
	local form row OF
	# Several cells a row, so that a row may be cut.
	sed 's/f:q/f:r/' "$T/cells" | ctl import "$STORE" T
	ctl flush "$STORE"
	OF=$T/out
	for form in --json --raw --jsonl "--csv --columns f:q,f:r"; do
		# shellcheck disable=SC2086
		stopped_export $form
		row=$(sed -n 's/.*--startrow \([0-9]*\).*/\1/p' "$T/said")
		[ "$row" -gt 0 ] && [ "$row" -lt 2999 ]
		# shellcheck disable=SC2086
		ctl export "$STORE" T $form --startrow "$row" >"$T/rest"
		rm -rf "$T/other"
		ctl create "$T/other" T f
		form=${form%% *}
		form=${form/--raw/}
		for row in "$T/part" "$T/rest"; do
			# shellcheck disable=SC2086
			ctl import "$T/other" T $form <"$row" || [ "$row" = "$T/part" ]
		done
		cmp <(ctl scan "$T/other" T | cut -f 1,2,4) \
			<(ctl scan "$STORE" T | cut -f 1,2,4)
	done
	# The first of two passes is one that can be stopped.
	ctl compact "$STORE"
	OF=$(ls "$STORE"/*.sst)
	stops "cells were read: do it again" \
		pread64 "$(calls pread64 export "$STORE" T --csv)" export "$STORE" T --csv
}

# calls CALL ARG...: how many such calls of the file $OF the tool makes.
calls() {
	ASAN_OPTIONS=detect_leaks=0 strace -f -qq -o "$T/trace" -e trace="$1" \
		${OF:+-P "$OF"} "$CELLCTL" "${@:2}" >"$T/out" 2>"$T/all"
	grep -c "$1(" "$T/trace"
}

# stopped_export OPTION...: is stopped in its midst; $T/part, $T/said.
stopped_export() {
	local code=0

	at_call write 2 export "$STORE" T "$@" || code=$?
	[ "$code" -eq 130 ]
	grep -v ^strace: "$T/all" >"$T/said"
	mv "$T/out" "$T/part"
}

@test "the row to go on with stands as a shell takes it, in the spelling of the rest" {
	local form row spelling words OF=$T/out

	sed "s/^/it's a%01 \$row /; s/f:q/f:r/" "$T/cells" | ctl import "$STORE" T
	for spelling in "" --hbase-escapes; do
		for form in --json --jsonl; do
			at_call write 2 $spelling export "$STORE" T $form \
				--rowprefix "it's" || [ "$?" -eq 130 ]
			row=$(grep -oE -- "--startrow 'it'.''s a(%01|.x01) .row [0-9]+'" "$T/all")
			eval "words=(${row#--startrow })"
			ctl $spelling get "$STORE" T "${words[0]}" | grep -q f:r
		done
	done
}

@test "a copy that is stopped is done again, into a table that is there as well" {
	local OF n

	ctl flush "$STORE"
	OF=$(ls "$STORE"/*.sst)
	n=$(calls pread64 export "$STORE" T)
	stops "do it again: what is copied twice is there once" \
		pread64 "$n" copy "$STORE" T "$T/other" T
	grep -q "the table T was not made" "$T/said"
	# So it is where the table has just been made.
	OF=
	stops "do it again" renameat "$(calls renameat create "$T/new" T f)" \
		copy "$STORE" T "$T/new2" T
	run -1 ctl exists "$T/new2" T
	OF=$(ls "$STORE"/*.sst)
	ctl create "$T/other" T f:versions=9
	stops "do it again" pread64 "$n" copy "$STORE" T "$T/other" T
	[ "$(ctl count "$T/other" T)" -lt 3000 ]
	ctl copy "$STORE" T "$T/other" T
	cmp <(ctl scan "$T/other" T) <(ctl scan "$STORE" T)
}

@test "what is not carried or read is no part of what is to be done" {
	head -c 3000000 /dev/urandom | base64 -w 0 | ctl put "$STORE" T large f:q
	ctl flush "$STORE"
	for _ in 1 2; do
		ctl backup "$STORE" "$T/b" --progress 2>&1 >"$T/out" |
			tail -n 1 >"$T/said"
		grep -qF "[####################] 100 %" "$T/said"
	done
	ctl check "$T/b" --progress 2>&1 >"$T/out" | tail -n 1 | grep -qE \
		'^check \[#{20}\] 100 %'
	ctl snapshot "$STORE" take s
	ctl snapshot "$STORE" clone s C T --progress 2>&1 >"$T/out" |
		head -n 1 | grep -qE '^clone \[.* of [0-9]+ MiB'
	ctl export "$STORE" T --jsonl --progress 2>&1 >"$T/out" | grep -q \
		'^export \[####################\] 100 %'
}

@test "a message is on a line of its own" {
	local file

	ctl flush "$STORE"
	file=$(ls "$STORE"/*.sst)
	printf X | dd of="$file" bs=1 seek=300000 conv=notrunc status=none
	# Each read of it takes longer than it is until the bar is drawn.
	script -qec "ASAN_OPTIONS=detect_leaks=0 strace -f -qq -o '$T/trace' \
		-P '$file' -e trace=pread64 -e inject=pread64:delay_enter=150ms \
		'$CELLCTL' export '$STORE' T >/dev/null" /dev/null \
		>"$T/seen" || true
	grep -q 'export \[' "$T/seen"
	grep -qP '\r\x1b\[Kcellctl: T: .*damaged' "$T/seen"
}

@test "an import is stopped with what was applied" {
	mkfifo "$T/in"
	stoppable "$CELLCTL" import "$STORE" T "$T/in" --progress 2>"$T/said"
	exec 4>"$T/in"
	sed 's/^/new/' "$T/cells" >&4
	settled grep -qE '^import  ' "$T/said"
	kill -INT "$TOOL"
	exec 4>&-
	ended_by INT "[0-9]* cells are applied"
	grep -q "to go on do it again" "$T/said"
	[ "$(ctl count "$STORE" T --rowprefix new)" -eq \
		"$(sed -n 's/.*stopped; \([0-9]*\) cells.*/\1/p' "$T/said")" ]
	ctl import "$STORE" T <(sed 's/^/new/' "$T/cells")
	[ "$(ctl count "$STORE" T)" -eq 6000 ]
	[ "$(ctl check "$STORE")" = "$STORE: 0 faults" ]
}

@test "an export that is stopped is no whole one" {
	mkfifo "$T/out"
	# shellcheck disable=SC2016
	stoppable bash -c 'exec "$1" export "$2" T >"$3"' - \
		"$CELLCTL" "$STORE" "$T/out" 2>"$T/said"
	exec 4<"$T/out"
	# It waits for who reads: more than a pipe and its own memory hold.
	head -c 1000 <&4 >"$T/part"
	kill -INT "$TOOL"
	cat <&4 >>"$T/part"
	exec 4<&-
	ended_by INT "[0-9]* cells of T were read"
	run -3 ctl import --create "$T/other" T "$T/part"
	[ "$(ctl count "$STORE" T)" -eq 3000 ]
}

@test "a copy that is stopped makes no table" {
	local i n=0

	# Until it is not done before the signal comes.
	until
		for i in 1 2 3 4 5 6 7 8; do
			sed "s/^/$n.$i/" "$T/cells"
		done | ctl import "$STORE" T
		stoppable "$CELLCTL" copy "$STORE" T T2 --progress 2>"$T/said"
		settled grep -q "^copy" "$T/said"
		kill -TERM "$TOOL"
		ended_by TERM "[0-9]* cells of T were read"
	do
		ctl drop --force "$STORE" T2
		n=$((n + 1))
		[ "$n" -lt 20 ]
	done
	grep -q "the table T2 was not made" "$T/said"
	[ "$(ctl tables "$STORE")" = T ]
}

@test "a backup that is stopped is gone on with" {
	local n=0

	while true; do
		head -c 4000000 /dev/urandom | base64 -w 0 |
			ctl put "$STORE" T "large$n" f:q
		stoppable "$CELLCTL" backup --copy "$STORE" "$T/b" >"$T/out" 2>"$T/said"
		settled test -e "$T/b/incomplete" -o -e "$T/b/$((n + 1))"
		kill -INT "$TOOL" || true
		[ ! -e "$T/b/incomplete" ] || break
		wait "$TOOL" || true
		n=$((n + 1))
		[ "$n" -lt 20 ]
	done
	if ended_by INT "no backup was made"; then
		[ ! -e "$T/b/$((n + 1))" ]
	fi
	ctl backup "$STORE" "$T/b"
	[ "$(ctl check "$T/b")" = "$T/b: 0 faults" ]
}

# not_answered: the mount was too busy to answer who was asked to stop at once.
not_answered() {
	grep -q "^cellctl: stopped; the store that is mounted at" "$T/said"
}

@test "a check, a merge and a rescue are stopped without harm" {
	local turn

	# What a check takes nine seconds for.
	head -c 7500000 /dev/urandom | base64 -w 0 | ctl put "$STORE" T large f:q
	mount_store
	ctl flush "$M"
	for turn in {1..10}; do
		stoppable "$CELLCTL" check "$M" --rate 1 --progress >"$T/out" \
			2>"$T/said"
		settled grep -q "^check" "$T/said"
		kill -INT "$TOOL"
		wait "$TOOL" || true
		not_answered || break
	done
	ended_by INT "[0-9]* bytes of the table files were read"
	unmount_store
	stoppable "$CELLCTL" compact "$STORE" --progress 2>"$T/said"
	settled grep -q "^compact" "$T/said"
	kill -INT "$TOOL" || true
	wait "$TOOL" || ended_by INT "no cell is lost"
	[ "$(ctl count "$STORE" T)" -eq 3001 ]
	ctl compact "$STORE"
	[ "$(ctl check "$STORE")" = "$STORE: 0 faults" ]
	stoppable "$CELLCTL" repair "$STORE" "$T/saved" --progress >"$T/out" 2>"$T/said"
	settled grep -q "^repair" "$T/said"
	kill -INT "$TOOL" || true
	wait "$TOOL" || ended_by INT "$STORE is as it was"
	rm -rf "$T/saved" "$T/saved.part"
	ctl repair "$STORE" "$T/saved"
	[ "$(ctl count "$T/saved" T)" -eq 3001 ]
}

@test "the bench is stopped, and leaves no files" {
	mkdir "$T/bench"
	stoppable "$BUILD/tools/cellfs-bench" --engines cellfs --cells 8000 \
		--seconds 60 --only get --dir "$T/bench" --progress \
		>"$T/out" 2>"$T/said"
	settled grep -q "^get, run 1, cellfs" "$T/said"
	kill -INT "$TOOL"
	local code=0
	wait "$TOOL" || code=$?
	[ "$code" -eq 130 ]
	grep -q "cellfs-bench: stopped; .* of 3 runs" "$T/said"
	[ -z "$(ls "$T/bench")" ]
}

# mount_slow CALL: what the daemon does by such a call takes it two seconds.
mount_slow() {
	cat >"$T/slow" <<-EOF
		#!/bin/sh
		ASAN_OPTIONS=detect_leaks=0 exec strace -f -qq -o "$T/trace" \
			-e trace=$1 -e inject=$1:delay_enter=2s "$CELLFS" "\$@"
	EOF
	chmod +x "$T/slow"
	CELLFS=$T/slow mount_store
}

# ends SIGNAL: the tool that has it ends by it, though the mount does not answer.
ends() {
	local code=0

	kill "-$1" "$TOOL"
	settled eval "! kill -0 $TOOL 2>/dev/null" || {
		kill -CONT "$DAEMON"
		return 1
	}
	wait "$TOOL" || code=$?
	[ "$code" -eq $((128 + $(kill -l "$1"))) ] || {
		echo "it ended with $code" >&2
		cat "$T/said" >&2
		return 1
	}
}

# ends_soon SIGNAL: so does one whose mount answers later, which is not waited for.
# On a busy machine that may have answered.
ends_soon() {
	local code=0 from=${EPOCHREALTIME//[!0-9]/}

	kill "-$1" "$TOOL" || true
	wait "$TOOL" || code=$?
	[ "$code" -eq $((128 + $(kill -l "$1"))) ] &&
		[ $((${EPOCHREALTIME//[!0-9]/} - from)) -lt 1500000 ] || {
		echo "$((${EPOCHREALTIME//[!0-9]/} - from)) us, $code" >&2
		cat "$T/said" >&2
		return 1
	}
}

# waits_for_mount: a thread of the tool does, in a read.
waits_for_mount() {
	cat "/proc/$TOOL/task"/*/wchan | grep -q request_wait_answer
}

has_merged() {
	ctl stats "$M" | grep -qE '^compactions_total +[1-9]'
}

@test "who is ended does not wait for what the mounted store does" {
	local c turn
	mount_slow fdatasync,fsync
	for c in flush compact; do
		for turn in {1..20}; do
			ctl put "$M" T "$c" f:q new
			stoppable "$CELLCTL" "$c" "$M" 2>"$T/said"
			settled eval "waits_for_mount || ! kill -0 $TOOL 2>/dev/null"
			sleep 0.1
			! ends_soon INT || not_answered || break
		done
		[ "$turn" -lt 20 ]
	done
	grep -q "^cellctl: stopped; the mounted store goes on" "$T/said"
	# That goes on, and others are served.
	[ "$(ctl get -v "$M" T flush f:q)" = new ]
	settled has_merged
	ctl flush "$M"
	unmount_store
	[ "$(ctl count "$STORE" T)" -eq 3002 ]
}

# stopped_in_mount SIGNAL: the tool waits for the daemon, which is stopped; it ends
# with words, and then the mount is as it was.
stopped_in_mount() {
	settled waits_for_mount
	ends "$1"
	kill -CONT "$DAEMON"
	grep -q "^cellctl: stopped; the store that is mounted at $M has not" \
		"$T/said"
	grep -q "was asked: see $M/.cellfs/stats; to go on do this again" "$T/said"
	[ "$(ctl count "$M" T)" -eq "$(ctl count "$STORE" T)" ]
}

# stop_daemon [CALL]: while the tool waits there; no thread of it takes a request.
stop_daemon() {
	[ -z "${1:-}" ] || settled grep -q "$1" "/proc/$TOOL/wchan"
	kill -STOP "$DAEMON"
	settled all_stopped
}

all_stopped() {
	[ -z "$(grep -L '^[0-9]* (.*) T ' "/proc/$DAEMON/task"/*/stat)" ]
}

@test "who waits for a mount that does not answer says so, and ends" {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		sed "s/^/$i/" "$T/cells"
	done | ctl import "$STORE" T
	# What a check takes seconds for.
	head -c 3000000 /dev/urandom | base64 -w 0 | ctl put "$STORE" T 000000 f:q
	mount_store
	ctl flush "$M"
	stoppable "$CELLCTL" check "$M" --rate 1 --progress >"$T/out" 2>"$T/said"
	stop_daemon nanosleep
	stopped_in_mount TERM
	# On a terminal the line goes before that.
	stoppable script -qefc "echo \$\$ >'$T/pid'; exec '$CELLCTL' check '$M' \
		--rate 1 2>&1" /dev/null >"$T/said"
	settled grep -q "check \[" "$T/said"
	i=$TOOL
	TOOL=$(cat "$T/pid")
	stop_daemon nanosleep
	settled waits_for_mount
	kill -INT "$TOOL"
	wait "$i" || true
	kill -CONT "$DAEMON"
	grep -qP '\r\x1b\[Kcellctl: stopped; the store' "$T/said"
	mkfifo "$T/pipe"
	# shellcheck disable=SC2016
	stoppable bash -c 'exec "$1" export "$2" T >"$3"' - \
		"$CELLCTL" "$M" "$T/pipe" 2>"$T/said"
	exec 4<"$T/pipe"
	head -c 1000 <&4 >"$T/part"
	stop_daemon pipe_write
	cat <&4 >"$T/part" &
	exec 4<&-
	stopped_in_mount INT
	for i in "compact @" "scan @ T" "flush @"; do
		stop_daemon
		# shellcheck disable=SC2086
		stoppable "$CELLCTL" ${i//@/$M} >"$T/out" 2>"$T/said"
		settled waits_for_mount
		ends INT
		kill -CONT "$DAEMON"
	done
	unmount_store
	[ "$(ctl count "$STORE" T)" -eq 27000 ]
}

@test "an import into a mount is stopped as it waits for its input" {
	local turn

	mount_store
	mkfifo "$T/in"
	for turn in {1..10}; do
		stoppable "$CELLCTL" import "$M" T "$T/in" --progress 2>"$T/said"
		exec 4>"$T/in"
		sed "s/^/new$turn./" "$T/cells" >&4
		settled grep -qE '^import  ' "$T/said"
		kill -INT "$TOOL"
		wait "$TOOL" || true
		exec 4>&-
		not_answered || break
	done
	ended_by INT "[0-9]* cells are applied"
	[ "$(ctl count "$M" T --rowprefix "new$turn.")" -eq \
		"$(sed -n 's/.*stopped; \([0-9]*\) cells.*/\1/p' "$T/said")" ]
	unmount_store
}

@test "the manual has --progress of each that takes it" {
	local c n=0

	for c in $("$CELLCTL" complete "" | grep -oE '^[a-z_]+'); do
		"$CELLCTL" "$c" --help >"$T/help" 2>&1 || continue
		grep -q -e --progress "$T/help" || continue
		# An alias has no line of its own.
		grep "^\.It Cm $c " "$BATS_TEST_DIRNAME/../../tools/cellctl.1" \
			>"$T/line" || continue
		grep -qE "Fl -progress|Ar option" "$T/line" || {
			echo "not of $c" >&2
			return 1
		}
		n=$((n + 1))
	done
	[ "$n" -ge 9 ]
}

@test "a copy whose target does not answer is ended by the first signal" {
	run -0 env --default-signal=INT python3 - "$CELLCTL" "$STORE" <<-'EOF'
	import signal, socket, subprocess, sys
	silent = socket.create_server(("127.0.0.1", 0))
	target = "hbase://127.0.0.1:%d/" % silent.getsockname()[1]
	tool = subprocess.Popen([sys.argv[1], "copy", sys.argv[2], "T", target, "T"])
	asked = silent.accept()
	tool.send_signal(signal.SIGINT)
	print(tool.wait())
	EOF
	[ "$output" = -2 ]
}
