#!/usr/bin/env bats
# Rows as records: CSV, TSV and JSON lines, in and out.

load cellctl

# give TABLE FORMAT [OPTION...]
give() {
	ctl export "$STORE" "$@"
}

# take TABLE OPTION...: of the standard input.
take() {
	ctl import --create "$STORE" "$@" 2>/dev/null
}

@test "csv: quotes, separators, line ends; empty is a value, and absent is none" {
	printf '\xef\xbb\xbfid,name,note\r\n1,Anna,"says ""hi"", twice"\r\n\r\n2,"",\n3,5" disk,"two\nlines"' |
		take x --csv --key id --map '*=d'
	is '1 d:name Anna 1 d:note says "hi", twice 2 d:name 3 d:name 5" disk 3 d:note two%0Alines' \
		eval 'ctl scan "$STORE" x | cut -f 1,2,4'
	give x --csv > "$T/csv"
	cmp "$T/csv" - <<-END
		row,d:name,d:note
		1,Anna,"says ""hi"", twice"
		2,"",
		3,"5"" disk","two
		lines"
	END
	give x --tsv > "$T/tsv"
	[ "$(sed -n 2p "$T/tsv")" = "1${TAB}Anna$TAB\"says \"\"hi\"\", twice\"" ]
	take y --csv < "$T/csv"
	take z --tsv < "$T/tsv"
	give y --csv | cmp - "$T/csv"
	give z --csv | cmp - "$T/csv"
}

@test "every byte goes there and back, in each format" {
	local f
	head -c 70000 /dev/urandom | ctl put "$STORE" t %00%FF,%0A d:%22,%0D%FF
	printf '{"base64":"AA=="}' | ctl put "$STORE" t s d:
	for f in csv tsv jsonl; do
		give t --$f | take "$f" --$f
		cmp <(ctl scan "$STORE" t | cut -f 1,2,4) \
			<(ctl scan "$STORE" "$f" | cut -f 1,2,4)
	done
	give t --jsonl | jq -e '.row | type == "object" or . == "s"' >/dev/null
}

@test "a family with a % in its name goes there and back, and is named as it is printed" {
	ctl create "$STORE" p 'a%b' '%'
	ctl put "$STORE" p r 'a%b:q' one
	ctl put "$STORE" p r 'a%25b:p%25' two
	ctl put "$STORE" p r '%:q' three
	ctl scan "$STORE" p | cut -f 1,2,4 > "$T/is"
	printf 'r\t%s\t%s\n' '%25:q' three 'a%25b:p%25' two 'a%25b:q' one |
		cmp "$T/is" -
	is two eval 'ctl get "$STORE" p r a%25b:p%25 | cut -f 4'
	for format in csv tsv jsonl; do
		give p --$format | take "p$format" --$format
		ctl scan "$STORE" "p$format" | cut -f 1,2,4 | cmp "$T/is" -
	done
}

@test "jsonl: a row an object; numbers and truths as they are written, null is none" {
	printf '%s\n' '{"d:n":1.50,"row":"a","d:t":true,"e:u":"\u00e9","d:x":null}' '' \
		'{"row":{"base64":"/w=="},"d:b":{"base64":"AP8="}}' | take x --jsonl
	is 'a d:n 1.50 a d:t true a e:u é %FF d:b %00%FF' \
		eval 'ctl scan "$STORE" x | cut -f 1,2,4'
	give x --jsonl > "$T/rows"
	[ "$(jq -c . "$T/rows")" = "$(cat "$T/rows")" ]
	[ "$(sed -n 2p "$T/rows")" = '{"row":{"base64":"/w=="},"d:b":{"base64":"AP8="}}' ]
}

@test "map: fields go to columns, as bytes of a type, or nowhere" {
	printf 'k\tage\tname\tjunk\td:own\n1\t-2\tBob\tj\to\n' |
		take x --tsv --key k --map age=d:age:toInt --map name=e:n --map '*='
	is '1 d:age %FF%FF%FF%FE 1 d:own o 1 e:n Bob' \
		eval 'ctl scan "$STORE" x | cut -f 1,2,4'
	[ "$(give x --jsonl --columns d:age:toInt,e)" = '{"row":"1","d:age":-2,"e:n":"Bob"}' ]
	is 'k,e:n,d:age 1,Bob,-2' give x --csv --columns e:n,d:age:toInt --key k
	says 3 "no toShort" export "$STORE" x --csv --columns d:own:toShort
}

@test "what is wrong is named with file and line, and what is before it stays" {
	local text what
	while IFS=$TAB read -r line text what; do
		printf "row,d:x\n1,a\n$what" > "$T/f.csv"
		says 3 "f.csv:$line: $text" import "$STORE" t "$T/f.csv" --csv
		[ "$(rows)" = "1 " ]
		ctl truncate "$STORE" t
	done <<-'END'
		3	fields: 1, in the head: 2	2\n
		3	a field in quotes does not end	2,"b\n\n
		3	there is text behind the quote	2,"b"c\n
		3	the row key is empty	,b\n
		5	the row key is empty	"1","two\nlines"\n,b\n
	END
	printf '{"row":"1","d:x":"a"}\n%s' '{"row":"2","d:x":[]}' > "$T/f"
	says 3 "f:2: an array is no value" import "$STORE" t "$T/f" --jsonl
	[ "$(rows)" = "1 " ]
	for text in '{"d:x":"a"}' '{"row":"2","d:x":"","d:x":""}' '{"row":"2","d:x":{}}' \
		'{"row":"2"' '{"row":"2","d:x":nul}' '{"row":"2"} x' '["row"]' \
		'{"row":"2","d:x":{"base64":"A"}}' '{"row":"2","d:x":{"base64":"","y":1}}'; do
		says 3 "standard input:1: " import "$STORE" t --jsonl <<< "$text"
	done
	says 3 "for the field 'name': --map 'name=" import "$STORE" t --csv <<< row,name
	says 3 "no field 'row', the row key" import "$STORE" t --csv <<< d:x
	says 3 "is there twice" import "$STORE" t --csv <<< row,d:x,d:x
	says 3 "add z to its schema" import "$STORE" t --csv <<< $'row,z:x\n1,2'
	says 3 "f:1: " import "$STORE" t "$T/f"
	says 3 "No such file" import "$STORE" t "$T/none" --csv
	says 3 "the input is empty" import "$STORE" t --csv < /dev/null
	says 2 "belong to --csv" import "$STORE" t --key x
	says 2 "newest version" export "$STORE" t --csv --raw
	says 2 "one or the other" export "$STORE" t --csv --json
}

@test "of two values for one column none is lost without a word" {
	local f=$T/f.csv
	printf 'row,d:x,x,d:y\n1,a,b,c\n' > "$f"
	says 3 "f.csv:1: the fields 'd:x' and 'x' both go to d:x" \
		import "$STORE" t "$f" --csv --map '*=d'
	says 3 "'x' and 'd:y' both go to d:y" import "$STORE" t "$f" --csv --map x=d:y
	printf '{"row":"1","d:x":"a","x":null}\n{"row":"2","d:x":"a","x":"b"}\n' |
		says 3 "input:2: the fields 'd:x' and 'x' both go to d:x" \
			import "$STORE" t --jsonl --map '*=d'
	# Those that say which it is.
	[ "$(rows)" = "1 " ]
	ctl import "$STORE" t "$f" --csv --map x=d:z --map d:y=
	[ "$(give t --csv | tr '\n' ' ')" = "row,d:x,d:z 1,a,b " ]
	# And two rules of one field, or one of the key, are no help.
	says 2 "--map x=d:b: there is another of that field" \
		import "$STORE" t "$f" --csv --map x=d:a --map x=d:b
	says 2 "--map row=d:a: that field is the row key" \
		import "$STORE" t "$f" --csv --map row=d:a
}

@test "what a file brings does not reach the terminal as it is" {
	printf 'row,\033[2Jx\n1,a\n' | says 3 "the field '?[2Jx'" import "$STORE" t --csv
	printf '{"row":"1","\\u001b[2Jx":"a"}\n' |
		says 3 "the field '?[2Jx'" import "$STORE" t --jsonl
	printf 'r\td:q\t1\tv\t\033[2J\n' | says 3 "the kind '?[2J'" import "$STORE" t
	printf 'r\t\033[2J\t1\tv\n' | says 3 "the column '?[2J'" import "$STORE" t
	printf '{"row":"1","\\u001b[2Jx":"a"}\n' |
		says 3 "no member '?[2Jx'" import "$STORE" t --json
}

@test "a mistyped field of --map is named" {
	printf 'row,name\n1,a\n' > "$T/f.csv"
	says 3 "f.csv:1: there is no field 'nmae', which --map names" \
		import "$STORE" t "$T/f.csv" --csv --map nmae=d:name --map '*='
	# What is to be left out may be absent, and every field of an object.
	ctl import "$STORE" t "$T/f.csv" --csv --map nmae= --map name=d:name
	ctl import "$STORE" t --jsonl --map nmae=d:x <<< '{"row":"2","d:y":"b"}'
}

@test "records without values are no empty input" {
	run -0 --separate-stderr ctl import "$STORE" t --jsonl <<< '{"row":"1","d:x":null}'
	[ "$stderr" = "0 cells" ]
	run -0 --separate-stderr ctl import "$STORE" t --csv <<< row,d:x
	[ "$stderr" = "0 cells" ]
	says 3 "the input is empty" import "$STORE" t --jsonl <<< ''
}

@test "a line of a store that refuses: the one whose cell it is" {
	ctl alter "$STORE" t d:max_value=5
	printf 'row,d:x,d:y\n1,a,b\n2,c,"d\n"\n3,e,123456\n' > "$T/f.csv"
	says 3 "f.csv:5: a value of 6 bytes" import "$STORE" t "$T/f.csv" --csv
	[ "$(rows)" = "1 2 " ]
}

@test "two formats exclude each other" {
	says 2 "--csv and --tsv exclude each other" export "$STORE" t --csv --tsv
	says 2 "--jsonl and --csv exclude each other" import "$STORE" t --jsonl --csv
	ctl export "$STORE" t --csv --csv
}

@test "many rows and columns: batches, and a head that is too long" {
	seq 30000 | awk 'BEGIN { print "row,d:n,d:text" } { printf "%06d,%d,%0100d\n", $1, $1, $1 }' > "$T/f.csv"
	take x --csv < "$T/f.csv"
	give x --csv | cmp - "$T/f.csv"
	seq 5000 | sed 's/.*/{"row":"r","d:&":"v"}/' | take y --jsonl
	[ "$(give y --jsonl | jq length)" = 5001 ]
	says 3 "--jsonl takes any number" export "$STORE" y --csv
	give y --csv --columns d:1,d:5000 | grep -qx 'r,v,v'
}

@test "a record of more than 64 MiB is refused, whatever form it has" {
	local form
	head -c 67108865 /dev/zero | tr '\0' x > "$T/value"
	(echo row && cat "$T/value") > "$T/f"
	for form in csv tsv; do
		says 3 "$T/f:2: the record has more than 67108864 bytes" import \
			"$STORE" t "--$form" "$T/f"
	done
	says 3 "standard input:1: the line is over 67108864 bytes" import "$STORE" t \
		--jsonl < <(printf '{"row":"'; cat "$T/value"; echo '"}')
	[ -z "$(ctl scan "$STORE" t)" ]
}

@test "a record in whose midst a file cannot be read is not taken" {
	(echo row,d:x && seq -f '%04g,0123456789abcdef' 1000) > "$T/f.csv"
	ASAN_OPTIONS=detect_leaks=0 run -3 strace -qq -o "$T/trace" -P "$T/f.csv" \
		-e trace=read -e inject=read:error=EIO:when=2 \
		"$CELLCTL" import "$STORE" t "$T/f.csv" --csv
	grep -q INJECTED "$T/trace"
	[[ $output == *"the input cannot be read: "* ]]
	# What came before is in the table, and each value whole.
	[ "$(ctl scan "$STORE" t | cut -f 4 | sort -u)" = 0123456789abcdef ]
}

@test "through a mount, too" {
	mount_store
	printf 'row,d:x\n1,a\n' | ctl import "$M" t --csv
	[ "$(cat "$M/t/1/d:x")" = a ]
	[ "$(ctl export "$M" t --jsonl)" = '{"row":"1","d:x":"a"}' ]
	unmount_store
}
