# What kill.sh and power.sh share: many runs of killtest, and their sum.
# shellcheck shell=bash disable=SC2154 # build: of who reads this

# campaign CYCLES SEED CYCLES-A-STORE [ARG...]: killtest, with the arguments.
campaign() {
	local left=$1 seed=$2 each=$3 dir n=0 cycles options

	shift 3
	ninja -C "$build" fs/cellfs tools/cellctl tests/killtest \
		tests/cellfs-cut >/dev/null
	dir=$(mktemp -d "${TMPDIR:-/tmp}/cellfs-kill.XXXXXX")
	mkdir "$dir/mnt"
	options=("write_buffer=64M" "write_buffer=1M,cache=1M" "sync")
	echo "from seed $seed"
	for (( ; left > 0; left -= cycles, n++)); do
		cycles=$((left < each ? left : each))
		rm -rf "$dir"/store*
		"$build/tests/killtest" --cycles "$cycles" --work "${WORK:-100}" \
			--seed $((seed + n)) \
			--option "${options[n % ${#options[@]}]}" "$@" \
			"$build/fs/cellfs" "$dir/store" "$dir/mnt" \
			>"$dir/out" || {
			tail -n 5 "$dir/out"
			echo "the store: $dir/store" >&2
			return 1
		}
		tail -n 1 "$dir/out" >>"$dir/sums"
		"$build/tools/cellctl" check "$dir/store" >/dev/null
	done
	awk '{c += $1; a += $5; f += $14; l += $20; k += $27}
		END {print c " cycles: all of " a " acknowledged changes are " \
			"there; " f " in flight at the signals, " l " lost of " \
			"them that nobody synced, " k " looks"}' "$dir/sums"
	fusermount3 -u -z "$dir/mnt.image" 2>/dev/null || true
	rm -rf "$dir"
}
