#!/usr/bin/env bats
# The table as of a moment.

load helper

# on LINE...: changes of table T, at times of their own, by a stream.
on() {
	printf '%s\n' "$@" | tr ' ' '\t' > "$M/T/.cells"
}

# plain WHEN: what .at shows, a line a cell.
plain() {
	(cd "$M/T/.at/$1" && find . -type f | sort | while read -r f; do
		echo "$f $(cat "$f")"
	done)
}

@test "a delete hides from its time on, and not before" {
	a_past T f
	mkdir -p "$M/T/R/f"
	on 'R f:a 100 a1' 'R f:b 100 b1' 'R f:a 200 a2' 'R f:a 300  delete-column'
	[ "$(cat "$M/T/.at/299/R/f/a")" = a2 ]
	[ "$(cat "$M/T/.at/150/R/f/a")" = a1 ]
	run ! cat "$M/T/.at/300/R/f/a"
	[[ "$output" == *"No such file"* ]]
	[ "$(plain 300)" = "./R/f/b b1" ]
	[ "$(ls "$M/T/.at/99")" = "" ]
	on 'R  400  delete-row'
	[ "$(ls "$M/T/.at/400")" = "" ]
	[ "$(plain 399)" = "./R/f/b b1" ]
}

@test "what compaction took is an error, in its rows and times only" {
	not_over_hbase "it shows the past only where nothing has gone"
	mkdir -p "$M/T/R/f"
	on 'R f:a 100 a1' 'S f:a 100 s1' 'S f:a 110 s2' 'R  300  delete-row'
	echo > "$M/.cellfs/compact"
	run ! cat "$M/T/.at/299/R/f/a"
	[[ "$output" == *"No data available"* ]]
	grep -q 'gone from the disk' "$M/.cellfs/errors"
	# Its rows cannot be listed, either.
	run ! ls "$M/T/.at/100"
	[[ "$output" == *"No data available"* ]]
	run ! cat "$M/T/.at/100/.cells"
	[ "$(cat "$M/T/.at/109/S/f/a")" = s1 ]
	[ "$(ls "$M/T/.at/99")" = "" ]
	[ "$(plain 300)" = "./S/f/a s2" ]
	[ "$(ls "$M/T/.range/S../.at/200")" = S ]
	run ! ls "$M/T/.prefix/R/.at/200"
	remount_store
	run ! cat "$M/T/.at/299/R/f/a"
	[[ "$output" == *"No data available"* ]]
	[ "$(plain 300)" = "./S/f/a s2" ]
}

@test "a table whose cells have all gone does not say that it was empty" {
	not_over_hbase "it shows the past only where nothing has gone"
	mkdir -p "$M/T/R/f"
	on 'R f:a 100 a1' 'R  200  delete-row'
	echo > "$M/.cellfs/compact"
	[ "$(ls "$M/T/.at/now")" = "" ]
	run ! ls "$M/T/.at/150"
	[[ "$output" == *"No data available"* ]]
	[ "$(ls "$M/T/.at/99")" = "" ]
	[ "$(ls "$M/T/.at/200")" = "" ]
}

@test "the past has the families that the table has now" {
	not_over_hbase "a family that is made there again is another"
	local past

	mkdir -p "$M/T/R/f" "$M/T/R/g"
	echo f > "$M/T/R/f:q"
	echo g > "$M/T/R/g:q"
	past=$M/T/.at/$(stat -c %.3Y "$M/T/R/g/q/latest" | tr -d .)
	[ "$(cat "$past/R/f/q" "$past/R/g/q" | tr -d '\n')" = fg ]
	echo 'drop family f' >> "$M/T/.schema"
	[ "$(ls "$past/R")" = g ]
	"$CELLCTL" alter "$M" T --add f
	mkdir -p "$M/T/R/f"
	echo new > "$M/T/R/f:q"
	[ "$(ls "$past/R")" = g ]
	[ "$(cut -f 2 "$past/.cells")" = g:q ]
	run cat "$past/R/f/q"
	[[ $output == *"No such file or directory" ]]
}

@test "the first rows cannot be listed where one of them may have been there" {
	not_over_hbase "it shows the past only where nothing has gone"
	mkdir "$M/T"
	printf 'family f\n\tversions 1\n' > "$M/T/.schema"
	on 'a f:q 100 x' 'b f:q 100 x' 'b f:q 300 x' 'c f:q 100 x'
	echo > "$M/.cellfs/compact"
	[ "$(ls "$M/T/.at/200" | xargs)" = "a b c" ]
	run ! ls "$M/T/.at/200/.first/3"
	[[ "$output" == *"No data available"* ]]
	[ "$(ls "$M/T/.at/200/.first/1")" = a ]
}

@test "@TIME and .at agree, in errors too" {
	not_over_hbase "it shows the past only where nothing has gone"
	mkdir -p "$M/T/R/f"
	on 'R f:a 100 a1' 'R f:a 200 a2' 'R f:a 300 a3' 'R f:a 400 a4'
	[ "$(cat "$M/T/R/f/a/@150")" = a1 ]
	[ "$(cat "$M/T/.at/150/R/f/a")" = a1 ]
	run ! cat "$M/T/R/f/a/@99"
	[[ "$output" == *"No such file"* ]]
	echo > "$M/.cellfs/compact"
	for at in R/f/a/@150 .at/150/R/f/a R/f/a/@99 .at/99/R/f/a; do
		run ! cat "$M/T/$at"
		[[ "$output" == *"No data available"* ]]
	done
	[ "$(cat "$M/T/R/f/a/@250")" = a2 ]
	[ "$(cat "$M/T/.at/250/R/f/a")" = a2 ]
}

@test "overwriting goes on being exact after a compaction" {
	not_over_hbase "it shows the past only where nothing has gone"
	mkdir -p "$M/T/R/f"
	for ((i = 100; i < 110; i++)); do on "R f:a $i v$i"; done
	echo > "$M/.cellfs/compact"
	for ((i = 110; i < 120; i++)); do on "R f:a $i v$i"; done
	for ((i = 107; i < 120; i++)); do
		[ "$(cat "$M/T/.at/$i/R/f/a")" = "v$i" ]
	done
	run ! cat "$M/T/.at/106/R/f/a"
	[[ "$output" == *"No data available"* ]]
}

@test "a snapshot keeps its own past" {
	a_past T f
	mkdir -p "$M/T/R/f"
	on 'R f:a 100 a1' 'S f:a 100 s1'
	mkdir "$M/T/.snapshot/s"
	on 'R  200  delete-row'
	echo > "$M/.cellfs/compact"
	[ "$(cat "$M/T/.snapshot/s/.at/250/R/f/a")" = a1 ]
	[ "$(cat "$M/T/.snapshot/s/.at/100/S/f/a")" = s1 ]
	[ "$(ls "$M/T/.at/250")" = S ]
}

# The record is kept beside the store: one file a cell, in folder $T/was. A
# cell of row r, column c is $T/was/r/f/c, as .at has it.
write_some() {
	local seed=$1 n=$2 at=$3 i r c
	RANDOM=$seed
	for ((i = 0; i < n; i++)); do
		at=$((at + 1))
		r=r$((RANDOM % 8)) c=c$((RANDOM % 4))
		case $((RANDOM % 8)) in
		0)
			echo "$r	f:$c	$at		delete-column"
			rm -f "$T/was/$r/f/$c"
			;;
		1)
			echo "$r		$at		delete-row"
			rm -rf "$T/was/${r:?}"
			;;
		2)
			echo "$r	f:	$at		delete-family"
			rm -rf "$T/was/${r:?}"
			;;
		*)
			echo "$r	f:$c	$at	$i"
			mkdir -p "$T/was/$r/f"
			printf %s "$i" > "$T/was/$r/f/$c"
			;;
		esac
	done > "$T/lines"
	find "$T/was" -mindepth 1 -type d -empty -delete
	put_lines "$M/T/.cells" < "$T/lines"
}

# put_lines STREAM: what lines say of one row is one change of it; of those HBase
# refuses some with two deletes, so there each line is a stream of its own.
put_lines() {
	local line

	if [ -z "${CELLFS_TEST_CLUSTER:-}" ]; then
		cat > "$1"
		return
	fi
	while IFS= read -r line; do
		printf '%s\n' "$line" > "$1"
	done
}

write_all() {
	local k

	mkdir "$T/was" "$T/kept"
	a_past T f
	for k in 1 2 3 4 5 6; do
		write_some $((k + 40)) 25 $((k * 1000))
		cp -r "$T/was" "$T/kept/$((k * 1000 + 999))"
	done
}

# same_diff A B: diff of the views is diff of the record's copies, if it is not
# an error; and of each file that can be read the content is right.
same_diff() {
	local code=0
	(cd "$M/T/.at" && diff -r "$1" "$2") > "$T/got" 2> "$T/err" || code=$?
	[ "$code" -ne 2 ] || return 2
	(cd "$T/kept" && diff -r "$1" "$2") > "$T/want" || true
	diff "$T/want" "$T/got" >&2
}

@test "diff -r of two times is what was written between" {
	write_all
	for a in 1999 2999 3999 4999 5999 6999; do
		diff -r "$T/kept/$a" "$M/T/.at/$a"
		for b in 2999 4999 6999; do
			same_diff "$a" "$b"
		done
	done
	diff -r "$T/kept/6999" "$M/T/.at/now"
}

@test "of what deletes took a diff of two times says that it is missing" {
	not_over_hbase "it shows the past only where nothing has gone"
	write_all
	echo > "$M/.cellfs/compact"
	diff -r "$T/kept/6999" "$M/T/.at/now"
	diff -r "$T/kept/6999" "$M/T/.at/6999"
	told=0 refused=0
	for a in 1999 2999 3999 4999 5999 6999; do
		for f in $(cd "$T/kept/6999" && find . -type f) \
			r0/f/c0 r1/f/c1 r2/f/c2 r3/f/c3; do
			run cat "$M/T/.at/$a/$f"
			if [[ "$output" == *"No data available"* ]]; then
				refused=$((refused + 1))
				continue
			fi
			told=$((told + 1))
			if [ -e "$T/kept/$a/$f" ]; then
				[ "$status" -eq 0 ]
				[ "$output" = "$(cat "$T/kept/$a/$f")" ]
			else
				[[ "$output" == *"No such file"* ]]
			fi
		done
		code=0
		same_diff "$a" 6999 || code=$?
		[ "$code" -ne 1 ]
	done
	[ "$told" -gt 0 ]
	[ "$refused" -gt 0 ]
}

@test "mv within a row is one moment" {
	a_past T f
	mkdir -p "$M/T/R/f/a"
	echo x > "$M/T/R/f/a/latest"
	before=$(ls "$M/T/R/f/a")
	sleep 0.02
	mv "$M/T/R/f:a" "$M/T/R/f:b"
	[ "$(cat "$M/T/.at/now/R/f/b")" = x ]
	[ "$(cat "$M/T/.at/$before/R/f/a")" = x ]
	run ! cat "$M/T/.at/now/R/f/a"
}

@test "a family that expires cannot tell, another can" {
	not_over_hbase "it shows the past only where nothing has gone"
	mkdir -p "$M/T"
	printf 'families fixed\nfamily f\n\tttl 1h\nfamily g\n' > "$M/T/.schema"
	on 'R g:a 100 a1'
	echo now > "$M/T/R/f:a"
	run ! ls "$M/T/.at/200"
	[[ "$output" == *"No data available"* ]]
	grep -q 'expired' "$M/.cellfs/errors"
	run ! grep -q 'milliseconds' "$M/.cellfs/errors"
	# Who gives seconds is told so, where it is no time that can be told.
	run ! ls "$M/T/.at/1732567890"
	grep -q 'expired (ttl); a time is in milliseconds: that would be 1732567890000' \
		"$M/.cellfs/errors"
	[ "$(cat "$M/T/.at/200/R/g/a")" = a1 ]
	run ! cat "$M/T/.at/200/R/f/a"
	[[ "$output" == *"No data available"* ]]
	[ "$(cat "$M/T/.at/now/R/f/a")" = now ]
}

@test "a longer ttl shows no past of which something has expired" {
	not_over_hbase "it shows the past only where nothing has gone"
	a_past T f
	on 'R f:a 100 a1' 'R f:b 300 b1'
	sed -i 's/ttl forever/ttl 1h/' "$M/T/.schema"
	echo T > "$M/.cellfs/compact"
	sed -i 's/ttl 1h/ttl forever/' "$M/T/.schema"
	# a1 was there at each of these moments, but nobody knows that any more.
	for at in 99 100 200 300 5000; do
		run ! cat "$M/T/.at/$at/R/f/a"
		[[ "$output" == *"No data available"* ]]
		run ! ls "$M/T/.at/$at"
		[[ "$output" == *"No data available"* ]]
	done
	mkdir -p "$M/T/R/f"
	echo now > "$M/T/R/f:a"
	[ "$(cat "$M/T/.at/now/R/f/a")" = now ]
	run ! cat "$M/T/.at/now/R/f/b"
	[[ "$output" == *"No such file"* ]]
}
