#!/bin/sh
# What no symbol tells of the one-way picture of the parts; who uses whom is
# tests/layering.py, from a build.
#
# usage: tests/layering.sh [SOURCE_DIR]
set -u
cd "${1:-$(dirname "$0")/..}" && [ -e meson.build ] || exit 2
bad=0

complain() {
	printf '%s\n' "$2" | sed "s|^|$1: |"
	bad=1
}

# The mount alone speaks to FUSE, and what it is measured against.
found=$(grep -rnE '^#include [<"].*fuse' store tools --include='*.[ch]' |
	grep -v '^tools/mounts/null[.]c:')
[ -z "$found" ] || complain "only fs/ may know of FUSE" "$found"
found=$(grep -rnE '^#include <fuse' fs/text fs/host --include='*.[ch]')
[ -z "$found" ] || complain "cellctl uses it without FUSE" "$found"

# Files, clocks and randomness come through os_posix.c and os_lock.c alone, memory
# in pages through os_pages.c, the bytes of a store that is served through
# remote/channel.c.
calls='open|openat|creat|read|pread|preadv|write|pwrite|pwritev|pwritev2'
calls="$calls|fsync|fdatasync"
calls="$calls|rename|renameat|renameat2|unlink|unlinkat|mkdir|mkdirat|rmdir"
calls="$calls|ftruncate|truncate|fallocate|stat|fstat|lstat|fstatat|opendir"
calls="$calls|fdopendir|readdir|closedir|flock|fcntl|mmap|munmap|fopen"
calls="$calls|clock_gettime|time|gettimeofday|getrandom|rand|random|usleep"
calls="$calls|nanosleep|sleep"
found=$(find store -name '*.c' ! -name os_posix.c ! -name os_lock.c ! -name os_pages.c \
	! -name channel.c -exec \
	grep -nHE "(^|[^a-zA-Z0-9_>.])($calls)\(" {} + |
	grep -vE ':[0-9]+:[[:space:]]*(/?\*|//)' |
	grep -vE ':[0-9]+:static ')
[ -z "$found" ] || complain "the OS is reached by store/os/os.h" "$found"

# gcc and clang say it in two ways, and who asks for one forgets the other.
found=$(grep -rnE '__SANITIZE_|__has_feature' store fs tools tests --include='*.[ch]' |
	grep -v '^store/value/sanitizer[.]h:')
[ -z "$found" ] || complain "store/value/sanitizer.h tells of sanitizers" "$found"

exit $bad
