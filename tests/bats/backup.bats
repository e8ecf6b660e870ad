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
