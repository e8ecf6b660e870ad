#!/bin/sh
# The one-way picture of the parts, checked:
#
#	tools -> fs -> store.h      store/ knows nothing of FUSE, fs/ nothing
#	           -> value types   of sstables; the OS is behind one door
#
# usage: tests/layering.sh [SOURCE_DIR]
set -u
cd "${1:-$(dirname "$0")/..}" || exit 2
bad=0

complain() {
	printf '%s\n' "$2" | sed "s|^|$1: |"
	bad=1
}

# What fs/ and tools/ may include of store/.
found=$(grep -nE '^#include "store/' fs/*.[ch] tools/*.[ch] 2>/dev/null |
	grep -vE '"store/(store|cell|schema|bytes|filter|served|why|thread)\.h"')
[ -z "$found" ] || complain "not for fs/ and tools/" "$found"

# store/ includes nothing of fs/ or libfuse.
found=$(grep -rnE '^#include ("fs/|<fuse)' store --include='*.[ch]')
[ -z "$found" ] || complain "store/ must not know of the mount" "$found"

# Outside lsm/ only open.c, which picks the backend, looks into it.
found=$(grep -nE '^#include "store/(lsm|hbase)/' store/*.[ch] |
	grep -v '^store/open\.c:')
[ -z "$found" ] || complain "a backend is reached by its vtable" "$found"

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
[ -z "$found" ] || complain "the OS is reached by store/os.h" "$found"

exit $bad
