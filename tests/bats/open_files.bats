load helper

teardown() {
	exec 7>&-
	[ -z "${DAEMON:-}" ] || unmount_store
}

# gone_and_read PATH CMD...: what descriptor 7 reads of PATH after CMD.
gone_and_read() {
	exec 7< "$1"
	"${@:2}"
	[ ! -e "$1" ]
	stat -L -c %s /proc/self/fd/7
	cat <&7
	exec 7>&-
}

@test "an open version is read after it was removed" {
	a_column
	printf one > "$C/5"
	[ "$(gone_and_read "$C/5" rm "$C/5")" = "$(printf '3\none')" ]
	# What comes after it is another file.
	printf other > "$C/5"
	[ "$(cat "$C/5")" = other ]
}

@test "an open alias is read after its column was removed" {
	a_row
	printf one > "$M/T/R/f:q"
	[ "$(gone_and_read "$M/T/R/f:q" rm "$M/T/R/f:q")" = \
		"$(printf '3\none')" ]
	printf one > "$M/T/R/f:q"
	[ "$(gone_and_read "$M/T/R/f/q/latest" rm "$M/T/R/f/q/latest")" = \
		"$(printf '3\none')" ]
}

@test "an open version is read after another path took it away" {
	a_column
	printf one > "$C/5"
	[ "$(gone_and_read "$C/5" rm "$M/T/R/f:q")" = "$(printf '3\none')" ]
	mkdir -p "$C"
	printf one > "$C/7"
	[ "$(gone_and_read "$C/7" rm -r "$M/T/R")" = "$(printf '3\none')" ]
}

@test "a large open version is read whole after it was removed" {
	a_column
	head -c 3000000 /dev/urandom > "$T/large"
	cat "$T/large" > "$C/5"
	exec 7< "$C/5"
	head -c 1000 <&7 > "$T/copy"
	rm "$C/5"
	cat <&7 >> "$T/copy"
	cmp "$T/large" "$T/copy"
}

@test "an open version is read after its time was over" {
	mkdir "$M/T"
	printf 'families open\nfamily f\n\tttl 10s\n' > "$M/T/.schema"
	local ts=$(($(date +%s%3N) - 6000))
	mkdir -p "$M/T/r/f/q"
	printf one > "$M/T/r/f/q/$ts"
	[ "$(gone_and_read "$M/T/r/f/q/$ts" \
		timeout 20 sh -c 'while [ -e "$0" ]; do sleep 0.1; done' \
		"$M/T/r/f/q/$ts")" = "$(printf '3\none')" ]
}

@test "who opens a version and reads it late reads what it is then" {
	a_column
	printf one > "$C/5"
	exec 7< "$C/5"
	printf two > "$C/5"
	[ "$(cat <&7)" = two ]
	[ "$(cat "$C/5")" = two ]
}
