# What each attribute of a family in .schema does.

load helper

# schema LINE...: writes family f with these lines.
schema() {
	{
		echo "families open"
		echo "family f"
		printf '\t%s\n' "$@"
	} > "$M/T/.schema"
}

stat_of() {
	awk -v name="$1" '$1 == name { print $2 }' "$M/.cellfs/stats"
}

compact() {
	echo T > "$M/.cellfs/compact"
}

# rows N: so many rows with a value of 1000 letters each, on disk.
rows() {
	local value
	value=$(printf 'v%.0s' {1..1000})
	seq -f "r%05g	f:q	5	$value" 1 "$1" > "$M/T/.cells"
	compact
}

# refused LINE WORD SCHEMA: the lines are refused, which says LINE and WORD.
refused() {
	run ! bash -c "printf '$3' > '$M/T/.schema'"
	[[ $output == *"Invalid argument"* ]]
	# Of the write, which close then repeats.
	tail -n 2 "$M/.cellfs/errors" | grep -q "line $1"
	tail -n 2 "$M/.cellfs/errors" | grep -q -e "$2"
	cmp "$T/before" "$M/T/.schema"
}

@test "ttl takes units and is written in the largest that fits" {
	not_over_hbase "its ttl is in whole seconds"
	mkdir "$M/T"
	local pair
	for pair in 1500ms=1500ms 90s=90s 120s=2m 90m=90m 24h=1d 7d=7d \
		forever=forever; do
		schema "ttl ${pair%=*}"
		grep -qx "	ttl ${pair#*=}" "$M/T/.schema"
	done
}

@test "keep_deleted yes keeps what was deleted for the past to see" {
	mkdir -p "$M/T/r/f/q"
	schema "keep_deleted yes"
	echo x > "$M/T/r/f/q/100"
	rm "$M/T/r/f:q"
	[ ! -e "$M/T/r/f:q" ]
	compact
	[ "$(cat "$M/T/.raw/r/f/q/100")" = x ]
	[ "$(cat "$M/T/.between/0..200/r/f/q/100")" = x ]
	schema "keep_deleted no"
	compact
	[ ! -e "$M/T/.raw/r/f/q/100" ]
	[ ! -e "$M/T/.between/0..200/r" ]
}

@test "keep_deleted ttl keeps it as long as the ttl" {
	mkdir -p "$M/T/r/f/q"
	schema "keep_deleted ttl" "ttl 1h"
	local ts
	ts=$(($(date +%s%3N) - 1000000))
	echo x > "$M/T/r/f/q/$ts"
	rm "$M/T/r/f:q"
	compact
	[ "$(cat "$M/T/.raw/r/f/q/$ts")" = x ]
	schema "keep_deleted ttl" "ttl 5m"
	compact
	[ ! -e "$M/T/.raw/r/f/q/$ts" ]
}

@test "whatever decides what is seen: what is listed can be opened, and no more" {
	local order kept versions

	mkdir "$M/T"
	for order in yes no; do
		for kept in no yes ttl; do
			for versions in 1 3; do
				schema "versions $versions" "ttl 100000d" \
					"min_versions $((versions - 1))" \
					"keep_deleted $kept" \
					"new_version_behavior $order"
				opens_what_it_lists \
					"$M/T/$order-$kept-$versions" 6
			done
		done
	done
}

@test "compression zlib makes the files smaller at the next compaction" {
	not_over_hbase "its servers have files and caches of their own"
	mkdir "$M/T"
	schema "compression none"
	rows 500
	local plain packed
	plain=$(stat_of sstable_bytes)
	schema "compression zlib"
	compact
	packed=$(stat_of sstable_bytes)
	[ "$((packed * 5))" -lt "$plain" ]
	[ "$(cat "$M/T/r00250/f:q" | wc -c)" -eq 1000 ]
	schema "compression none"
	compact
	[ "$(stat_of sstable_bytes)" -gt "$((packed * 5))" ]
}

@test "a bloom filter takes room, and rows and columns are found with each" {
	not_over_hbase "its servers have files and caches of their own"
	mkdir "$M/T"
	schema "bloom none"
	rows 2000
	local none row
	none=$(stat_of sstable_bytes)
	schema "bloom row"
	compact
	row=$(stat_of sstable_bytes)
	[ "$row" -gt "$none" ]
	schema "bloom rowcol"
	compact
	[ "$(stat_of sstable_bytes)" -gt "$none" ]
	[ -e "$M/T/r00001/f:q" ]
	[ ! -e "$M/T/r00001/f:p" ]
	[ ! -e "$M/T/r99999" ]
}

@test "block_size is what a read of one cell brings into the cache" {
	not_over_hbase "its servers have files and caches of their own"
	mkdir "$M/T"
	schema "block_size 256KiB"
	rows 1000
	remount_store
	cat "$M/T/r00500/f:q" > "$T/value"
	[ "$(stat_of cache_bytes)" -gt 200000 ]
	schema "block_size 4KiB"
	compact
	remount_store
	cat "$M/T/r00500/f:q" > "$T/value"
	[ "$(stat_of cache_bytes)" -lt 100000 ]
}

@test "block_cache no leaves the cache alone" {
	not_over_hbase "its servers have files and caches of their own"
	mkdir "$M/T"
	schema "block_cache no" "block_size 64KiB"
	rows 1000
	remount_store
	ls "$M/T" > "$T/listed"
	cat "$M/T/r00500/f:q" > "$T/value"
	local without
	without=$(stat_of cache_bytes)
	schema "block_cache yes" "block_size 64KiB"
	remount_store
	ls "$M/T" > "$T/listed"
	cat "$M/T/r00500/f:q" > "$T/value"
	[ "$(stat_of cache_bytes)" -gt "$((without + 60000))" ]
}

@test "in_memory is kept and reads as ever" {
	mkdir "$M/T"
	schema "in_memory yes"
	rows 100
	remount_store
	grep -qx "	in_memory yes" "$M/T/.schema"
	[ "$(cat "$M/T/r00050/f:q" | wc -c)" -eq 1000 ]
}

@test "max_value is a limit of what is written from now on" {
	mkdir -p "$M/T/r/f"
	printf 123456 > "$M/T/r/f:q"
	schema "max_value 4"
	[ "$(cat "$M/T/r/f:q")" = 123456 ]
	run ! bash -c "printf 12345 > '$M/T/r/f:p'"
	[[ $output == *"File too large"* ]]
	run ! cp <(printf 12345) "$M/T/r/f:p"
	[ ! -e "$M/T/r/f:p" ]
	schema "max_value 1MiB"
	printf 12345 > "$M/T/r/f:p"
	[ "$(cat "$M/T/r/f:p")" = 12345 ]
}

@test "new_version_behavior no lets a delete hide what is written after it" {
	mkdir -p "$M/T/r/f/q"
	schema "new_version_behavior no"
	echo a > "$M/T/r/f/q/100"
	rm "$M/T/r/f/q/100"
	mkdir -p "$M/T/r/f/q"
	echo b > "$M/T/r/f/q/100"
	[ ! -e "$M/T/r/f/q/latest" ]
	mkdir -p "$M/T/s/g/q"
	echo a > "$M/T/s/g/q/100"
	rm "$M/T/s/g/q/100"
	echo b > "$M/T/s/g/q/100"
	[ "$(cat "$M/T/s/g/q/latest")" = b ]
}

@test "min_versions and versions all" {
	mkdir -p "$M/T/r/f/q"
	schema "versions all"
	local i
	for i in {1..20}; do echo "$i" > "$M/T/r/f/q/$i"; done
	[ "$(versions "$M/T/r/f/q")" -eq 20 ]
	schema "versions 9" "min_versions 4" "ttl 1s"
	[ "$(versions "$M/T/r/f/q")" -eq 4 ]
}

@test "cp, rsync and an editor write a schema" {
	mkdir -p "$M/T/r/f"
	sed 's/\<versions 3/versions 4/' "$M/T/.schema" > "$T/s4"
	sed 's/\<versions 3/versions 5/' "$M/T/.schema" > "$T/s5"
	sed 's/\<versions 3/versions 6/' "$M/T/.schema" > "$T/s6"
	cp "$T/s4" "$M/T/.schema"
	cmp "$T/s4" "$M/T/.schema"
	rsync -I "$T/s5" "$M/T/.schema"
	cmp "$T/s5" "$M/T/.schema"
	rsync --inplace -I "$T/s6" "$M/T/.schema"
	cmp "$T/s6" "$M/T/.schema"
	cat "$T/s4" > "$M/T/.schema"
	cmp "$T/s4" "$M/T/.schema"
	[ "$(ls -A "$M/T" | tr '\n' ' ')" = ".schema r " ]
}

@test "every attribute away from its default comes back as it was written" {
	mkdir "$M/T"
	schema "versions 7" "min_versions 2" "ttl 3d" "keep_deleted ttl" \
		"compression zlib" "bloom rowcol" "block_size 8KiB" \
		"block_cache no" "in_memory yes" "new_version_behavior no" \
		"max_value 2MiB"
	cp "$M/T/.schema" "$T/s"
	[ "$(grep -c '^	' "$T/s")" -eq 11 ]
	remount_store
	cmp "$T/s" "$M/T/.schema"
	cp "$T/s" "$M/T/.schema"
	cmp "$T/s" "$M/T/.schema"
	local line
	for line in "versions 7" "ttl 3d" "bloom rowcol" "max_value 2MiB"; do
		grep -qx "	$line" "$T/s"
	done
}

@test "what is wrong in a schema is refused with its line" {
	mkdir "$M/T"
	schema "versions 3"
	cp "$M/T/.schema" "$T/before"
	refused [12] versions 'family f\n\tversions 0\n'
	refused [12] versions 'family f\n\tversions -1\n'
	refused 3 second 'family f\n\tversions 1\n\tversions 2\n'
	refused 2 ttl 'family f\n\tttl 5y\n'
	refused 2 ttl 'family f\n\tttl 99999999999999999999d\n'
	refused 2 keep_deleted 'family f\n\tkeep_deleted maybe\n'
	refused 2 compression 'family f\n\tcompression lzma\n'
	refused 2 bloom 'family f\n\tbloom yes\n'
	refused [12] block_size 'family f\n\tblock_size 1\n'
	refused 2 block_cache 'family f\n\tblock_cache 1\n'
	refused [12] max_value 'family f\n\tmax_value 1GiB\n'
	refused 3 colour '# words\nfamily f\n\tcolour blue\n'
	refused 1 versions 'versions 3\n'
	refused 2 f 'family f\nfamily f\n'
	refused 1 families 'families closed\n'
	[ ! -s "$LOG" ]
}

@test "a family with data stays when it is not named, an empty one goes" {
	mkdir -p "$M/T/r/f" "$M/T/r/g"
	echo x > "$M/T/r/f:q"
	cp <(echo "family g") "$M/T/.schema"
	grep -q "family f" "$M/T/.schema"
	[ "$(cat "$M/T/r/f:q")" = x ]
	rm "$M/T/r/f:q"
	echo "family g" > "$M/T/.schema"
	run ! grep -q "family f" "$M/T/.schema"
}

@test "umask takes away of what all may do, whatever the table's mode" {
	mkdir "$M/T"
	chmod 700 "$M/T"
	remount_store -o umask=027
	echo x > "$M/T/.put/R/f:q"
	[ "$(stat -c %a "$M/T" "$M/T/R" "$M/T/R/f:q" | tr '\n' ' ')" = "750 750 640 " ]
	# Of what is in memory only as well, however it is made.
	mkdir -m 700 "$M/T/R/.dir" "$M/T/.stage/S"
	(umask 0 && echo x >"$M/T/R/.note")
	[ "$(stat -c %a "$M/T/R/.dir" "$M/T/.stage/S" "$M/T/R/.note" | tr '\n' ' ')" = \
		"750 750 640 " ]
	rm "$M/T/R/.note"
}

# By its name alone, and by a listing of what it is in.
@test "an inode number is the same over mounts and ways to find it" {
	local path found

	mkdir -p "$M/T/R/f/q"
	echo v > "$M/T/R/f/q/5"
	for path in T T/R T/R/f T/R/f/q T/R/f/q/5; do
		remount_store
		found=$(stat -c %i "$M/$path")
		ls -i "$M/$(dirname $path)" | grep -qw "$found"
		[ "$(stat -c %i "$M/$path")" = "$found" ]
		remount_store
		ls -i "$M/$(dirname $path)" | grep -qw "$found"
		[ "$(stat -c %i "$M/$path")" = "$found" ]
	done
}
