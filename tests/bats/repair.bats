# cellctl repair: a new store of what can be read of a damaged one.
load cellctl

# A store with a deleted cell, a file of two rows, and cells in the log alone.
fill() {
	ctl put "$STORE" t a d:q one 1
	ctl put "$STORE" t b d:q two 2
	ctl delete "$STORE" t b d:q 2
	ctl flush "$STORE"
	ctl put "$STORE" t m d:q three 3
	ctl put "$STORE" t p d:q four 4
	ctl flush "$STORE"
	ctl put "$STORE" t z e:q five 5
	ctl snapshot "$STORE" take kept
}

# newest_file: the newest table file.
newest_file() {
	ls -v "$STORE"/*.sst | tail -n 1
}

@test "a store that is whole is copied whole, and not changed" {
	fill
	(cd "$STORE" && sha256sum ./*) > "$T/sums"
	run -0 ctl repair "$STORE" "$T/new"
	[ "$output" = "salvaged${TAB}t${TAB}d${TAB}4${TAB}5
salvaged${TAB}t${TAB}e${TAB}1${TAB}1" ]
	(cd "$STORE" && sha256sum --quiet -c "$T/sums")
	[ "$(ls "$STORE" | wc -l)" -eq "$(wc -l < "$T/sums")" ]
	[ "$(ctl check "$T/new")" = "$T/new: 0 faults" ]
	cmp <(ctl export --raw "$STORE" t) <(ctl export --raw "$T/new" t)
	cmp <(ctl describe "$STORE" t) <(ctl describe "$T/new" t)
	cmp <(ctl snapshot "$STORE") <(ctl snapshot "$T/new")
	ctl put "$T/new" t b d:q again
	is "b d:q again" eval "ctl get '$T/new' t b d:q | cut -f 1,2,4"
}

@test "what is lost is said by file, offset and rows; the rest is there" {
	fill
	file=$(newest_file)
	printf X | dd of="$file" bs=1 seek=70 conv=notrunc status=none
	run -1 ctl repair "$STORE" "$T/new"
	[[ ${lines[0]} == "lost${TAB}t${TAB}d${TAB}${file##*/}${TAB}0${TAB}"*"${TAB}m${TAB}p${TAB}"*"checksum"* ]]
	is "a d:q 1 one z e:q 5 five" ctl scan "$T/new" t
	run -1 ctl repair "$STORE" "$T/again" --json
	[ "$(jq -r 'select(.lost) | .from + .to' <<< "$output")" = mp ]
	[ "$(jq -r 'select(.cells) | .table' <<< "$output" | head -n 1)" = t ]
	# A row that deletes were read of stays deleted.
	[ -z "$(ctl get "$T/new" t b d:q)" ]
}

@test "a table file that is cut or has no footer is read by its blocks" {
	fill
	file=$(newest_file)
	truncate -s -1 "$file"
	run -0 ctl repair "$STORE" "$T/new"
	is "a d:q 1 one m d:q 3 three p d:q 4 four z e:q 5 five" \
		ctl scan "$T/new" t
	rm "$file"
	run -1 ctl repair "$STORE" "$T/again"
	[[ ${lines[0]} == *"${file##*/}${TAB}0${TAB}"*"${TAB}m${TAB}p${TAB}it is missing"* ]]
}

@test "a store without its newest catalog, or any, does not open but is saved" {
	fill
	ctl flush "$STORE"
	ctl put "$STORE" t zz e:q six 6
	rm "$(ls "$STORE"/CATALOG-* | grep -v old)"
	run ! ctl tables "$STORE"
	run -0 ctl repair "$STORE" "$T/new"
	[[ ${lines[0]} == "note${TAB}the newest catalog is missing or damaged"* ]]
	is "a d:q 1 one m d:q 3 three p d:q 4 four z e:q 5 five zz e:q 6 six" \
		ctl scan "$T/new" t
	rm "$STORE"/CATALOG-*
	run -1 ctl repair "$STORE" "$T/none"
	[[ $output == *"lost$TAB$TAB${TAB}CATALOG$TAB"*"one that is missing too is not noticed"* ]]
	[[ $output == *"names and schemas of tables and families are lost"* ]]
	[ "$(ctl tables "$T/none" | grep -c '^salvaged_[0-9]*$')" -eq 2 ]
	cmp <(for t in $(ctl tables "$T/none"); do
		ctl scan "$T/none" "$t"
	done | cut -f 1,3,4) <(ctl scan "$T/new" t | cut -f 1,3,4)
}

@test "a table file that the newest catalog does not name stays out" {
	local file
	ctl put "$STORE" t a d:q one 1
	ctl put "$STORE" t b d:q two 2
	ctl flush "$STORE"
	file=$(newest_file)
	cp "$file" "$T/left"
	ctl delete "$STORE" t b d:q 2
	ctl compact "$STORE"
	# A crash leaves it, and who repairs removes nothing.
	cp "$T/left" "$file"
	run -0 ctl repair "$STORE" "$T/new"
	[[ $output == *"note${TAB}${file##*/} is not taken: no table has it"* ]]
	is "a d:q 1 one" ctl scan "$T/new" t --raw -n all
}

@test "a cell that is in the log and in a table file is one" {
	ctl put "$STORE" t a d:q one 1
	mkdir "$T/log"
	cp "$STORE"/wal* "$T/log"
	ctl flush "$STORE"
	# As a kill leaves it before the log goes, and without a catalog.
	rm "$STORE"/wal* "$STORE"/CATALOG-*
	cp "$T/log"/* "$STORE"
	run -1 ctl repair "$STORE" "$T/new"
	[[ $output == *"salvaged${TAB}"*"${TAB}f${TAB}1${TAB}1" ]]
	is "a f:q 1 one" ctl scan "$T/new" "$(ctl tables "$T/new")" --raw -n all
}

@test "of a log that is damaged the records behind are read, and the rest told" {
	local log
	for row in a b c; do
		ctl put "$STORE" t "$row" d:q "value of $row"
	done
	log=$(grep -al "value of b" "$STORE"/wal-*.log)
	at=$(grep -abo "value of b" "$log" | cut -d : -f 1)
	printf X | dd of="$log" bs=1 seek="$at" conv=notrunc status=none
	run ! ctl tables "$STORE"
	run -1 ctl repair "$STORE" "$T/new"
	[[ ${lines[0]} == "lost${TAB}${TAB}${TAB}${log##*/}${TAB}"* ]]
	is "a c" ctl scan "$T/new" t --rows
}

@test "a log whose first segment is gone, or all of it, is told as lost" {
	ctl put "$STORE" t a d:q one 1
	ctl put "$STORE" t b d:q two 2
	mv "$STORE/wal-0000000000000000.log" "$T"
	run -1 ctl repair "$STORE" "$T/new"
	[[ ${lines[0]} == "lost$TAB$TAB${TAB}wal-0000000000000000.log$TAB"*"it is missing" ]]
	is "b d:q 2 two" ctl scan "$T/new" t
	rm "$STORE"/wal-*.log
	run -1 ctl repair "$STORE" "$T/none"
	[ "$(grep -c "^lost.*it is missing" <<< "$output")" -eq 2 ]
	# Nothing says any more that there was a second one.
	rm "$STORE/wal.made"
	run ctl repair "$STORE" "$T/less"
	[[ $output != *"wal.made"* ]]
	mv "$T/wal-0000000000000000.log" "$STORE"
	run ctl repair "$STORE" "$T/last"
	[[ $output == *"note${TAB}wal.made is missing or damaged: "* ]]
}

@test "a table file that only the lost catalog had is missed" {
	fill
	ctl flush "$STORE"
	rm "$(ls "$STORE"/CATALOG-* | grep -v old)"
	run -0 ctl repair "$STORE" "$T/new"
	rm "$(newest_file)"
	run -1 ctl repair "$STORE" "$T/less"
	[[ $output == *"lost$TAB$TAB${TAB}wal-"*"it is missing"* ]]
	is "a d:q 1 one m d:q 3 three p d:q 4 four" ctl scan "$T/less" t
}

@test "a repair that is killed leaves nothing that opens as the new store" {
	fill
	kill_at() {
		ASAN_OPTIONS=detect_leaks=0 strace -f -o /dev/null \
			-e trace=fsync,fdatasync \
			-e inject=fsync,fdatasync:signal=KILL:when="$1" \
			"$CELLCTL" repair "$STORE" "$T/new"
	}
	for when in 1 2 3 4; do
		run -137 kill_at "$when"
		[ ! -e "$T/new" ]
		says 3 "$T/new.part is there: if no repair is running, one was cut: remove it" \
			repair "$STORE" "$T/new/"
		rm -r "$T/new.part"
	done
	ctl repair "$STORE" "$T/new/"
	[ ! -e "$T/new.part" ]
	cmp <(ctl export --raw "$STORE" t) <(ctl export --raw "$T/new" t)
}

@test "no destination that exists, and no store that is mounted" {
	fill
	mkdir "$T/there"
	says 3 "exists" repair "$STORE" "$T/there"
	says 3 "exists" repair "$STORE" "$STORE"
	ln -s "$STORE" "$T/link"
	says 3 "is in the store" repair "$STORE" "$STORE/new"
	says 3 "is in the store" repair "$STORE" "$T/link/new"
	[ ! -e "$STORE/new" ]
	ln -s nowhere "$T/dangling"
	says 3 "exists" repair "$STORE" "$T/dangling"
	says 3 "needs a name" repair "$STORE" ""
	[ -z "$(ls "$T/there")" ]
	says 3 "there is no cellfs store" repair "$T/there" "$T/new"
	[ ! -e "$T/new" ]
	mount_store
	says 3 "unmount it first" repair "$STORE" "$T/new"
	unmount_store
}
