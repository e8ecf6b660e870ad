load cellctl

# Three versions of t/r/d:a, one of d:b and e:c.
a_row() {
	ctl put "$STORE" t r d:a one 100
	ctl put "$STORE" t r d:a two 200
	ctl put "$STORE" t r d:a three 300
	ctl put "$STORE" t r d:b bee 150
	ctl put "$STORE" t r e:c sea 250
}

@test "put and get: the newest version of each column" {
	a_row
	is "r d:a 300 three r d:b 150 bee r e:c 250 sea" ctl get "$STORE" t r
	is "r d:a 300 three" ctl get "$STORE" t r d:a
	is "r d:b 150 bee r e:c 250 sea" ctl get "$STORE" t r d:b e
	is "r e:c 250 sea" ctl get "$STORE" t r --columns e
	is "r d:b 150 bee r e:c 250 sea" ctl get "$STORE" t r --columns e,d:b
}

@test "get: versions, times, values" {
	a_row
	is "r d:a 300 three r d:a 200 two" ctl get "$STORE" t r d:a -n 2
	[ "$(ctl get "$STORE" t r d:a --versions all | wc -l)" -eq 3 ]
	[ "$(ctl get -n ALL "$STORE" t r d:a | wc -l)" -eq 3 ]
	is "r d:a 200 two" ctl get "$STORE" t r d:a --timerange 100..300
	is "r d:a 200 two" ctl get "$STORE" t r d:a --timerange 100,300
	is "r d:a 300 three" ctl get "$STORE" t r d:a -t 200..
	is "r d:a 100 one" ctl get "$STORE" t r d:a -t ..200
	is "r d:a 200 two" ctl get "$STORE" t r d:a --timestamp 200
	is "r d:a 200 two" ctl get "$STORE" t r d:a --asof 299
	is "r d:a 200 two" ctl get -a 200 "$STORE" t r d:a
	[ "$(ctl get "$STORE" t r d:a -v)" = three ]
	[ "$(ctl get -v -n 2 "$STORE" t r d:a)" = threetwo ]
}

@test "get: nothing is exit 1 and silence" {
	a_row
	run -1 ctl get "$STORE" t nix
	[ -z "$output" ]
	run -1 ctl get "$STORE" t r d:nix
	run -1 ctl get "$STORE" t r d:a --timestamp 7
	run -1 ctl get "$STORE" t r --filter "PrefixFilter('x')"
}

@test "get: a filter and limits of a family" {
	a_row
	is "r d:b 150 bee" ctl get "$STORE" t r \
		--filter "QualifierFilter(=,'binary:b')"
	is "r d:a 300 three r e:c 250 sea" ctl get "$STORE" t r --storelimit 1
	is "r d:b 150 bee" ctl get "$STORE" t r --storeoffset 1
}

@test "put: the value from standard input, with any bytes" {
	head -c 70000 /dev/urandom > "$T/bytes"
	ctl put "$STORE" t r d:a < "$T/bytes"
	ctl get "$STORE" t r d:a --values | cmp - "$T/bytes"
	printf '' | ctl put "$STORE" t r d:empty
	[ -z "$(ctl get "$STORE" t r d:empty -v)" ]
	ctl put "$STORE" t r d:minus -- -x
	[ "$(ctl get "$STORE" t r d:minus -v)" = -x ]
}

@test "put: --timestamp and --ttl" {
	ctl put "$STORE" t r d:a x --timestamp 77
	is "r d:a 77 x" ctl get "$STORE" t r d:a
	ctl put "$STORE" t r d:b y --ttl 1d
	[ "$(ctl get "$STORE" t r d:b --json | jq .ttl)" = 86400000 ]
	ctl put "$STORE" t r d:c y --ttl 250
	[ "$(ctl scan "$STORE" t --raw --columns d --json |
		jq 'select(.qualifier == "c").ttl')" = 250 ]
	ctl put "$STORE" t r d:old gone 1000 --ttl 90s
	run -1 ctl get "$STORE" t r d:old
	says 2 "is no time such as" put "$STORE" t r d:a x --ttl soon
}

@test "incr, append and cas: --timestamp and --ttl" {
	local life=(--ttl 400000d)

	ctl incr "$STORE" t r d:n 5 --timestamp 77 "${life[@]}"
	ctl append "$STORE" t r d:a x --timestamp 78 "${life[@]}"
	ctl cas "$STORE" t r d:s --null y --timestamp 79 "${life[@]}"
	[ "$(ctl get "$STORE" t r --json |
		jq -r '[.qualifier, .timestamp, .ttl] | join(" ")' | sort)" = \
		"a 78 34560000000000
n 77 34560000000000
s 79 34560000000000" ]
}

@test "put: a family comes with its first cell in an open table only" {
	ctl create "$STORE" open
	ctl put "$STORE" open r new:q x
	[ "$(ctl get "$STORE" open r -v)" = x ]
	says 3 "table t has no family 'new'" put "$STORE" t r new:q x
	[[ $stderr == *"alter $STORE t new"* ]]
}

@test "names have every byte, in and out" {
	ctl put "$STORE" t '%00%FFr/%25' 'd:%0A%C3%28' x 5
	ctl put "$STORE" t .dot d: empty 5
	[ "$(cells)" = "%00%FFr/%25/d:%0A%C3(@5=x %2Edot/d:%@5=empty " ]
	is '%00%FFr/%25 d:%0A%C3( 5 x' ctl get "$STORE" t '%00%FFr%2F%25' \
		'd:%0A%C3('
	is '%2Edot d:% 5 empty' ctl get "$STORE" t %2Edot d:%
	run -1 ctl get "$STORE" t .dot d:x
	local long
	long=$(printf 'x%.0s' $(seq 1000))
	ctl put "$STORE" t "$long" d:q long 5
	is "$long d:q 5 long" ctl get "$STORE" t "$long"
}

@test "delete: one version, the newest version" {
	a_row
	ctl delete "$STORE" t r d:a 200
	[ "$(cells -n all --columns d:a)" = "r/d:a@300=three r/d:a@100=one " ]
	ctl delete "$STORE" t r d:a
	[ "$(cells --columns d:a)" = "r/d:a@100=one " ]
	ctl delete "$STORE" t r d:a --timestamp 100
	[ "$(cells)" = "r/d:b@150=bee r/e:c@250=sea " ]
}

@test "delete: of a family the versions of one time" {
	a_row
	ctl put "$STORE" t r d:b too 300
	ctl delete "$STORE" t r d 300
	[ "$(cells)" = "r/d:a@200=two r/d:b@150=bee r/e:c@250=sea " ]
	says 2 "'d' is a family" delete "$STORE" t r d
	says 2 "cellctl deleteall" delete "$STORE" t r
}

@test "deleteall: a column, a family, a row" {
	a_row
	ctl deleteall "$STORE" t r d:a
	[ "$(cells)" = "r/d:b@150=bee r/e:c@250=sea " ]
	ctl deleteall "$STORE" t r d
	[ "$(cells)" = "r/e:c@250=sea " ]
	ctl deleteall "$STORE" t r
	[ -z "$(cells)" ]
	a_row
	ctl delete --all "$STORE" t r
	[ -z "$(cells)" ]
}

@test "deleteall: up to a timestamp" {
	a_row
	ctl deleteall "$STORE" t r d:a 200
	[ "$(cells -n all --columns d:a)" = "r/d:a@300=three " ]
	ctl deleteall "$STORE" t r d 150
	[ "$(cells)" = "r/d:a@300=three r/e:c@250=sea " ]
	ctl deleteall "$STORE" t r --timestamp 299
	[ "$(cells)" = "r/d:a@300=three " ]
	ctl delete --all "$STORE" t r d 300
	[ -z "$(cells)" ]
}

@test "incr and get_counter" {
	is 1 ctl incr "$STORE" t r d:n
	is 6 ctl incr "$STORE" t r d:n 5
	is -4 ctl incr "$STORE" t r d:n -10
	is -4 ctl get_counter "$STORE" t r d:n
	run -1 ctl get_counter "$STORE" t r d:none
	ctl put "$STORE" t r d:text abc
	says 3 "8" incr "$STORE" t r d:text
	says 3 "a counter has 8" get_counter "$STORE" t r d:text
	says 2 "no number" incr "$STORE" t r d:n x
	says 2 "no number" incr "$STORE" t r d:n 9223372036854775808
	[ "$(ctl incr "$STORE" t r d:n --json | jq -c '[.row,.counter]')" = \
		'["r",-3]' ]
	[ "$(ctl get_counter "$STORE" t r d:n --json | jq .counter)" = -3 ]
}

@test "append: prints the new cell" {
	[ "$(ctl append "$STORE" t r d:a one | cut -f 1,2,4)" = \
		"r${TAB}d:a${TAB}one" ]
	printf '\0two' | ctl append "$STORE" t r d:a > /dev/null
	[ "$(ctl get "$STORE" t r d:a | cut -f 4)" = one%00two ]
	[ "$(ctl append "$STORE" t r d:b x --json | jq -r .value)" = x ]
}

@test "cas: from what is expected to what is wanted" {
	ctl cas "$STORE" t r d:s --null open
	run -1 ctl cas "$STORE" t r d:s --null open
	ctl cas "$STORE" t r d:s open closed
	run -1 ctl cas "$STORE" t r d:s open closed
	[ "$(ctl get "$STORE" t r d:s -v)" = closed ]
	[ "$(ctl cas "$STORE" t r d:s closed x --json)" = '{"applied":true}' ]
	run -1 ctl cas "$STORE" t r d:s closed x --json
	[ "$output" = '{"applied":false}' ]
}

@test "cas: null is what is absent, and what is empty" {
	ctl put "$STORE" t r d:s ''
	ctl cas "$STORE" t r d:s --null x
	run -1 ctl cas "$STORE" t r d:s '' y
	ctl cas "$STORE" t r d:s --op '!=' --null y
	run -1 ctl cas "$STORE" t r d:none --op NOT_EQUAL --null y
	[ "$(ctl get "$STORE" t r d:s -v)" = y ]
}

@test "cas: every operator, EXPECTED on its left" {
	local op
	# What is expected, and which of = != < <= > >= hold for the cell m.
	while read -r expected holds; do
		for op in = != '<' '<=' '>' '>='; do
			ctl put "$STORE" t r d:m m
			if [[ " $holds " == *" $op "* ]]; then
				ctl cas "$STORE" t r d:m --op "$op" "$expected" y
			else
				run -1 ctl cas "$STORE" t r d:m --op "$op" \
					"$expected" y
			fi
		done
	done <<-'EOF'
	m = <= >=
	a != < <=
	z != > >=
	EOF
	ctl put "$STORE" t r d:m m
	for op in EQUAL eq less_or_equal LE GREATER_OR_EQUAL ge; do
		ctl cas "$STORE" t r d:m --op "$op" m m
	done
	for op in NOT_EQUAL ne LESS lt greater GT; do
		run -1 ctl cas "$STORE" t r d:m --op "$op" m y
	done
}

@test "cas: presence and versions" {
	ctl cas "$STORE" t r d:a --op absent x --timestamp 100
	run -1 ctl cas "$STORE" t r d:a --op absent y
	ctl cas "$STORE" t r d:a --op present y --timestamp 200
	run -1 ctl cas "$STORE" t r d:b --op present y
	ctl cas "$STORE" t r d:a --op newest 200 z --put d:newest
	run -1 ctl cas "$STORE" t r d:a --op newest 100 z
	ctl cas "$STORE" t r d:a --op version 100 z --put d:version
	run -1 ctl cas "$STORE" t r d:a --op version 150 z
	ctl cas "$STORE" t r d:a --op no_version 150 z --put e:other
	run -1 ctl cas "$STORE" t r d:a --op no_version 100 z
	[ "$(ctl get "$STORE" t r e:other -v)" = z ]
}

@test "cas: puts and deletes as one act" {
	ctl put "$STORE" t r d:s old
	ctl put "$STORE" t r d:x gone
	ctl put "$STORE" t r e:y gone
	ctl cas "$STORE" t r d:s old new --delete d:x --delete e
	[ "$(ctl get "$STORE" t r -v)" = new ]
	ctl cas "$STORE" t r d:s new --delete d:s
	run -1 ctl get "$STORE" t r
	printf 'r\td:p\t5\tone\nr\td:q\t\t7\tincrement\n' |
		ctl cas "$STORE" t r d:s --null --cells
	[ "$(ctl get "$STORE" t r d:p -v)" = one ]
	is 7 ctl get_counter "$STORE" t r d:q
	says 2 "line 1 belongs to another row" cas "$STORE" t x d:s --null --cells \
		< <(printf 'r\td:p\t5\tone\n')
	says 2 "line 2 has no newline" cas "$STORE" t r d:s --null --cells \
		< <(printf 'r\td:p\t6\tone\nr\td:p\t7\tone')
	says 2 "nothing to do" cas "$STORE" t r d:s --null
	says 2 "EXPECTED is missing" cas "$STORE" t r d:s
	says 2 "a VALUE and --cells exclude each other" \
		cas "$STORE" t r d:s --null --cells x < <(printf 'r\td:p\t6\tone\n')
	says 2 "--put d:p wants a VALUE" cas "$STORE" t r d:s --null --put d:p --delete e
	says 2 "--null does not go with --op newest" \
		cas "$STORE" t r d:s --op newest --null x
	says 2 "did you mean less" cas "$STORE" t r d:s --op les a b
	says 2 "is too much" cas "$STORE" t r d:s --null a b
}

@test "import and export" {
	a_row
	ctl export "$STORE" t > "$T/cells"
	[ "$(grep -vc "^$TAB" "$T/cells")" -eq 5 ]
	ctl import "$STORE" copy --create < "$T/cells" 2> "$T/said"
	[ "$(cat "$T/said")" = "5 cells" ]
	ctl export "$STORE" copy | cmp - "$T/cells"
	says 3 "no table 'none'" import "$STORE" none < "$T/cells"
	says 3 "fewer" import "$STORE" t <<< nonsense
	[ "$(ctl export "$STORE" t --timerange 100..200 --columns d:b |
		grep -v "^$TAB")" = "r${TAB}d:b${TAB}150${TAB}bee" ]
	[ "$(ctl export "$STORE" t --json | jq -s 'map(select(.row)) | length')" \
		-eq 5 ]
}
