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
		stoppable "$CELLCTL" backup "$STORE" "$T/b" >"$T/out" 2>"$T/said"
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

@test "a check, a merge and a rescue are stopped without harm" {
	head -c 3000000 /dev/urandom | base64 -w 0 | ctl put "$STORE" T large f:q
	mount_store
	ctl flush "$M"
	stoppable "$CELLCTL" check "$M" --rate 1 --progress >"$T/out" 2>"$T/said"
	settled grep -q "^check" "$T/said"
	kill -INT "$TOOL"
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
	wait "$TOOL" || ended_by INT "the store is as it was"
	rm -rf "$T/saved"
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
