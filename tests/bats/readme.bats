#!/usr/bin/env bats
# What the README says of the tree, tried as it stands there.

load helper

@test "F:Q needs the row, and neither family nor column" {
	mkdir "$M/T"
	run ! bash -c "echo x >'$M/T/R/f:q'"
	mkdir "$M/T/R"
	echo x >"$M/T/R/f:q"
	[ "$(cat "$M/T/R/f/q/latest")" = x ]
}

# drawn: the paths of the drawing of the tree, with a - before what is listed.
drawn() {
	sed 's/│/ /g; s/├/ /g; s/└/ /g; s/─/ /g' \
		"$BATS_TEST_DIRNAME/../../README.md" |
		awk '/^    mnt\/$/ { on = 1; next }
	on && /^$/ { exit }
	on {
		match($0, /[^ ]/)
		depth = (RSTART - 5) / 4
		name[depth] = $1
		sub(/\/$/, "", name[depth])
		path = name[1]
		for (i = 2; i <= depth; i++)
			path = path "/" name[i]
		print ($2 == "·" ? "" : "-") path
	}'
}

@test "the tree is as it is drawn" {
	local path n=0

	mkdir -p "$M/articles/article1/basic/header"
	echo first >"$M/articles/article1/basic/header/1637054560118"
	echo second >"$M/articles/article1/basic/header/1637056832082"
	mkdir "$M/articles/.snapshot/monday"
	while read -r path; do
		[ -e "$M/${path#-}" ]
		[ "$path" = "${path#-}" ] ||
			ls -A "$M/$(dirname "${path#-}")" |
			grep -qxF "$(basename "${path#-}")"
		n=$((n + 1))
	done < <(drawn)
	[ "$n" -ge 12 ]
	# No more than that is listed.
	[ "$(cd "$M" && find . -mindepth 1 | wc -l)" -eq "$(drawn | grep -c ^-)" ]
}

@test "a counter needs its column" {
	a_row
	run ! bash -c "echo 5 >'$M/T/R/f/c/counter'"
	mkdir -p "$M/T/R/f/c"
	echo 5 >"$M/T/R/f/c/counter"
	echo -2 >"$M/T/R/f/c/counter"
	[ "$(cat "$M/T/R/f/c/counter")" = 3 ]
}

@test "the empty qualifier is % by itself and nothing behind the colon" {
	a_row
	echo x >"$M/T/R/f:"
	[ "$(ls "$M/T/R/f")" = % ]
	[ "$(cat "$M/T/R/f/%/latest")" = x ]
	[ "$(cut -f 2 "$M/T/.cells")" = f:% ]
	run ! cat "$M/T/R/f:%"
	run ! bash -c "echo x >'$M/T/R/f:%'"
}

@test "ls -U shows the newest version first, ls sorts by name" {
	a_column
	echo a >"$C/9"
	echo b >"$C/10"
	echo c >"$C/11"
	[ "$(ls -U "$C" | tr '\n' ' ')" = "11 10 9 " ]
	[ "$(LC_ALL=C ls "$C" | tr '\n' ' ')" = "10 11 9 " ]
}

@test "views chain in any order, but for those that make no sense together" {
	local one two
	local -a views=(.range/A..Z .prefix/R .after/A .first/1 .since/1
		.between/1..9999999999999 .at/now .raw)

	a_row
	echo x >"$M/T/R/f:q"
	for one in "${views[@]}" .last/1; do
		for two in "${views[@]}" .last/1; do
			case "$one $two" in
			.raw*.at* | .at*.raw* | .first*.last* | .last*.first*)
				run ! ls "$M/T/$one/$two"
				;;
			*)
				[ "$(ls "$M/T/$one/$two")" = R ]
				;;
			esac
		done
	done
	mkdir "$M/T/.snapshot/s"
	[ "$(ls "$M/T/.snapshot/s/.first/1")" = R ]
	run ! ls "$M/T/.first/1/.snapshot/s"
	# Keys belong to rows and qualifiers; times to a row as well.
	[ "$(ls "$M/T/R/f/.prefix/q")" = q ]
	[ "$(ls "$M/T/R/.since/1")" = f ]
	run ! ls "$M/T/R/.first/1"
}

@test "mv -T puts a staged row into one that is there" {
	a_row
	echo old >"$M/T/R/f:a"
	mkdir "$M/T/.stage/R"
	echo new >"$M/T/.stage/R/f:b"
	run ! mv "$M/T/.stage/R" "$M/T/R"
	mv -T "$M/T/.stage/R" "$M/T/R"
	[ "$(cat "$M/T/R/f:a" "$M/T/R/f:b")" = "$(printf 'old\nnew')" ]
}
