#!/usr/bin/env bats
# What people bring from HBase's shell: its words, options, types and escapes.

load cellctl

@test "types behind columns: numbers are shown as numbers" {
	printf '%s\n' 'row,s,i,l,f,d,b,t' 'r,-2,70000,-1,1.5,0.1,true,a\x00b' |
		ctl import "$STORE" t --csv --map s=d:s:toShort --map i=d:i:toInt \
			--map l=d:l:toLong --map f=d:f:toFloat --map d=d:d:toDouble \
			--map b=d:b:toBoolean --map t=d:t:toStringBinary 2>/dev/null
	is '%FF ?%B9%99%99%99%99%99%9A ?%C0%00%00 %00%01%11p' \
		eval 'ctl get "$STORE" t r d:b d:d d:f d:i | cut -f 4'
	is 'true 0.1 1.5 70000 -1 -2 a\x00b' \
		eval 'ctl get "$STORE" t r d:b:toBoolean d:d:toDouble d:f:toFloat d:i:toInt d:l:toLong d:s:toShort d:t:toStringBinary | cut -f 4'
	[ "$(ctl scan "$STORE" t --columns d:i:toInt --json | jq -r .value)" = 70000 ]
	says 3 "a value of 4 bytes is no toLong, which has 8" get "$STORE" t r d:i:toLong
	printf 'row,b\nr2,false\n' | ctl import "$STORE" t --csv --map b=d:b:toBoolean 2>/dev/null
	[ "$(ctl get "$STORE" t r2 d:b:toBoolean --values)" = false ]
	# Only behind a column: a qualifier may have that name.
	ctl put "$STORE" t r d:toInt x
	[ "$(ctl get "$STORE" t r d:toInt --values)" = x ]
}

@test "a number that its type has no room for is refused, however it is written" {
	local type number

	while read -r type number; do
		printf 'k,n\nr,1\nr,%s\n' "$number" >"$T/in"
		says 3 "in:3: '$number' is no $type" \
			import "$STORE" t --csv --key k --map "n=d:n:$type" "$T/in"
	done <<-'EOF'
		toShort 32768
		toInt -2147483649
		toLong 9223372036854775808
		toFloat 1e400
		toFloat -3.5e38
		toDouble 1e309
		toDouble -1e999999
	EOF
	# Of what is nearer to 0 than the least one 0 is left, and inf is a number.
	printf 'k,f,g,d\nr,3.4e38,1e-60,inf\n' |
		ctl import "$STORE" t --csv --key k --map f=d:f:toFloat \
			--map g=d:g:toFloat --map d=d:d:toDouble 2>"$T/said"
	is 'inf 3.4e+38 0' eval \
		'ctl get "$STORE" t r d:d:toDouble d:f:toFloat d:g:toFloat | cut -f 4'
}

@test "a colon in a qualifier is a part of it, and a type only for who reads" {
	ctl put "$STORE" t r d:a w
	ctl put "$STORE" t r d:a:b v
	ctl put "$STORE" t r d:a:toInt i
	ctl append "$STORE" t r d:a:b:c x >/dev/null
	ctl incr "$STORE" t r d:n:m 7
	is 'd:a d:a:b d:a:b:c d:a:toInt d:n:m' eval 'ctl scan "$STORE" t | cut -f 2'
	[ "$(ctl get "$STORE" t r d:a:b --values)" = v ]
	[ "$(ctl scan "$STORE" t --columns d:a:b:c | cut -f 2,4)" = "d:a:b:c${TAB}x" ]
	[ "$(ctl get "$STORE" t r d:n:m:toLong --values)" = 7 ]
	[ "$(ctl get "$STORE" t r d:a%3AtoInt --values)" = i ]
	[ "$(ctl get_counter "$STORE" t r d:n:m)" = 7 ]
	run -1 ctl get "$STORE" t r d:a:none
	run ! ctl cas "$STORE" t r d:a:b w new
	ctl cas "$STORE" t r d:a:b v new
	ctl delete "$STORE" t r d:a:toInt
	ctl deleteall "$STORE" t r d:a:b
	is 'd:a d:a:b:c d:n:m' eval 'ctl scan "$STORE" t | cut -f 2'
	printf 'k,v\nr2,1\n' | ctl import "$STORE" t --csv --key k --map v=d:x:y 2>/dev/null
	[ "$(ctl get "$STORE" t r2 | cut -f 2)" = d:x:y ]
}

@test "maxlength cuts values, and no character" {
	ctl put "$STORE" t r d:x 'aé€b'
	[ "$(ctl get "$STORE" t r --values --maxlength 5)" = aé ]
	[ "$(ctl scan "$STORE" t "MAXLENGTH => 6" | cut -f 4)" = aé€ ]
	[ "$(ctl scan "$STORE" t --maxlength 7 | cut -f 4)" = aé€b ]
	# The first one too; and bytes that are none are cut as it is said.
	ctl put "$STORE" t r d:x '€'
	[ -z "$(ctl get "$STORE" t r --values --maxlength 2)" ]
	printf '\200\200\200\200' | ctl put "$STORE" t r d:x
	[ "$(ctl get "$STORE" t r --values --maxlength 3 | wc -c)" -eq 3 ]
}

@test "count says where it is" {
	seq 5 | sed "s/.*/r&${TAB}d:x${TAB}${TAB}v/" | ctl import "$STORE" t 2>/dev/null
	run --separate-stderr "$CELLCTL" count "$STORE" t "INTERVAL => 2"
	[ "$output" = 5 ]
	[ "$stderr" = $'2 rows, at r2\n4 rows, at r4' ]
}

@test "options in capitals: true and false are keys, too, but for what is on or off" {
	local i
	for i in a false true z; do
		ctl put "$STORE" t $i d:x $i 5
	done
	is "false d:x 5 false true d:x 5 true z d:x 5 z" ctl scan "$STORE" t "{STARTROW => 'false'}"
	is "a d:x 5 a false d:x 5 false" ctl scan "$STORE" t "{STOPROW => 'true'}"
	is "true d:x 5 true" ctl scan "$STORE" t "{STARTROW => 'true', LIMIT => 1}"
	is "false d:x 5 false" ctl scan "$STORE" t "{ROWPREFIXFILTER => 'false'}"
	is "z d:x 5 z" ctl scan "$STORE" t "{REVERSED => TRUE, RAW => FALSE, LIMIT => 1}"
	says 2 "takes no value" scan "$STORE" t "{REVERSED => 1}"
	says 2 "TIMERANGE is two times" scan "$STORE" t "{TIMERANGE => [5], LIMIT => 1}"
}

@test "options in capitals, with and without brackets" {
	local i
	for i in a b c d; do
		ctl put "$STORE" t $i d:x 1$i 5
		ctl put "$STORE" t $i d:x 2$i 6
		ctl put "$STORE" t $i e:y 3$i
	done
	is "b d:x 6 2b" ctl scan "$STORE" t "{LIMIT => 1, COLUMNS => ['d:x', 'd:z'], STARTROW => 'b', CACHE => 100}"
	is "c d:x 6 2c c d:x 5 1c b d:x 6 2b b d:x 5 1b" ctl scan "$STORE" t \
		"{REVERSED => true, RAW => false, VERSIONS => 2, COLUMN => 'd', STARTROW => 'c', STOPROW => 'a'}"
	is "a d:x 5 1a" ctl get "$STORE" t a "{TIMERANGE => [5, 6], COLUMN => \"d:x\"}"
	is "d d:x 6 2d" ctl scan "$STORE" t "ROWPREFIXFILTER => 'd'" "FILTER => \"ValueFilter(=, 'substring:2')\""
	# What only says how servers go about it.
	is "d d:x 6 2d" ctl scan "$STORE" t "{STARTROW => 'd', COLUMN => 'd', BATCH => 2,
		CACHE_BLOCKS => false, CONSISTENCY => 'TIMELINE', METRICS => ['A', 'B'],
		ALL_METRICS => true, READ_TYPE => 'PREAD', REGION_REPLICA_ID => 1,
		ISOLATION_LEVEL => 'READ_UNCOMMITTED', ALLOW_PARTIAL_RESULTS => true}"
	says 2 "did you mean --limit?" scan "$STORE" t "{LIMITS => 1}"
	says 2 "does not end" scan "$STORE" t "{LIMIT => 'x"
	# A value is never one.
	ctl put "$STORE" t v d:x "{LIMIT => 1}"
	[ "$(ctl get "$STORE" t v --values)" = "{LIMIT => 1}" ]
	# Nor is what stands behind --.
	ctl put "$STORE" t "LIMIT => 1" d:x row
	[ "$(ctl get "$STORE" t --values -- "LIMIT => 1")" = row ]
}

@test "escapes: bytes as the shell writes them, and a warning without" {
	ctl --hbase-escapes put "$STORE" t 'r\x00\xFF' 'd:\x41\x09%41' '\x01v'
	is 'r%00%FF d:A%09%2541 %01v' eval 'ctl scan "$STORE" t | cut -f 1,2,4'
	[ "$(ctl --hbase-escapes get "$STORE" t 'r\x00\xFF' --values | od -An -tx1)" = " 01 76" ]
	ctl --hbase-escapes cas "$STORE" t 'r\x00\xff' 'd:\x41\x09%41' '\x01v' new
	[ "$(ctl --hbase-escapes scan "$STORE" t --startrow 'r\x00' --stoprow 's' --rows)" = 'r%00%FF' ]
	run --separate-stderr "$CELLCTL" put "$STORE" t 'r\x00' d:x 'v\x00'
	[ "$status" -eq 0 ]
	[[ $stderr == *"warning: \\xHH in 'r\\x00' is taken as it is"*--hbase-escapes* ]]
	[ "$(wc -l <<< "$stderr")" -eq 1 ]
	is 'r\x00 d:x v\x00' eval 'ctl get "$STORE" t "r\x00" 2>/dev/null | cut -f 1,2,4'
}

@test "words: namespaces, snapshots of a table, and tables that are always enabled" {
	ctl create_namespace "$STORE" web
	ctl create "$STORE" web:a
	ctl create "$STORE" web:b
	is "namespace web tables 2" ctl describe_namespace "$STORE" web
	[ "$(ctl describe_namespace "$STORE" default --json)" = '{"namespace":"default","tables":1}' ]
	says 3 "no namespace web2" describe_namespace "$STORE" web2
	ctl snapshot "$STORE" -t t take one
	ctl list_table_snapshots "$STORE" t | cmp - <(ctl snapshot "$STORE" -t t)
	[ "$(ctl list_table_snapshots "$STORE" t | cut -f 1)" = one ]
	ctl list_snapshots "$STORE"
	ctl snapshot "$STORE" t two
	is "one two" eval 'ctl list_table_snapshots "$STORE" t | cut -f 1'
	says 3 "absent" snapshot "$STORE" absent three
	says 2 "snapshot has no verb 't'" snapshot "$STORE" t two three
	ctl snapshot "$STORE" -t t drop two
	ctl disable "$STORE" t 2> "$T/said"
	ctl enable "$STORE" t 2>> "$T/said"
	grep -c "note: t is enabled" "$T/said" | grep -qx 2
	says 3 "" disable "$STORE" none
	ctl is_enabled "$STORE" t
	[ "$(ctl is_enabled "$STORE" t --json)" = '{"enabled":true}' ]
	says 3 "none" is_enabled "$STORE" none
	ctl snapshot "$STORE" -t t drop one
	ctl put "$STORE" t r d:x v
	ctl truncate_preserve "$STORE" t
	[ -z "$(rows)" ]
}

@test "words: a snapshot is found by its name alone, and -t chooses among tables" {
	ctl put "$STORE" t r d:x one
	ctl snapshot -t t "$STORE" take s
	ctl put "$STORE" t r d:x two
	ctl clone_snapshot "$STORE" s n
	[ "$(ctl get "$STORE" n r d:x --values)" = one ]
	says 2 "" clone_snapshot "$STORE" s
	says 3 "no table has the snapshot gone" restore_snapshot "$STORE" gone
	ctl snapshot -t n "$STORE" take s
	says 2 "tables n and t have a snapshot of that name: choose with -t" restore_snapshot "$STORE" s
	says 2 "choose with -t" delete_snapshot "$STORE" s
	ctl restore_snapshot -t t "$STORE" s
	[ "$(ctl get "$STORE" t r d:x --values)" = one ]
	ctl delete_snapshot "$STORE" s -t n
	ctl delete_snapshot "$STORE" s
	[ -z "$(ctl list_table_snapshots "$STORE" t)$(ctl list_table_snapshots "$STORE" n)" ]
}

@test "words: snapshots are dropped by a pattern, of a table and of all" {
	local i

	ctl create "$STORE" u
	for i in a1 a2 b1; do
		ctl snapshot "$STORE" -t t take $i
		ctl snapshot "$STORE" -t u take $i
	done
	ctl snapshot "$STORE" take a1
	is "" ctl delete_table_snapshots "$STORE" t '1|a'
	[ "$(ctl delete_table_snapshots "$STORE" t 'a.')" = $'a1\na2' ]
	[ "$(ctl list_table_snapshots "$STORE" t | cut -f 1)" = b1 ]
	[ "$(ctl delete_all_snapshot "$STORE" '.1')" = $'b1\na1\nb1' ]
	[ "$(ctl delete_table_snapshots "$STORE" u)" = a2 ]
	[ "$(ctl snapshot "$STORE" | cut -f 1)" = a1 ]
	says 2 "no regular expression" delete_all_snapshot "$STORE" '('
}

@test "a class that converts values is told of" {
	says 1 "no class of HBase's converts values here" get "$STORE" t r \
		'd:age:c(org.apache.hadoop.hbase.util.Bytes).toInt'
}

@test "words: tables of a namespace, a schema anew, a pattern to drop" {
	ctl create_namespace "$STORE" web
	ctl create_namespace "$STORE" web2
	ctl create "$STORE" web:a d:versions=7 quota=5MiB
	ctl create "$STORE" web2:c
	ctl clone_table_schema "$STORE" web:a web:b
	cmp <(ctl describe "$STORE" web:a) <(ctl describe "$STORE" web:b)
	says 3 "web:b" clone_table_schema "$STORE" web:a web:b
	is "web:a web:b" ctl list_namespace_tables "$STORE" web
	is t ctl list_namespace_tables "$STORE" default
	[ "$(ctl list_namespace_tables "$STORE" web2 --json)" = '{"table":"web2:c"}' ]
	says 3 "no namespace we" list_namespace_tables "$STORE" we
	# Names match wholly: not at their end, nor at their beginning.
	is "" ctl drop_all "$STORE" a --force
	is "" ctl drop_all "$STORE" web --force
	ctl put "$STORE" web:b r d:x v
	run --separate-stderr -3 "$CELLCTL" drop_all "$STORE" 'web:.*'
	[ "$output" = web:a ]
	[[ $stderr == *"with --force its rows are dropped as well"* ]]
	is "t web2:c web:b" ctl tables "$STORE"
	[ "$(ctl drop_all "$STORE" 'web.?:[bc]' --force)" = $'web2:c\nweb:b' ]
	is t ctl tables "$STORE"
	ctl create "$STORE" t2
	ctl disable_all "$STORE" 't.*' 2> "$T/said"
	ctl enable_all "$STORE" 't.' 2>> "$T/said"
	[ "$(grep -o 'note: t2* is' "$T/said" | tr -d '\n')" = "note: t isnote: t2 isnote: t2 is" ]
	ctl alter_async "$STORE" t d:versions=9
	ctl describe "$STORE" t | grep -qx '.versions 9'
	run "$CELLCTL" is_disabled "$STORE" t
	[ "$status" -eq 1 ]
	[ "$(ctl is_disabled "$STORE" t --json || true)" = '{"disabled":false}' ]
	says 3 "none" is_disabled "$STORE" none
	cmp <(ctl version) <(ctl --version)
}
