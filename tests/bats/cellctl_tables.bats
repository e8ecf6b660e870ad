load cellctl

# attr FAMILY NAME: as describe --json has it; attr_of TABLE FAMILY NAME.
attr() {
	attr_of t "$@"
}

attr_of() {
	ctl describe "$STORE" "$1" --json |
		jq -r --arg f "$2" --arg a "$3" '.family[] |
			select(.name == $f)[$a]'
}

families() {
	ctl describe "$STORE" "${1:-t}" --json | jq -r '.family[].name' |
		tr '\n' ' '
}

@test "create: families with attributes" {
	ctl create "$STORE" x a:versions=7,ttl=90s,bloom=none b \
		c:versions=all,ttl=forever
	[ "$(families x)" = "a b c " ]
	[ "$(ctl describe "$STORE" x --json | jq -c '.families,
		[.family[] | .versions, .ttl, .bloom]')" = '"fixed"
[7,90000,"none",3,"forever","row","all","forever","row"]' ]
	ctl create "$STORE" open
	[ "$(ctl describe "$STORE" open --json | jq -r .families)" = open ]
}

@test "create: HBase's names for attributes, in any case" {
	ctl create "$STORE" x f:VERSIONS=5,Min_Versions=2,TTL=3600 \
		g:KEEP_DELETED_CELLS=TRUE,NEW_VERSION_BEHAVIOR=false \
		h:COMPRESSION=GZ,BLOOMFILTER=ROWCOL,BLOCKSIZE=65536 \
		i:BLOCKCACHE=FALSE,IN_MEMORY=TRUE,TTL=2147483647 \
		j:KEEP_DELETED_CELLS=TTL,ttl=FOREVER
	[ "$(ctl describe "$STORE" x | grep -vE '^(uid|gid)')" = "$(
		ctl create "$STORE" y f:versions=5,min_versions=2,ttl=1h \
			g:keep_deleted=yes,new_version_behavior=no \
			h:compression=zlib,bloom=rowcol,block_size=64KiB \
			i:block_cache=no,in_memory=yes,ttl=forever \
			j:keep_deleted=ttl,ttl=forever
		ctl describe "$STORE" y | grep -vE '^(uid|gid)')" ]
}

@test "create and alter: a ttl in words is what it says, or refused" {
	local text

	ctl create "$STORE" x f:ttl=7d
	while IFS='|' read -r text ms; do
		ctl alter "$STORE" x "{NAME => 'f', TTL => '$text'}"
		[ "$(attr_of x f ttl)" = "$ms" ]
		ctl alter "$STORE" x "f:ttl=$text"
		[ "$(attr_of x f ttl)" = "$ms" ]
	done <<-'END'
		1 DAY 2 HOURS|93600000
		7 days|604800000
		1 day|86400000
		3 MINUTES 1 SECOND|181000
		93784 SECONDS (1 DAY 2 HOURS 3 MINUTES 4 SECONDS)|93784000
		93784 seconds|93784000
		60|60000
	END
	for text in '1 d' '7 dayz' '2 HOURS 1 DAY' '1 DAY 1 DAY' '1 DAY x' \
		'5 B' '60 ' '99999999999 DAYS' '3 4 5' '1 DAYS5 HOURS'; do
		says 2 "not '$text" alter "$STORE" x "f:ttl=$text"
	done
	says 2 "versions is a number from 1 on" alter "$STORE" x "f:versions=3 or 4"
	[ "$(attr_of x f ttl) $(attr_of x f versions)" = "60000 3" ]
}

@test "create: codecs that HBase has besides become zlib, with a note" {
	local codec

	for codec in SNAPPY LZ4 ZSTD LZO BZIP2; do
		ctl create "$STORE" "$codec" "f:COMPRESSION=$codec" 2>"$T/said"
		[ "$(attr_of "$codec" f compression)" = zlib ]
		[ "$(cat "$T/said")" = "cellctl: note: family f: COMPRESSION $codec becomes zlib" ]
	done
}

# What HBase 2.5 prints of a table.
hbase_describe() {
	cat <<-'END'
		Table web:pages is ENABLED
		web:pages, {TABLE_ATTRIBUTES => {MAX_FILESIZE => '1073741824 B (1GB)', METADATA => {'hbase.store.file-tracker.impl' => 'DEFAULT'}}}
		COLUMN FAMILIES DESCRIPTION
		{NAME => 'a', INDEX_BLOCK_ENCODING => 'NONE', VERSIONS => '5', KEEP_DELETED_CELLS => 'TTL', DATA_BLOCK_ENCODING => 'FAST_DIFF', TTL => '7776000 SECONDS (90 DAYS)', MIN_VERSIONS => '2', REPLICATION_SCOPE => '0', BLOOMFILTER => 'ROWCOL', IN_MEMORY => 'true', COMPRESSION => 'SNAPPY', BLOCKCACHE => 'false', BLOCKSIZE => '65536 B (64KB)'}

		{NAME => 'b', VERSIONS => '2147483647', TTL => 'FOREVER', NEW_VERSION_BEHAVIOR => 'false',
		 COMPRESSION => 'NONE', METADATA => {'x' => 'a b'}}

		2 row(s)
		Quota is disabled
		Took 0.0451 seconds
	END
}

@test "create and alter: what HBase's describe prints, and its shell takes" {
	hbase_describe > "$T/text"
	ctl create "$STORE" x --schema "$T/text" 2> "$T/notes"
	ctl create "$STORE" y \
		a:versions=5,keep_deleted=ttl,ttl=90d,min_versions=2,bloom=rowcol \
		a2 b:versions=all,new_version_behavior=no
	ctl alter "$STORE" y --delete a2 a:in_memory=yes,compression=zlib,block_cache=no,block_size=64KiB
	cmp <(ctl describe "$STORE" x) <(ctl describe "$STORE" y)
	grep -qx "cellctl: note: family a: COMPRESSION SNAPPY becomes zlib" "$T/notes"
	grep -q "family a: DATA_BLOCK_ENCODING FAST_DIFF is left out" "$T/notes"
	grep -q "family b: METADATA .* is left out" "$T/notes"
	grep -q "note: MAX_FILESIZE 1073741824 B (1GB) of the table is left out" "$T/notes"
	[ "$(wc -l < "$T/notes")" -eq 4 ]
	# alter changes what is named, and nothing else.
	ctl alter "$STORE" x "{NAME => 'b', VERSIONS => 4}" '{NAME=>"c",COMPRESSION=>"zstd"}' 2>/dev/null
	[ "$(attr_of x b versions) $(attr_of x c compression) $(attr_of x a versions)" = "4 zlib 5" ]
	ctl alter "$STORE" x "{NAME => 'c', METHOD => 'delete'}"
	ctl alter "$STORE" x "NAME => 'c', VERSIONS => 7" "{NAME => 'd'}, {NAME => 'e', TTL => 60},"
	[ "$(attr_of x c versions) $(attr_of x d versions) $(attr_of x e ttl)" = "7 3 60000" ]
	ctl alter "$STORE" x "NAME => 'c', METHOD => 'delete'" --delete d --delete e
	ctl alter "$STORE" x < "$T/text" 2>/dev/null
	cmp <(ctl describe "$STORE" x) <(ctl describe "$STORE" y)
	says 2 "there is no attribute 'encryption'" create "$STORE" z "{NAME => 'a', ENCRYPTION => 'AES'}"
	says 2 "has no NAME" create "$STORE" z '{VERSIONS => 1}'
	says 2 "is expected" create "$STORE" z "{NAME => 'a' VERSIONS => 1}"
	says 2 "does not end" create "$STORE" z "{NAME => 'a}"
	says 2 "is too much" create "$STORE" z "{NAME => 'a'} b"
}

@test "create: a schema from a file" {
	ctl describe "$STORE" t > "$T/schema"
	ctl create "$STORE" x --schema "$T/schema"
	ctl describe "$STORE" x | cmp - "$T/schema"
	ctl create "$STORE" y --schema - < "$T/schema"
	ctl describe "$STORE" y | cmp - "$T/schema"
	ctl create "$STORE" z --schema "$T/schema" more
	[ "$(families z)" = "d e more " ]
	says 2 "'d' exists already" create "$STORE" v --schema "$T/schema" d
	says 3 "No such file" create "$STORE" w --schema "$T/none"
	says 3 "schema line 1" create "$STORE" w --schema - <<< nonsense
}

@test "create: what is wrong is said, and nothing is made" {
	says 3 "table t exists" create "$STORE" t
	[[ $stderr == *"to change it: cellctl alter $STORE t"* ]]
	says 2 "did you mean versions?" create "$STORE" x a:version=3
	says 2 "versions is a number" create "$STORE" x a:versions=many
	says 2 "ttl is a time" create "$STORE" x a:ttl=soon
	says 2 "min_versions 4 is more" create "$STORE" x a:min_versions=4
	says 2 "no FAMILY:ATTRIBUTE=VALUE" create "$STORE" x a:versions
	says 2 "exists already" create "$STORE" x a a
	says 2 "family name" create "$STORE" x a/b
	says 3 "table name" create "$STORE" bad/name
	says 2 "versions is a number" create "$T/none" x a:versions=many
	[ ! -e "$T/none" ]
	[ "$(ctl tables "$STORE")" = t ]
}

@test "create: a store with its first table" {
	ctl create "$T/new" x
	[ "$(ctl tables "$T/new")" = x ]
}

@test "namespaces" {
	[ "$(ctl list_namespace "$STORE" | tr '\n' ' ')" = "default hbase " ]
	says 3 "there is no namespace 'ns'" create "$STORE" ns:x
	[[ $stderr == *"cellctl create_namespace $STORE ns"* ]]
	ctl create_namespace "$STORE" ns
	says 3 "exists" create_namespace "$STORE" ns
	ctl create "$STORE" ns:x f
	[ "$(ctl list_namespace "$STORE" | tr '\n' ' ')" = "default hbase ns " ]
	[ "$(ctl list_namespace "$STORE" 'n.*' --json)" = '{"namespace":"ns"}' ]
	ctl put "$STORE" ns:x r f:q v
	[ "$(ctl get "$STORE" ns:x r -v)" = v ]
	says 3 "has tables" drop_namespace "$STORE" ns
	ctl drop "$STORE" ns:x --force
	ctl drop_namespace "$STORE" ns
	says 3 "there is no namespace" drop_namespace "$STORE" ns
	says 3 "cannot be dropped" drop_namespace "$STORE" default
	says 3 "cellctl create_namespace" scan "$STORE" ns:x
}

@test "tables, list and exists" {
	ctl create "$STORE" table2
	ctl create_namespace "$STORE" ns
	ctl create "$STORE" ns:x
	is "ns:x t table2" ctl tables "$STORE"
	is "ns:x t table2" ctl list "$STORE"
	is "t table2" ctl list "$STORE" 't.*'
	is "ns:x t" ctl list "$STORE" 't|ns:.*'
	is "" ctl list "$STORE" 'x|tabl'
	[ "$(ctl list "$STORE" t --json)" = '{"table":"t"}' ]
	says 2 "no regular expression" list "$STORE" '('
	run -0 ctl exists "$STORE" t
	[ -z "$output" ]
	run -1 ctl exists "$STORE" nix
	[ "$(ctl exists "$STORE" t --json)" = '{"exists":true}' ]
	run -1 ctl exists "$STORE" nix --json
	[ "$output" = '{"exists":false}' ]
}

@test "alter: changes what is named and adds what is new" {
	ctl alter "$STORE" t d:ttl=1d f:versions=1
	[ "$(families)" = "d e f " ]
	[ "$(attr d versions) $(attr d ttl)" = "5 86400000" ]
	[ "$(attr f versions)" = 1 ]
	ctl alter "$STORE" t --add g:bloom=none --delete e
	[ "$(families)" = "d f g " ]
	[ "$(attr g bloom)" = none ]
	says 2 "'d' exists already" alter "$STORE" t --add d
	says 2 "there is no family 'familx'" alter "$STORE" t --delete familx
	says 2 "say one of them" alter "$STORE" t --delete g g:versions=8
	says 2 "say one of them" alter "$STORE" t --add h:versions=2 --delete h
	[ "$(families)" = "d f g " ]
}

@test "alter: a family with cells goes by force only" {
	ctl put "$STORE" t r e:q x
	says 3 "holds cells" alter "$STORE" t --delete e
	says 3 "with --force" alter "$STORE" t d:compression=zstd --delete e
	[ "$(grep -c note: <<<"$stderr")" -eq 1 ]
	[[ $stderr == *"with --force"* ]]
	[ "$(families)" = "d e " ]
	ctl alter "$STORE" t --delete e --force
	[ "$(families)" = "d " ]
	[ -z "$(cells)" ]
}

@test "alter: the schema as text" {
	ctl describe "$STORE" t | sed 's/versions 5/versions 9/' > "$T/schema"
	ctl alter "$STORE" t < "$T/schema"
	[ "$(attr d versions)" = 9 ]
	ctl describe "$STORE" t | sed 's/versions 9/versions 8/' > "$T/schema"
	ctl alter "$STORE" t --schema "$T/schema" e:versions=2
	[ "$(attr d versions) $(attr e versions)" = "8 2" ]
	ctl describe "$STORE" t | sed 's/versions 8/versions 7/' |
		ctl alter "$STORE" t
	[ "$(attr d versions)" = 7 ]
	says 3 "schema line" alter "$STORE" t <<< nonsense
}

@test "alter: what the text does not name stays if it holds cells" {
	ctl put "$STORE" t r e:q x
	ctl alter "$STORE" t <<< "family new"
	[ "$(families)" = "e new " ]
	says 3 "no family 'd' to drop" alter "$STORE" t <<< "drop family d"
	ctl snapshot -t t "$STORE" take s
	says 3 "snapshot s shows family e" alter "$STORE" t <<< "drop family e"
	[[ $stderr != *"--force"* ]]
	ctl snapshot -t t "$STORE" drop s
	ctl alter "$STORE" t <<< "drop family e"
	[ -z "$(families)$(cells)" ]
	says 3 "to be made" create "$STORE" y --schema - <<< "drop family e"
}

@test "alter: with --force what the text does not name goes with its cells" {
	ctl put "$STORE" t r d:q x
	ctl put "$STORE" t r e:q x
	ctl alter "$STORE" t --force <<< "family d"
	[ "$(families)" = "d " ]
	[ "$(ctl scan "$STORE" t | cut -f 2)" = d:q ]
}

@test "describe" {
	[ "$(ctl describe "$STORE" t | sed -n '1p;/^family/p' | tr '\n' ' ')" = \
		"families fixed family d family e " ]
	ctl desc "$STORE" t --json | jq -e '.table == "t" and .mode == "0755" and
		(.uid | type == "number") and .family[0].max_value == 10485760'
}

@test "drop and truncate" {
	ctl put "$STORE" t r d:q x
	says 3 "" drop "$STORE" t
	[[ $stderr == *"with --force"* ]]
	ctl truncate "$STORE" t
	[ -z "$(cells)" ]
	[ "$(families)" = "d e " ]
	ctl drop "$STORE" t
	run -1 ctl exists "$STORE" t
	says 3 "no table 't'" truncate "$STORE" t
	says 3 "no table 't'" drop "$STORE" t
}

@test "force is not advised where a snapshot refuses it too" {
	ctl put "$STORE" t r d:q x
	ctl snapshot "$STORE" take all
	says 3 "snapshot all of the whole store shows the table" drop "$STORE" t
	[[ $stderr != *"--force"* ]]
	says 3 "snapshot all" drop "$STORE" t --force
	says 3 "snapshot all shows family d" alter "$STORE" t --delete d
	[[ $stderr != *"--force"* ]]
	ctl snapshot "$STORE" drop all
	ctl snapshot -t t "$STORE" take one
	says 3 "snapshot one of the table exists" drop "$STORE" t
	[[ $stderr != *"--force"* ]]
	ctl snapshot -t t "$STORE" drop one
	ctl create "$STORE" other d
	ctl snapshot -t other "$STORE" take theirs
	says 3 "with --force" drop "$STORE" t
	ctl drop "$STORE" t --force
}

@test "flush, compact, stats, check" {
	ctl put "$STORE" t r d:q x
	ctl flush "$STORE" t
	ls "$STORE" | grep -q '\.sst$'
	ctl deleteall "$STORE" t r
	ctl compact "$STORE" t
	[ -z "$(cells --raw)" ]
	ctl flush "$STORE"
	ctl major_compact "$STORE"
	says 3 "no table 'nix'" flush "$STORE" nix
	says 3 "no table 'nix'" compact "$STORE" nix
	ctl stats "$STORE" --json | jq -se 'length > 10 and
		all(.[]; (.name | type == "string") and
			(.value | type == "number") and
			(.counter | type == "boolean"))'
	[ "$(ctl stats "$STORE" | wc -l)" -eq \
		"$(ctl stats "$STORE" --json | wc -l)" ]
	[ "$(ctl check "$STORE")" = "$STORE: 0 faults" ]
	[ "$(ctl check "$STORE" --json | jq .faults)" = 0 ]
	ctl put "$STORE" t r d:q x
	ctl stats "$STORE" t | grep -qE '^rows +1  rows$'
	ctl stats "$STORE" t --json | jq -se 'length == 6 and .[0].value == 1'
	says 3 "no table 'nix'" stats "$STORE" nix
	ctl flush "$STORE"
	local file
	file=$(ls "$STORE"/*.sst | tail -n 1)
	printf '\xff' | dd of="$file" bs=1 seek=20 conv=notrunc status=none
	run -1 ctl check "$STORE"
	[[ ${lines[-1]} == *" 1 fault"* ]]
	run -1 ctl check "$STORE" --json
	[ "$(jq -r 'select(.fault) | .fault' <<< "$output" | wc -l)" -ge 1 ]
	[ "$(jq -s '.[-1].faults' <<< "$output")" -ge 1 ]
}

@test "stats: the figures of a table that is not small are said to be estimates" {
	local how

	seq 600 | sed 's/.*/r&\td:q\t1\tv\nr&\td:p\t1\tv/' |
		ctl import "$STORE" t 2>"$T/said"
	ctl flush "$STORE"
	for how in '' --json; do
		ctl stats "$STORE" t $how >"$T/stats"
		grep -q 'rows, an estimate' "$T/stats"
		grep -q 'cells, an estimate' "$T/stats"
	done
}

# files: how many table files x and y have.
files() {
	local i

	for i in x y; do
		ctl stats "$STORE" $i | awk '$1 == "sstables" { print $2 }'
	done
}

@test "flush and compact: of all, or what is of a table alone" {
	local i

	for i in x y; do
		ctl create "$STORE" $i d:versions=1,new_version_behavior=no
		printf 'r\td:q\t%d\tv\n' 1 2 3 | ctl import "$STORE" $i 2>/dev/null
	done
	# In the classic order a flush drops versions, of the table that is named.
	ctl flush "$STORE" x
	is "1 1" files
	[ "$(ctl scan "$STORE" x --raw -n all | cut -f 3)" = 3 ]
	[ "$(ctl scan "$STORE" y --raw -n all | wc -l)" -eq 3 ]
	for i in x y; do
		ctl put "$STORE" $i r d:q v 4
	done
	ctl flush "$STORE"
	is "2 2" files
	ctl compact "$STORE" x
	is "1 2" files
	ctl compact "$STORE"
	is "1 1" files
}

@test "snapshots" {
	ctl put "$STORE" t r d:q old
	ctl snapshot "$STORE" take all
	ctl snapshot -t t "$STORE" take %2Eone
	ctl snapshot "$STORE" --table t take two
	[ "$(ctl snapshot "$STORE" | cut -f 1)" = all ]
	[ "$(ctl snapshot -t t "$STORE" list | cut -f 1 | tr '\n' ' ')" = \
		"%2Eone two " ]
	ctl snapshot -t t "$STORE" --json | jq -se 'map(.snapshot) ==
		[".one", "two"] and all(.[]; .taken > 1000000000000)'
	ctl snapshot -t t "$STORE" rename two three
	ctl put "$STORE" t r d:q new
	ctl snapshot -t t "$STORE" clone three copy
	[ "$(ctl get "$STORE" copy r -v)" = old ]
	ctl snapshot -t t "$STORE" drop %2Eone
	ctl snapshot -t t "$STORE" restore three
	[ "$(ctl get "$STORE" t r -v)" = old ]
	# What a later snapshot shows would be gone.
	ctl put "$STORE" t r d:q later
	ctl snapshot "$STORE" take after
	says 3 "snapshot after is a later one of the table: drop that first" \
		snapshot -t t "$STORE" restore three
	[ "$(ctl get "$STORE" t r -v)" = later ]
	says 3 "none" snapshot "$STORE" drop none
	says 3 "the nearest that there is: copy" snapshot -t copz "$STORE"
	says 2 "no verb 'tak'; did you mean take?" snapshot "$STORE" tak x
	says 2 "take takes 1 name here" snapshot "$STORE" take
	says 2 "clone takes 2 names here" snapshot -t t "$STORE" clone x
}
