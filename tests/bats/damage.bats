#!/usr/bin/env bats
# Damaged table files under a mount: what they cost, and what goes on.

load helper

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
