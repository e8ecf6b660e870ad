# shellcheck shell=bash disable=SC2034,SC2154
# What the tests of cellctl share: a store that is not mounted, with the table
# t of the families d and e.

load helper

TAB=$'\t'

setup() {
	T=$BATS_TEST_TMPDIR
	STORE=$T/store
	M=$T/mnt
	LOG=$T/log
	ctl create "$STORE" t d:versions=5 e
}

ctl() {
	"$CELLCTL" "$@"
}

# is EXPECTED COMMAND...: the words that a command prints, one blank between.
is() {
	local want=$1 got

	shift
	got=$("$@" | tr -s '\n\t' ' ')
	[ "$got" = "$want${want:+ }" ] || {
		echo "expected '$want', got '$got': $*" >&2
		return 1
	}
}

# says CODE TEXT ARGUMENTS...: fails so, and so says standard error.
says() {
	local code=$1 text=$2

	shift 2
	run --separate-stderr -"$code" "$CELLCTL" "$@"
	[[ $stderr == *"$text"* ]] || {
		echo "'$text' is not in: $stderr" >&2
		return 1
	}
	[ -z "$output" ]
}

# rows of a scan in one line.
rows() {
	ctl scan "$STORE" t --rows "$@" | tr '\n' ' '
}

# cells of a scan in one line: row/column@timestamp=value.
cells() {
	ctl scan "$STORE" t "$@" | awk -F '\t' '{
		printf("%s/%s@%s=%s%s ", $1, $2, $3, $4,
			(NF > 4 ? "!" $5 : "")) }'
}
