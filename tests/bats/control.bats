load helper

# figure NAME: the value of a metric without labels.
figure() {
	awk -v name="cellfs_$1" '$1 == name {print $2}' "$M/.cellfs/metrics"
}

@test "metrics are what a scraper reads" {
	a_row
	echo x > "$M/T/R/f:q"
	cat "$M/T/R/f:q"
	[ "$(figure store_mutations_total)" -ge 1 ]
	[ "$(figure healthy)" -eq 1 ]
	[ "$(figure written_bytes_total)" -eq 2 ]
	# Each line is a comment or a name, labels and a number.
	run ! grep -vE '^(# (HELP|TYPE) (cellfs|process)_[a-z0-9_]+ .+|(cellfs|process)_[a-z0-9_]+({[^}]*})? [0-9.]+)$' \
		"$M/.cellfs/metrics"
	[ "$(grep -c '^# TYPE' "$M/.cellfs/metrics")" -eq \
		"$(grep '^# TYPE' "$M/.cellfs/metrics" | sort -u | wc -l)" ]
}

@test "metrics keep to the rules of their names" {
	local text name type

	a_row
	echo x > "$M/T/R/f:q"
	text=$(cat "$M/.cellfs/metrics")
	# Counters end in _total, others do not; units are whole and basic ones.
	while read -r _ _ name type; do
		case $type/$name in
		counter/*_total) ;;
		counter/* | */*_total) echo "$name is a $type"; false ;;
		esac
		[[ ! $name =~ _(ns|us|ms|kb|mb|milliseconds|nanoseconds)(_|$) ]]
		grep -q "^# HELP $name [^ ]" <<< "$text"
	done < <(grep '^# TYPE' <<< "$text")
	# The samples of a metric follow its TYPE, without others between them.
	awk '/^# TYPE/ {name = $3} /^[^#]/ {
		sub(/[{ ].*/, "")
		if ($0 !~ "^" name "(_bucket|_sum|_count)?$") { print; bad = 1 }
	} END { exit bad }' <<< "$text"
}

@test "a table may have a name as the figures of times end" {
	mkdir "$M/size_ns" "$M/x_nsa"
	grep -qx 'cellfs_table_rows{table="size_ns"} 0' "$M/.cellfs/metrics"
	grep -qx 'cellfs_table_rows{table="x_nsa"} 0' "$M/.cellfs/metrics"
}

@test "metrics tell of the build, of the process and of each table" {
	local before

	a_row
	before=$(date +%s)
	echo x > "$M/T/R/f:q"
	echo x > "$M/T/.put/R2/f:q"
	mkdir "$M/T2"
	[ "$(figure "build_info{version=\"$("$CELLFS" --version |
		awk '/^cellfs/ {print $2}')\"}")" = 1 ]
	[ "$(figure 'table_rows{table="T"}')" = 2 ]
	[ "$(figure 'table_cells{table="T"}')" = 2 ]
	[ "$(figure 'table_rows{table="T2"}')" = 0 ]
	[ "$(figure 'table_files{table="T"}')" = 0 ]
	echo T > "$M/.cellfs/flush"
	[ "$(figure 'table_files{table="T"}')" = 1 ]
	[ "$(figure 'table_bytes{table="T"}')" -gt 0 ]
	[ "$(figure 'store_level_sstables{level="0"}')" = 1 ]
	[ "$(figure 'store_level_bytes{level="0"}')" -eq \
		"$(figure 'table_bytes{table="T"}')" ]
	[ "$(figure 'store_level_sstables{level="1"}')" = 0 ]
	rmdir "$M/T2"
	[ -z "$(figure 'table_rows{table="T2"}')" ]
	# What /proc says, within a minute's and a tenth's difference.
	awk -v now="$before" -v kb="$(awk '/VmRSS/ {print $2}' "/proc/$DAEMON/status")" '
		$1 == "process_start_time_seconds" { start = $2 }
		$1 == "process_resident_memory_bytes" { bytes = $2 }
		$1 == "process_open_fds" { fds = $2 }
		$1 == "process_max_fds" { max = $2 }
		$1 == "process_cpu_seconds_total" { cpu = $2 }
		END { exit !(start > now - 60 && start < now + 60 &&
			bytes > kb * 900 && bytes < kb * 1200 &&
			fds > 3 && fds < max && cpu > 0) }' "$M/.cellfs/metrics"
}

@test "requests are counted by how long they took" {
	a_row
	local i
	for i in $(seq 20); do echo "$i" > "$M/T/R/f:q"; done
	local text
	text=$(cat "$M/.cellfs/metrics")
	local all count
	all=$(sed -n 's/.*bucket{op="write",le="+Inf"} //p' <<< "$text")
	count=$(sed -n 's/.*count{op="write"} //p' <<< "$text")
	[ "$all" -eq 20 ]
	[ "$count" -eq 20 ]
	# Buckets only grow.
	sed -n 's/.*bucket{op="write",.*} //p' <<< "$text" | sort -n -C
}

@test "calls of the store are timed, and counted by table" {
	a_row
	mkdir "$M/T2"
	echo x > "$M/T/R/f:q"
	echo y > "$M/T/R/f:q"
	cat "$M/T/R/f:q" > /dev/null
	echo T > "$M/.cellfs/flush"
	[ "$(figure 'table_writes_total{table="T"}')" = 2 ]
	[ "$(figure 'table_reads_total{table="T"}')" -ge 1 ]
	[ "$(figure 'table_writes_total{table="T2"}')" = 0 ]
	[ "$(figure 'store_call_seconds_count{call="mutate"}')" = 2 ]
	[ "$(figure 'store_call_seconds_bucket{call="mutate",le="+Inf"}')" = 2 ]
	[ "$(figure 'store_call_seconds_count{call="get"}')" -ge 1 ]
	[ "$(figure 'store_call_seconds_count{call="flush"}')" = 1 ]
	# Who only looks adds nothing.
	[ "$(figure 'table_reads_total{table="T"}')" = \
		"$(figure 'table_reads_total{table="T"}')" ]
}

@test "writing into flush and compact does it" {
	a_column
	echo x > "$C/5"
	[ "$(figure store_sstables)" -eq 0 ]
	echo T > "$M/.cellfs/flush"
	[ "$(figure store_sstables)" -eq 1 ]
	rm "$C/5"
	echo > "$M/.cellfs/compact"
	[ "$(figure store_sstable_cells)" -eq 0 ]
	run ! bash -c "echo nonsense > '$M/.cellfs/flush'"
	run ! bash -c "echo x > '$M/.cellfs/stats'"
	run ! rm "$M/.cellfs/flush"
}

# files: how many table files T and U have.
files() {
	echo "$(figure 'table_files{table="T"}') $(figure 'table_files{table="U"}')"
}

put_and_flush() {
	echo x >"$M/T/.put/R/f:q"
	echo x >"$M/U/.put/R/f:q"
	echo "$1" >"$M/.cellfs/flush"
}

@test "compact is of one table, compact and flush of all by an empty line or the word" {
	local all

	not_over_hbase "its files are not told of"
	mkdir "$M/T" "$M/U"
	put_and_flush ''
	for all in all ''; do
		put_and_flush "$all"
		[ "$(files)" = "2 2" ]
		echo T >"$M/.cellfs/compact"
		[ "$(files)" = "1 2" ]
		echo "$all" >"$M/.cellfs/compact"
		[ "$(files)" = "1 1" ]
	done
}

@test "a table that is named to flush loses versions beyond its limit in the classic order" {
	local table

	not_over_hbase "its servers flush"
	for table in T U; do
		mkdir "$M/$table"
		printf 'family f\n\tversions 1\n\tnew_version_behavior no\n' \
			>"$M/$table/.schema"
		printf 'R\tf:q\t%d\tx\n' 1 2 3 >"$M/$table/.cells"
	done
	echo T >"$M/.cellfs/flush"
	[ "$(cut -f 3 "$M/T/.raw/.cells")" = 3 ]
	[ "$(wc -l <"$M/U/.raw/.cells")" -eq 3 ]
}

@test "a table that is not there is refused by flush and compact, in words" {
	local file

	for file in flush compact; do
		run ! bash -c "echo nonsense >'$M/.cellfs/$file'"
		grep -q "write /.cellfs/$file: EINVAL: there is no table" \
			"$M/.cellfs/errors"
	done
}

@test "the manual page has the default of every option" {
	local page=$BATS_TEST_DIRNAME/../../tools/install/cellfs.5

	not_over_hbase "a cluster has other times"
	sed -n '/option of a mount Ta/,/^\.El/ s/^\.It \([a-z_]*\).* Ta \([^ ]*\)$/\1 \2/p' \
		"$page" | sort >"$T/said"
	sort "$M/.cellfs/options" | diff "$T/said" -
}

@test "options shows the values in force" {
	grep -qx 'cache 268435456' "$M/.cellfs/options"
	grep -qx 'write_buffer 67108864' "$M/.cellfs/options"
	grep -qx 'root /' "$M/.cellfs/options"
	grep -qx 'log syslog' "$M/.cellfs/options"
	grep -qx 'uid of-each-table' "$M/.cellfs/options"
	run ! grep -q default "$M/.cellfs/options"
	remount_store -o cache=1M,uid=7,umask=027
	grep -qx 'cache 1048576' "$M/.cellfs/options"
	grep -qx 'uid 7' "$M/.cellfs/options"
	grep -qx 'umask 027' "$M/.cellfs/options"
}

@test "uid and gid are the owner and group of everything" {
	local path
	mkdir -p "$M/T/R/f/q" "$M/T/.snapshot/s"
	echo x > "$M/T/R/f/q/5"
	remount_store -o uid=7,gid=8
	# What is in memory only is of who makes it, where no option says otherwise.
	mkdir -p "$M/T/R/.dir" "$M/T/.stage/S/f"
	touch "$M/T/R/.note"
	for path in . T T/.schema T/R T/R/f/q T/R/f/q/5 T/R/f:q T/.cells \
		T/.at/now T/.snapshot/s T/.info/rows .cellfs T/R/.dir \
		T/R/.note T/.stage/S T/.stage/S/f; do
		[ "$(stat -c %u:%g "$M/$path")" = 7:8 ]
	done
	rm "$M/T/R/.note"
	remount_store
	mkdir "$M/T/R/.dir"
	[ "$(stat -c %u "$M/T/R/.dir")" -eq "$(id -u)" ]
}

@test "cache and write_buffer are what the store takes" {
	local i

	not_over_hbase "it has no caches here"
	remount_store -o cache=1M,write_buffer=512k
	mkdir "$M/T"
	for i in 1 2 3 4 5 6; do
		head -c 400000 /dev/urandom >"$M/T/.put/$i/f:q"
	done
	settled eval '[ "$(figure store_flushes_total)" -ge 2 ]'
	cat "$M"/T/[1-6]/f:q >/dev/null
	cat "$M/T/.cells" >/dev/null
	[ "$(figure store_cache_limit_bytes)" -eq 1048576 ]
	[ "$(figure store_cache_bytes)" -le 1048576 ]
	[ "$(figure store_memtable_bytes)" -le 1048576 ]
}

@test "compaction in the background can be limited" {
	not_over_hbase "its servers compact"
	grep -qx 'background_io no-limit' "$M/.cellfs/options"
	remount_store -o background_io=200k
	grep -qx 'background_io 204800' "$M/.cellfs/options"
	a_row
	# What is slow by itself needs no limit.
	paced() {
		head -c 150000 /dev/urandom >"$M/T/R/f:q"
		echo T >"$M/.cellfs/compact"
		awk '$1 == "cellfs_store_compaction_paced_seconds_total" {
			exit !($2 > 0) }' "$M/.cellfs/metrics"
	}
	for _ in {1..20}; do
		! paced || return 0
	done
	return 1
}

@test "what a flush writes counts for the compaction behind it" {
	not_over_hbase "its servers compact"
	local begun

	remount_store -o background_io=400k
	mkdir "$M/T" "$M/U"
	head -c 35000 /dev/urandom >"$M/U/.put/a/f:q"
	head -c 35000 /dev/urandom >"$M/U/.put/b/f:q"
	head -c 300000 /dev/urandom >"$M/T/.put/R/f:q"
	begun=$(date +%s%3N)
	# It flushes 370,000 bytes, and writes 70,000 of them again.
	echo U >"$M/.cellfs/compact"
	[ $(($(date +%s%3N) - begun)) -ge 700 ]
}

@test "options and help say what there is" {
	grep -q scratch_max "$M/.cellfs/options"
	grep -q '\.prefix/P/' "$M/.cellfs/help"
	grep -q 'sync without a file' "$M/.cellfs/help"
	[ "$(ls "$M/.cellfs" | tr '\n' ' ')" = \
		"compact errors flush help metrics options stats status sync trace version " ]
	[ "$(ls -A "$M")" = "" ]
}

# as_nobody COMMAND...: in the mount, so that no directory above is in the way.
as_nobody() {
	(cd "$M" && setpriv --reuid=65534 --regid=65534 --clear-groups "$@")
}

@test "the last failures are for who mounted it" {
	remount_store -o umask=000,uid=65534
	[ "$(stat -c '%a %u' "$M/.cellfs/errors")" = "400 $(id -u)" ]
	[ "$(stat -c %a "$M/.cellfs/help")" = 666 ]
}

@test "keys of tables are not shown to who may not read them" {
	[ "$(id -u)" -eq 0 ] || skip "only root may become another user"
	for o in allow_other allow_other,umask=000,uid=65534; do
		remount_store -o "$o"
		[ -e "$M/T" ] || mkdir -m 700 "$M/T"
		mkdir -p "$M/T/secret-row"
		run ! touch "$M/T/secret-row/notes"
		grep -q secret-row "$M/.cellfs/errors"
		run -1 as_nobody cat .cellfs/errors
		[[ $output == *"Permission denied"* ]]
		run -1 as_nobody cat .cellfs/store
		[[ $output == *"Permission denied"* ]]
		as_nobody cat .cellfs/help .cellfs/version .cellfs/options \
			.cellfs/stats .cellfs/metrics > "$T/said"
		run ! grep secret "$T/said"
	done
}

@test "a control name that is mistyped is said to be none" {
	mkdir "$M/T"
	run ! cat "$M/.cellfs/stat"
	grep -q "lookup /.cellfs/stat: ENOENT: there is no control file 'stat' here, did you mean stats?: ls .cellfs lists them" \
		"$M/.cellfs/errors"
	run ! cat "$M/.cellfs/nonsense"
	grep -q "there is no control file 'nonsense' here: ls" \
		"$M/.cellfs/errors"
	run ! ls "$M/T/.prefx/a"
	grep -q "lookup /T/.prefx: ENOENT: there is no '.prefx' here, did you mean .prefix?" \
		"$M/.cellfs/errors"
	run ! cat "$M/T/.cell"
	grep -q "did you mean .cells?" "$M/.cellfs/errors"
	run ! ls "$M/.snapshots"
	grep -q "did you mean .snapshot?" "$M/.cellfs/errors"
	run ! ls "$M/T/.putt"
	grep -q "did you mean .put?" "$M/.cellfs/errors"
	# What tools look for is no mistake.
	run ! ls "$M/T/.git" "$M/T/.x.swp" "$M/.hidden" "$M/.Trash"
	[ "$(grep -c lookup "$M/.cellfs/errors")" -eq 6 ]
}

@test "errors say what is wrong with a name, and not what mv does next" {
	mkdir "$M/T" "$M/T/r" "$M/T/s"
	run ! mkdir "$M/bad name"
	tail -n 1 "$M/.cellfs/errors" | grep -q "bad name.*byte 4"
	run ! mkdir "$M/.snapshot/.x"
	tail -n 1 "$M/.cellfs/errors" | grep -q "\.x: .* begin with a dot"
	run ! mkdir "$M/T/.snapshot/.x"
	run ! touch "$M/T/.put/.x"
	tail -n 1 "$M/.cellfs/errors" | grep -q "\.x: .* begin with a dot"
	echo x > "$M/T/r/f:q"
	mv "$M/T/r/f:q" "$M/T/s/f:q"
	mv "$M/T/s" "$M/T/u"
	[ "$(cat "$M/T/u/f:q")" = x ]
	run ! grep EXDEV "$M/.cellfs/errors"
}

@test "who is the owner by -o uid has the owner's rights" {
	[ "$(id -u)" -eq 0 ] || skip "only root can be another user"
	mkdir "$M/T"
	chown 7 "$M/T"
	remount_store -o allow_other,uid=65534
	# Others may not go through the folders above.
	cd "$M"
	as() {
		setpriv --reuid="$1" --clear-groups "${@:2}"
	}
	as 65534 chmod 757 T
	[ "$(stat -c %a T)" = 757 ]
	# The mode is for the owner to change in the schema as well.
	as 65534 sh -c 'echo "mode 0777" > "$0"' T/.schema
	[ "$(stat -c %a T)" = 777 ]
	run ! as 7 chmod 755 T
	run ! as 7 sh -c 'echo "mode 0755" > "$0"' T/.schema
	[ "$(stat -c %a T)" = 777 ]
	cd /
}
