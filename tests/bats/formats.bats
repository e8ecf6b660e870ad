# Stores that older versions wrote: golden/format-N.tar.gz holds one, killed with
# changes in its log alone, and what that version said of it: cells, by cellctl,
# and tree, by a mount.
load helper

golden() {
	tar -C "$T" --no-same-owner -xzf \
		"$BATS_TEST_DIRNAME/../golden/format-$1.tar.gz"
}

# its_cells: all that cellctl says of the store.
its_cells() {
	local t

	for t in $("$CELLCTL" tables "$STORE"); do
		"$CELLCTL" describe "$STORE" "$t"
		"$CELLCTL" export --raw "$STORE" "$t"
		"$CELLCTL" snapshot -t "$t" "$STORE"
	done
	"$CELLCTL" snapshot "$STORE"
}

# What a mount of it shows: tables, and snapshots.
shown_4="articles ns:counters .snapshot/whole .snapshot/late
	articles/.snapshot/weekly"
shown_5="$shown_4 packed .snapshot/five articles/.snapshot/inlog"
shown_6=$shown_5
shown_7="$shown_6 bounded"
shown_8="$shown_7 timed noted .snapshot/eight"

# its_tree FORMAT: each line of each file of the mount.
its_tree() {
	local shown=shown_$1

	# shellcheck disable=SC2086
	(cd "$M" && LC_ALL=C grep -r . ${!shown} | LC_ALL=C sort)
}

# read_golden FORMAT: a store of that format is read, and not changed by it.
read_golden() {
	unmount_store
	rm -r "$STORE"
	golden "$1"
	ls "$STORE" > "$T/names"
	(cd "$STORE" && sha256sum ./*) > "$T/sums"
	its_cells | diff "$T/cells" -
	[ "$("$CELLCTL" check "$STORE")" = "$STORE: 0 faults" ]
	mount_store -o ro
	its_tree "$1" | diff "$T/tree" -
	unmount_store
	ls "$STORE" | diff "$T/names" -
	(cd "$STORE" && sha256sum --quiet -c "$T/sums")
	mount_store
}

# change_golden FORMAT: a store of that format becomes one of this format by the
# first change of its files, and shows what it showed.
change_golden() {
	unmount_store
	rm -r "$STORE"
	golden "$1"
	mount_store
	its_tree "$1" | diff "$T/tree" -
	echo new > "$M/articles/a030/basic:title"
	echo > "$M/.cellfs/flush"
	[ -z "$(ls "$STORE" | grep -E 'CURRENT|MANIFEST')" ]
	[ "$(ls "$STORE" | grep -cE '^CATALOG-[0-9a-f]{16}$')" = 1 ]
	rm -r "$M/articles/a030/basic/title/$(ls "$M/articles/a030/basic/title" |
		tail -n 1)"
	its_tree "$1" | diff "$T/tree" -
	for compact in no yes; do
		[ "$compact" = no ] || echo > "$M/.cellfs/compact"
		remount_store
		its_tree "$1" | diff "$T/tree" -
	done
	unmount_store
	[ "$("$CELLCTL" check "$STORE")" = "$STORE: 0 faults" ]
	mount_store
}

@test "a store of format 4 is read, and not changed by that" {
	read_golden 4
}

@test "a store of format 5 is read, and not changed by that" {
	read_golden 5
}

@test "a store of format 4 becomes one of this format by the first change of its files" {
	change_golden 4
}

@test "a store of format 5 becomes one of this format by the first change of its files" {
	change_golden 5
}

@test "a store of format 6 is read, and not changed by that" {
	read_golden 6
}

@test "a store of format 6 becomes one of this format by the first change of its files" {
	change_golden 6
}

@test "a store of format 7 is read, and not changed by that" {
	read_golden 7
}

@test "a store of format 7 becomes one of this format by the first change of its files" {
	change_golden 7
	grep -qx 'quota 3MiB' "$M/bounded/.schema"
	[ -z "$(ls "$STORE" | grep '^kept')" ]
}

@test "a store of format 8 is read, and not changed by that" {
	read_golden 8
}

# Its log is kept: that of the archive, and what was in it alone.
@test "a store of format 8 is changed and stays whole" {
	change_golden 8
	[ "$(ls "$STORE" | grep -c '^kept-da824555733cb34b-000000000000000[b-f].log$')" = 5 ]
}

@test "there is a store of each format that this version reads" {
	local format

	format=$(sed -n 's/^#define STORE_FORMAT //p' \
		"$BATS_TEST_DIRNAME/../../store/lsm/manifest/catalog_format.h")
	[ -e "$BATS_TEST_DIRNAME/../golden/format-$format.tar.gz" ]
	[ -e "$BATS_TEST_DIRNAME/../golden/format-$((format - 1)).tar.gz" ]
}

# killed_at CALL N: the first change of files of the store in $T/kept, killed as
# a thread of it makes its N-th CALL. False if none of them made so many.
killed_at() {
	rm -rf "$STORE"
	cp -r --sparse=always "$T/kept" "$STORE"
	! ASAN_OPTIONS=detect_leaks=0 strace -f -o "$T/calls" \
		-e inject="$1:signal=SIGKILL:when=$2" "$CELLCTL" flush "$STORE" \
		2> "$T/killed"
}

@test "a kill at any call while a store becomes one of this format leaves it whole" {
	local call n before=0 after=0

	unmount_store
	rm -r "$STORE"
	golden 4
	mv "$STORE" "$T/kept"
	for call in pwritev2 fdatasync fsync renameat unlinkat ftruncate; do
		for ((n = 1; ; n++)); do
			killed_at $call $n || break
			if [ -e "$STORE/CATALOG-0000000000000001" ]; then
				after=$((after + 1))
			else
				before=$((before + 1))
			fi
			its_cells | diff "$T/cells" -
			[ "$("$CELLCTL" check "$STORE")" = "$STORE: 0 faults" ]
		done
	done
	[ "$before" -ge 5 ]
	[ "$after" -ge 1 ]
	mount_store
}

@test "a catalog that is damaged is named, with what to do" {
	mkdir "$M/t" "$M/u"
	unmount_store
	newest=$(ls "$STORE" | grep -E '^CATALOG-[0-9a-f]{16}$')
	before=$(ls "$STORE" | grep '^CATALOG-.*old$')
	cp "$STORE/$newest" "$T/kept"
	printf X | dd of="$STORE/$newest" bs=1 seek=40 conv=notrunc status=none
	run -1 "$CELLCTL" check "$STORE"
	[[ $output == *"$newest is damaged"*"rename $before to ${before%.old}"* ]]
	run ! "$CELLFS" "$STORE" "$M"
	[[ $output == *"$newest is damaged"*"rename $before to ${before%.old}"* ]]
	cp "$T/kept" "$STORE/$newest"
	printf X | dd of="$STORE/$before" bs=1 seek=40 conv=notrunc status=none
	run -1 "$CELLCTL" check "$STORE"
	[[ $output == *"$before is damaged"* ]]
	# The store is whole without it.
	mount_store
	[ "$(ls "$M")" = "$(printf 't\nu')" ]
}
