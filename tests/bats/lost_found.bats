# What is scratch at unmount is kept beside the store, and said.
load helper

teardown() {
	end_store
	! mountpoint -q "$T/disk" || umount "$T/disk"
}

# ended [TEXT...]: the daemon has ended with 0 and said these words.
ended() {
	local code=0 text

	fusermount3 -u "$M"
	wait "$DAEMON" || code=$?
	DAEMON=
	[ "$code" -eq 0 ]
	for text in "$@"; do
		grep -qF -- "$text" "$LOG" || {
			echo "'$text' is not in: $(cat "$LOG")" >&2
			return 1
		}
	done
}

kept() {
	find "$STORE/lost+found" -type f 2>/dev/null | wc -l
}

@test "files that are scratch at unmount are kept in lost+found, and said" {
	remount_logged
	a_column
	echo one > "$C/note.tmp"
	echo two > "$M/.note"
	mkdir "$C/.d" "$M/T/.stage/R"
	echo three > "$C/.d/any name"
	echo four > "$M/T/.stage/R/f:q"
	[ "$(find "$M" -type f ! -name .schema | wc -l)" -eq 3 ]
	ended "4 files" "$STORE/lost+found" /T/R/f/q/note.tmp "/T/R/f/q/.d/any name" \
		/T/.stage/R/f:q
	[ "$(logged warning "$STORE/lost.found.*4 files, 19 bytes")" -eq 1 ]
	[ "$(kept)" -eq 4 ]
	[ "$(cat "$STORE"/lost+found/* | sort | tr '\n' ' ')" = "four one three two " ]
	[ "$(cat "$STORE"/lost+found/*,T,R,f,q,note.tmp)" = one ]
	[ "$(stat -c %a "$STORE"/lost+found/* | sort -u)" = 600 ]
	[ "$(stat -c %a "$STORE/lost+found")" = 700 ]
	mount_store
	[ -z "$(find "$M" -type f ! -name .schema)" ]
}

@test "nothing is kept or said of files that are empty, removed or renamed" {
	a_column
	touch "$C/5.lock" "$M/4913"
	echo x > "$C/a.tmp"
	rm "$C/a.tmp"
	echo x > "$C/b.tmp"
	mv "$C/b.tmp" "$C/5"
	unmount_store
	[ ! -e "$STORE/lost+found" ]
}

@test "files of the same name are kept beside each other" {
	for i in 1 2 3; do
		a_column
		echo "$i" > "$C/note.tmp"
		ended "1 file"
		mount_store
	done
	[ "$(cat "$STORE"/lost+found/*note.tmp | sort | tr -d '\n')" = 123 ]
}

@test "no name leads out of lost+found, and long ones are cut" {
	a_column
	local long
	long=$(printf 'ä%.0s' {1..120})
	echo x > "$M/T/R/..%2F..%2Fetc"
	echo x > "$M/T/R/f/.
a	b"
	mkdir -p "$M/T/$long/f/.d"
	echo x > "$M/T/$long/f/.d/$long"
	ended "3 files"
	[ "$(kept)" -eq 3 ]
	[ "$(find "$T" -name '*etc' | grep -v "^$STORE/lost+found/")" = "" ]
	find "$STORE/lost+found" -name '*,T,R,f,._a_b' | grep -q .
	ls "$STORE/lost+found" | iconv -f utf-8 -t utf-8 | grep -q ä
}

@test "a name in lost+found is the last 200 bytes of a path, without what is no text" {
	local name umlauts
	a_column
	mkdir "$M/T/R/f/.d"
	# Cut in the middle of a character it begins with the next one.
	umlauts=$(printf 'ä%.0s' {1..99})
	echo x > "$M/T/R/f/.d/äääääääääää${umlauts}x"
	name=$(printf 'n%.0s' {1..190})
	echo x > "$M/T/R/f/.d/$name"
	echo x > "$M/T/R/f/.d/${name}mm"
	echo x > "$M/T/R/f/.d/a"$'\x1f'"b"
	echo x > "$M/T/R/f/.d/a"$'\x7f'"c"
	echo x > "$M/T/R/f/.d/a d~"
	ended "6 files"
	ls "$STORE/lost+found" | sed 's/^[0-9]*-[0-9]//' | sort > "$T/names"
	printf '%s\n' ",R,f,.d,${name}mm" ",T,R,f,.d,$name" ",T,R,f,.d,a d~" \
		",T,R,f,.d,a_b" ",T,R,f,.d,a_c" ",${umlauts}x" | sort | diff - "$T/names"
}

@test "of many files twenty are named, and all are counted" {
	local i
	a_column
	for i in {1..21}; do
		echo x > "$M/T/R/f/.$i.tmp"
	done
	ended "21 files, 42 bytes"
	[ "$(grep -c 'tmp is kept as' "$LOG")" -eq 20 ]
	[ "$(kept)" -eq 21 ]
	rm -r "$STORE/lost+found"
	mount_store
	a_column
	for i in {1..21}; do
		echo x > "$M/T/R/f/.$i.tmp"
	done
	touch "$STORE/lost+found"
	ended "could not be kept is lost: 21 files"
	[ "$(grep -c 'tmp (2 bytes) is lost: ' "$LOG")" -eq 20 ]
}

@test "a store with lost+found is opened, checked and mounted as ever" {
	a_column
	echo x > "$C/5"
	echo y > "$C/note.tmp"
	ended "1 file"
	run -0 "$CELLCTL" check "$STORE"
	[[ $output != *lost* ]]
	mount_store
	[ "$(cat "$C/5")" = x ]
	[ "$(ls "$C")" = 5 ]
	unmount_store
	[ "$(kept)" -eq 1 ]
}

@test "what cannot be kept is said to be lost" {
	a_column
	echo x > "$C/5"
	echo y > "$C/note.tmp"
	touch "$STORE/lost+found"
	ended "/T/R/f/q/note.tmp" "lost" "Not a directory"
	rm "$STORE/lost+found"
	mount_store
	[ "$(cat "$C/5")" = x ]
}

@test "kill -9 loses what is scratch, and nothing else" {
	a_column
	echo x > "$C/5"
	echo y > "$C/note.tmp"
	kill -9 "$DAEMON"
	wait "$DAEMON" || true
	fusermount3 -u -z "$M"
	mount_store
	[ "$(ls "$C")" = 5 ]
	[ ! -e "$STORE/lost+found" ]
}

@test "on a full disk what finds no room is lost, and said; the rest is kept" {
	[ "$(id -u)" -eq 0 ] || skip "only root may mount"
	unmount_store
	mkdir "$T/disk"
	mount -t tmpfs -o size=16m none "$T/disk"
	STORE=$T/disk/store
	mount_store
	a_column
	echo x > "$C/5"
	head -c 4M /dev/zero > "$C/big.tmp"
	echo small > "$C/small.tmp"
	cat /dev/zero > "$T/disk/fill" || true
	truncate -s -1M "$T/disk/fill"
	ended "big.tmp (4194304 bytes) is lost: " "No space left" \
		"small.tmp is kept as" "1 file, 6 bytes"
	[ "$(kept)" -eq 1 ]
	rm "$T/disk/fill"
	mount_store
	[ "$(cat "$C/5")" = x ]
}
