load helper

# Rows a to e with one column each; row c has three versions.
five_rows() {
	a_past T f
	local r
	for r in a b c d e; do
		mkdir "$M/T/$r"
		mkdir -p "$M/T/$r/f/q"
		echo "$r" > "$M/T/$r/f/q/100"
	done
	echo c2 > "$M/T/c/f/q/200"
	echo c3 > "$M/T/c/f/q/300"
}

# names DIR: what is listed, in the order of the listing, on one line.
names() {
	ls -U "$1" | tr '\n' ' '
}

@test "a range holds its first key and not its last" {
	five_rows
	[ "$(names "$M/T/.range/b..d")" = "b c " ]
	[ "$(names "$M/T/.range/d..")" = "d e " ]
	[ "$(names "$M/T/.range/..c")" = "a b " ]
	[ "$(names "$M/T/.range/x..y")" = "" ]
	[ "$(names "$M/T/.range/d..b")" = "" ]
}

@test "what lies outside of a view is not there" {
	five_rows
	[ "$(cat "$M/T/.range/b..d/c/f/q/latest")" = c3 ]
	[ "$(cat "$M/T/.range/b..d/c/f:q")" = c3 ]
	run ! stat "$M/T/.range/b..d/a"
	run ! stat "$M/T/.range/b..d/d"
	run ! stat "$M/T/.after/c/c"
	run ! stat "$M/T/.first/2/c"
	run ! stat "$M/T/.between/150..250/c/f/q/300"
	[ "$(cat "$M/T/.between/150..250/c/f/q/200")" = c2 ]
	run ! stat "$M/T/.between/150..250/a"
}

@test "prefix, after, first and last" {
	five_rows
	mkdir "$M/T/bb" "$M/T/bb/f"
	echo x > "$M/T/bb/f:q"
	[ "$(names "$M/T/.prefix/b")" = "b bb " ]
	[ "$(names "$M/T/.after/b")" = "bb c d e " ]
	[ "$(names "$M/T/.first/2")" = "a b " ]
	[ "$(names "$M/T/.last/2")" = "e d " ]
	[ "$(names "$M/T/.first/100")" = "a b bb c d e " ]
	[ "$(cat "$M/T/.last/2/d/f:q")" = d ]
	run ! stat "$M/T/.last/2/c"
}

@test "views chain in any order" {
	five_rows
	[ "$(names "$M/T/.range/b../.first/2")" = "b c " ]
	[ "$(names "$M/T/.first/2/.range/b..")" = "b c " ]
	[ "$(names "$M/T/.prefix/c/.at/200/c/f")" = "q " ]
	[ "$(cat "$M/T/.range/a..d/.at/250/c/f/q")" = c2 ]
	[ "$(cat "$M/T/.at/250/.range/a..d/c/f/q")" = c2 ]
	[ "$(names "$M/T/.range/a..d/.last/1")" = "c " ]
	[ "$(names "$M/T/.range/b..d/.last/9")" = "c b " ]
	[ "$(names "$M/T/.after/b/.last/9")" = "e d c " ]
	[ "$(names "$M/T/.last/9/.after/b")" = "e d c " ]
	[ "$(names "$M/T/.since/150/.first/1")" = "c " ]
	run ! stat "$M/T/.range/a..b/.at/250/c"
}

@test "since and between show the versions of their time" {
	five_rows
	[ "$(names "$M/T/.since/200")" = "c " ]
	[ "$(names "$M/T/.since/200/c/f/q")" = "300 200 " ]
	[ "$(names "$M/T/.between/100..200/c/f/q")" = "100 " ]
	[ "$(names "$M/T/.since/1970-01-01T00:00:00.300Z/c/f/q")" = "300 " ]
	[ "$(cat "$M/T/.between/0..300/c/f/q/latest")" = c2 ]
	[ "$(names "$M/T/.since/1000")" = "" ]
}

@test "at shows one value a column, as a file" {
	five_rows
	mkdir -p "$M/T/c/f/later"
	echo new > "$M/T/c/f/later/250"
	[ "$(names "$M/T/.at/150/c/f")" = "q " ]
	[ "$(names "$M/T/.at/now/c/f")" = "later q " ]
	[ "$(cat "$M/T/.at/150/c/f/q")" = c ]
	[ "$(cat "$M/T/.at/200/c/f/q")" = c2 ]
	[ "$(cat "$M/T/.at/now/c/f/q")" = c3 ]
	[ "$(stat -c '%s %.3Y %F' "$M/T/.at/250/c/f/q")" = \
		"3 0.200 regular file" ]
	[ "$(ls -l "$M/T/.at/250/c/f" | awk 'NR > 1 {print $5}')" = "4
3" ]
	[ "$(names "$M/T/.at/99")" = "" ]
	run ! cat "$M/T/.at/99/a/f/q"
	run ! cat "$M/T/.at/99/c/f/q"
	[ "$(cat "$M/T/.at/1970-01-01T00:00:00.2Z/c/f:q")" = c2 ]
}

@test "diff of two times shows what was written between" {
	five_rows
	mkdir "$M/T/n" "$M/T/n/f"
	mkdir "$M/T/n/f/q"
	echo n > "$M/T/n/f/q/250"
	run diff -r "$M/T/.at/150" "$M/T/.at/250"
	[ "$status" -eq 1 ]
	[ "$(grep -c '^diff ' <<< "$output")" -eq 1 ]
	[[ "$output" == *"> c2"* ]]
	[[ "$output" == *"Only in $M/T/.at/250: n"* ]]
	diff -r "$M/T/.at/250" "$M/T/.at/260"
}

@test "a time that retention cannot answer for is an error" {
	not_over_hbase "it shows the past only where nothing has gone"
	five_rows
	echo c4 > "$M/T/c/f/q/400"
	[ "$(cat "$M/T/.at/200/c/f/q")" = c2 ]
	# The disk still tells what was pushed out.
	[ "$(cat "$M/T/.at/150/c/f/q")" = c ]
	[ "$(cat "$M/T/c/f/q/@150")" = c ]
	diff -r "$M/T/.at/100" "$M/T/.at/150"
	echo > "$M/.cellfs/compact"
	# Of 400, 300 and 200, which are kept, none is as old.
	[ "$(cat "$M/T/.at/200/c/f/q")" = c2 ]
	[[ "$(names "$M/T/.at/150")" == *"c "* ]]
	run ! ls "$M/T/.at/150/c/f"
	run ! cat "$M/T/.at/150/c/f/q"
	[[ "$output" == *"No data available"* ]]
	run ! cat "$M/T/c/f/q/@150"
	[[ "$output" == *"No data available"* ]]
	grep -q 'versions' "$M/.cellfs/errors"
	run ! diff -r "$M/T/.at/150" "$M/T/.at/200"
	[ "$status" -eq 2 ]
	sed -i 's/ttl forever/ttl 1h/' "$M/T/.schema"
	run ! ls "$M/T/.at/150"
	grep -q 'expired' "$M/.cellfs/errors"
}

@test "raw shows what is stored, markers too" {
	five_rows
	rm "$M/T/c/f/q/200"
	[ "$(names "$M/T/.raw/c/f/q")" = "300 200.delete 200 100 " ]
	[ "$(cat "$M/T/.raw/c/f/q/200")" = c2 ]
	[ "$(stat -c %s "$M/T/.raw/c/f/q/200.delete")" -eq 0 ]
	run ! stat "$M/T/.raw/c/f/q/300.delete"
	rm "$M/T/a/f:q"
	ls "$M/T/.raw/a/f/q" | grep -q '^[0-9]*\.delete-column$'
	[ "$(names "$M/T/.raw/.between/150..250/c/f/q")" = "200.delete 200 " ]
}

@test "in a family views are of qualifiers" {
	a_past T f
	mkdir -p "$M/T/r/f"
	local q
	for q in a b c d e; do echo "$q" > "$M/T/r/f:$q"; done
	[ "$(names "$M/T/r/f/.range/b..d")" = "b c " ]
	[ "$(names "$M/T/r/f/.after/c/.first/1")" = "d " ]
	[ "$(names "$M/T/r/f/.prefix/e")" = "e " ]
	[ "$(cat "$M/T/r/f/.first/2/b/latest")" = b ]
	run ! stat "$M/T/r/f/.first/2/c"
	run ! stat "$M/T/r/f/.range/b..d/d"
	[ "$(names "$M/T/r/.at/now/f")" = "a b c d e " ]
	[ "$(cat "$M/T/r/f/.at/now/.range/b..c/b")" = b ]
	run ! ls "$M/T/r/.first/1"
}

@test "view directories list nothing and are not listed" {
	five_rows
	[ "$(ls -A "$M/T/.range")" = "" ]
	[ "$(ls -A "$M/T")" = "$(printf '%s\n' .schema a b c d e)" ]
	[ "$(ls -A "$M/T/.range/a..b")" = a ]
	[ "$(find "$M/T" -name '.r*' | wc -l)" -eq 0 ]
}

@test "views refuse writes" {
	five_rows
	run ! mkdir "$M/T/.range/a..c/new"
	[[ "$output" == *"Read-only file system"* ]]
	run ! mkdir "$M/T/.range/x..y"
	run ! rmdir "$M/T/.range/a..c/a"
	run ! rm "$M/T/.range/a..c/a/f/q/100"
	run ! bash -c "echo x > '$M/T/.range/a..c/a/f/q/latest'"
	[[ "$output" == *"Read-only file system"* ]]
	run ! bash -c "echo x > '$M/T/.range/a..c/a/f/q/500'"
	run ! bash -c "echo x > '$M/T/.at/now/a/f/q'"
	run ! mv "$M/T/.range/a..c/a" "$M/T/z"
	run ! chmod 700 "$M/T/.range/a..c"
	run ! truncate -s 0 "$M/T/.at/now/a/f/q"
	[ "$(cat "$M/T/a/f:q")" = a ]
}

@test "an argument that means nothing is absent, and errors says why" {
	five_rows
	run ! ls "$M/T/.range/abc"
	grep -q 'A\.\.B' "$M/.cellfs/errors"
	run ! ls "$M/T/.first/0"
	run ! ls "$M/T/.first/x"
	run ! ls "$M/T/.at/tomorrow"
	run ! ls "$M/T/.at/2026-02-30T10:00:00Z"
	grep -q '2026-11-20T10:00:00' "$M/.cellfs/errors"
	run ! ls "$M/T/.first/1/.last/1"
	run ! ls "$M/T/.raw/.at/now"
	run ! ls "$M/T/.nonsense"
}

@test "keys in a view are spelled as names" {
	mkdir "$M/T"
	local k
	for k in 'a%2Fb' 'a%00' '%FF%FF' 'ü'; do
		mkdir -p "$M/T/$k/f"
		echo x > "$M/T/$k/f:q"
	done
	[ "$(names "$M/T/.prefix/a%2F")" = 'a%2Fb ' ]
	[ "$(names "$M/T/.range/a..a%2F")" = 'a%00 ' ]
	[ "$(names "$M/T/.prefix/%FF")" = '%FF%FF ' ]
	[ "$(names "$M/T/.prefix/ü")" = 'ü ' ]
}

@test "a change of the table is seen in its views" {
	five_rows
	[ "$(names "$M/T/.range/b..d")" = "b c " ]
	cat "$M/T/.at/now/c/f/q"
	echo c9 > "$M/T/c/f/q/900"
	[ "$(cat "$M/T/.at/now/c/f/q")" = c9 ]
	echo c99 > "$M/T/c/f/q/900"
	[ "$(cat "$M/T/.at/now/c/f/q")" = c99 ]
	[ "$(stat -c %s "$M/T/.at/now/c/f/q")" -eq 4 ]
	mkdir -p "$M/T/bb/f"
	echo x > "$M/T/bb/f:q"
	[ "$(names "$M/T/.range/b..d")" = "b bb c " ]
	rm -r "$M/T/bb"
	[ "$(names "$M/T/.range/b..d")" = "b c " ]
}

@test "long keys continue in the directories of a view" {
	local long
	long=$(printf 'k%.0s' $(seq 250))
	mkdir -p "$M/T/$long%+/kkkkkkkk/f"
	echo x > "$M/T/$long%+/kkkkkkkk/f:q"
	mkdir -p "$M/T/a/f"
	echo y > "$M/T/a/f:q"
	[ "$(names "$M/T/.prefix/k")" = "$long%+ " ]
	[ "$(names "$M/T/.last/1/$long%+")" = "kkkkkkkk " ]
	[ "$(cat "$M/T/.last/1/$long%+/kkkkkkkk/f:q")" = x ]
	run ! stat "$M/T/.first/1/$long%+"
	[ "$(names "$M/T/.range/..b")" = "a " ]
}

@test "the inode numbers of a view are its own" {
	five_rows
	[ "$(stat -c %i "$M/T/a")" != "$(stat -c %i "$M/T/.range/a../a")" ]
	[ "$(stat -c %i "$M/T/.range/a../a")" != \
		"$(stat -c %i "$M/T/.first/9/a")" ]
}

@test "an incremental backup from .since equals a full one" {
	five_rows
	mkdir "$T/inc" "$T/full"
	rsync -a "$M/T/" "$T/inc/"
	mkdir -p "$M/T/new/g"
	mkdir "$M/T/new/g/q"
	echo n > "$M/T/new/g/q/500"
	echo b5 > "$M/T/b/f/q/500"
	rsync -a "$M/T/.since/500/" "$T/inc/"
	rsync -a "$M/T/" "$T/full/"
	rm "$T/full/.schema" "$T/inc/.schema"
	diff -r "$T/full" "$T/inc"
}

@test "a thousand rows through first and last" {
	mkdir "$M/T"
	seq -f '%04g' 1 1000 | while read -r r; do
		mkdir "$M/T/$r"
		echo "$r" > "$M/T/$r/f:q"
	done
	[ "$(ls "$M/T/.first/500" | wc -l)" -eq 500 ]
	[ "$(ls -U "$M/T/.last/500" | head -n 1)" = 1000 ]
	[ "$(ls -U "$M/T/.last/500" | tail -n 1)" = 0501 ]
	[ "$(ls -U "$M/T/.range/0100..0900/.last/300" | tail -n 1)" = 0600 ]
	[ "$(cat "$M"/T/.first/20/*/f:q | tail -n 1)" = 0020 ]
}

@test "what counts in a view is counted as the table is now" {
	five_rows
	local r
	# In any order, and what lies behind is not in.
	for r in c a b a c; do stat "$M/T/.first/3/$r" > /dev/null; done
	for r in e d x 0; do run ! stat "$M/T/.first/3/$r"; done
	for r in c e d c; do stat "$M/T/.last/3/$r" > /dev/null; done
	for r in b a x 0; do run ! stat "$M/T/.last/3/$r"; done
	# One that goes makes room at once, in what was counted just before, too.
	rm -r "$M/T/d"
	[ "$(cat "$M/T/.last/3/b/f:q")" = b ]
	stat "$M/T/.first/3/c" > /dev/null
	rm -r "$M/T/b"
	[ "$(cat "$M/T/.first/3/e/f:q")" = e ]
	[ "$(cat "$M/T/.last/3/a/f:q")" = a ]
	run ! stat "$M/T/.first/3/d"
	# Of different views each has its own.
	stat "$M/T/.first/1/a" "$M/T/.first/2/c" > /dev/null
	run ! stat "$M/T/.first/1/c"
	run ! stat "$M/T/.range/c../.first/1/e"
	stat "$M/T/.range/d../.first/1/e" "$M/T/.since/150/.first/1/c" > /dev/null
	run ! stat "$M/T/.first/1/c"
	stat "$M/T/.range/b../.first/1/c" > /dev/null
	run ! stat "$M/T/.raw/.range/b../.first/1/c"
	stat "$M/T/.range/a..d/.first/1/a" > /dev/null
	run ! stat "$M/T/.range/a..d/.last/1/a"
}

@test "qualifiers are counted in each row" {
	a_past T f g
	mkdir -p "$M/T/r/f" "$M/T/s/f" "$M/T/r/g"
	local q
	for q in a b c d; do echo "$q" > "$M/T/r/f:$q"; done
	for q in c d e f; do
		echo "$q" > "$M/T/s/f:$q"
		echo "$q" > "$M/T/r/g:$q"
	done
	stat "$M/T/r/f/.first/2/b" "$M/T/s/f/.first/2/c" \
		"$M/T/s/f/.first/2/d" "$M/T/r/f/.first/2/a" \
		"$M/T/r/g/.first/2/d" > /dev/null
	run ! stat "$M/T/r/f/.first/2/c"
	run ! stat "$M/T/s/f/.first/2/e"
	stat "$M/T/r/f/.range/c../.first/2/d" > /dev/null
	run ! stat "$M/T/r/f/.first/2/c"
	[ "$(cat "$M/T/r/f/.at/now/.first/3/c")" = c ]
	run ! cat "$M/T/r/f/.at/now/.first/3/d"
	# Of different views each has its own.
	stat "$M/T/s/f/.first/2/d" > /dev/null
	run ! stat "$M/T/s/f/.first/1/d"
	stat "$M/T/s/f/.range/d../.first/1/d" > /dev/null
	run ! stat "$M/T/s/f/.first/1/d"
	rm "$M/T/r/f:b"
	[ "$(cat "$M/T/r/f/.first/2/c/latest")" = c ]
}

# refused VIEW WHY: it is absent, and errors says why.
refused() {
	run ! stat "$M/T/$1"
	[[ $output == *"No such file"* ]]
	grep -F "/T/$1: ENOENT: " "$M/.cellfs/errors" | grep -qF -e "$2"
}

@test "a view where it means nothing is absent, and errors says why" {
	five_rows
	local view
	for view in .range/a..b .prefix/a .after/a .first/1 .last/1; do
		refused "c/$view" "a range of keys is one of rows"
	done
	refused c/f/.last/1 "qualifiers are not read backwards"
	refused .at/now/.raw "they do not go together"
	refused .raw/.at/now "they do not go together"
	refused .since/0/c/.raw/.at/now "they do not go together"
	refused .last/1/.first/1 ".first and .last do not go together"
}

@test "a column has no views, nor has what is no table, row or family" {
	five_rows
	mkdir "$M/T/.snapshot/s"
	local view
	for view in .at/now .range/a..b .raw .since/0 .cells .info .schema; do
		run ! stat "$M/T/c/f/q/$view"
		run ! stat "$M/T/.at/now/c/f/q/$view"
		run ! stat "$M/T/.raw/c/f/q/$view"
		run ! stat "$M/T/.range/$view"
		run ! stat "$M/T/.snapshot/$view"
		run ! stat "$M/.snapshot/$view"
		run ! stat "$M/.cellfs/$view"
		run ! stat "$M/T/.info/$view"
	done
	for view in .schema .snapshot .stage .info .cellfs; do
		run ! stat "$M/T/.range/a..d/$view"
		run ! stat "$M/T/c/$view"
	done
	run ! mkdir "$M/T/c/f/q/.at"
	[ "$(names "$M/T/c/f/q")" = "300 200 100 " ]
}

@test "the same view twice is both, in any order" {
	five_rows
	[ "$(cat "$M/T/.at/250/.at/150/c/f/q")" = c ]
	[ "$(cat "$M/T/.at/150/.at/250/c/f/q")" = c ]
	[ "$(names "$M/T/.range/a..d/.range/b..")" = "b c " ]
	[ "$(names "$M/T/.since/200/.since/300/c/f/q")" = "300 " ]
	[ "$(names "$M/T/.since/300/.since/200/c/f/q")" = "300 " ]
	[ "$(names "$M/T/.raw/.raw/c/f/q")" = "300 200 100 " ]
	[ "$(names "$M/T/.first/2/.first/1")" = "a " ]
	[ "$(names "$M/T/.first/1/.first/2")" = "a " ]
	[ "$(names "$M/T/.prefix/a/.prefix/b")" = "" ]
}
