# A version that is moved to a temporary name stays on disk, hidden, until it
# is put under another name or removed.
load helper

# crash: the daemon dies, the store is mounted anew.
crash() {
	kill -9 "$DAEMON"
	wait "$DAEMON" || true
	fusermount3 -u -z "$M"
	mount_store
}

listed() {
	ls -A "$1" | tr '\n' ' '
}

@test "a version that is moved aside is hidden, and there again after a crash" {
	a_column
	echo x > "$C/5"
	echo y > "$C/6"
	mv "$C/5" "$C/5.bak"
	[ "$(listed "$C")" = "5.bak 6 " ]
	[ "$(cat "$C/5.bak")" = x ]
	run ! cat "$C/5"
	[ "$(find "$C" -name 5)" = "" ]
	crash
	[ "$(listed "$C")" = "5 6 " ]
	[ "$(cat "$C/5")" = x ]
}

@test "an rmdir that fails deletes nothing that was moved aside" {
	local dir
	a_column
	for dir in "$C" "$M/T/.put/R/f/q"; do
		echo x > "$C/5"
		mv "$C/5" "$dir/5~"
		run ! rmdir "$dir"
		crash
		[ "$(cat "$C/5")" = x ]
	done
}

@test "put under another timestamp it is moved, in one mutation" {
	a_column
	echo x > "$C/5"
	mv "$C/5" "$C/5.bak"
	mv "$C/5.bak" "$C/7"
	[ "$(listed "$C")" = "7 " ]
	[ "$(grep -c . "$M/T/.raw/R/f/q/7")" -eq 1 ]
	crash
	[ "$(listed "$C")" = "7 " ]
	mv "$C/7" "$C/7.bak"
	mv "$C/7.bak" "$C/latest"
	[ "$(ls "$C" | wc -l)" -eq 1 ]
	[ "$(cat "$C/latest")" = x ]
	mv "$C/latest" "$C/7"
	[ "$(listed "$C")" = "7 " ]
	mv "$C/7" "$M/T/R/.7"
	mv "$M/T/R/.7" "$M/T/R/g:h"
	[ "$(cat "$M/T/R/g:h")" = x ]
	[ "$(listed "$C")" = "" ]
	crash
	[ "$(ls "$M/T/R")" = g ]
}

@test "moved back it is as it was" {
	a_column
	echo x > "$C/5"
	mv "$C/5" "$C/5~"
	mv "$C/5~" "$C/5"
	[ "$(listed "$C")" = "5 " ]
	mv "$C/5" "$C/5~"
	crash
	[ "$(cat "$C/5")" = x ]
}

# ttl_of VERSION: the ttl of its own that the cell has, in ms.
ttl_of() {
	awk -F '\t' -v ts="$1" '$3 == ts { print $6 }' "$M/T/.cells"
}

@test "moved back or elsewhere it ends when it would have" {
	local now
	a_column
	now=$(date +%s%3N)
	printf 'R\tf:q\t%s\tx\tput\t3600000\n' "$now" > "$M/T/.cells"
	mv "$C/$now" "$C/$now~"
	mv "$C/$now~" "$C/$now"
	[ "$(ttl_of "$now")" -eq 3600000 ]
	mv "$C/$now" "$C/$now.bak"
	mv "$C/$now.bak" "$C/$((now + 5))"
	[ "$(ttl_of $((now + 5)))" -eq 3599995 ]
	mkdir -p "$M/T/.stage/S/f/q"
	mv "$C/$((now + 5))" "$M/T/.stage/S/f/q/$((now + 7))"
	mv -T "$M/T/.stage/S" "$M/T/S"
	[ "$(ttl_of $((now + 7)))" -eq 3599993 ]
	[ ! -e "$C/$((now + 5))" ]
	# What is written into it is another value.
	C=$M/T/S/f/q
	mv "$C/$((now + 7))" "$C/new.tmp"
	echo y > "$C/new.tmp"
	mv "$C/new.tmp" "$C/$((now + 7))"
	[ "$(cat "$C/latest")" = y ]
	[ -z "$(ttl_of $((now + 7)))" ]
}

@test "what is put at the clock instead of one, or as an editor's copy, ends when it would" {
	local now before left
	a_column
	now=$(date +%s%3N)
	printf 'R\tf:p\t%s\tx\tput\t3600000\n' "$now" > "$M/T/.cells"
	before=$(date +%s%3N)
	mv "$M/T/R/f:p" "$M/T/R/f:p~"
	[ "$(cat "$M/T/R/f:p~")" = x ]
	left=$(ttl_of "$(ls "$M/T/R/f/p~")")
	[ "$left" -gt 0 ]
	[ "$left" -le $((now + 3600000 - before)) ]
	[ "$(ttl_of "$now")" -eq 3600000 ]
	mv "$M/T/R/f/p/$now" "$C/latest"
	left=$(ttl_of "$(ls -U "$C" | head -n 1)")
	[ "$left" -gt 0 ]
	[ "$left" -le $((now + 3600000 - before)) ]
}

@test "moved back onto one that has taken its place it replaces that" {
	a_column
	echo x > "$C/5"
	mv "$C/5" "$C/5~"
	echo y > "$C/5"
	[ "$(cat "$C/5")" = y ]
	mv "$C/5~" "$C/5"
	[ "$(listed "$C")" = "5 " ]
	[ "$(cat "$C/5")" = x ]
	crash
	[ "$(cat "$C/5")" = x ]
}

@test "when a snapshot is restored it is there, and goes with its new name no more" {
	not_over_hbase "a snapshot is not restored"
	a_column
	echo x > "$C/5"
	echo y > "$C/6"
	mkdir "$M/T/.snapshot/s"
	mv "$C/5" "$C/5~"
	[ "$(listed "$C")" = "5~ 6 " ]
	"$CELLCTL" restore_snapshot "$M" s
	[ "$(cat "$C/5")" = x ]
	rm "$C/5~"
	[ "$(listed "$C")" = "5 6 " ]
	[ "$(cat "$C/5")" = x ]
}

@test "removed under its new name it is deleted" {
	a_column
	echo x > "$C/5"
	mv "$C/5" "$C/5.bak"
	rm "$C/5.bak"
	[ "$(listed "$C")" = "" ]
	run ! cat "$C/latest"
	crash
	[ ! -e "$C" ]
}

@test "a new version of the old name takes its place" {
	a_column
	echo one > "$C/5"
	for how in plain excl install cp; do
		mv "$C/5" "$C/5.bak"
		case $how in
		plain) echo two > "$C/5" ;;
		excl) bash -c "set -C; echo two > '$C/5'" ;;
		install) echo two > "$T/two"; install "$T/two" "$C/5" ;;
		cp) cp -n "$T/two" "$C/5" ;;
		esac
		[ "$(cat "$C/5" "$C/5.bak" | tr '\n' ' ')" = "two one " ]
		rm "$C/5.bak"
		[ "$(cat "$C/5")" = two ]
		crash
		[ "$(cat "$C/5")" = two ]
		echo one > "$C/5"
	done
	mv "$C/5" "$C/5.bak"
	echo three > "$C/3"
	mv "$C/3" "$C/5"
	[ "$(cat "$C/5")" = three ]
	rm "$C/5.bak"
	[ "$(listed "$C")" = "5 " ]
}

@test "what writes it anew by another name, or the same value, takes its place" {
	a_column
	exec 5> "$M/T/R/f:q"
	echo one >&5
	(:) >&5
	ts=$(ls "$C")
	mv "$C/$ts" "$C/$ts.bak"
	echo two >&5
	exec 5>&-
	[ "$(cat "$C/$ts")" = "one
two" ]
	[ "$(listed "$C")" = "$ts $ts.bak " ]
	rm "$C/$ts.bak"
	[ "$(listed "$C")" = "$ts " ]
	printf same > "$C/5"
	mv "$C/5" "$C/5.bak"
	"$CELLCTL" put "$M" T R f:q same 5
	rm "$C/5.bak"
	[ "$(cat "$C/5")" = same ]
}

@test "a file that was made in its place and removed unwritten costs nothing" {
	a_column
	echo one > "$C/5"
	mv "$C/5" "$C/5.bak"
	python3 - "$C/5" <<-'PY'
	import os, sys
	fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_EXCL)
	os.unlink(sys.argv[1])
	os.close(fd)
	PY
	[ "$(listed "$C")" = "5.bak " ]
	run ! rm "$C/5"
	crash
	[ "$(cat "$C/5")" = one ]
}

@test "a second version moved to the same name replaces the first" {
	a_column
	echo one > "$C/5"
	echo two > "$C/6"
	mv "$C/5" "$C/x~"
	mv "$C/6" "$C/x~"
	[ "$(listed "$C")" = "x~ " ]
	[ "$(cat "$C/x~")" = two ]
	crash
	[ "$(listed "$C")" = "6 " ]
}

@test "its directory can be removed, and goes with it" {
	a_column
	echo one > "$C/5"
	mv "$C/5" "$M/T/R/.5"
	[ "$(listed "$C")" = "" ]
	rmdir "$C"
	[ "$(cat "$M/T/R/.5")" = one ]
	rm "$M/T/R/.5"
	a_column
	echo one > "$C/5"
	echo two > "$C/6"
	mv "$C/5" "$M/T/R/.5"
	mv "$C/6" "$M/T/R/.6"
	rmdir "$C"
	rm "$M/T/R/.5" "$M/T/R/.6"
	crash
	[ ! -e "$C" ]
	a_column
	echo one > "$C/5"
	mv "$C/5" "$M/T/R/.5"
	rm -r "$M/T/R"
	[ ! -e "$M/T/R" ]
	crash
	[ ! -e "$M/T/R" ]
}

@test "what others wrote in its place is seen, and not deleted with it" {
	a_column
	for n in 5 6 7; do
		echo one > "$C/$n"
		mv "$C/$n" "$C/$n.bak"
	done
	"$CELLCTL" put "$M" T R f:q anew 5
	printf 'R\tf:q\t6\tstreamed\n' > "$M/T/.cells"
	[ "$(cat "$C/5" "$C/6" | tr '\n' ' ')" = "anewstreamed" ]
	[ "$(listed "$C")" = "5 5.bak 6 6.bak 7.bak " ]
	rm "$C"/*.bak
	[ "$(listed "$C")" = "5 6 " ]
}

@test "at unmount it is a version again, and no copy is left" {
	a_column
	echo one > "$C/5"
	mv "$C/5" "$C/5.bak"
	remount_store
	[ "$(listed "$C")" = "5 " ]
	[ ! -e "$STORE/lost+found" ]
}

@test "staged it leaves its place when the row is put" {
	a_column
	echo one > "$C/5"
	mkdir -p "$M/T/.stage/S/f/q"
	mv "$C/5" "$M/T/.stage/S/f/q/5"
	mv "$M/T/.stage/S" "$M/T/S"
	[ "$(cat "$M/T/S/f/q/5")" = one ]
	crash
	[ "$(ls "$M/T")" = S ]
}

@test "a snapshot and a view show it meanwhile" {
	a_column
	echo one > "$C/5"
	mkdir "$M/T/.snapshot/s"
	mv "$C/5" "$C/5.bak"
	[ "$(ls "$M/T/.snapshot/s/R/f/q")" = 5 ]
	[ "$(cat "$M/T/.at/now/R/f/q")" = one ]
	rm "$C/5.bak"
	[ "$(ls "$M/T/.snapshot/s/R/f/q")" = 5 ]
	run ! cat "$M/T/.at/now/R/f/q"
}

@test "one that newer versions have pushed out is not moved to where nobody sees it" {
	local to
	a_column
	mkdir -p "$M/T/R/f/p"
	echo x > "$C/5"
	mv "$C/5" "$C/5~"
	for to in 6 7 8; do
		echo "$to" > "$C/$to"
		echo "$to" > "$M/T/R/f/p/$to"
	done
	for to in "$C/5" "$C/4" "$M/T/R/f/p/5"; do
		run ! mv "$C/5~" "$to"
		[[ "$output" = *"Operation not permitted"* ]]
		tail -n 1 "$M/.cellfs/errors" | grep -q 'a version would be lost'
	done
	[ "$(cat "$C/5~")" = x ]
	[ "$(listed "$C")" = "5~ 6 7 8 " ]
	mv "$C/5~" "$C/9"
	[ "$(cat "$C/latest")" = x ]
	[ "$(listed "$C")" = "7 8 9 " ]
}

@test "a row that is staged loses no version that was moved there" {
	local row newer
	a_column
	mkdir -p "$M/T/R2/f/q"
	for row in R R2; do
		echo x > "$C/5"
		mkdir -p "$M/T/.stage/S/f/q"
		mv "$C/5" "$M/T/.stage/S/f/q/5"
		for newer in 6 7 8; do
			echo y > "$M/T/$row/f/q/$newer"
		done
		run ! mv -T "$M/T/.stage/S" "$M/T/$row"
		[[ "$output" = *"Operation not permitted"* ]]
		[ "$(cat "$M/T/.stage/S/f/q/5")" = x ]
		mv "$M/T/.stage/S/f/q/5" "$M/T/.stage/S/f/q/9"
		mv -T "$M/T/.stage/S" "$M/T/$row"
		[ "$(listed "$M/T/$row/f/q")" = "7 8 9 " ]
		[ "$(cat "$M/T/$row/f/q/9")" = x ]
		rm "$M/T/$row/f:q"
	done
}

@test "a row that is staged loses no version to others that are staged with it" {
	local ts S=$M/T/.stage/S/f/q
	a_column
	mkdir -p "$M/T/R2/f/q" "$S"
	echo y > "$M/T/R2/f/q/8"
	for ts in 5 6 7; do
		echo "$ts" > "$C/$ts"
	done
	mv "$C"/[567] "$S"
	run ! mv -T "$M/T/.stage/S" "$M/T/R2"
	[[ "$output" = *"Operation not permitted"* ]]
	tail -n 1 "$M/.cellfs/errors" | grep -q "the column has 3 newer"
	# One that replaces what the row has, and those that come back, push out none.
	mv "$S/7" "$S/8"
	mv -T "$M/T/.stage/S" "$M/T/R2"
	[ "$(cat "$M/T/R2/f/q"/[568] | tr '\n' ' ')" = "5 6 7 " ]
	mkdir -p "$S"
	mv "$M/T/R2/f/q"/[568] "$S"
	mv -T "$M/T/.stage/S" "$M/T/R2"
	[ "$(cat "$M/T/R2/f/q"/[568] | tr '\n' ' ')" = "5 6 7 " ]
	# What was written there pushes out too.
	mkdir -p "$S"
	mv "$M/T/R2/f/q/5" "$S"
	echo z > "$S/latest"
	run ! mv -T "$M/T/.stage/S" "$M/T/R2"
	[[ "$output" = *"Operation not permitted"* ]]
	[ "$(cat "$S/5")" = 5 ]
	rm "$S/latest"
	mv -T "$M/T/.stage/S" "$M/T/R2"
	[ "$(listed "$M/T/R2/f/q")" = "5 6 8 " ]
}

@test "one that was pushed out ends when it would have" {
	local now newer
	a_column
	now=$(date +%s%3N)
	printf 'R\tf:q\t%s\tx\tput\t3600000\n' "$now" > "$M/T/.cells"
	mv "$C/$now" "$C/$now~"
	for newer in 1 2 3; do
		echo y > "$C/$((now + newer))"
	done
	mv "$C/$now~" "$C/$((now + 5))"
	[ "$(ttl_of $((now + 5)))" -eq 3599995 ]
	mkdir -p "$M/T/.stage/S/f/q"
	mv "$C/$((now + 5))" "$M/T/.stage/S/f/q/$((now + 9))"
	for newer in 6 7 8; do
		echo y > "$C/$((now + newer))"
	done
	mv -T "$M/T/.stage/S" "$M/T/S"
	[ "$(ttl_of $((now + 9)))" -eq 3599991 ]
}

@test "one that was pushed out stays hidden when the family keeps more" {
	local newer
	a_column
	echo x > "$C/5"
	mv "$C/5" "$C/5~"
	for newer in 6 7 8; do
		echo y > "$C/$newer"
	done
	sed -i 's/versions 3/versions 9/' "$M/T/.schema"
	[ "$(listed "$C")" = "5~ 6 7 8 " ]
	mv "$C/5~" "$C/5"
	[ "$(listed "$C")" = "5 6 7 8 " ]
	[ "$(cat "$C/5")" = x ]
}

@test "what is put at the same moment as a version is moved is not lost" {
	a_column
	python3 "$BATS_TEST_DIRNAME/../mount/moverace.py" "$C" "${ROUNDS:-100}"
}
