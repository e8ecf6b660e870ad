load helper

# Table T with rows a1, a2, b; version 100 of a1 is older than 200.
three_rows() {
	mkdir "$M/T" "$M/U"
	local r
	for r in a1 a2 b; do
		mkdir -p "$M/T/$r/f/q"
		echo "$r" > "$M/T/$r/f/q/100"
	done
	echo new > "$M/T/a1/f/q/200"
}

names() {
	ls -A -U "$1" | tr '\n' ' '
}

# refused ROOT WORD...: no mount, and the sentence has ROOT and the words.
refused() {
	run -1 timeout 20 "$CELLFS" "$STORE" "$T/other" -f -o "root=$1"
	local word
	for word in "root=$1" "${@:2}"; do
		[[ $output == *"$word"* ]]
	done
}

@test "a table is the root, and writes into it are the table's" {
	three_rows
	remount_store -o root=T
	[ "$(names "$M")" = ".schema a1 a2 b " ]
	[ "$(cat "$M/a1/f:q")" = new ]
	mkdir "$M/c"
	echo c > "$M/c/f:q"
	rm -r "$M/b"
	echo scratch > "$M/.notes"
	mv "$M/.notes" "$M/c/f:note"
	mkdir "$M/.stage/d"
	echo d > "$M/.stage/d/f:q"
	mv "$M/.stage/d" "$M/d"
	sed -i 's/versions 3/versions 7/' "$M/.schema"
	chmod 750 "$M"
	[ "$(stat -c %a "$M")" = 750 ]
	[ "$(stat -c %a "$M/c/f")" = 750 ]
	[ "$(names "$M/.prefix/a")" = "a1 a2 " ]
	remount_store
	[ "$(names "$M/T")" = ".schema a1 a2 c d " ]
	[ "$(cat "$M/T/c/f:note")" = scratch ]
	[ "$(stat -c %a "$M/T")" = 750 ]
	grep -q "versions 7" "$M/T/.schema"
	[ "$(ls "$M")" = "T
U" ]
}

@test "snapshots are taken and read in a table that is the root" {
	three_rows
	remount_store -o root=T/
	mkdir "$M/.snapshot/n"
	echo later > "$M/a1/f:q"
	[ "$(cat "$M/.snapshot/n/a1/f:q")" = new ]
	remount_store -o root=T/.snapshot/n
	[ "$(cat "$M/a1/f:q")" = new ]
	run ! mkdir "$M/x"
	[[ $output == *"Read-only file system"* ]]
	run ! rm "$M/a1/f:q"
	remount_store -o root=T
	rmdir "$M/.snapshot/n"
}

@test "a view is the root, and nothing in it changes" {
	three_rows
	remount_store -o root=/T/.prefix/a
	[ "$(names "$M")" = "a1 a2 " ]
	[ "$(cat "$M/a1/f/q/100")" = a1 ]
	run ! stat "$M/b"
	run ! mkdir "$M/a3"
	[[ $output == *"Read-only file system"* ]]
	run ! bash -c "echo x > '$M/a1/f:q'"
	run ! touch "$M/a1/f/q/300"
	run ! rm -r "$M/a1"
	run ! chmod 700 "$M"
	[ "$(names "$M/.last/1")" = "a2 " ]
	remount_store -o root=T/.range/a2../.at/now
	[ "$(names "$M")" = "a2 b " ]
	[ "$(cat "$M/b/f/q")" = b ]
	remount_store -o root=T/a1/f/.first/1
	[ "$(names "$M")" = "q " ]
	[ "$(names "$M/q")" = "200 100 " ]
	remount_store -o root=T/.prefix/%2C
	[ "$(names "$M")" = "" ]
}

@test "a snapshot of the store is the root" {
	not_over_hbase "it takes no snapshot of all tables"
	three_rows
	mkdir "$M/.snapshot/nightly"
	echo later > "$M/T/a1/f:q"
	mkdir "$M/V"
	remount_store -o root=.snapshot/nightly
	[ "$(names "$M")" = "T U " ]
	[ "$(cat "$M/T/a1/f:q")" = new ]
	run ! mkdir "$M/W"
	[[ $output == *"Read-only file system"* ]]
	run ! rmdir "$M/U"
	remount_store -o root=.snapshot/nightly/T/.last/1
	[ "$(names "$M")" = "b " ]
}

@test ".cellfs is in every root" {
	three_rows
	local root roots=(T T/.prefix/a T/a1/.at/now)
	# HBase takes no snapshot of all tables.
	if [ -z "${CELLFS_TEST_CLUSTER:-}" ]; then
		mkdir "$M/.snapshot/nightly"
		roots+=(.snapshot/nightly)
	fi
	for root in "${roots[@]}"; do
		remount_store -o "root=$root"
		grep -q "^root $root\$" "$M/.cellfs/options"
		grep -q timestamp -i "$M/.cellfs/help"
		[ "$(stat -c %a "$M/.cellfs")" = 555 ]
		echo T > "$M/.cellfs/flush"
		run ! bash -c "echo x > '$M/.cellfs/version'"
		[ ! -e "$M/T/.cellfs" ]
		[ ! -e "$M/a1/.cellfs" ]
		run ! mkdir "$M/.cellfs/x"
	done
}

@test "a part that is not there is named" {
	three_rows
	unmount_store
	mkdir "$T/other"
	refused X "no table"
	refused T/.snapshot/none none
	refused T/zz/.at/now zz
	refused T/.range/a a "A..B"
	refused T/.range argument
	refused T/a1 "a table, a view"
	refused T/a1/f/q/100/x 100 "is a file"
	refused .cellfs "a table, a view"
	refused T/.nonsense .nonsense
	local option
	for option in root root=; do
		run -2 "$CELLFS" "$STORE" "$T/other" -o "$option"
		[[ $output == *'"root" needs a value'* ]]
	done
	[ ! -e "$T/store2" ]
	mount_store
}

@test "mount(8) and fstab mount a part" {
	[ "$(id -u)" -eq 0 ] || skip "only root may mount"
	three_rows
	unmount_store
	mkdir "$T/bin" "$T/part"
	cat > "$T/fstab" <<-END
		$CELLFS#$STORE $T/part fuse root=T/.prefix/a,noauto,user 0 0
	END
	[ -x /sbin/mount.fuse ] || [ -x /sbin/mount.fuse3 ] ||
		skip "no mount.fuse here"
	mount -T "$T/fstab" "$T/part" 3>&-
	[ "$(ls "$T/part")" = "a1
a2" ]
	fusermount3 -u "$T/part"
	# The daemon lets go of the store behind the unmount.
	mount_store
}
