load helper

# table_with_ttl SECONDS: the table T, with family f whose cells live for so long.
table_with_ttl() {
	LIVES=$(($1 * 1000))
	mkdir "$M/T"
	printf 'families open\nfamily f\n\tttl %ss\n' "$1" > "$M/T/.schema"
}

now_ms() {
	date +%s%3N
}

# after MS: returns when the clock, which decides what has expired, is past
# that time and what the kernel rounds.
after() {
	local left=$(($1 + 50 - $(now_ms)))
	[ "$left" -le 0 ] || sleep "$(printf '%d.%03d' \
		$((left / 1000)) $((left % 1000)))"
}

# Puts T/R/f/Q with a timestamp of which 2.5 s are left of the ttl. $DUE is when it
# ends.
put_short() {
	local ts=$(($(now_ms) + 2500 - LIVES))
	DUE=$((ts + LIVES + 1))
	mkdir -p "$M/T/$1/f/$2"
	echo "$2" > "$M/T/$1/f/$2/$ts"
	LAST=$M/T/$1/f/$2/$ts
}

# alive CMD...: true unless the time has come meanwhile.
alive() {
	"$@" > /dev/null || [ "$(now_ms)" -ge "$DUE" ]
}

gone() {
	local path
	for path in "$@"; do
		run ! stat "$path"
		[[ $output == *"No such file"* ]]
	done
}

@test "what expires is gone when due, whatever was looked at before" {
	table_with_ttl 60
	put_short r q
	file=$LAST
	alive cat "$file" "$M/T/r/f/q/latest" "$M/T/r/f:q"
	alive ls -lR "$M/T"
	alive find "$M/T"
	alive stat "$file" "$M/T/r" "$M/T/r/f" "$M/T/r/f/q"
	after "$DUE"
	gone "$file" "$M/T/r/f/q/latest" "$M/T/r/f:q" "$M/T/r/f/q" "$M/T/r/f" \
		"$M/T/r"
	run ! cat "$file"
	[ -z "$(ls "$M/T")" ]
	[ -z "$(find "$M/T" -mindepth 1 ! -name .schema)" ]
	[ -z "$(cat "$M/T/.cells")" ]
	rmdir "$M/T"
}

@test "so is what was looked at before the table had a cell with a ttl" {
	local put

	for put in 'cat > '"$M/T/.cells" ""$CELLCTL" import $M T"; do
		mkdir "$M/T"
		printf 'r\tf:a\t\tx\n' > "$M/T/.cells"
		stat "$M/T/r/f/a" > /dev/null
		printf 'r\tf:b\t\tx\tput\t2000\n' | eval "$put"
		# While the row has the other cell there is nothing to tell of it.
		"$CELLCTL" deleteall "$M" T r f:a
		settled [ ! -e "$M/T/.put/r/f:b" ]
		gone "$M/T/r"
		rmdir "$M/T"
	done
}

@test "a row stays for its other cells, a column for its younger versions" {
	table_with_ttl 60
	put_short r q
	old=$LAST
	# By paths that are there when the first one has ended.
	echo young > "$M/T/.put/r/f:q"
	echo other > "$M/T/.put/r/g:q"
	echo young > "$M/T/.put/r/f:p"
	alive test "$(ls "$M/T/r/f/q" | wc -l)" -eq 2
	alive ls -lR "$M/T"
	after "$DUE"
	gone "$old" "$M/T/r/f/q/@-1"
	[ "$(ls "$M/T/r/f/q" | wc -l)" -eq 1 ]
	[ "$(cat "$M/T/r/f:q")" = young ]
	[ "$(ls "$M/T/r/f" | tr '\n' ' ')" = "p q " ]
	[ "$(ls "$M/T/r" | tr '\n' ' ')" = "f g " ]
	[ "$(stat -c %h "$M/T/r")" -eq 1 ]
	[ "$(stat -c %h "$M/T/r/f/q/latest")" -eq 1 ]
}

@test "the newest goes too, and a counter begins again" {
	table_with_ttl 60
	put_short r q
	ts=$(($(now_ms) + 2500 - LIVES))
	DUE=$((ts + LIVES + 1))
	mkdir -p "$M/T/r/f/n"
	printf '\0\0\0\0\0\0\0\5' > "$M/T/r/f/n/$ts"
	alive test "$(cat "$M/T/r/f/n/counter")" = 5
	after "$DUE"
	gone "$M/T/r/f/q" "$M/T/r/f/n"
	mkdir -p "$M/T/r/f/n"
	echo 3 > "$M/T/r/f/n/counter"
	[ "$(cat "$M/T/r/f/n/counter")" = 3 ]
}

@test "min_versions keeps the newest, however old" {
	not_over_hbase "a read of one time finds what min_versions does not show"
	mkdir "$M/T"
	printf 'family f\n\tttl 1s\n\tversions 5\n\tmin_versions 2\n' \
		> "$M/T/.schema"
	mkdir -p "$M/T/r/f/q"
	for i in 10 20 30; do echo $i > "$M/T/r/f/q/$i"; done
	[ "$(ls -U "$M/T/r/f/q" | tr '\n' ' ')" = "30 20 " ]
	gone "$M/T/r/f/q/10"
	[ "$(cat "$M/T/r/f/q/20")" = 20 ]
	[ "$(cat "$M/T/r/f:q")" = 30 ]
	rm "$M/T/r/f/q/30"
	[ "$(cat "$M/T/r/f:q")" = 20 ]
}

@test "two thousand files that were all stat'ed expire together" {
	table_with_ttl 59
	ts=$(($(now_ms) - 10000))
	DUE=$((ts + 59001))
	seq -f "r%04g	f:q	$ts	x" 1 2000 > "$M/T/.cells"
	alive ls -lR "$M/T"
	alive test "$(ls "$M/T" | wc -l)" -eq 2000
	# Sooner than to wait for them.
	sed -i 's/ttl 59s/ttl 12s/' "$M/T/.schema"
	after $((ts + 12001))
	[ -z "$(ls "$M/T")" ]
	for i in 0001 1000 2000; do
		# Of that many the kernel is told one after the other.
		settled [ ! -e "$M/T/r$i" ]
		gone "$M/T/r$i/f/q/$ts" "$M/T/r$i/f/q" "$M/T/r$i"
	done
}

@test "a shorter ttl hides at once what the kernel has believed for an hour" {
	mkdir -p "$M/T/r/f/q"
	echo old > "$M/T/r/f/q/1000"
	echo old > "$M/T/r/f:p"
	ls -lR "$M/T" > /dev/null
	cat "$M/T/r/f/q/1000" > /dev/null
	sed -i 's/ttl forever/ttl 1h/' "$M/T/.schema"
	gone "$M/T/r/f/q/1000" "$M/T/r/f/q"
	run ! cat "$M/T/r/f/q/1000"
	[ "$(ls "$M/T/r/f")" = p ]
	# And a longer one shows it again, before a compaction.
	sed -i 's/ttl 1h/ttl forever/' "$M/T/.schema"
	[ "$(ls "$M/T/r/f" | tr '\n' ' ')" = "p q " ]
	[ "$(cat "$M/T/r/f:q")" = old ]
	settled [ -e "$M/T/r/f/q/1000" ]
}

@test "fewer versions are seen at once" {
	mkdir -p "$M/T/r/f/q"
	for i in 1 2 3; do echo $i > "$M/T/r/f/q/$i"; done
	ls -lR "$M/T" > /dev/null
	cat "$M/T/r/f/q"/* > /dev/null
	sed -i 's/\<versions 3/versions 1/' "$M/T/.schema"
	gone "$M/T/r/f/q/1" "$M/T/r/f/q/2" "$M/T/r/f/q/@-1"
	run ! cat "$M/T/r/f/q/2"
	[ "$(ls "$M/T/r/f/q")" = 3 ]
}

@test "expired cells are gone from views and streams" {
	table_with_ttl 60
	put_short r q
	alive ls -lR "$M/T/.prefix/r" "$M/T/.first/1" "$M/T/.at/now"
	after "$DUE"
	[ -z "$(ls "$M/T/.prefix/r")" ]
	[ -z "$(ls "$M/T/.first/1")" ]
	[ -z "$(ls "$M/T/.at/now")" ]
	gone "$M/T/.prefix/r/r" "$M/T/.first/1/r" "$M/T/.at/now/r/f/q" \
		"$M/T/.range/a../r/f:q"
	[ -z "$(cat "$M/T/.prefix/r/.cells")" ]
}

@test "a restart does not bring back what has expired" {
	not_over_hbase "its compaction may leave an expired cell to .raw"
	table_with_ttl 60
	put_short r q
	remount_store
	after "$DUE"
	gone "$M/T/r"
	echo T > "$M/.cellfs/compact"
	[ -z "$(ls "$M/T")" ]
	[ -z "$(ls "$M/T/.raw")" ]
}

@test "a cell's own ttl ends it, whatever the kernel has cached" {
	mkdir "$M/T"
	echo families open > "$M/T/.schema"
	mkdir -p "$M/T/R/f/q" "$M/T/R/f/old"
	echo old > "$M/T/R/f/old/5"
	ls -lR "$M/T" > /dev/null
	DUE=$(($(now_ms) + 2501))
	"$BUILD/tools/cellctl" put "$STORE" T R f:q brief --ttl 2500ms
	"$BUILD/tools/cellctl" put "$STORE" T S f:q brief --ttl 2500ms
	end=$(($(now_ms) + 2501))
	alive stat "$M/T/R/f/q/latest"
	alive ls -lR "$M/T"
	alive stat "$M/T/S/f/q"
	LAST=$(ls "$M/T/S/f/q" | head -n 1)
	after "$end"
	gone "$M/T/S/f/q/$LAST" "$M/T/S/f/q/latest" "$M/T/S"
	[ -z "$(find "$M/T" -path '*/q/*' -type f)" ]
	[ "$(cat "$M/T/R/f/old/latest")" = old ]
}

@test "a cell's own ttl holds for a line of a stream, too" {
	mkdir -p "$M/T/R/f"
	echo old > "$M/T/R/f:q"
	ls -lR "$M/T" > /dev/null
	DUE=$(($(now_ms) + 2501))
	printf 'S\tf:q\t%s\tbrief\tput\t2500\n' "$(now_ms)" > "$M/T/.cells"
	end=$(($(now_ms) + 2501))
	alive stat "$M/T/S" "$M/T/S/f" "$M/T/S/f/q"
	after "$end"
	gone "$M/T/S/f/q" "$M/T/S/f" "$M/T/S"
	[ "$(ls "$M/T")" = R ]
}
