#!/usr/bin/env bash
# Every header compiles alone, and names no folder but its own layer's; what
# programs include does as C17 and as C++17, with no macro to be set.
set -euo pipefail
cd "$(dirname "$0")/.."
flags=$(pkg-config --cflags fuse3)
status=0
while read -r header; do
	# shellcheck disable=SC2086 # flags are words
	gcc -std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 \
		-Wall -Wextra -Werror -I. -fsyntax-only $flags -x c \
		-include "$header" /dev/null || status=1
done < <(git ls-files 'store/*.h' 'fs/*.h' 'tools/*.h')
while read -r header; do
	gcc -std=c17 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c \
		-include "$header" /dev/null || status=1
	g++ -std=c++17 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c++ \
		-include "$header" /dev/null || status=1
done < <(git ls-files 'include/*.h')
exit $status
