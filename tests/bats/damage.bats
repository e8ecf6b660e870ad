#!/usr/bin/env bats
# Damaged table files under a mount: what they cost, and what goes on.

load helper

TAB=$'\t'

# files_of_rows ROW...: each row, with the column f:q, in a table file of its
# own, oldest first; their names in ${FILE[@]}.
files_of_rows() {
	local row before
	FILE=()
	for row; do
		before=$(cd "$STORE" && ls | grep '\.sst$') || true
		mkdir -p "$M/t/$row"
		echo "of $row" >"$M/t/$row/f:q"
		"$CELLCTL" flush "$STORE"
		FILE+=("$(cd "$STORE" && ls | grep '\.sst$' |
			grep -vxF "${before:-none}")")
	done
}

# end_damaged WORD: unmounts; the daemon said nothing but the one line with WORD.
end_damaged() {
	fusermount3 -u "$M"
	wait "$DAEMON"
	DAEMON=
	[ "$(wc -l <"$LOG")" -eq 1 ]
	grep -q "the store $STORE is damaged: .*$1" "$LOG"
}

@test "a table file that is missing costs its rows; all else is there" {
	files_of_rows a b c
	mkdir -p "$M/u/r"
	echo other >"$M/u/r/f:q"
	unmount_store
	rm "$STORE/${FILE[1]}"
	mount_store
	[ "$(cat "$M/t/a/f:q")" = "of a" ]
	[ "$(cat "$M/t/c/f:q")" = "of c" ]
	[ "$(cat "$M/u/r/f:q")" = other ]
	run cat "$M/t/b/f:q"
	[[ $output == *"Input/output error"* ]]
	grep -q "table t, family f: ${FILE[1]}: .*rows 'b' to 'b'.*missing" \
		"$M/.cellfs/errors"
	[ "$(cat "$M/t/.info/damaged")" = 1 ]
	[ "$(cat "$M/u/.info/damaged")" = 0 ]
	"$CELLCTL" stats "$STORE" t | grep -q 'sstables_damaged.*1'
	"$CELLCTL" stats "$STORE" | grep -q 'sstables_damaged.*1'
	echo new >"$M/t/a/f:q"
	[ "$(cat "$M/t/a/f:q")" = new ]
	end_damaged "${FILE[1]}"
}

@test "a listing over what is damaged has the rest, and ends with an error" {
	files_of_rows a b c d
	echo other >"$M/t/c/g:q"
	"$CELLCTL" flush "$STORE"
	unmount_store
	rm "$STORE/${FILE[1]}"
	printf X | dd of="$STORE/${FILE[2]}" bs=1 seek=3 conv=notrunc status=none
	mount_store
	run ls "$M/t"
	[ "$status" -ne 0 ]
	# Of c another family is known.
	[ "$(ls "$M/t" 2>/dev/null)" = "$(printf 'a\nc\nd')" ]
	[[ $output == *"Input/output error"* ]]
	[ "$(cat "$M/t/c/g:q")" = other ]
	run cat "$M/t/c/f:q"
	[[ $output == *"Input/output error"* ]]
	run ls "$M/t/c"
	[[ $output == *"Input/output error"* ]]
	[ "$(ls "$M/t/c" 2>/dev/null)" = g ]
	run grep -rh "of" "$M/t"
	[ "$status" -eq 2 ]
	[[ $output == *"of a"* && $output == *"of d"* ]]
	run rmdir "$M/t/b"
	[ "$status" -ne 0 ]
	grep -q "rows 'b' to 'b'" "$M/.cellfs/errors"
	grep -q "rows 'c' to 'c'" "$M/.cellfs/errors"
	fusermount3 -u "$M"
	wait "$DAEMON"
	DAEMON=
	[ "$(grep -c "the store $STORE is damaged" "$LOG")" -eq 2 ]
}

@test "a part of a long key that is damaged is not taken for absent" {
	local piece rest
	piece=$(printf 'a%.0s' {1..250})
	rest=$(printf 'b%.0s' {1..100})
	mkdir -p "$M/t/$piece%+/$rest/f/q"
	echo long >"$M/t/$piece%+/$rest/f/q/100"
	"$CELLCTL" flush "$STORE"
	unmount_store
	rm "$STORE"/*.sst
	mount_store
	run stat "$M/t/$piece%+"
	[[ $output == *"Input/output error"* ]]
	end_damaged "rows 'aaaa"
}

@test "a stream and cellctl go on past damage, and end with the error" {
	files_of_rows a b c d
	unmount_store
	rm "$STORE/${FILE[1]}"
	mount_store
	run cat "$M/t/.cells"
	[ "$status" -eq 1 ]
	[[ $output == *"of a"*"of c"*"of d"* ]]
	[[ $output == *"Input/output error"* ]]
	# By way of the mount, in batches, and of the store at rest.
	for at in mounted rest; do
		run --separate-stderr -3 "$CELLCTL" scan "$STORE" t
		[ "$(cut -f 1 <<<"$output" | tr -d '\n')" = acd ]
		[[ $stderr == *"${FILE[1]}"*"rows 'b' to 'b'"* ]]
		run --separate-stderr -3 "$CELLCTL" export "$STORE" t
		[ "$(grep -c "of [acd]" <<<"$output")" -eq 3 ]
		# What has no end is known to be cut.
		[[ $output != *"end${TAB}cells"* && $output != *"cells=3"* ]]
		run --separate-stderr -3 "$CELLCTL" scan "$STORE" t --reversed
		if [ "$at" = mounted ]; then
			end_damaged "${FILE[1]}"
		fi
	done
}

@test "cellctl compact says what damage keeps it from" {
	files_of_rows a b c
	rm "$M/t/b/f:q"
	unmount_store
	cp -r "$STORE" "$T/whole"
	printf X | dd of="$STORE/${FILE[1]}" bs=1 seek=3 conv=notrunc status=none
	cp -r "$STORE" "$T/other"
	# The merge is the first that meets it.
	run --separate-stderr -1 "$CELLCTL" compact "$STORE"
	[ -e "$STORE/${FILE[1]}" ]
	[[ $stderr == *"1 damaged table file is not merged"*"cellctl check $STORE"* ]]
	run --separate-stderr -1 "$CELLCTL" compact "$T/other" t
	[[ $stderr == *"1 damaged table file is not merged"* ]]
	mount_store
	run --separate-stderr -1 "$CELLCTL" compact "$M" t
	[[ $stderr == *"1 damaged table file is not merged"* ]]
	end_damaged "${FILE[1]}"
	run --separate-stderr -0 "$CELLCTL" compact "$T/whole"
	[ -z "$stderr" ]
}

@test "cellctl check looks at a mounted store" {
	files_of_rows a b c d
	run -0 "$CELLCTL" check "$STORE"
	[ "$output" = "$STORE: 0 faults" ]
	run -0 "$CELLCTL" check "$M/t" --json
	[ "$output" = "{\"store\":\"$M/t\",\"faults\":0}" ]
	# What is in memory and what readers have does not hide it.
	cat "$M"/t/*/f:q >/dev/null
	printf X | dd of="$STORE/${FILE[1]}" bs=1 seek=3 conv=notrunc status=none
	truncate -s -1 "$STORE/${FILE[2]}"
	rm "$STORE/${FILE[3]}"
	rm "$STORE"/CATALOG-*[0-9a-f]
	run --separate-stderr -1 "$CELLCTL" check "$STORE"
	[[ $output == *"CATALOG is missing"* ]]
	[[ $output == *"table t, family f: ${FILE[1]} is damaged in the block at byte 0, rows 'b' to 'b'"* ]]
	[[ $output == *"${FILE[2]} cannot be opened"* ]]
	[[ $output == *"${FILE[3]} cannot be opened: it is missing"* ]]
	[ "${lines[-1]}" = "$STORE: 4 faults" ]
	# No progress where nobody looks.
	[ -z "$stderr" ]
	# Others go on meanwhile.
	[ "$(cat "$M/t/a/f:q")" = "of a" ]
	fusermount3 -u "$M"
	wait "$DAEMON" || true
	DAEMON=
}

@test "cellctl check reads a mounted store no faster than it may" {
	mkdir "$M/t"
	for i in {1..3}; do
		mkdir "$M/t/$i"
		head -c 1000000 /dev/urandom >"$M/t/$i/f:q"
	done
	"$CELLCTL" flush "$STORE"
	begun=$(date +%s)
	"$CELLCTL" check "$STORE" --rate 1
	"$CELLCTL" check "$STORE" --rate 0
	[ $(($(date +%s) - begun)) -ge 1 ]
	script -qec "'$CELLCTL' check '$STORE' --rate 2" /dev/null >"$T/seen"
	grep -q ' of 2 MiB' "$T/seen"
	unmount_store
	cp -r "$STORE" "$T/copy"
	[ "$("$CELLCTL" check "$T/copy")" = "$T/copy: 0 faults" ]
	mount_store
}
