# A mount of a real HBase.

load helper

@test "what the mount writes HBase's client reads, and the other way round" {
	mkdir "$M/$N" "$M/$N/r"
	echo -n hello >"$M/$N/r/f:q"
	[ "$(other get "$N" r f q)" = hello ]
	other put "$N" r f q world
	soon has "$M/$N/r/f:q" world
	[ "$(ls "$M/$N/r/f/q" | wc -l)" = 2 ]
	[ "$(grep -l hello "$M/$N/r/f/q"/* | wc -l)" = 1 ]
	other put "$N" s f q new
	soon has "$M/$N/s/f:q" new
	[ "$(ls "$M/$N")" = "r
s" ]
	other delete "$N" r
	soon test ! -e "$M/$N/r/f:q"
	mkdir "$M/$N/r"
	echo -n again >"$M/$N/r/f:q"
	[ "$(other get "$N" r f q)" = again ]
}

@test "a table of HBase's own is shown as what it is" {
	other create "$N" f
	[ -d "$M/$N" ]
	grep -q 'families fixed' "$M/$N/.schema"
	grep -q 'versions 1' "$M/$N/.schema"
	grep -q 'new_version_behavior no' "$M/$N/.schema"
	mkdir "$M/$N/r"
	echo -n x >"$M/$N/r/f:q"
	[ "$(other get "$N" r f q)" = x ]
	run ! mkdir "$M/$N/r/g"
}

@test "what is listed of a column can be opened, and no more" {
	other create "$N" f
	opens_what_it_lists "$M/$N/one" 2
	printf 'family f\n\tversions 3\n\tkeep_deleted yes\n' >"$M/$N/.schema"
	opens_what_it_lists "$M/$N/kept" 2
}

@test "programs for files do what they do elsewhere" {
	mkdir "$M/$N" "$M/$N/r"
	echo one >"$M/$N/r/f:q"
	echo two >>"$M/$N/r/f:q"
	[ "$(cat "$M/$N/r/f:q")" = "one
two" ]
	run ! bash -c 'set -C; echo three >"$1"' - "$M/$N/r/f:q"
	mv "$M/$N/r/f:q" "$M/$N/r/f:p"
	[ ! -e "$M/$N/r/f:q" ]
	[ "$(cat "$M/$N/r/f:p")" = "one
two" ]
	echo 5 >"$M/$N/r/f/n/counter" || mkdir -p "$M/$N/r/f/n"
	printf 7 >"$M/$N/r/f:x"
	rm "$M/$N/r/f:x"
	[ ! -e "$M/$N/r/f:x" ]
	: >"$M/$N/r/f:empty"
	[ -e "$M/$N/r/f:empty" ] && [ ! -s "$M/$N/r/f:empty" ]
	rm -r "$M/$N/r"
	[ ! -e "$M/$N/r/f:p" ]
	[ "$("$CELLCTL" count "$STORE" "$N")" = 0 ]
}

@test "mount(8) and fstab mount it by its name" {
	unmount_store
	echo "$STORE/ $M fuse.cellfs noauto,_netdev,root=$N 0 0" >"$T/fstab"
	where_installed '
		mount -t fuse.cellfs -o rw,_netdev,timeout=50 "$1" "$2"
		grep -q "^timeout 50$" "$2/.cellfs/options"
		mkdir "$2/$3"
		umount "$2"
		mount -T "$4" "$2"
		[ "$(findmnt -n -o SOURCE "$2")" = "$1/" ]
		mkdir "$2/r"
		echo -n x >"$2/r/f:q"
		umount "$2"' "$STORE" "$M" "$N" "$T/fstab" 8>&- 9<&-
	[ "$(other get "$N" r f q)" = x ]
}

@test "mount.sh mounts it by its name" {
	unmount_store
	cd "$T"
	export CELLFS_BUILD
	CELLFS_BUILD=$(cd "$BUILD" && pwd)
	run -0 "$BATS_TEST_DIRNAME/../../mount.sh" "$STORE" mnt 3>&- 8>&- 9<&-
	[[ $output == *"Mounted $STORE at mnt."* ]]
	mkdir "$M/$N-sh"
	run -0 "$BATS_TEST_DIRNAME/../../mount.sh" "$STORE" mnt 3>&- 8>&- 9<&-
	[[ $output == *"Already mounted at mnt"* ]]
	run -0 "$BATS_TEST_DIRNAME/../../mount.sh" -u mnt
	run ! mountpoint -q "$M"
}

# session: the commands of the README's session and what they print.
session() {
	awk '/^Then the mount and HBase/ { on = 1 }
		on && sub(/^    /, "") { print; next }
		on && /^(HBase|`)/ { exit }' "$BATS_TEST_DIRNAME/../../README.md"
}

@test "the session in the README goes as it stands there" {
	# The client that runs already answers for one of its own.
	tests/hbase/lab/lab() {
		other "${@:3}"
	}
	cd "$T"
	session >want
	[ "$(grep -c '^\$ ' want)" -ge 10 ]
	while IFS= read -r line <&5; do
		[ "${line:0:2}" = '$ ' ] || continue
		echo "$line"
		eval "${line:2}"
	done 5<want >got 2>&1
	diff want got
	rm -r mnt/articles/article2
	rmdir mnt/articles
}

@test "views, ranges and filters" {
	mkdir "$M/$N"
	for i in 1 2 3 4 5; do
		printf 'a%s\tf:q\t%s\tv%s\n' $i $i $i
	done >"$M/$N/.cells"
	[ "$(ls "$M/$N/.prefix/a" | tr '\n' ' ')" = "a1 a2 a3 a4 a5 " ]
	[ "$(ls "$M/$N/.last/2" | tr '\n' ' ')" = "a4 a5 " ] ||
		[ "$(ls -U "$M/$N/.last/2" | sort | tr '\n' ' ')" = "a4 a5 " ]
	[ "$(ls "$M/$N/.after/a3" | tr '\n' ' ')" = "a4 a5 " ]
	[ "$("$CELLCTL" scan "$STORE" "$N" --filter \
		"ValueFilter(=,'binary:v3')" | cut -f1)" = a3 ]
	[ "$(wc -l <"$M/$N/.cells")" = 5 ]
}

# twelve_rows: cells of two columns each.
twelve_rows() {
	local i

	for i in $(seq 12); do
		printf 'r%02d\tf:q\t%s\tv%s\n' "$i" "$i" "$i"
		printf 'r%02d\tf:p\t%s\tw%s\n' "$i" "$i" "$i"
	done
}

@test "a tree goes out by rsync and comes back the same" {
	local a=$T/a
	mkdir "$M/$N"
	twelve_rows >"$M/$N/.cells"
	rsync -a "$M/$N/" "$a/"
	mkdir "$M/${N}b"
	rsync -a "$a/" "$M/${N}b/"
	rsync -aiOn --delete "$a/" "$M/${N}b/" | tee "$T/differs"
	[ ! -s "$T/differs" ]
	diff <("$CELLCTL" export "$STORE" "$N") \
		<("$CELLCTL" export "$STORE" "${N}b")
}

@test "a table goes by rsync into a store of our own and comes back the same" {
	local own=$T/own

	mkdir "$M/$N" "$M/${N}b" "$own"
	twelve_rows >"$M/$N/.cells"
	"$CELLFS" "$T/own-store" "$own" 3>&-
	mkdir "$own/$N"
	cat "$M/$N/.schema" >"$own/$N/.schema"
	rsync -a "$M/$N/" "$own/$N/"
	rsync -a "$own/$N/" "$M/${N}b/"
	rsync -aiOn --delete "$M/$N/" "$own/$N/" | tee "$T/differs"
	fusermount3 -u "$own"
	[ ! -s "$T/differs" ]
	# Its daemon is in the background, and ends a moment later.
	settled "$CELLCTL" tables "$T/own-store"
	diff <("$CELLCTL" export "$STORE" "$N") \
		<("$CELLCTL" export "$T/own-store" "$N")
	diff <("$CELLCTL" export "$STORE" "$N") \
		<("$CELLCTL" export "$STORE" "${N}b")
}

@test "a snapshot is taken, read, cloned, put back and dropped" {
	mkdir "$M/$N" "$M/$N/r"
	echo -n one >"$M/$N/r/f:q"
	mkdir "$M/$N/.snapshot/$N-a"
	echo -n two >"$M/$N/r/f:q"
	mkdir "$M/$N/s"
	echo -n new >"$M/$N/s/f:q"
	[ "$(ls "$M/$N/.snapshot")" = "$N-a" ]
	[ "$(cat "$M/$N/.snapshot/$N-a/r/f:q")" = one ]
	[ "$(ls "$M/$N/.snapshot/$N-a")" = r ]
	[ "$(cat "$M/$N/.snapshot/$N-a/.range/a..z/r/f:q")" = one ]
	[ "$(cut -f 4 "$M/$N/.snapshot/$N-a/.cells")" = one ]
	grep -q '^families' "$M/$N/.snapshot/$N-a/.schema"
	run ! touch "$M/$N/.snapshot/$N-a/r/f:x"
	# Nobody sees the table through which it is read.
	[ "$(other tables cellfs-clone)" = 1 ]
	run ! grep -q cellfs-clone <(ls "$M")
	"$CELLCTL" snapshot -t "$N" "$STORE" clone "$N-a" "${N}c"
	[ "$(cat "$M/${N}c/r/f:q")" = one ]
	"$CELLCTL" snapshot -t "$N" "$STORE" restore "$N-a"
	soon has "$M/$N/r/f:q" one
	soon test ! -e "$M/$N/s"
	rm -r "$M/$N/r"
	run rmdir "$M/$N"
	[ "$status" -eq 1 ]
	[[ $output == *"not empty"* ]]
	rmdir "$M/$N/.snapshot/$N-a"
	[ -z "$(ls "$M/$N/.snapshot")" ]
	rmdir "$M/$N"
	remount_store
	[ "$(other tables cellfs-clone)" = 0 ]
}

@test "snapshots of other programs are seen, and as they are now" {
	mkdir "$M/$N" "$M/$N/r"
	echo -n one >"$M/$N/r/f:q"
	other snapshot "$N" "$N-o"
	has "$M/$N/.snapshot/$N-o/r/f:q" one
	echo -n two >"$M/$N/r/f:q"
	other drop-snapshot "$N" "$N-o"
	other snapshot "$N" "$N-o"
	soon has "$M/$N/.snapshot/$N-o/r/f:q" two
	other drop-snapshot "$N" "$N-o"
	[ -z "$(ls "$M/$N/.snapshot")" ]
}

@test "what HBase's snapshots cannot is refused with words" {
	mkdir "$M/$N" "$M/${N}b"
	mkdir "$M/$N/.snapshot/$N-x"
	run mkdir "$M/.snapshot/all"
	[[ $output == *"not supported"* ]]
	run mv "$M/$N/.snapshot/$N-x" "$M/$N/.snapshot/$N-y"
	[[ $output == *"not supported"* ]]
	# HBase's names are the cluster's.
	run mkdir "$M/${N}b/.snapshot/$N-x"
	[[ $output == *"File exists"* ]]
	for name in "a b" -x "a%2Fb"; do
		run mkdir -- "$M/$N/.snapshot/$name"
		[[ $output == *"Invalid argument"* ]]
	done
	[ "$(ls "$M/$N/.snapshot")" = "$N-x" ]
	[ "$("$CELLCTL" snapshot -t "$N" "$STORE" | cut -f 1)" = "$N-x" ]
	run "$CELLCTL" table "$STORE" create cellfs-clone.x
	[ "$status" -ne 0 ]
	rmdir "$M/$N/.snapshot/$N-x"
}

@test "the past is shown where deleted cells are kept, and else refused" {
	"$CELLCTL" create "$STORE" "$N" f:versions=4,keep_deleted=yes
	"$CELLCTL" put "$STORE" "$N" r f:q one 10
	echo -n two >"$M/$N/r/f/q/20"
	"$CELLCTL" deleteall "$STORE" "$N" r f:q 25
	"$CELLCTL" put "$STORE" "$N" r f:q three 30
	for when in now flushed; do
		[ ! -e "$M/$N/.at/5/r" ]
		[ "$(cat "$M/$N/.at/15/r/f/q")" = one ]
		[ "$(cat "$M/$N/.at/24/r/f/q")" = two ]
		[ -z "$(ls "$M/$N/.at/25")" ]
		[ "$(cat "$M/$N/.at/30/r/f/q")" = three ]
		[ "$(cat "$M/$N/r/f/q/@24")" = two ]
		[ "$(cut -f 3,4 "$M/$N/.at/15/.cells")" = $'10\tone' ]
		[ "$(cut -f 3,4 "$M/$N/.since/5/.at/15/.cells")" = \
			$'10\tone' ]
		"$CELLCTL" compact "$STORE" "$N"
	done
	# The oldest may be gone from now on.
	echo -n four >"$M/$N/r/f/q/40"
	run cat "$M/$N/r/f/q/@15"
	[[ $output == *"No data available"* ]]
	run cat "$M/$N/.at/15/.cells"
	[[ $output == *"No data available"* ]]
	# Nor is it known what was kept before more was.
	"$CELLCTL" alter "$STORE" "$N" f:versions=9
	soon grep -q 'versions 9' "$M/$N/.schema"
	run cat "$M/$N/r/f/q/@15"
	[[ $output == *"No data available"* ]]
	grep -q 'ENODATA: family f keeps' "$M/.cellfs/errors"
	"$CELLCTL" alter "$STORE" "$N" f:keep_deleted=no
	soon grep -q 'keep_deleted no' "$M/$N/.schema"
	run cat "$M/$N/r/f/q/@15"
	[[ $output == *"not supported"* ]]
	grep -q 'EOPNOTSUPP: .*family f has not keep_deleted yes' \
		"$M/.cellfs/errors"
}

@test "columns that a file lacks are scanned for by name" {
	"$CELLCTL" create "$STORE" "$N" f:bloom=rowcol g:bloom=rowcol
	"$CELLCTL" put "$STORE" "$N" r f:a one 1
	"$CELLCTL" put "$STORE" "$N" s f:q two 2
	"$CELLCTL" flush "$STORE" "$N"
	"$CELLCTL" put "$STORE" "$N" r f:b three 3
	"$CELLCTL" put "$STORE" "$N" s g:q four 4
	scan() {
		timeout 50 "$CELLCTL" scan "$STORE" "$N" "$@" | cut -f 4 |
			tr '\n' ' '
	}
	[ "$(scan --columns f:q)" = "two " ]
	[ "$(scan --columns f:c)" = "" ]
	[ "$(scan --columns f:a,f:q,g:q)" = "one two four " ]
	[ "$(scan --columns f:b,g)" = "three four " ]
	[ "$(scan --columns f:a,f:b --startrow r --stoprow s)" = "one three " ]
	[ "$(scan --columns f:a,f:b,f:c -n all)" = "one three " ]
}

@test "of the deletes in one row of a stream none is lost" {
	"$CELLCTL" create "$STORE" "$N" f:versions=5 g
	lines() {
		printf '%b\n' "$@" >"$M/$N/.cells"
	}
	lines 'r\tf:p\t4\tx' 'r\tg:p\t2\tx' 's\tf:q\t8\tx' 's\tf:p\t8\tx'
	lines 'r\tf:\t5\t\tdelete-family' 'r\t\t3\t\tdelete-row'
	[ "$("$CELLCTL" scan "$STORE" "$N" --rows | tr '\n' ' ')" = "s " ]
	lines 's\tf:q\t9\t\tdelete-column' 's\tf:q\t2\t\tdelete-column'
	[ "$(cut -f 2 "$M/$N/s/.cells")" = f:p ]
	lines 's\tf:\t9\t\tdelete-family' 's\tf:p\t2\t\tdelete-column'
	[ -z "$(cat "$M/$N/.cells")" ]
	lines 't\tf:p\t8\tx' 't\tf:q\t3\tx'
	"$CELLCTL" delete "$STORE" "$N" t f:p 8
	# A server would forget that delete.
	run bash -c 'printf "t\tf:\t3\t\tdelete-family\nt\tf:p\t5\t\tdelete-column\n" |
		"$0" import "$1" "$2"' "$CELLCTL" "$STORE" "$N"
	[ "$status" -ne 0 ]
	[[ $output == *"in one mutation"* ]]
	[ "$(cut -f 2 "$M/$N/t/.cells")" = f:q ]
}

# What deletes a family is stored as if it were of the column without a name.
@test "in the classic order puts of one row are above their own columns alone" {
	local hour

	other create "$N" f
	hour=$(($(date +%s%3N) + 3600000))
	printf 'r\tf:%%\t%s\tx\n' "$hour" >"$M/$N/.cells"
	printf 'r\tf:p\t\tx\nr\tf:q\t\tx\n' >"$M/$N/.cells"
	for name in p q; do
		[ "$(ls "$M/$N/r/f/$name")" -lt "$hour" ]
	done
	printf 'r\tf:\t%s\t\tdelete-family\n' "$((hour + 5))" >"$M/$N/.cells"
	printf 'r\tf:p\t\ty\nr\tf:q\t\ty\n' >"$M/$N/.cells"
	for name in p q; do
		[ "$(ls "$M/$N/r/f/$name")" = "$((hour + 6))" ]
	done
}

@test "a sum at a time of its own is not mixed with others" {
	"$CELLCTL" create "$STORE" "$N" f:versions=5
	printf 'r\tf:n\t7\t5\tincrement\n' >"$M/$N/.cells"
	printf 'r\tf:n\t9\t5\tincrement\n' >"$M/$N/.cells"
	[ "$(cut -f 3,4 "$M/$N/.cells" | tail -c 3)" = "05" ]
	[ "$(cut -f 3 "$M/$N/.cells" | tr '\n' ' ')" = "9 7 " ]
	run bash -c 'printf "r\tf:n\t11\t5\tincrement\nr\tf:q\t1\tx\n" |
		"$0" import "$1" "$2"' "$CELLCTL" "$STORE" "$N"
	[[ $output == *"together with other changes"* ]]
	[ "$(cut -f 3 "$M/$N/.cells" | tr '\n' ' ')" = "9 7 " ]
}

# The server gives a sum its time when it is applied, so that nobody knows what to
# delete or to put behind it.
@test "what stands behind a sum of its column is refused, not lost" {
	local line

	"$CELLCTL" create "$STORE" "$N" f:versions=5 g
	printf 'r\tf:n\t1\told\n' >"$M/$N/.cells"
	for line in 'f:n\t\t\tdelete-column' 'f:n\t\tput' \
		'f:\t\t\tdelete-family' '\t\t\tdelete-row'; do
		printf '%b\n' 'r\tf:n\t\tmore\tappend' "r\t$line" >"$T/lines"
		run "$CELLCTL" import "$STORE" "$N" "$T/lines"
		[ "$status" -eq 3 ]
		[[ $output == *"in one mutation: make two of it"* ]]
	done
	[ "$(cut -f 3- "$M/$N/.cells")" = $'1\told' ]
	printf '%b\n' 'r\tf:n\t\tmore\tappend' 'r\tf:n\t1\t\tdelete-column' \
		'r\tf:m\t\tx' 'r\tg:\t\t\tdelete-family' >"$M/$N/.cells"
	[ "$(cut -f 2,4 "$M/$N/.cells")" = $'f:m\tx\nf:n\toldmore' ]
}

@test "a range of columns does not jump over what deletes a family" {
	"$CELLCTL" create "$STORE" "$N" f:versions=3
	printf 'r\tf:c\t2\told\nr\tf:d\t2\told\n' >"$M/$N/.cells"
	printf 'r\tf:\t3\t\tdelete-family\n' >"$M/$N/.cells"
	printf 'r\tf:\t4\tnew\nr\tf:d\t5\tnew\n' >"$M/$N/.cells"
	[ "$(ls "$M/$N/r/f")" = "%
d" ]
	[ "$(ls "$M/$N/r/f/.after/a")" = d ]
	[ "$(ls "$M/$N/r/f/.range/c..")" = d ]
	[ "$(ls "$M/$N/r/f/.first/1")" = % ]
}

@test "a version that is put again with as many bytes is read anew" {
	mkdir -p "$M/$N/r/f/q"
	head -c 300000 /dev/zero | tr '\0' a >"$M/$N/r/f/q/5"
	# No test ends with an open file: the mount would be busy.
	{
		head -c 1 <&7 >"$T/first"
		head -c 300000 /dev/zero | tr '\0' b >"$M/$N/r/f/q/5"
		tr -d b <"$M/$N/r/f/q/5" >"$T/new"
		tr -d a <&7 >"$T/old"
	} 7<"$M/$N/r/f/q/5"
	[ "$(cat "$T/first")" = a ]
	[ ! -s "$T/new" ]
	[ ! -s "$T/old" ]
}

@test "a sum is put where a deleted version is kept" {
	"$CELLCTL" create "$STORE" "$N" f:keep_deleted=yes
	"$CELLCTL" put "$STORE" "$N" r f:q old 5
	"$CELLCTL" deleteall "$STORE" "$N" r f:q 9
	printf 'r\tf:q\t5\tnew\tappend\n' >"$M/$N/.cells"
	[ "$(cut -f 3,4 "$M/$N/.cells")" = $'5\tnew' ]
}

@test "a cell's own ttl is told, exported and moved with it" {
	other create "$N" f
	other put-ttl "$N" r f q hello 6000000
	other put "$N" r f p plain
	[ "$(cut -f 2,4- "$M/$N/.cells")" = $'f:p\tplain
f:q\thello\tput\t6000000' ]
	mv "$M/$N/r/f:q" "$M/$N/r/f:moved"
	"$CELLCTL" export "$STORE" "$N" |
		grep -q $'^r\tf:moved\t[0-9]*\thello\tput\t6000000$'
	printf 's\tf:q\t\tx\tput\t5000000\n' >"$M/$N/.cells"
	"$CELLCTL" flush "$STORE" "$N"
	[ "$(cut -f 4- "$M/$N/s/.cells")" = $'x\tput\t5000000' ]
}

@test "what is added at a time of its own keeps the ttl" {
	"$CELLCTL" create "$STORE" "$N" f:versions=9
	printf 'r\tf:q\t%s000\tx\tput\t5000000\n' "$(date +%s)" >"$M/$N/.cells"
	echo -n y >>"$M/$N/r/f/q/$(cut -f 3 "$M/$N/.cells")"
	[ "$(cut -f 4- "$M/$N/.cells")" = $'xy\tput\t5000000' ]
	printf 'r\tf:q\t%s\tz\tappend\n' "$(cut -f 3 "$M/$N/.cells")" >"$T/line"
	cat "$T/line" >"$M/$N/.cells"
	[ "$(cut -f 4- "$M/$N/.cells")" = $'xyz\tput\t5000000' ]
}

# HBase adds it to the timestamp, and what is no number any more is over.
@test "a ttl that ends behind all times is none" {
	"$CELLCTL" create "$STORE" "$N" f:versions=5
	for q in 18446744073709551615 9223372036854775000; do
		printf 'r\tf:%s\t\tx\tput\t%s\n' "$q" "$q"
	done >"$M/$N/.cells"
	printf 's\tf:q\t9223372036854775805\tx\tput\t1000\n' >"$M/$N/.cells"
	printf 's\tf:sum\t\tx\tappend\t18446744073709551615\n' >"$M/$N/.cells"
	[ "$(cut -f 1,4- "$M/$N/.cells")" = $'r\tx\nr\tx\ns\tx\ns\tx' ]
}

# What a server's filters see of such a value is a reference to it.
@test "values that HBase keeps in files of their own are whole" {
	local value

	value=$(head -c 300 /dev/zero | tr '\0' v)
	other create-mob "$N" f
	other put "$N" r f q "$value"
	other flush "$N"
	[ "$(stat -c %s "$M/$N/r/f/q"/*)" = 300 ]
	has "$M/$N/r/f:q" "$value"
	has "$(ls -d "$M/$N/r/f/q"/*)" "$value"
	[ "$("$CELLCTL" scan "$STORE" "$N" --filter \
		"ValueFilter(=,'binaryprefix:vvv')" | wc -l)" = 1 ]
}

@test "a cell with tags of HBase is read, and is not moved without them" {
	other create "$N" f
	other put-tag "$N" r f q secret
	[ "$(cat "$M/$N/r/f:q")" = secret ]
	mkdir -p "$M/$N/r/f/p" "$M/$N/r/f/q" "$M/$N/s/f/q"
	for to in r/f:p r/f/p/5 r/f/q/5 r/f:q~ s/f:q s/f/q/5; do
		run mv "$M/$N/r/f:q" "$M/$N/$to"
		[ "$status" -eq 1 ]
	done
	# Nor by way of a scratch file.
	for from in f:q "f/q/$(ls "$M/$N/r/f/q")"; do
		run mv "$M/$N/r/$from" "$M/$N/r/x.tmp"
		[ "$status" -eq 1 ]
	done
	run mv "$M/$N/r/f/q/latest" "$M/$N/r/f/p/latest"
	[ "$status" -eq 1 ]
	grep -q 'EPERM: .*tags of HBase' "$M/.cellfs/errors"
	[ "$(cat "$M/$N/r/f:q")" = secret ]
	[ ! -e "$M/$N/r/f:p" ]
	[ ! -e "$M/$N/s/f:q" ]
}

@test "what HBase cannot is said in help, and .info lists what it can" {
	mkdir "$M/$N" "$M/$N/r"
	echo -n one >"$M/$N/r/f:q"
	grep -A 99 '^This store cannot$' "$M/.cellfs/help" >"$T/cannot"
	grep -q 'rename a table' "$T/cannot"
	run grep ttl "$T/cannot" # it can
	[ "$status" -eq 1 ]
	[ "$(ls "$M/$N/.info" | tr '\n' ' ')" = "first last " ]
	[ "$(cat "$M/$N/.info/last")" = r ]
	# By itself, and through the mount that serves it.
	for store in "$STORE" "$M"; do
		run "$CELLCTL" stats "$store" "$N"
		[ "$status" -eq 3 ]
		[[ $output == *"this store cannot tell how much"* ]]
	done
	run mv "$M/$N" "$M/${N}b"
	[[ $output == *"not supported"* ]]
	df "$M" >/dev/null || stat -f "$M" >/dev/null
}

@test "files that are HBase's are neither counted, drawn nor backed up" {
	local store

	mkdir "$M/$N"
	for store in "$STORE" "$M"; do
		"$CELLCTL" status "$store" >"$T/said"
		head -n 1 "$T/said" | grep -qE ': takes writes, [1-9][0-9]* tables?$'
		grep -qx "  $N" "$T/said"
		for what in shape "stats --plot"; do
			# shellcheck disable=SC2086
			run -3 "$CELLCTL" $what "$store"
			[[ $output == *"HBase's own tools"* ]]
		done
		"$CELLCTL" shape "$store" --html | grep -q 'Reads and writes'
		run -3 "$CELLCTL" backup "$store" "$T/b"
		[[ $output == *"take a snapshot, or export"* ]]
		[ ! -e "$T/b" ]
	done
	run -3 "$CELLCTL" restore "$T/b" "$STORE"
	[[ $output == *"restored to a directory"* ]]
}

@test "a clone of a killed mount is dropped by the next one that makes one" {
	mkdir "$M/$N" "$M/$N/r"
	echo -n one >"$M/$N/r/f:q"
	mkdir "$M/$N/.snapshot/$N-k"
	has "$M/$N/.snapshot/$N-k/r/f:q" one
	kill -9 "$DAEMON"
	wait "$DAEMON" || true
	fusermount3 -u -z "$M"
	[ "$(other tables cellfs-clone)" = 1 ]
	mount_store
	has "$M/$N/.snapshot/$N-k/r/f:q" one
	[ "$(other tables cellfs-clone)" = 1 ]
	rmdir "$M/$N/.snapshot/$N-k"
}

@test "a region that is split or goes away under a listing is a pause" {
	mkdir "$M/$N"
	seq -f $'r%05.0f\tf:q\t1\tv' 20000 >"$M/$N/.cells"
	[ "$(other count "$N")" = 20000 ]
	(
		for i in 1 2 3 4 5 6; do
			ls -U "$M/$N" | wc -l
		done >"$T/counts"
	) &
	other split "$N" r05000
	other reopen "$N"
	wait $!
	[ "$(sort -u "$T/counts")" = 20000 ]
	[ "$(other regions "$N")" = 2 ]
	[ "$(ls -U "$M/$N" | sort | sed -n '4999,5001p' | tr '\n' ' ')" = \
		"r04999 r05000 r05001 " ]
	[ "$(ls "$M/$N/.last/3" | sort | tr '\n' ' ')" = \
		"r19998 r19999 r20000 " ]
	[ "$("$CELLCTL" scan "$STORE" "$N" --reversed --rows | head -n 1)" = \
		r20000 ]
	[ "$("$CELLCTL" scan "$STORE" "$N" --reversed --rows | wc -l)" = 20000 ]
}

# open_scanners: how many all servers have open; fails while one does not tell.
open_scanners() {
	local file n all=0

	for file in "$LAB"/pid "$LAB"/pid.*; do
		[ -e "$file" ] || continue
		n=$(other scanners "$N" "$(cat "$file")")
		[[ $n =~ ^[0-9]+$ ]] || return 1
		all=$((all + n))
	done
	echo "$all"
}

# scanners TEST N: waits until so many are open in the servers, which count them
# anew every second, and close one that nobody asks after a minute.
scanners() {
	local n end=$((SECONDS + 25))

	while [ "$SECONDS" -lt "$end" ]; do
		n=$(open_scanners 2>/dev/null) && test "$n" "$@" && return
		sleep 0.5
	done
	echo "the servers have ${n:-an unknown number of} scanners" >&2
	return 1
}

@test "a long scan reads several regions at once, in order, and closes all" {
	other presplit "$N" f r1 r2 r3 r4
	# Each region has more than the two batches that are fetched ahead.
	head -c 30000 /dev/zero | tr '\0' v >"$T/value"
	for i in $(seq -f %04.0f 0 9 4999); do
		printf 'r%s\tf:q\t1\t' "$i"
		cat "$T/value"
		echo
	done >"$T/cells"
	cat "$T/cells" >"$M/$N/.cells"
	"$CELLCTL" scan "$STORE" "$N" | cut -f 1 >"$T/rows"
	seq -f r%04.0f 0 9 4999 | cmp - "$T/rows"
	"$CELLCTL" scan "$STORE" "$N" --reversed | cut -f 1 | tac |
		cmp - "$T/rows"
	[ "$("$CELLCTL" scan "$STORE" "$N" -s r0995 -e r3005 | wc -l)" = 223 ]
	[ "$("$CELLCTL" scan "$STORE" "$N" -l 250 | cut -f 1 | tail -n 1)" = \
		r2241 ]
	[ "$(ls "$M/$N/.last/3" | sort | tr '\n' ' ')" = "r4977 r4986 r4995 " ]
	exec 7< <("$CELLCTL" scan "$STORE" "$N" 2>/dev/null)
	head -c 4000000 <&7 >/dev/null
	scanners -ge 3
	exec 7<&-
	scanners -eq 0
}

@test "regions that move or are split while they are read ahead are read whole" {
	other presplit "$N" f r05000 r10000 r15000
	seq -f $'r%05.0f\tf:q\t1\tv' 20000 >"$M/$N/.cells"
	seq -f 'r%05.0f' 20000 >"$T/all"
	(
		for i in 1 2 3; do
			"$CELLCTL" scan "$STORE" "$N" --rows | cmp - "$T/all"
			"$CELLCTL" scan "$STORE" "$N" --rows --reversed | tac |
				cmp - "$T/all"
		done >"$T/differs" 2>&1
	) &
	other split "$N" r12000
	other reopen "$N"
	wait $!
	[ ! -s "$T/differs" ]
}

# An export names the families, and its mark says that it has all of them.
@test "what is exported while its table loses a family is not whole" {
	local format value

	# More than is fetched ahead.
	value=$(head -c 30000 /dev/zero | tr '\0' v)
	for i in $(seq -f %04.0f 0 9 4999); do
		printf 'r%s\tg:q\t1\tx\nr%s\tf:q\t1\t%s\n' "$i" "$i" "$value"
	done >"$T/cells"
	for format in "" --jsonl; do
		"$CELLCTL" create "$STORE" "$N" f g
		cat "$T/cells" >"$M/$N/.cells"
		# shellcheck disable=SC2086
		exec 7< <("$CELLCTL" export "$STORE" "$N" $format 2>"$T/said" ||
			echo $? >"$T/code")
		head -c 100000 <&7 >"$T/export"
		"$CELLCTL" alter "$STORE" "$N" --delete g --force
		cat <&7 >>"$T/export"
		exec 7<&-
		settled test -s "$T/code"
		[ "$(cat "$T/code")" = 3 ]
		grep -q "family g was dropped" "$T/said"
		rm "$T/code"
		"$CELLCTL" drop "$STORE" "$N" --force
	done
}

# Of what comes over a connection the third answer is lost, and the connection
# with it: the server has done what was asked, and is asked again.
@test "what is asked again since its answer was lost is done once" {
	local i

	"$CELLCTL" create "$STORE" "$N" f:versions=99
	"$CELLCTL" incr "$STORE" "$N" r f:n 0
	unmount_store
	CELLFS=$T/traced
	cat >"$CELLFS" <<-END
		#!/bin/sh
		ASAN_OPTIONS=detect_leaks=0 exec strace -f -qq -o '$T/calls' \
			-e inject=recvfrom:error=ECONNRESET:when=3 \
			-e trace=recvfrom '$BUILD/fs/cellfs' "\$@"
	END
	chmod +x "$CELLFS"
	mount_store
	for i in $(seq 9); do
		echo -n 1 >"$M/$N/r/f/n/counter"
		printf 'r\tf:log\t\t%s,\tappend\n' "$i" >"$M/$N/.cells"
		echo -n "$i" >"$M/$N/r/f:q"
	done
	unmount_store
	[ "$(grep -c INJECTED "$T/calls")" -ge 9 ]
	CELLFS=$BUILD/fs/cellfs
	mount_store
	[ "$(cat "$M/$N/r/f/n/counter")" = 9 ]
	[ "$(cat "$M/$N/r/f:log")" = "$(seq -s , 9)," ]
	[ "$(ls "$M/$N/r/f/q" | wc -l)" = 9 ]
}

@test "a table that another client drops is gone, and can be made anew" {
	mkdir "$M/$N" "$M/$N/r"
	echo -n one >"$M/$N/r/f:q"
	other drop "$N"
	soon test ! -e "$M/$N"
	mkdir "$M/$N" "$M/$N/r"
	[ ! -e "$M/$N/r/f:q" ]
	echo -n two >"$M/$N/r/f:q"
	[ "$(other get "$N" r f q)" = two ]
	# One that another client makes of that name is shown as what it is.
	other drop "$N"
	soon test ! -e "$M/$N"
	other create "$N" g
	[ "$(ls "$M/$N")" = "" ]
	grep -q '^family g' "$M/$N/.schema"
	run ! grep -q '^family f' "$M/$N/.schema"
}

@test "a disabled table says so at once" {
	mkdir "$M/$N" "$M/$N/r"
	echo x >"$M/$N/r/f:q"
	other disable "$N"
	run timeout 50 cat "$M/$N/r/f:q"
	[ "$status" -eq 1 ]
	[[ $output == *"busy"* ]]
	"$CELLCTL" is_disabled "$STORE" "$N"
	# By the mount, too.
	"$CELLCTL" enable "$M" "$N"
	"$CELLCTL" is_enabled "$M" "$N"
	[ "$(cat "$M/$N/r/f:q")" = x ]
	"$CELLCTL" disable "$STORE" "$N"
	run -1 "$CELLCTL" is_enabled "$STORE" "$N"
	"$CELLCTL" enable "$STORE" "$N"
}
