#!/usr/bin/env bats
# A table that may not have more bytes than its schema says.

load helper

setup() {
	T=$BATS_TEST_TMPDIR
	STORE=$T/store
	M=$T/mnt
	# shellcheck disable=SC2034
	LOG=$T/log
	if [ -n "${CELLFS_TEST_CLUSTER:-}" ]; then
		empty_cluster
	fi
	mount_store
}

# full: the table T has 60,000 bytes in files, and may have 50,000.
full() {
	a_row
	echo 'quota 50000' >>"$M/T/.schema"
	head -c 60000 /dev/urandom >"$M/T/R/f:q"
	echo T >"$M/.cellfs/flush"
}

@test "beyond its quota a table takes no puts, in words, and others do" {
	if [ -n "${CELLFS_TEST_CLUSTER:-}" ]; then
		a_row
		run ! bash -c "echo 'quota 50000' >>'$M/T/.schema'"
		grep -q 'this store cannot bound the bytes of a table (quota)' \
			"$M/.cellfs/errors"
		return
	fi
	full
	mkdir "$M/U" "$M/U/R"
	run ! bash -c "echo x >'$M/T/R/f:r'"
	[[ $output == *"No space left on device"* ]]
	tail -n 1 "$M/.cellfs/errors" |
		grep -qE 'ENOSPC: the files of table T have 6[0-9]{4} bytes, and its quota is 50000: delete and compact \(what a snapshot shows stays\), or raise'
	run -3 "$CELLCTL" put "$M" T R f:r x
	[[ $output == *"its quota is 50000"* ]]
	run ! bash -c "printf 'R\tf:r\t1\tx\n' >'$M/T/.cells'"
	echo x >"$M/U/R/f:q"
	[ ! -e "$M/T/R/f:r" ]
	# What is stored can be read.
	[ "$(stat -L -c %s "$M/T/R/f:q")" = 60000 ]
	# It is the same after a remount.
	remount_store
	run -3 "$CELLCTL" put "$M" T R f:r x
}

@test "a table may have all the bytes of its quota, and not one more" {
	not_over_hbase "no quotas"
	local bytes

	full
	bytes=$(cat "$M/T/.info/bytes")
	echo "quota $bytes" >>"$M/T/.schema"
	"$CELLCTL" put "$M" T R f:r x
	echo "quota $((bytes - 1))" >>"$M/T/.schema"
	run -3 "$CELLCTL" put "$M" T R f:r y
	[[ $output == *"have $bytes bytes, and its quota is $((bytes - 1))"* ]]
	[ "$(cat "$M/T/R/f:r")" = x ]
}

@test "deletes are taken, and with a compaction they make room" {
	not_over_hbase "no quotas"
	full
	rm "$M/T/R/f:q"
	run -3 "$CELLCTL" put "$M" T R f:r x
	echo T >"$M/.cellfs/compact"
	"$CELLCTL" put "$M" T R f:r x
}

@test "a version that was moved aside comes back, which puts nothing" {
	local column=$M/T/R/f/q version
	not_over_hbase "no quotas"
	full
	version=$(ls "$column")
	mv "$column/$version" "$column/$version.bak"
	run ! mv "$column/$version.bak" "$column/5"
	mv "$column/$version.bak" "$column/$version"
	[ "$(ls "$column")" = "$version" ]
	[ "$(stat -c %s "$column/$version")" = 60000 ]
	echo more >"$column/more.tmp"
	run ! mv "$column/more.tmp" "$column/6"
	rm "$column/more.tmp"
}

@test "no row of many in one write goes beyond the quota, and deletes go" {
	not_over_hbase "no quotas"
	full
	run ! bash -c "seq -f 'r%g	f:r		x' 500 >'$M/T/.cells'"
	[[ $output == *"No space left on device"* ]]
	[ "$(ls "$M/T")" = R ]
	printf '%s\n' R S U | sed 's/$/\tf:q\t\t\tdelete-column/' >"$M/T/.cells"
	[ -z "$(cat "$M/T/.cells")" ]
}

@test "what a snapshot shows counts until that goes, as the refusal says" {
	not_over_hbase "no quotas"
	full
	mkdir "$M/T/.snapshot/s"
	rm "$M/T/R/f:q"
	echo T >"$M/.cellfs/compact"
	run -3 "$CELLCTL" put "$M" T R f:r x
	[[ $output == *"(what a snapshot shows stays)"* ]]
	rmdir "$M/T/.snapshot/s"
	echo T >"$M/.cellfs/compact"
	"$CELLCTL" put "$M" T R f:r x
}

@test "a quota is raised and removed in the schema, and kept by what does not name it" {
	not_over_hbase "no quotas"
	full
	grep -qx 'quota 50000' "$M/T/.schema"
	printf 'families open\nfamily f\n\tversions 5\n' >"$M/T/.schema"
	chmod 700 "$M/T"
	grep -qx 'quota 50000' "$M/T/.schema"
	echo 'quota 1MiB' >>"$M/T/.schema"
	grep -qx 'quota 1MiB' "$M/T/.schema"
	echo x >"$M/T/R/f:r"
	"$CELLCTL" describe "$M" T --json | jq -e '.quota == 1048576'
	echo 'quota none' >>"$M/T/.schema"
	run ! grep quota "$M/T/.schema"
	run ! bash -c "echo 'quota much' >>'$M/T/.schema'"
	grep -q "quota is a size such as 10GiB, or none, not 'much'" \
		"$M/.cellfs/errors"
}

@test "cellctl sets a quota, and takes it for no family" {
	not_over_hbase "no quotas"
	"$CELLCTL" create "$M" T f quota=1MiB
	grep -qx 'quota 1MiB' "$M/T/.schema"
	"$CELLCTL" alter "$M" T quota=50000
	[ "$(grep -E '^(quota|family)' "$M/T/.schema")" = "quota 50000
family f" ]
	run -2 "$CELLCTL" alter "$M" T quota=much
	[[ $output == *"quota is a size such as 10GiB, or none, not 'much'"* ]]
	run -2 "$CELLCTL" alter "$M" T ttl=5
	[[ $output == *"'ttl=5' names no family: FAMILY:ttl=5, or quota=SIZE"* ]]
	"$CELLCTL" status "$M" | grep -q 'T: .* of 0 bytes (quota 50000), 0 damaged'
	"$CELLCTL" status "$M" --json | jq -e 'select(.table).quota == 50000'
	grep -qx 'cellfs_table_quota_bytes{table="T"} 50000' "$M/.cellfs/metrics"
	"$CELLCTL" alter "$M" T quota=none
	run ! grep quota "$M/T/.schema" "$M/.cellfs/metrics"
}

@test "a quota goes with an export and a snapshot" {
	not_over_hbase "no quotas"
	full
	mkdir "$M/T/.snapshot/s"
	"$CELLCTL" export "$M" T >"$T/cells"
	"$CELLCTL" import --create "$M" T2 "$T/cells"
	grep -qx 'quota 50000' "$M/T2/.schema"
	"$CELLCTL" snapshot -t T "$M" clone s T3
	grep -qx 'quota 50000' "$M/T3/.schema"
}

@test "df of a mount of a table with a quota shows what it may have" {
	not_over_hbase "no quotas"
	a_row
	head -c 60000 /dev/urandom >"$M/T/R/f:q"
	echo T >"$M/.cellfs/flush"
	echo 'quota 1MiB' >>"$M/T/.schema"
	remount_store -o root=T
	[ "$(stat -f -c '%b %S' "$M")" = "256 4096" ]
	free=$(stat -f -c %a "$M")
	[ "$free" -gt 235 ]
	[ "$free" -lt 242 ]
	# A quota beyond what the disk has makes the table no larger.
	unmount_store
	mount_store
	sed -i 's/^quota .*/quota 100000GiB/' "$M/T/.schema"
	remount_store -o root=T
	[ "$(($(stat -f -c "%b - %f" "$M")))" -lt 30 ]
	"$CELLCTL" drop --force "$M" T
	stat -f "$M"
}
