load helper

# A table with a row that is staged and not moved yet.
a_staged_row() {
	mkdir "$M/T"
	mkdir -p "$M/T/.stage/R/f/q" "$M/T/.stage/R/f/ts"
	echo one > "$M/T/.stage/R/f/q/latest"
	echo two > "$M/T/.stage/R/f/ts/1000"
	echo three > "$M/T/.stage/R/g:q"
}

@test "mv makes a staged row a row of its table" {
	a_staged_row
	[ "$(ls "$M/T")" = "" ]
	[ "$(ls "$M/T/.stage")" = R ]
	[ "$(cat "$M/T/.stage/R/g:q")" = three ]
	mv "$M/T/.stage/R" "$M/T/R"
	[ "$(ls "$M/T")" = R ]
	[ -z "$(ls "$M/T/.stage")" ]
	[ "$(cat "$M/T/R/f/q/latest")" = one ]
	[ "$(cat "$M/T/R/f/ts/1000")" = two ]
	[ "$(cat "$M/T/R/g/q/latest")" = three ]
	[ "$(versions "$M/T/R/f/q")" -eq 1 ]
	[ "$(cd "$M/T" && find . | sort | grep -cv .schema)" -eq 10 ]
	remount_store
	[ "$(cat "$M/T/R/f:q")" = one ]
	[ "$(cat "$M/T/R/f/ts/1000")" = two ]
}

@test "what was staged is data afterwards" {
	a_staged_row
	mv "$M/T/.stage/R" "$M/T/R"
	echo more > "$M/T/R/f/q/latest"
	[ "$(versions "$M/T/R/f/q")" -eq 2 ]
	rm "$M/T/R/f/ts/1000"
	settled [ ! -e "$M/T/R/f/ts/latest" ]
	rm -r "$M/T/R"
	[ -z "$(ls "$M/T")" ]
	mkdir "$M/T/.stage/R"
	echo again > "$M/T/.stage/R/f:q"
	mv "$M/T/.stage/R" "$M/T/R"
	[ "$(cat "$M/T/R/f:q")" = again ]
}

@test "a row that exists gets the staged cells with mv -T" {
	a_staged_row
	mkdir "$M/T/R"
	echo zero > "$M/T/R/f:q"
	echo kept > "$M/T/R/f:kept"
	cat "$M/T/R/f/q/latest"
	run -1 mv -nT "$M/T/.stage/R/nothing" "$M/T/R"
	mv -T "$M/T/.stage/R" "$M/T/R"
	[ "$(cat "$M/T/R/f/q/latest")" = one ]
	[ "$(versions "$M/T/R/f/q")" -eq 2 ]
	[ "$(cat "$M/T/R/f:kept")" = kept ]
}

@test "directories that mkdir made in a row stay when a staged one comes" {
	mkdir -p "$M/T/R/f/q" "$M/T/R/g"
	echo note > "$M/T/R/g/.note.tmp"
	mkdir -p "$M/T/.stage/R/f/q2"
	echo x > "$M/T/.stage/R/f/q2/latest"
	mv -T "$M/T/.stage/R" "$M/T/R"
	[ "$(ls "$M/T/R" | tr '\n' ' ')" = "f g " ]
	[ "$(ls "$M/T/R/f" | tr '\n' ' ')" = "q q2 " ]
	rm "$M/T/R/f/q2/latest"
	echo y > "$M/T/R/f/q/latest"
	[ "$(cat "$M/T/R/f:q" "$M/T/R/g/.note.tmp")" = "y
note" ]
	rm -r "$M/T/R"
	[ -z "$(ls "$M/T")" ]
}

@test "a file of tools in a row keeps its path when a staged one comes and its cells go" {
	local long row
	long=$(printf 'k%.0s' {1..300})
	mkdir "$M/T"
	for row in R "${long:0:250}%+/${long:250}"; do
		mkdir -p "$M/T/$row"
		echo zero > "$M/T/$row/f:q"
		echo note > "$M/T/$row/.note.tmp"
		mkdir "$M/T/.stage/S"
		echo one > "$M/T/.stage/S/f:q"
		mv -T "$M/T/.stage/S" "$M/T/$row"
		[ "$(cat "$M/T/$row/f:q")" = one ]
		printf '%s\t\t\t\tdelete-row\n' "${row/\%+\//}" > "$M/T/.cells"
		[ "$(ls -A "$M/T/$row")" = .note.tmp ]
		[ "$(cat "$M/T/$row/.note.tmp")" = note ]
		rm "$M/T/$row/.note.tmp"
	done
	[ "$(cd "$M/T" && find . | grep -c .schema)" -eq 1 ]
}

@test "a row that was staged goes with its cells, like any other" {
	mkdir "$M/T" "$M/T/.stage/R"
	echo x > "$M/T/.stage/R/f:q"
	mv "$M/T/.stage/R" "$M/T/R"
	printf 'R\t\t\t\tdelete-row\n' > "$M/T/.cells"
	settled [ ! -e "$M/T/R" ]
	[ -z "$(ls "$M/T")" ]
}

@test "what cannot be a row stays staged, and the table unchanged" {
	a_staged_row
	echo note > "$M/T/.stage/R/f/note"
	run -1 mv "$M/T/.stage/R" "$M/T/R"
	rm "$M/T/.stage/R/f/note"
	mkdir "$M/T/.stage/empty"
	run -1 mv "$M/T/.stage/empty" "$M/T/empty"
	printf 'families open\nfamily g\n\tmax_value 3\n' > "$M/T/.schema"
	run -1 mv "$M/T/.stage/R" "$M/T/R"
	grep -q "g:q: a value here is at most 3 bytes" "$M/.cellfs/errors"
	printf 'families open\nfamily g\n\tmax_value 9\n' > "$M/T/.schema"
	sed -i 's/^families open/families fixed/' "$M/T/.schema"
	mkdir "$M/T/.stage/R/h"
	echo x > "$M/T/.stage/R/h:q"
	run -1 mv "$M/T/.stage/R" "$M/T/R"
	[ -z "$(ls "$M/T")" ]
	mkdir "$M/U"
	rm "$M/T/.stage/R/h:q"
	run -1 mv "$M/T/.stage/R" "$M/U/R"
	[ "$(ls "$M/T/.stage" | wc -l)" -eq 2 ]
	rm -r "$M/T/.stage/R" "$M/T/.stage/empty"
	rmdir "$M/T"
}

@test "a column that is staged as F:Q and as latest is refused, and loses neither" {
	a_staged_row
	echo other > "$M/T/.stage/R/f:q"
	run -1 mv "$M/T/.stage/R" "$M/T/R"
	grep -q "twice, in family f, as F:Q and as latest: remove one" \
		"$M/.cellfs/errors"
	[ -z "$(ls "$M/T")" ]
	[ "$(cat "$M/T/.stage/R/f:q")" = other ]
	[ "$(cat "$M/T/.stage/R/f/q/latest")" = one ]
	rm "$M/T/.stage/R/f/q/latest"
	mv "$M/T/.stage/R" "$M/T/R"
	[ "$(cat "$M/T/R/f:q")" = other ]
}

@test "rm -r and rmdir of a table take what is staged with it" {
	a_staged_row
	rm -r "$M/T"
	[ -z "$(ls "$M")" ]
	a_staged_row
	rmdir "$M/T"
	mkdir "$M/T"
	[ -z "$(ls "$M/T/.stage")" ]
	mkdir "$M/T/.stage/R" "$M/T/R"
	run -1 rmdir "$M/T"
	[ "$(ls "$M/T/.stage")" = R ]
}

@test "what is moved from a row to the stage and comes back by it is there" {
	mkdir -p "$M/T/R/f/q" "$M/T/.stage/R/f/q"
	echo five > "$M/T/R/f/q/5"
	echo six > "$M/T/R/f/q/6"
	mv "$M/T/R/f/q/5" "$M/T/R/f/q/6" "$M/T/.stage/R/f/q"
	echo new > "$M/T/.stage/R/f/q/6"
	mv -T "$M/T/.stage/R" "$M/T/R"
	[ "$(cat "$M/T/R/f/q/5" "$M/T/R/f/q/6" | tr '\n' ' ')" = "five new " ]
	[ "$(ls "$M/T/R/f/q" | tr '\n' ' ')" = "5 6 " ]
	remount_store
	[ "$(ls "$M/T/R/f/q" | tr '\n' ' ')" = "5 6 " ]
}

@test "a staged row can be copied, renamed and take a key of 300 bytes" {
	mkdir "$M/T" "$M/T/a"
	echo x > "$M/T/a/f:q"
	echo y > "$M/T/a/g:p"
	cp -r "$M/T/a" "$M/T/.stage/b"
	mv "$M/T/.stage/b" "$M/T/.stage/c"
	mv "$M/T/.stage/c" "$M/T/c"
	diff -r "$M/T/a" "$M/T/c"
	long=$(printf 'k%.0s' $(seq 250))
	long=$long%+/${long::50}
	mkdir -p "$M/T/.stage/long/f/$long"
	echo z > "$M/T/.stage/long/f/$long/latest"
	mv "$M/T/.stage/long" "$M/T/long"
	[ "$(cat "$M/T/long/f/$long/latest")" = z ]
}

@test "a reader sees a staged row whole or not at all" {
	mkdir "$M/T"
	(
		while [ ! -e "$T/enough" ]; do
			for r in "$M"/T/r*; do
				[ -e "$r" ] || continue
				n=$(cat "$r"/.cells 2>/dev/null | wc -l)
				[ "$n" -gt 0 ] || n=$(find "$r" -type f | wc -l)
				[ "$n" -eq 5 ] || echo "$r $n" >> "$T/half"
			done
		done
	) &
	reader=$!
	for i in $(seq 20); do
		mkdir "$M/T/.stage/r$i"
		for q in a b c d e; do
			echo "$i" > "$M/T/.stage/r$i/f:$q"
		done
		mv "$M/T/.stage/r$i" "$M/T/r$i"
	done
	touch "$T/enough"
	wait "$reader"
	[ ! -e "$T/half" ] || cat "$T/half"
	[ ! -e "$T/half" ]
	[ "$(ls "$M/T" | wc -l)" -eq 20 ]
}

# kill_among_moves N: moves the staged rows one right after the other, and says
# which are back; behind the Nth the daemon is killed, while the next is under
# way.
kill_among_moves() {
	python3 - "$M/T" "$DAEMON" "$1" <<-'PY' > "$T/moved"
	import os, signal, sys, threading, time
	top, daemon, enough = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
	moved = 0
	def kill():
	    while moved < enough:
	        time.sleep(0)
	    os.kill(daemon, signal.SIGKILL)
	killer = threading.Thread(target=kill)
	killer.start()
	try:
	    for i in range(60):
	        os.rename(f"{top}/.stage/r{i}", f"{top}/r{i}")
	        moved += 1
	        os.write(1, f"r{i}\n".encode())
	except OSError:
	    pass
	killer.join()
	PY
}

@test "a staged row is whole or absent after kill -9 among the moves" {
	local round i q row cut=0
	mkdir "$M/T"
	# A kill behind the last move shows nothing, so there are more rounds then.
	for round in 1 3 7 1 3 7 1 3 7; do
		[ "$round" -ne 1 ] || [ "$cut" -eq 0 ] || break
		for i in $(seq 0 59); do
			mkdir "$M/T/.stage/r$i"
			for q in a b c d e; do
				echo "$i" > "$M/T/.stage/r$i/$q:q"
			done
		done
		kill_among_moves "$((5 * round))"
		wait "$DAEMON" || true
		fusermount3 -u -z "$M"
		[ "$(wc -l < "$T/moved")" -eq 60 ] || cut=$((cut + 1))
		mount_store
		[ -z "$(ls "$M/T/.stage")" ]
		while read -r row; do
			[ -d "$M/T/$row" ]
		done < "$T/moved"
		for row in "$M"/T/r*; do
			[ "$(cut -f 4 "$row/.cells" | sort | uniq -c)" = \
				"      5 ${row##*/r}%0A" ]
		done
		rm -r "$M"/T/r*
	done
	[ "$cut" -gt 0 ]
}

@test "who looks at a staged row as it is put sees all of it or nothing" {
	mkdir "$M/T" "$M/T/.stage/"{a,b,c,d,e,f}
	# shellcheck disable=SC2016
	python3 - "$M/T" 3>&- <<-'EOF'
	import os, sys
	t = sys.argv[1]
	cells = 400
	# One look may miss the moment.
	for row in 'abcdef':
	    looked, look = os.pipe()
	    for i in range(cells):
	        with open('%s/.stage/%s/f:%04d' % (t, row, i), 'w') as f:
	            f.write('x')
	    if os.fork() == 0:
	        os.read(looked, 1)
	        os.rename(t + '/.stage/' + row, t + '/' + row)
	        os._exit(0)
	    looks, n = 0, 0
	    while n == 0:
	        with open('%s/.prefix/%s/.cells' % (t, row), 'rb') as f:
	            n = len(f.read().splitlines())
	        looks += 1
	        os.write(look, b'.')
	    assert n == cells, n
	    assert looks > 1, 'proves nothing'
	    assert os.wait()[1] == 0
	EOF
	[ "$(ls "$M/T/f/f" | wc -l)" -eq 400 ]
}

@test "who stands in a row that a staged one replaces enters it again" {
	mkdir -p "$M/T/r" "$M/T/.stage/r"
	echo old > "$M/T/r/f:q"
	echo new > "$M/T/.stage/r/f:q"
	cd "$M/T/r"
	mv -T ../.stage/r ../r
	run ! cat f:q
	run ! cp "$M/T/r/f:q" f:p
	cd ../r
	[ "$(cat f:q)" = new ]
	printf 'r\tf:q\t\tnewer\n' > ../.cells
	[ "$(cat f:q)" = newer ]
	cd /
}
