#!/usr/bin/env bash
# Other people's programs over one mount: others.sh [MINUTES [PART]...]
#
# A third of the minutes (180) each has
#   stress   stress-ng's class of filesystems, with --verify, where each stressor
#            makes its files in a table, a row, a column or a scratch directory of
#            its own: one round of 12 s, and more when there is time
#   files    filetest, which is to this mount what fsx is to others
#   fio      fio's verification of what it wrote, by several engines, into `latest`,
#            versions and scratch files
# Of stress-ng a stressor that did nothing has failed, and so has one of those that
# are known to be refused and was not; the table below says why. posix-cases.md
# lists what of pjdfstest and LTP concerns a mount. $BUILD is what is tested
# (build-asan).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=$((${1:-180} * 60 / 3))
shift || true
parts=("$@")
[ $# -gt 0 ] || parts=(stress files fio)
build=${BUILD:-$PWD/build-asan}
[ -x "$build/tests/filetest" ] || build=$PWD/build-asan
for program in stress-ng fio; do
	command -v "$program" >/dev/null || {
		echo "there is no $program"
		exit 77
	}
done
dir=$(mktemp -d "${TMPDIR:-/tmp}/cellfs-others.XXXXXX")
mnt=$dir/mnt
row=$mnt/others/R
failed=0

# Those that make a file or directory and use it, with what bounds their files: a
# scratch file is in memory.
works=(access chdir chmod chown dentry dir dirdeep dirmany dnotify dup
	"fallocate --fallocate-bytes 4m" fcntl file-ioctl filename flock
	fsize fstat getdent handle "hdd --hdd-bytes 4m" inotify
	"iomix --iomix-bytes 4m" ioprio lease locka lockf lockofd mknod open
	rename touch utime)
# A column's directory holds files and no directories, so these make nothing there.
not_in_columns=" chdir dir inotify "
# Refused, where the filesystem refuses what they are about:
#   link, symlink   no second names (EPERM)
#   xattr           no extended attributes (EOPNOTSUPP)
#   fiemap, verity  a value has no blocks of its own (EOPNOTSUPP, ENOTTY)
refused=(link symlink xattr fiemap verity)
# Of no use:
#   copy-file	    its files have at least 128 MiB: no value or scratch file has
#   chattr, inode-flags
#		    count the flags that they have set, and a cell has none (ENOTTY)
#   fpunch	    stress-ng 0.19 looks for holes also where they are refused (EOPNOTSUPP)
#   sync-file	    stress-ng 0.19 makes a GiB, whatever --sync-file-bytes says
#   io		    sync(2), which never reaches a daemon like this one, and waits for
#		    all disks of the machine
#   fanotify	    marks a whole mount, whose other users would wait for it
#   bind-mount, binderfs, eventfd, procfs
#		    not of files of ours

flunk() {
	echo "FAILED: $*"
	failed=1
}

mount_it() {
	mkdir -p "$mnt"
	"$build/fs/cellfs" "$dir/store" "$mnt" -f \
		-o scratch=any,write_buffer=4M,cache=16M >"$dir/log" 2>&1 &
	daemon=$!
	until mountpoint -q "$mnt"; do
		kill -0 "$daemon"
		sleep 0.05
	done
}

# shellcheck disable=SC2317 # the trap reaches it
finish() {
	fusermount3 -u -z "$mnt" 2>/dev/null || true
	[ -z "${daemon:-}" ] || wait "$daemon" || true
	rm -rf "$dir"
}
trap finish EXIT

# stress PLACE SECONDS STRESSOR...: one process each, all at once.
stress() {
	local place=$1 time=$2 args=() s name words

	shift 2
	mkdir -p "$place"
	for s in "$@"; do
		# A name, and its options.
		read -ra words <<<"$s"
		args+=("--${words[0]}" 1 "${words[@]:1}")
	done
	(cd / && timeout -k 10 $((time + 900)) stress-ng --temp-path "$place" \
		-t "$time" --verify --metrics "${args[@]}") >"$dir/stress" 2>&1 ||
		flunk "stress-ng in ${place#"$dir/"}: $(grep -vE 'metrc|setting to' \
			"$dir/stress" | head -n 8)"
	for s in "$@"; do
		name=${s%% *}
		done_by[$name]=$((${done_by[$name]:-0} + $(awk -v name="$name" '
			$2 == "metrc:" && $4 == name && !n++ {print $5}
			END {if (!n) print 0}' "$dir/stress")))
	done
}

# works_in PLACE FIRST STEP: of those that can do something there, each STEPth.
works_in() {
	local i

	for ((i = $2; i < ${#works[@]}; i += $3)); do
		[[ $1 == */f && $not_in_columns == *" ${works[i]%% *} "* ]] ||
			printf '%s\n' "${works[i]}"
	done
}

must_refuse() {
	local s

	for s in "${refused[@]}"; do
		(cd / && timeout 60 stress-ng --temp-path "$row" -t 1 --"$s" 1) \
			>"$dir/stress" 2>&1 || :
		grep -q skipp "$dir/stress" ||
			flunk "$s is not refused: $(tail -n 3 "$dir/stress")"
	done
}

# Each at once with every fourth of the others. In the first round that is in one
# place, and in each of the following ones in the next.
part_stress() {
	local end=$((SECONDS + seconds)) places=("$mnt" "$mnt/others" "$row/f"
		"$row/.scratch") place here s round=0 i total=0
	local -A done_by=()

	must_refuse
	while [ "$SECONDS" -lt "$end" ] || [ "$round" -eq 0 ]; do
		for i in 0 1 2 3; do
			place=${places[(i + round) % 4]}
			mapfile -t here < <(works_in "$place" "$i" 4)
			stress "$place" $((round < 4 ? 3 : 30)) "${here[@]}"
		done
		round=$((round + 1))
	done
	for s in "${works[@]}"; do
		# Beside others three seconds may be too few.
		[ "${done_by[${s%% *}]:-0}" -gt 0 ] || stress "$mnt/others" 30 "$s"
		s=${s%% *}
		[ "${done_by[$s]:-0}" -gt 0 ] || flunk "$s did nothing"
		total=$((total + ${done_by[$s]:-0}))
	done
	echo "stress: $total operations of ${#works[@]} stressors, $round rounds"
}

part_files() {
	local end=$((SECONDS + seconds)) seed steps=0 pids pid

	mkdir -p "$row/f/u" "$row/f/v"
	while [ "$SECONDS" -lt "$end" ]; do
		seed=$RANDOM
		pids=()
		"$build/tests/filetest" --seed "$seed" --steps 1000 --unlink \
			"$row/f/u/5" &
		pids+=($!)
		"$build/tests/filetest" --seed "$seed" --steps 1000 --unlink \
			"$row/f:p" &
		pids+=($!)
		"$build/tests/filetest" --seed "$seed" --steps 1000 \
			"$row/f/v/latest" &
		pids+=($!)
		for pid in "${pids[@]}"; do
			wait "$pid" || flunk "filetest"
		done
		steps=$((steps + 3000))
	done
	echo "files: $steps steps"
}

# fio NAME OPTION...: writes and verifies, in a column of its own.
fio_job() {
	local name=$1

	shift
	(cd / && timeout -k 10 600 fio --output="$dir/fio" \
		--name="$name" --verify=crc32c --verify_fatal=1 --do_verify=1 --verify_state_save=0 \
		--group_reporting --randseed="$RANDOM" --allow_file_create=1 \
		"$@") >"$dir/said" 2>&1 ||
		flunk "fio $name: $(grep -hE 'err=|verify|fio:|rror' "$dir/fio" \
			"$dir/said" | head -n 5)"
	if ! awk '/write: IOPS/ {w = 1} /read: IOPS/ {r = 1}
		END {exit !(r && w)}' "$dir/fio"; then
		flunk "fio $name: nothing was written and read back"
	fi
	jobs_done=$((jobs_done + 1))
}

part_fio() {
	local end=$((SECONDS + seconds)) i engine jobs_done=0

	for i in 0 1 2 3 4; do
		mkdir -p "$row/f/fio.$i"
	done
	while [ "$SECONDS" -lt "$end" ] || [ "$jobs_done" -eq 0 ]; do
		fio_job whole --rw=write --bs=64k --size=10m \
			--filename="$row"/f/fio.0/latest
		fio_job random --rw=randwrite --bsrange=512-16k --size=2m \
			--filename="$row"/f/fio.1/latest --ioengine=pvsync2
		fio_job mixed --rw=randrw --bs=4k --size=4m --verify_backlog=64 \
			--filename="$row"/f/fio.4/1637056832082 --ioengine=psync
		fio_job synced --rw=randwrite --bs=4k --size=256k --sync=1 \
			--filename="$row"/f/fio.2/latest
		fio_job fsynced --rw=write --bs=4k --size=1m --fsync=16 \
			--fdatasync=8 --filename="$row"/f/fio.2/latest
		fio_job several --rw=randwrite --bs=8k --size=2m --numjobs=4 \
			--directory="$row/f" --filename_format="fio.\$jobnum/latest"
		fio_job scratch --rw=randwrite --bs=4k --size=8m --nrfiles=8 \
			--directory="$row" --filename_format="a.\$filenum.tmp"
		for engine in libaio posixaio io_uring; do
			fio_job "$engine" --rw=randwrite --bs=4k --size=1m \
				--ioengine="$engine" --iodepth=8 \
				--filename="$row"/f/fio.3/latest
		done
		fio_job direct --rw=randwrite --bs=4k --size=1m --direct=1 \
			--filename="$row"/f/fio.3/latest
	done
	echo "fio: $jobs_done jobs, all that they wrote was read back"
}

mount_it
mkdir -p "$row/f"
for part in "${parts[@]}"; do
	case $part in
	stress) part_stress ;;
	files) part_files ;;
	fio) part_fio ;;
	*)
		echo "no part $part" >&2
		exit 2
		;;
	esac
done
find "$mnt" -mindepth 1 -maxdepth 1 -exec rm -rf {} +
fusermount3 -u "$mnt"
wait "$daemon" || flunk "the daemon's exit code was $?"
daemon=
[ ! -s "$dir/log" ] || flunk "the daemon said: $(head -n 40 "$dir/log")"
"$build/tools/cellctl" check "$dir/store" >"$dir/check" 2>&1 ||
	flunk "the store is damaged: $(cat "$dir/check")"
exit $failed
