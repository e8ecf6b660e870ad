#!/bin/sh
# Part of each build: ends it if it was started by `meson install` or `ninja install`
# of a user who may not write where it goes. Meson itself would show a traceback.
#
# usage: may-install.sh BUILD OUTPUT DIR...
set -eu
build=$1
: >"$2"
shift 2
[ -z "${DESTDIR:-}" ] || exit 0

pid=$PPID
while [ "$pid" -gt 1 ]; do
	# Of others' processes nothing may be told (hidepid).
	[ -r "/proc/$pid/status" ] || exit 0
	case "$(tr '\0' ' ' <"/proc/$pid/cmdline") " in
	*--destdir*) exit 0 ;;
	*meson*" install "* | *ninja*" install "*) break ;;
	esac
	pid=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status")
done
# Meson may build as somebody else than who installs.
[ "$pid" -gt 1 ] && [ "$(stat -c %u "/proc/$pid")" != 0 ] || exit 0
for dir; do
	while [ ! -e "$dir" ]; do
		dir=$(dirname "$dir")
	done
	[ -w "$dir" ] || {
		printf '%s\n' "$dir cannot be written: sudo meson install -C $build" >&2
		exit 1
	}
done
