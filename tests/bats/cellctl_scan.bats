load cellctl

# Rows a, ab, b, c with d:q and d:r, versions 100 and 200 of d:q.
fill() {
	local r
	for r in a ab b c; do
		printf '%s\td:q\t100\told %s\n' "$r" "$r"
		printf '%s\td:q\t200\tnew %s\n' "$r" "$r"
		printf '%s\td:r\t150\tr %s\n' "$r" "$r"
		printf '%s\te:x\t50\tx\n' "$r"
	done | ctl import "$STORE" t 2> /dev/null
}

@test "a range of rows" {
	fill
	[ "$(rows)" = "a ab b c " ]
	[ "$(rows --startrow ab)" = "ab b c " ]
	[ "$(rows -s aa -e c)" = "ab b " ]
	[ "$(rows --stoprow b)" = "a ab " ]
	[ "$(rows --endrow b)" = "a ab " ]
	[ "$(rows -s b -e a)" = "" ]
	[ "$(rows --limit 2)" = "a ab " ]
}

@test "a prefix, with and without a start in it" {
	fill
	[ "$(rows --rowprefix a)" = "a ab " ]
	[ "$(rows -p a --startrow aa)" = "ab " ]
	[ "$(rows -p a -e ab)" = "a " ]
	[ "$(rows --rowprefixfilter b)" = "b " ]
	[ "$(rows -p a --reversed)" = "ab a " ]
	[ "$(rows -p a -r -s a)" = "a " ]
	[ "$(rows -p a -r -e a)" = "ab " ]
	ctl put "$STORE" t '%FF%FFz' d:q x
	[ "$(rows -p %FF%FF)" = "%FF%FFz " ]
	[ "$(rows -p %FF%FF -r)" = "%FF%FFz " ]
}

@test "reversed: from the greater row down, as in HBase" {
	fill
	[ "$(rows --reversed)" = "c b ab a " ]
	[ "$(rows -r --startrow b)" = "b ab a " ]
	[ "$(rows -r --startrow b --stoprow a)" = "b ab " ]
	[ "$(rows -r -l 1)" = "c " ]
	[ "$(cells -r -l 1)" = "c/d:q@200=new c c/d:r@150=r c c/e:x@50=x " ]
}

@test "columns, versions, times" {
	fill
	[ "$(cells -e ab --columns d:q)" = "a/d:q@200=new a " ]
	[ "$(cells -e ab -c d:r -c e)" = "a/d:r@150=r a a/e:x@50=x " ]
	[ "$(cells -e ab --columns d:r,e)" = "a/d:r@150=r a a/e:x@50=x " ]
	ctl put "$STORE" t a 'd:k,l' comma 9
	[ "$(cells --column 'd:k,l')" = "a/d:k,l@9=comma " ]
	[ "$(cells -e ab -c d:q -n 2)" = "a/d:q@200=new a a/d:q@100=old a " ]
	[ "$(cells -e ab -c d --timerange 100..200)" = \
		"a/d:q@100=old a a/d:r@150=r a " ]
	[ "$(cells -e ab --timestamp 100)" = "a/d:q@100=old a " ]
	[ "$(cells -e ab --asof 99 -c e)" = "a/e:x@50=x " ]
}

@test "raw shows markers" {
	ctl put "$STORE" t r d:q x 100
	ctl delete "$STORE" t r d:q 100
	[ -z "$(cells)" ]
	[ "$(cells --raw)" = "r/d:q@100=!delete r/d:q@100=x " ]
	[ "$(ctl scan "$STORE" t --raw --json | jq -r '.kind // "put"' |
		tr '\n' ' ')" = "delete put " ]
}

@test "a filter" {
	fill
	[ "$(cells --filter "PrefixFilter('a') AND ValueFilter(=,'substring:NEW')")" \
		= "a/d:q@200=new a ab/d:q@200=new ab " ]
	[ "$(rows --filter "RowFilter(>,'binary:ab')")" = "b c " ]
	[ "$(ctl count "$STORE" t --filter "ValueFilter(=,'binary:new b')")" = 1 ]
	[ "$(rows --filter "PageFilter(1)" -r)" = "c " ]
}

@test "a filter that is wrong: the place and the reason" {
	says 2 "at byte 17" scan "$STORE" t --filter "PrefixFilter('a'"
	says 2 "did you mean ValueFilter?" scan "$STORE" t \
		--filter "PrefixFilter('a') AND ValueFiler(=,'binary:a')"
	[[ $stderr == *"at byte 23"* ]]
	says 2 "no comparator" scan "$STORE" t --filter "ValueFilter(=,'binar:a')"
	[[ $stderr == *"the argument at byte 15"* ]]
	says 2 "does not take 2 arguments (at byte 2)" scan "$STORE" t \
		--filter "(PrefixFilter('a', 'b'))"
	says 2 "no AND or OR at byte 18" scan "$STORE" t \
		--filter "PrefixFilter('a')and PrefixFilter('b')"
	says 2 "there is one --filter" scan "$STORE" t \
		--filter "PageFilter(1)" --filter "PageFilter(2)"
}

@test "a pattern is Java's, and one that needs too many steps ends the scan" {
	local a
	fill
	[ "$(rows --filter "RowFilter(=,'regexstring:^a(?!b)')")" = "a " ]
	[ "$(cells --filter "ValueFilter(=,'regexstring:(?<=new )\\p{Lower}++$')" \
		--rowprefix ab)" = "ab/d:q@200=new ab " ]
	says 2 "a class within a class at byte 5" scan "$STORE" t \
		--filter "RowFilter(=,'regexstring:[a-z&&[^b]]')"
	printf -v a '%40s' ''
	ctl put "$STORE" t long d:q "${a// /a}!"
	says 3 "needs too many steps for a text of 41 bytes" \
		scan "$STORE" t -s long --filter "ValueFilter(=,'regexstring:(a+)+$')"
}

@test "limits of a family" {
	fill
	[ "$(cells -l 1 --storelimit 1)" = "a/d:q@200=new a a/e:x@50=x " ]
	[ "$(cells -l 1 --storeoffset 1)" = "a/d:r@150=r a " ]
	[ "$(rows --storeoffset 1)" = "a ab b c " ]
	[ "$(rows --storeoffset 2)" = "" ]
}

@test "rows and counts" {
	fill
	[ "$(ctl count "$STORE" t)" = 4 ]
	[ "$(ctl count "$STORE" t -p a)" = 2 ]
	[ "$(ctl count "$STORE" t --columns d:none)" = 0 ]
	[ "$(ctl count "$STORE" t --json)" = '{"rows":4}' ]
	[ "$(ctl scan "$STORE" t --rows --json -l 1)" = '{"row":"a"}' ]
}

@test "a scan of nothing is done" {
	run -0 ctl scan "$STORE" t
	[ -z "$output" ]
	run -0 ctl scan "$STORE" t --json
	[ -z "$output" ]
}

@test "JSON: an object a line, text as text, other bytes as base64" {
	printf 'a"\\\n\001\x7f' | ctl put "$STORE" t 'r%C3%A9' 'd:%00'
	printf '\xff\x00\xfe' | ctl put "$STORE" t '%FFr' 'd:%80'
	ctl scan "$STORE" t --json > "$T/json"
	[ "$(wc -l < "$T/json")" -eq 2 ]
	[ "$(jq -sr '.[0].row' "$T/json")" = ré ]
	[ "$(jq -sc '.[0].qualifier' "$T/json")" = '"\u0000"' ]
	jq -sj '.[0].value' "$T/json" | cmp - <(printf 'a"\\\n\001\x7f')
	[ "$(jq -sc '.[1] | [.row, .qualifier, .value]' "$T/json")" = \
		'[null,null,null]' ]
	jq -sr '.[1].row_base64' "$T/json" | base64 -d | cmp - <(printf '\xffr')
	jq -sr '.[1].qualifier_base64' "$T/json" | base64 -d |
		cmp - <(printf '\x80')
	jq -sr '.[1].value_base64' "$T/json" | base64 -d |
		cmp - <(printf '\xff\x00\xfe')
}

@test "JSON: base64 of every length" {
	local n
	for n in 1 2 3 4 5 6; do
		printf '\xff%.0s' $(seq $n) | ctl put "$STORE" t r "d:$n"
	done
	for n in 1 2 3 4 5 6; do
		ctl get "$STORE" t r "d:$n" --json | jq -r .value_base64 |
			base64 -d | cmp - <(printf '\xff%.0s' $(seq $n))
	done
}

@test "what is printed can be read again" {
	ctl put "$STORE" t 'a/b%0A' 'd:.q' 'v%' 5
	ctl scan "$STORE" t > "$T/cells"
	local row column
	IFS=$TAB read -r row column _ < "$T/cells"
	ctl get "$STORE" t "$row" "$column" | cmp - "$T/cells"
	[ "$(rows -s "$row" -e "$row%00")" = "$row " ]
}
