#!/bin/sh
# Is each source formatted as .clang-format says? Exits with 77 where clang-format is
# not of version 14: others put some blanks elsewhere.
#
# usage: tests/format.sh SOURCE...
clang-format --version | grep -q 'version 14\.' || {
	echo "no clang-format 14 is here"
	exit 77
}
exec clang-format --dry-run -Werror "$@"
