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

# its_tree: each line of each file of the mount.
its_tree() {
	(cd "$M" && LC_ALL=C grep -r . articles ns:counters .snapshot/whole \
		.snapshot/late articles/.snapshot/weekly | LC_ALL=C sort)
}

@test "a store of format 4 is read, and not changed by that" {
	unmount_store
	rm -r "$STORE"
	golden 4
	ls "$STORE" > "$T/names"
	(cd "$STORE" && sha256sum ./*) > "$T/sums"
	its_cells | diff "$T/cells" -
	[ "$("$CELLCTL" check "$STORE")" = "$STORE: 0 faults" ]
	mount_store -o ro
	its_tree | diff "$T/tree" -
	unmount_store
	ls "$STORE" | diff "$T/names" -
	(cd "$STORE" && sha256sum --quiet -c "$T/sums")
	mount_store
}

@test "a store of format 4 becomes one of this format by the first change of its files" {
	unmount_store
	rm -r "$STORE"
	golden 4
	mount_store
	its_tree | diff "$T/tree" -
	echo new > "$M/articles/a030/basic:title"
	echo > "$M/.cellfs/flush"
	[ -z "$(ls "$STORE" | grep -E 'CURRENT|MANIFEST')" ]
	[ "$(ls "$STORE" | grep -cE '^CATALOG-[0-9a-f]{16}$')" = 1 ]
	rm -r "$M/articles/a030/basic/title/$(ls "$M/articles/a030/basic/title" |
		tail -n 1)"
	its_tree | diff "$T/tree" -
	for compact in no yes; do
		[ "$compact" = no ] || echo > "$M/.cellfs/compact"
		remount_store
		its_tree | diff "$T/tree" -
	done
	unmount_store
	[ "$("$CELLCTL" check "$STORE")" = "$STORE: 0 faults" ]
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
