load helper

# Two tables with several families, versions, odd names.
fill() {
	local r
	mkdir "$M/A" "$M/B"
	for r in r1 r2 'r%2Fslash' 'r space'; do
		mkdir -p "$M/A/$r/f/q" "$M/A/$r/f/%"
		echo "one $r" > "$M/A/$r/f/q/1637054560118"
		echo "two $r" > "$M/A/$r/f/q/1637055836875"
		printf '' > "$M/A/$r/f/%/1000"
		echo x > "$M/A/$r/g:col"
	done
	mkdir -p "$M/B/x"
	head -c 200000 /dev/urandom > "$M/B/x/big:bytes"
	settled [ -f "$M/A/r1/f/%/1000" ]
	settled [ "$(find "$M" -name 1000 | wc -l)" -eq 4 ]
}

same() {
	diff -r "$1" "$2"
	diff <(cd "$1" && find . | sort) <(cd "$2" && find . | sort)
}

empty_store() {
	unmount_store
	STORE=$T/store2
	mount_store
}

@test "rsync out and into an empty store" {
	fill
	rsync -a "$M/" "$T/backup/"
	same "$M" "$T/backup"
	empty_store
	rsync -a "$T/backup/" "$M/"
	same "$T/backup" "$M"
	[ "$(stat -c %.3Y "$M/A/r1/f/q/1637054560118")" = 1637054560.118 ]
}

@test "rsync a second time sends no data" {
	fill
	rsync -a "$M/" "$T/backup/"
	run -0 rsync -a --stats "$M/" "$T/backup/"
	[[ $output == *"Number of regular files transferred: 0"* ]]
	empty_store
	rsync -a "$T/backup/" "$M/"
	run -0 rsync -a --stats --exclude=.schema "$T/backup/" "$M/"
	[[ $output == *"Number of regular files transferred: 0"* ]]
	same "$T/backup" "$M"
}

@test "rsync --inplace" {
	fill
	rsync -a "$M/" "$T/backup/"
	empty_store
	rsync -a --inplace "$T/backup/" "$M/"
	same "$T/backup" "$M"
	echo changed > "$T/backup/A/r1/f/q/1637054560118"
	rsync -a --inplace "$T/backup/" "$M/"
	same "$T/backup" "$M"
}

@test "rsync --delay-updates" {
	fill
	rsync -a "$M/" "$T/backup/"
	empty_store
	rsync -a --delay-updates "$T/backup/" "$M/"
	same "$T/backup" "$M"
}

@test "rsync --delete" {
	fill
	rsync -a "$M/" "$T/backup/"
	rm -r "$T/backup/A/r1" "$T/backup/A/r2/f/q/1637054560118"
	rsync -a --delete "$T/backup/" "$M/"
	same "$T/backup" "$M"
}

@test "cp -a out and in" {
	fill
	mkdir "$T/backup"
	cp -a "$M/." "$T/backup/"
	same "$M" "$T/backup"
	empty_store
	cp -a "$T/backup/." "$M/"
	same "$T/backup" "$M"
}

@test "tar out, and extracted twice" {
	fill
	tar cf "$T/a.tar" -C "$M" .
	mkdir "$T/backup"
	tar xf "$T/a.tar" -C "$T/backup"
	same "$M" "$T/backup"
	empty_store
	tar xf "$T/a.tar" -C "$M"
	same "$T/backup" "$M"
	tar xf "$T/a.tar" -C "$M"
	same "$T/backup" "$M"
}

@test "keys longer than a name survive rsync, tar, rm -r and find -delete" {
	local x piece row
	x=$(printf 'x%.0s' $(seq 250))
	piece="$x%+"
	for row in "$piece/yyyyyyyyyy/f/q" "$piece/$piece/yyyyyyyyyy/f/q" \
		"r/f/$piece/zzzzzzzzzz" "$x/f/q"; do
		mkdir -p "$T/src/T/$row"
		echo "${#row}" > "$T/src/T/$row/5"
	done
	rsync -a "$T/src/" "$M/"
	rsync -a --exclude=.schema "$M/" "$T/backup/"
	same "$T/src" "$T/backup"
	rm -r "$M/T"
	tar cf - -C "$T/src" . | tar xf - -C "$M"
	[ "$(find "$M" -name 5 | wc -l)" -eq 4 ]
	find "$M/T" -delete
	[ -z "$(ls -A "$M" | grep -v cellfs)" ]
}

# metric NAME: a figure of the daemon.
metric() {
	awk -v n="cellfs_$1" '$1 == n { print $2 }' "$M/.cellfs/metrics"
}

# Requests of programs: what the kernel forgets, it forgets when it likes.
requests() {
	awk '/^cellfs_request_seconds_count/ && !/op="forget"/ { n += $2 }
		END { print n }' \
		"$M/.cellfs/metrics"
}

# cost CMD...: runs it; $CELLS, $BLOCKS and $REQUESTS are what it read.
cost() {
	CELLS=$(metric store_scan_cells_total)
	BLOCKS=$(metric store_cache_misses_total)
	REQUESTS=$(requests)
	"$@"
	CELLS=$(($(metric store_scan_cells_total) - CELLS))
	BLOCKS=$(($(metric store_cache_misses_total) - BLOCKS))
	REQUESTS=$(($(requests) - REQUESTS))
}

# put_cells ROWS: ten cells in each.
put_cells() {
	seq "$1" | awk -v OFS='\t' '{
		for (q = 0; q < 10; q++)
			printf "row%06d\tf:q%d\t\tvalue %d\n", $1, q, $1 }' \
		> "$M/t/.cells"
}

# change ROWS EVERY: one cell of every so many rows, and a row more.
change() {
	seq "$2" "$2" "$1" | awk -v OFS='\t' '{
		printf "row%06d\tf:q%d\t\tnew %d\n", $1, $1 % 10, $1 }' \
		> "$M/t/.cells"
	printf 'row-new\tg:q\t\tnew\n' > "$M/t/.cells"
}

@test "an incremental backup equals a full one, and reads what has changed" {
	keep_caches
	mkdir "$M/t"
	mkdir "$T/backup" "$T/full"
	put_cells 200
	cost rsync -a "$M/t/" "$T/backup/t/"
	[ "$CELLS" -gt 2000 ]
	[ "$REQUESTS" -gt 2000 ]
	sleep 0.01
	LAST=$(date +%s%3N)
	change 200 20
	cost rsync -a "$M/t/.schema" "$M/t/.since/$LAST/" "$T/backup/t/"
	[ "$CELLS" -lt 200 ]
	[ "$REQUESTS" -lt 300 ]
	rsync -a "$M/t/" "$T/full/t/"
	same "$T/full/t" "$T/backup/t"
	# And restored it is the same table.
	cp "$M/t/.cells" "$T/cells"
	empty_store
	rsync -a "$T/backup/" "$M/"
	cmp "$T/cells" "$M/t/.cells"
}

@test "what has changed is found without reading the rest from disk" {
	mkdir "$M/t"
	put_cells 20000
	echo > "$M/.cellfs/flush"
	sleep 0.01
	LAST=$(date +%s%3N)
	change 20000 2000
	echo > "$M/.cellfs/flush"
	remount_store
	cost cp "$M/t/.since/$LAST/.cells" "$T/changed"
	[ "$(cut -f 4 "$T/changed" | grep -c '^new')" -eq 11 ]
	[ "$(wc -l < "$T/changed")" -eq 11 ]
	[ "$CELLS" -eq 11 ]
	[ "$BLOCKS" -lt 20 ]
	cost cp "$M/t/.cells" "$T/all"
	# Those of a cluster are read by its servers.
	[ "$BLOCKS" -gt 200 ] || [ -n "${CELLFS_TEST_CLUSTER:-}" ]
	# One file with everything gives the same.
	echo > "$M/.cellfs/compact"
	cost cp "$M/t/.since/$LAST/.cells" "$T/again"
	[ "$CELLS" -eq 11 ]
	cmp "$T/changed" "$T/again"
}
