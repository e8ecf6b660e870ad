#!/usr/bin/env bash
# What an administrator does with the Debian packages, in a clean Debian in a folder
# (mmdebstrap), and the static build in a folder that has nothing else.
#
# The packages and their source are built of a clean clone and lintian finds nothing.
# There they are installed; an ordinary user mounts a store by cellfs and by fstab,
# writes and reads; a newer version is installed over them under a mount, which serves
# on, and again at rest; removed and purged they leave no file but the user's. A minute
# and a half. With the word systemd that is process 1 there then, and runs the unit, also
# when the daemon dies or hangs: not every machine lets it.
#
# usage: tests/packages.sh [systemd]
# 77: it cannot be tried here, and the line before says why.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$PWD/build-packages
jobs=$(nproc)

if [ "$(id -u)" != 0 ]; then
	echo "packages: only root can install in a folder: sudo $0"
	exit 77
fi
for tool in dpkg-buildpackage lintian mmdebstrap; do
	command -v "$tool" >/dev/null || {
		echo "packages: no $tool: this is for Debian, and tests/run installs it"
		exit 77
	}
done
rm -rf "$work"
mkdir -p "$work/debs/1" "$work/debs/2"

fail() {
	printf '%s\n' "packages: $*" >&2
	exit 1
}

# logged FILE COMMAND...: its output is shown when it fails.
logged() {
	local log=$work/$1.log

	shift
	"$@" >"$log" 2>&1 || {
		tail -n 40 "$log" >&2
		fail "$* failed"
	}
}

# What is packed here is unpacked at once.
export DPKG_DEB_COMPRESSOR_LEVEL=0

echo "== build"
git clone -q . "$work/source"
(
	cd "$work/source"
	export DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=$jobs"
	export DEB_CFLAGS_MAINT_APPEND="-Og -g0 -DXXH_NO_INLINE_HINTS=1"
	logged build dpkg-buildpackage -us -uc --source-option=-z1
)
# Each release of Debian knows a newer policy.
said=$(lintian --allow-root --display-info --pedantic --tag-display-limit 0 \
	--suppress-tags out-of-date-standards-version \
	"$work"/*.changes 2>&1)
[ -z "$said" ] || fail "lintian: $said"
mv "$work"/*.deb "$work/debs/1"

# The same as the version after it.
for deb in "$work"/debs/1/*.deb; do
	dir=$work/next/$(basename "$deb" .deb)
	mkdir -p "$work/next"
	dpkg-deb -R "$deb" "$dir"
	version=$(dpkg-deb -f "$deb" Version)
	sed -i "s/^Version: .*/&+1/; s/(= $version)/(= $version+1)/" \
		"$dir/DEBIAN/control"
	dpkg-deb -b --root-owner-group "$dir" "$work/debs/2" >/dev/null
done

echo "== a clean Debian"
# What the packages depend on; of two that will do the one without a daemon, unless that
# is to be tried.
[ "${1:-}" = systemd ] && without= || without='s/systemd | //'
depends=$(for deb in "$work"/debs/1/*.deb; do
	dpkg-deb -f "$deb" Depends | tr ',' '\n'
done | sed -e "$without" -e 's/ |.*//; s/ *(.*//; s/^ *//; /^libcellfs0$/d' | sort -u |
	paste -s -d ,)
root=$work/root
logged root mmdebstrap --variant=minbase --include="$depends" \
	--aptopt='Acquire::Retries "4"' --dpkgopt=force-unsafe-io \
	"$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root"
cp -r "$work/debs" "$root/tmp/debs"
mknod -m 666 "$root/dev/fuse" c 10 229
# As every Debian that was booted has it.
ln -sf ../proc/self/mounts "$root/etc/mtab"

cat >"$root/tmp/try" <<'TRY'
set -euo pipefail
trap 'echo "line $LINENO: $BASH_COMMAND" >&2' ERR
mount -t proc proc /proc
joe() {
	(cd /home/joe && runuser -u joe -- "$@")
}
all_files() {
	find / -xdev \( -path /proc -o -path /tmp -o -path /home -o -path /var/lib/dpkg \
		-o -path /var/log -o -path /var/cache -o -path /run -o -path /etc/fstab \) -prune -o -print | sort
}
useradd -m joe
all_files >/tmp/before
cut -d : -f 1 /etc/passwd >/tmp/users
dpkg -i /tmp/debs/1/*.deb

joe mkdir mnt
joe cellfs store mnt
joe mkdir -p mnt/notes/monday
joe sh -c 'echo tea >mnt/notes/monday/d:text'
[ "$(joe cellctl get mnt notes monday d:text --values)" = tea ]

echo "-- upgrade under the mount"
dpkg -i /tmp/debs/2/*.deb
[ "$(joe cat mnt/notes/monday/d:text)" = tea ]
joe sh -c 'echo milk >mnt/notes/monday/d:text'
[ "$(joe cellctl get mnt notes monday d:text --values)" = milk ]
joe fusermount3 -u mnt

echo "-- by fstab, with both types, and by root"
for type in cellfs fuse.cellfs; do
	echo "/home/joe/store /home/joe/mnt $type noauto,user 0 0" >/etc/fstab
	joe mount mnt
	grep -q ' /home/joe/mnt fuse.cellfs .*user_id=' /proc/self/mounts
	[ "$(joe cat mnt/notes/monday/d:text)" = milk ]
	joe umount mnt
done
: >/etc/fstab
mkdir /tmp/mnt
mount -t fuse.cellfs /home/joe/store /tmp/mnt -o ro
[ "$(cat /tmp/mnt/notes/monday/d:text)" = milk ]
umount /tmp/mnt

echo "-- upgrade at rest"
dpkg -i /tmp/debs/1/*.deb
dpkg -i /tmp/debs/2/*.deb
# Whoever unmounted last may not have closed the store yet: it is waited for.
[ "$(joe cellctl get store notes monday d:text --values)" = milk ]
[ "$(joe cellctl check store)" = "store: 0 faults" ]

echo "-- remove, purge"
touch /etc/cellfs/notes.conf
dpkg -r cellfs libcellfs-dev libcellfs0
[ -e /etc/cellfs/notes.conf ]
dpkg -P cellfs libcellfs-dev libcellfs0
all_files >/tmp/after
diff /tmp/before /tmp/after
# A system user is not taken away, in Debian: files may be its.
[ "$(cut -d : -f 1 /etc/passwd | diff /tmp/users - | grep '^[<>]')" = "> cellfs" ]
[ -e /home/joe/store ]
TRY
unshare --mount --pid --fork chroot "$root" bash /tmp/try

# What systemd does with the unit, in the root where it is process 1.
try_systemd() {
	cat >"$root/root/try-unit" <<'TRY'
set -euo pipefail
trap 'echo "line $LINENO: $BASH_COMMAND" >&2' ERR
cell=/srv/cellfs/notes/T/R/d:q
# pid: that of the daemon.
pid() {
	local pid

	pid=$(systemctl show -p MainPID --value cellfs@notes)
	[ "$pid" -gt 1 ]
	echo "$pid"
}
# anew PID: another one serves, as soon as systemd has started it.
anew() {
	local i

	for ((i = 0; i < 300; i++)); do
		sleep 0.1
		[ "$(systemctl is-active cellfs@notes)" = active ] &&
			[ "$(pid)" != "$1" ] && [ "$(cat $cell)" = tea ] && return
	done
	return 1
}
echo 'OPTIONS=allow_other,cache=32M' >/etc/cellfs/notes.conf
mkdir -p /etc/systemd/system/cellfs@notes.service.d
printf '[Service]\nWatchdogSec=2\n' >/etc/systemd/system/cellfs@notes.service.d/soon.conf
systemctl daemon-reload
systemctl start cellfs@notes || {
	journalctl --no-pager -u cellfs@notes
	false
}
[ "$(stat -c %a /srv/cellfs)" = 755 ]
mkdir -p /srv/cellfs/notes/T/R
echo tea >$cell
grep -qx 'cache 33554432' /srv/cellfs/notes/.cellfs/options
grep -q '^seccomp yes' /srv/cellfs/notes/.cellfs/status
# Others, too.
[ "$(runuser -u joe -- cat $cell)" = tea ]
for signal in KILL STOP; do
	was=$(pid)
	kill -$signal "$was"
	anew "$was"
done
systemctl stop cellfs@notes
[ ! -e $cell ]
cp /usr/share/doc/cellfs/examples/srv-cells.mount /etc/systemd/system
systemctl daemon-reload
systemctl start srv-cells.mount
mkdir /srv/cells/T
systemctl stop srv-cells.mount
[ ! -e /srv/cells/T ]
TRY
	cat >"$root/etc/systemd/system/try.service" <<'UNIT'
[Unit]
SuccessAction=exit
FailureAction=exit
FailureActionExitStatus=1
[Service]
Type=oneshot
TimeoutStartSec=2min
ExecStart=/bin/bash /root/try-unit
StandardOutput=file:/root/said
StandardError=file:/root/said
UNIT
	# Nothing of it is the machine's: neither devices nor groups of processes.
	cat >"$work/boot" <<'BOOT'
set -euo pipefail
root=$1
mount --rbind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/sys/fs"
mkdir "$root/sys/fs/cgroup"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
while read -r name major minor; do
	mknod -m 666 "$root/dev/$name" c "$major" "$minor"
done <<-END
	null 1 3
	zero 1 5
	random 1 8
	urandom 1 9
	tty 5 0
	fuse 10 229
END
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
exec chroot "$root" env -i container=chroot PATH="$PATH" /lib/systemd/systemd \
	--unit=try.service --show-status=0 --log-target=null
BOOT
	cat >"$work/apart" <<'APART'
set -euo pipefail
mount -t cgroup2 cgroup2 "$1/cgroup"
mkdir "$1/cgroup/cellfs-$$"
code=0
bash -c 'echo $$ >"$1" && shift && exec "$@"' - "$1/cgroup/cellfs-$$/cgroup.procs" \
	unshare --mount --pid --fork --uts --ipc --cgroup bash "$1/boot" "$1/root" || code=$?
find "$1/cgroup/cellfs-$$" -depth -type d -exec rmdir {} \;
exit $code
APART
	echo "== systemd"
	unshare --mount --pid --fork chroot "$root" bash -euc \
		'mount -t proc proc /proc && dpkg -i /tmp/debs/2/*.deb' >"$work/again.log"
	mkdir "$work/cgroup"
	unshare --mount bash "$work/apart" "$work" </dev/null >"$work/boot.log" 2>&1 || {
		cat "$work/boot.log" "$root/root/said" >&2
		fail "the unit does not do what it is for"
	}
}
[ "${1:-}" != systemd ] || try_systemd

echo "== static"
logged setup meson setup "$work/static" -Dprefer_static=true -Dtests=disabled \
	-Doptimization=0 -Ddebug=false
logged static meson install -C "$work/static" --destdir "$work/installed"
bare=$work/bare
mkdir -p "$bare/dev" "$bare/proc" "$bare/mnt" "$bare/tmp"
mknod -m 666 "$bare/dev/fuse" c 10 229
cp "$work"/installed/usr/local/bin/* "$bare"
chroot "$bare" /cellctl create /store notes d
chroot "$bare" /cellctl put /store notes monday d:text tea
# It has no shell either: what is mounted is looked at from outside.
export bare
# shellcheck disable=SC2016 # the inner shell expands
unshare --mount --pid --fork --mount-proc bash -euc '
	mount -t proc proc "$bare/proc"
	chroot "$bare" /cellfs /store /mnt
	[ "$(cat "$bare/mnt/notes/monday/d:text")" = tea ]
	echo milk >"$bare/mnt/notes/monday/d:text"
	[ "$(chroot "$bare" /cellctl get /mnt notes monday d:text --values)" = milk ]
	umount "$bare/mnt"
'
rm -rf "$work"
echo "packages: done"
