load helper

# figure NAME: a file of the table's .info.
figure() {
	cat "$M/T/.info/$1"
}

@test "a small table is counted" {
	not_over_hbase "it counts no rows and cells"
	mkdir -p "$M/T/a/f/q" "$M/T/b/g/q"
	echo one > "$M/T/a/f/q/5"
	echo two > "$M/T/a/f/q/7"
	echo three > "$M/T/b/g/q/6"
	[ "$(figure rows) $(figure cells)" = "2 3" ]
	[ "$(figure oldest) $(figure newest)" = "5 7" ]
	[ "$(figure first) $(figure last)" = "a b" ]
	[ "$(figure files) $(figure bytes)" = "0 0" ]
	echo T > "$M/.cellfs/flush"
	[ "$(figure files)" -eq 2 ]
	[ "$(figure bytes)" -eq "$(cat "$STORE"/*.sst | wc -c)" ]
	[ "$(figure rows) $(figure cells)" = "2 3" ]
	# Each is made when it is opened.
	rm -r "$M/T/a"
	[ "$(figure rows) $(figure cells) $(figure first)" = "1 1 b" ]
	[ "$(figure oldest) $(figure newest)" = "6 6" ]
}

@test "an empty table has no first row and no time" {
	not_over_hbase "it counts no rows and cells"
	mkdir "$M/T"
	[ "$(figure rows) $(figure cells) $(figure files)" = "0 0 0" ]
	local name
	for name in first last oldest newest; do
		[ "$(wc -c < "$M/T/.info/$name")" -eq 1 ]
		[ "$(figure "$name")" = "" ]
	done
}

@test "a large table is estimated, and says so" {
	not_over_hbase "it counts no rows and cells"
	mkdir "$M/T"
	seq -f 'r%05g' 1 3000 | awk '{print $1 "\tf:q\t7\tx"}' > "$M/T/.cells"
	[ "$(figure rows) $(figure cells)" = "~3000 ~3000" ]
	[ "$(figure oldest) $(figure newest)" = "~7 ~7" ]
	[ "$(figure first) $(figure last)" = "r00001 r03000" ]
	echo T > "$M/.cellfs/flush"
	echo new > "$M/T/r00001/f/q/9"
	[ "$(figure cells)" = "~3001" ]
	[ "$(figure rows)" = "~3001" ]
	[ "$(figure newest)" = "~9" ]
	echo old > "$M/T/r00001/f/q/2"
	[ "$(figure oldest)" = "~2" ]
	echo T > "$M/.cellfs/compact"
	[ "$(figure rows) $(figure cells)" = "~3000 ~3002" ]
	[ "$(figure files)" -eq 1 ]
	# The marker of a delete of a column counts for none of the times.
	[ "$(figure oldest)" = "~2" ]
	# With the puts no merge begins at once for the marker, which it would drop.
	seq -f 'r%05g' 11 50 | awk '{print $1 "\tf:q\t7\tx"}' > "$M/T/.cells"
	rm "$M/T/r00002/f:q"
	echo T > "$M/.cellfs/flush"
	[ "$(figure oldest)" = "~0" ]
}

@test "an estimate counts a row of several families once, and no marker" {
	not_over_hbase "it counts no rows and cells"
	mkdir "$M/T"
	seq 1 1500 | awk '{ print $1 "\tf:q\t7\tx"; print $1 "\tg:q\t7\tx" }' \
		>"$M/T/.cells"
	[ "$(figure rows) $(figure cells)" = "~1500 ~3000" ]
	echo T >"$M/.cellfs/compact"
	[ "$(figure rows) $(figure cells)" = "~1500 ~3000" ]
	seq 1 10 | awk '{ print $1 "\tf:q\t7\t\tdelete" }' >"$M/T/.cells"
	echo T >"$M/.cellfs/flush"
	# The markers are not counted; a merge, which may have begun, drops ten cells.
	[[ $(figure cells) =~ ^~(3000|2990)$ ]]
	# A row is counted for each file of the family that has it in most.
	[[ $(figure rows) =~ ^~(1510|1500)$ ]]
}

@test "the first and the last row are spelled as paths" {
	mkdir "$M/T"
	local long
	long=$(printf 'z%.0s' $(seq 600))
	printf '.a/b\tf:q\t5\tx\n%s\tf:q\t5\ty\n' "$long" > "$M/T/.cells"
	[ "$(figure first)" = "%2Ea%2Fb" ]
	[ "$(cat "$M/T/$(figure first)/f:q")" = x ]
	[ "$(cat "$M/T/$(figure last)/f:q")" = y ]
}

@test ".info is not listed, and lists its files" {
	not_over_hbase "it counts no rows and cells"
	a_row
	[ "$(ls -A "$M/T")" = "$(printf '.schema\nR')" ]
	[ "$(ls -U "$M/T/.info" | tr '\n' ' ')" = \
		"bytes cells damaged files first last newest oldest rows " ]
	[ "$(stat -c %A "$M/T/.info")" = dr-xr-xr-x ]
	[ "$(stat -c %A "$M/T/.info/rows")" = -r--r--r-- ]
	run ! stat "$M/T/.info/nonsense"
}

@test "nothing changes .info" {
	not_over_hbase "it counts no rows and cells"
	a_row
	run ! bash -c "echo 5 > '$M/T/.info/rows'"
	run ! touch "$M/T/.info/x"
	run ! mkdir "$M/T/.info/x"
	run ! rm -f "$M/T/.info/rows"
	run ! rmdir "$M/T/.info"
	run ! mv "$M/T/.info" "$M/T/x"
	run ! mv "$M/T/.info/rows" "$M/T/R/f:q"
	run ! truncate -s 5 "$M/T/.info/rows"
	[ "$(figure rows)" = 0 ]
	rmdir "$M/T/R"
	rmdir "$M/T"
}

@test "views and snapshots have no .info" {
	a_row
	echo x > "$M/T/R/f:q"
	mkdir "$M/T/.snapshot/s"
	run ! stat "$M/T/.snapshot/s/.info"
	run ! stat "$M/T/.range/a../.info"
	run ! stat "$M/T/R/.info"
	run ! stat "$M/.info"
}

@test "a mounted table has its .info" {
	not_over_hbase "it counts no rows and cells"
	a_row
	echo x > "$M/T/R/f:q"
	remount_store -o root=T
	[ "$(cat "$M/.info/rows")" = 1 ]
}

@test "what a store cannot tell is not listed, and refused with words" {
	not_over_hbase "another store is mounted"
	run ! grep -q cannot <(tail -n 3 "$M/.cellfs/help")
	unmount_store
	CELLFS=$BUILD/tests/cellfs-ref
	CELLFS_REF_CANNOT=1 mount_store
	grep -A 99 '^This store cannot$' "$M/.cellfs/help" >"$T/cannot"
	grep -q 'rename a table' "$T/cannot"
	grep -q '(.at, @TIME)' "$T/cannot"
	mkdir -p "$M/T/R/f/q"
	echo 1 >"$M/T/R/f/q/5"
	[ "$(ls "$M/T/.info" | tr '\n' ' ')" = "first last " ]
	[ "$(figure first)" = R ]
	run figure rows
	[ "$status" -eq 1 ]
	[[ $output == *"not supported"* ]]
	grep -q 'this store cannot tell how much a table holds' \
		"$M/.cellfs/errors"
	run "$CELLCTL" stats "$M" T
	[ "$status" -eq 3 ]
	[[ $output == *"this store cannot tell how much a table holds"* ]]
	run mv "$M/T" "$M/U"
	[[ $output == *"not supported"* ]]
	run mkdir "$M/.snapshot/all"
	[[ $output == *"not supported"* ]]
	run ls "$M/T/.at/7"
	[[ $output == *"not supported"* ]]
	[ "$(cat "$M/T/.at/now/R/f/q")" = 1 ]
	# df says that it does not know.
	[ "$(df --output=size "$M" 2>/dev/null | tail -n 1 | tr -d ' ')" = - ] ||
		[ "$(stat -f -c %b "$M")" = 0 ]
}
