# The page that draws a store.
load cellctl

# parsed PAGE: well-formed, without a script or anything from elsewhere, and less
# than a megabyte. Prints each element with its attributes, and its text.
parsed() {
	python3 - "$1" <<'END'
import os
import sys
import xml.etree.ElementTree as tree
from html.parser import HTMLParser

tags = set()


class Tags(HTMLParser):
    def handle_starttag(self, tag, attrs):
        tags.add(tag)


text = open(sys.argv[1], encoding="utf-8").read()
Tags().feed(text)
assert len(text.encode()) < 1 << 20
assert not tags & {"script", "link", "img", "iframe", "object", "image"}, tags
assert "url(" not in text and "@import" not in text
for e in tree.fromstring(text).iter():
    tag = e.tag.split("}")[-1]
    assert not any(k.startswith("on") or k == "href" for k in e.attrib)
    if tag != "style":
        print(tag, e.attrib, " ".join(e.itertext()).replace("\n", " "))
END
}

page() {
	ctl shape "$1" --html >"$T/page.html"
	parsed "$T/page.html" >"$T/parts"
}

@test "a page has a bar for each file, the tables and the day of the cells" {
	local day

	for row in a b c; do
		ctl put "$STORE" t "$row" d:q "$row"
		ctl flush "$STORE"
	done
	day=$(date -u +%Y-%m-%d)
	page "$STORE"
	[ "$(ctl shape "$STORE" | wc -l)" -ge 1 ]
	[ "$(grep -c "^rect .*'data-files': '1'" "$T/parts")" -eq \
		"$(find "$STORE" -name '*.sst' | wc -l)" ]
	for file in "$STORE"/*.sst; do
		grep -q "file ${file##*/}, " "$T/parts"
	done
	grep -q '^title.*table t' "$T/parts"
	grep -q "^title.*$day: about\|^title.*$(date -u +%Y-%m-%d): about" \
		"$T/parts"
	grep -q 'Nobody has the store mounted' "$T/parts"
	# The drawings alone, as one.
	awk -f "$BATS_TEST_DIRNAME/../../tools/shape/picture.awk" \
		"$T/page.html" >"$T/page.svg"
	parsed "$T/page.svg" >"$T/parts"
	[ "$(grep -c '^svg' "$T/parts")" -ge 5 ]
	grep -q "^text .* Growth by day$" "$T/parts"
	grep -q "file ${file##*/}, " "$T/parts"
}

@test "a line for each file has its table, level, bytes, cells and rows" {
	local file

	printf '%s\td:q\t1\tv\n' a%0A b c | ctl import "$STORE" t 2>"$T/said"
	ctl flush "$STORE"
	file=$(echo "$STORE"/*.sst)
	[ "$(ctl shape "$STORE")" = "t	d	0	${file##*/}	$(stat -c %s "$file")	3	a%0A	c" ]
	ctl compact "$STORE"
	ctl shape "$STORE" | grep -qE '^t	d	[1-9][0-9]*	'
}

@test "a page of an empty store, and of one with cells in memory only" {
	ctl init "$T/empty"
	page "$T/empty"
	grep -q 'There is no table file yet' "$T/parts"
	ctl put "$STORE" t r d:q x
	page "$STORE"
	grep -q 'cells in memory only 1' "$T/parts"
}

@test "keys and families that are markup are text in a page" {
	local evil='"><script>alert(1)</script>' markup='</text>&amp;'

	ctl create "$STORE" u
	for key in "$evil" "$markup" $'\x01\xff\u202e'; do
		ctl put "$STORE" u "$key" 'd<b>:q' x
		ctl flush "$STORE"
	done
	page "$STORE"
	grep -qF '"><script>alert' "$T/parts"
	grep -qF '\x01\xFF\xE2\x80\xAE' "$T/parts"
	grep -q u "$T/parts"
	grep -qF 'd<b>' "$T/parts"
}

@test "over a mount the heat shows which rows were read, and which written" {
	ctl import "$STORE" t < <(seq -f "row%05.0f${TAB}d:q${TAB}${TAB}value" \
		10000 12999)
	ctl flush "$STORE"
	mount_store
	for _ in {1..20}; do
		ctl get "$M" t row12900 >/dev/null
		echo x >"$M/t/row10050/d:q"
	done
	page "$M"
	grep "'data-reads'" "$T/parts" | python3 -c '
import ast, sys
rows = []
for line in sys.stdin:
    attributes = ast.literal_eval(line[5:line.index("}") + 1])
    rows.append((int(attributes["data-reads"]),
                 int(attributes["data-writes"]),
                 line.split("rows from ")[1].split()[0].rstrip(":")))
hot = [r for r in rows if r[2] <= "row12900"][-1]
wrote = [r for r in rows if r[2] <= "row10050"][-1]
assert len(rows) > 3 and hot != wrote, rows
assert hot[0] >= 20 and hot[1] == 0 and wrote[1] == 20, rows
assert all(r[:2] == (0, 0) for r in rows if r not in (hot, wrote)), rows'
}

@test "stats --plot draws tables, levels and days as bars" {
	ctl put "$STORE" t r d:q x
	ctl flush "$STORE"
	ctl stats "$STORE" --plot >"$T/plot"
	grep -qE '^  t +[0-9.]+ bytes +█{40}$' "$T/plot"
	grep -qE "^  $(date -u +%Y)-[0-9-]+ +[0-9.]+ bytes +█" "$T/plot"
	says 2 "--plot is of a whole store" stats "$STORE" t --plot
}
