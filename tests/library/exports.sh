#!/usr/bin/env bash
# What libcellfs shows is what cellfs.h declares: no name more, none less. The
# manual page names each of them and the tests of this folder use it. And nothing
# that it takes from the C library asks for the locale that the program has set.
#
# usage: tests/library/exports.sh SOURCE LIBRARY.so LIBRARY.a
set -euo pipefail
source=$1
status=0
declared=$(gcc -std=c17 -E -P "$source/include/cellfs.h" | tr '\n' ' ' | tr ';' '\n' |
	grep -F 'visibility("default")' | grep -oE '\*?cellfs_[a-z_]+\(' |
	tr -d '*(' | sort)
[ "$(wc -l <<<"$declared")" -gt 30 ] || {
	echo "found too few functions in cellfs.h: $declared" >&2
	status=1
}

# same NAME: the names on stdin are those that cellfs.h declares.
same() {
	diff <(echo "$declared") <(awk '{ print $3 }' | sort) || {
		echo "$1 shows other names than cellfs.h declares" >&2
		status=1
	}
}

same "$2" < <(nm -D --defined-only "$2")
same "$3" < <(nm --extern-only --defined-only "$3" | grep ' [A-Z] ')
for name in $declared; do
	grep -qE "\b$name\(" "$source"/tests/library/*.[ch] || {
		echo "no test calls $name()" >&2
		status=1
	}
	grep -qE "^\.Fn $name " "$source/store/library/libcellfs.3" || {
		echo "libcellfs.3 does not name $name()" >&2
		status=1
	}
done
if nm -D --undefined-only "$2" | grep -E ' (__ctype|is[a-z]+|to(low|upp)er|strto[fd]|str(n?case)?coll|strn?casecmp)[a-z_]*(@|$)'; then
	echo "libcellfs.so decides by the locale of the program" >&2
	status=1
fi
exit $status
