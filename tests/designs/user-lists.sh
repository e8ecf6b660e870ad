#!/usr/bin/env bash
# Lists that users have, read 30 items at a time.
#
# Wide: a row a user, an item a qualifier; a page is .after/LAST/.first/30 in
# the family. Tall: a row an item, USER-ITEM; a page is the same in the table.
# The next page needs nothing but the last item of this one, and costs the same
# wherever it is.

# shellcheck source=/dev/null disable=SC2012 # the tree is read by ls
. "$(dirname "$0")/design.bash"
SIZE=${SIZE:-10000}

awk -v n="$SIZE" "$RANDOM_AWK"'
BEGIN {
	OFS = "\t"
	for (i = 0; i < n; i++) {
		user = random(random(40) + 1)
		print sprintf("user%02d", user), sprintf("item%06d", random(n)),
			"note " i
	}
}' | sort -u -t "$(printf '\t')" -k 1,2 >"$W/lists"
awk -F '\t' -v OFS='\t' '{ print $1, "list:" $2, 1, $3 }' "$W/lists" \
	>"$T/.cells"
awk -F '\t' -v OFS='\t' '{ print $1 "-" $2, "item:note", 1, $3 }' "$W/lists" \
	>"$T/.cells"

# pages START STEP: names from START on, 30 a call of STEP, until none come.
pages() {
	local last=$1 step=$2 names

	while mapfile -t names < <("$step" "$last") && [ ${#names[@]} -gt 0 ]; do
		printf '%s\n' "${names[@]}" "--"
		last=${names[-1]}
	done
}

wide_page() {
	ls -U "$T/user03/list/.after/$1/.first/30"
}
tall_page() {
	ls -U "$T/.prefix/user03-/.after/$1/.first/30"
}

awk -F '\t' '$1 == "user03" { print $2; if (++n % 30 == 0) print "--" }
	END { if (n % 30) print "--" }' "$W/lists" >"$W/want"
pages item wide_page >"$W/got"
same "the pages of a list in a row" "$W/want" "$W/got"
sed 's/^item/user03-item/' "$W/want" >"$W/want2"
pages user03- tall_page >"$W/got"
same "the pages of a list of rows" "$W/want2" "$W/got"

# A page with its values, one read.
grep -P '^user05\t' "$W/lists" | sed -n 1,30p | cut -f 3 >"$W/want"
cut -f 4 "$T/user05/list/.first/30/.cells" >"$W/got"
same "a page with its values" "$W/want" "$W/got"

# An item is taken off; the pages close up.
gone=$(awk -F '\t' '$1 == "user03" && ++n == 10 { print $2 }' "$W/lists")
rm "$T/user03/list:$gone"
awk -F '\t' -v gone="$gone" '$1 == "user03" && $2 != gone { print $2 }' \
	"$W/lists" | sed -n 1,30p >"$W/want"
wide_page item >"$W/got"
same "a page after an item is removed" "$W/want" "$W/got"
