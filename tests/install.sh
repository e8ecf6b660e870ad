#!/usr/bin/env bash
# An installed copy has its parts in the places where they are looked for: mount(8)
# finds its helper, the shells complete, systemd takes the unit, the pages are
# whole; and `ninja uninstall` leaves nothing.
#
# usage: tests/install.sh BUILD, where BUILD has no sanitizer
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "$1" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
root=$dir/root
fail() {
	printf '%s\n' "$@" >&2
	exit 1
}

DESTDIR=$root meson install -C "$build" --no-rebuild >"$dir/log" || {
	cat "$dir/log"
	exit 1
}
cd "$root"
local=usr/local
lib=$(dirname "$(find $local/lib -name libcellfs.so | sed "s,^$local/,,")")

# All that is installed, and nothing else.
find . \( -type f -o -type l \) | sed 's,^\./,,' | sort >"$dir/is"
sort >"$dir/wanted" <<LIST
sbin/mount.cellfs
$local/bin/cellctl
$local/bin/cellfs
$local/include/cellfs.h
$local/$lib/libcellfs.a
$local/$lib/libcellfs.so
$local/$lib/libcellfs.so.0
$local/$lib/libcellfs.so.$(bin=$local/bin/cellfs && "$bin" --version | sed -n 's/^cellfs //p')
$local/$lib/pkgconfig/cellfs.pc
$local/lib/systemd/system/cellfs@.service
$local/lib/sysusers.d/cellfs.conf
$local/share/bash-completion/completions/cellctl
$local/share/bash-completion/completions/cellfs
$local/share/doc/cellfs/CHANGELOG.md
$local/share/doc/cellfs/LICENSE
$local/share/doc/cellfs/README.md
$local/share/doc/cellfs/examples/example.conf
$local/share/doc/cellfs/examples/grafana.json
$local/share/doc/cellfs/examples/srv-cells.mount
$local/share/doc/cellfs/tools/shape/shape.svg
$local/share/fish/vendor_completions.d/cellctl.fish
$local/share/fish/vendor_completions.d/cellfs.fish
$local/share/man/man1/cellctl.1
$local/share/man/man3/libcellfs.3
$local/share/man/man5/cellfs.5
$local/share/man/man8/cellfs.8
$local/share/man/man8/mount.cellfs.8
$local/share/zsh/site-functions/_cellctl
$local/share/zsh/site-functions/_cellfs
LIST
diff "$dir/wanted" "$dir/is"
[ -d etc/cellfs ]
grep -qx "EnvironmentFile=-/etc/cellfs/%i.conf" "$local/lib/systemd/system/cellfs@.service"
[ "$(readlink sbin/mount.cellfs)" = /usr/local/bin/cellfs ]

# Each file is in one Debian package, or is left out on purpose.
while read -r file; do
	[[ $file == sbin/* ]] && file=usr/$file
	file=${file/usr\/local/usr}
	[[ $file == usr/lib/*libcellfs* || $file == *pkgconfig* ]] &&
		file=${file/usr\/lib\//usr/lib/multiarch/}
	n=0
	while read -r pattern; do
		# shellcheck disable=SC2053
		[[ $file == $pattern || $file == $pattern/* ]] && n=$((n + 1))
	done < <(cat "$here"/../debian/*.install "$here/../debian/not-installed")
	[ $n -eq 1 ] || fail "debian/*.install has $file $n times"
done < <(sed "s,$local/$lib/,$local/lib/," "$dir/is")

# README's pictures are beside it.
while read -r file; do
	[ -e "$local/share/doc/cellfs/$file" ] || fail "README shows $file, which is not there"
done < <(sed -n 's/^!\[.*\](\(.*\))$/\1/p' $local/share/doc/cellfs/README.md)

# A page refers to pages that are installed, or that Debian has.
while read -r page section; do
	[ -e "$local/share/man/man$section/$page.$section" ] ||
		case $page.$section in
		mount.8 | mount.fuse3.8 | fusermount3.1 | fstab.5 | *.[1-357]) ;;
		*) fail "no page $page($section)" ;;
		esac
done < <(cat $local/share/man/man*/* | sed -n 's/^\.Xr \([^ ]*\) \([0-9]\).*/\1 \2/p' | sort -u)

# systemd takes the units; what the example says is where mount units are found.
if command -v systemd-analyze >/dev/null; then
	units=$dir/units
	mkdir "$units"
	sed "s,/usr/local/bin,$root/usr/local/bin," \
		"$local/lib/systemd/system/cellfs@.service" \
		>"$units/cellfs@notes.service"
	cp $local/share/doc/cellfs/examples/srv-cells.mount "$units"
	systemd-analyze verify --man=no "$units/cellfs@notes.service" \
		"$units/srv-cells.mount" 2>&1 | grep "$units" && exit 1
	if grep -E '^(Protect(System|Home|KernelTunables|ControlGroups|Clock|KernelLogs|KernelModules|Proc)|Private|ReadWrite|ReadOnly|Inaccessible|BindPaths|RootDirectory|TemporaryFileSystem|DynamicUser|MountFlags)' \
		"$units/cellfs@notes.service"; then
		fail "this gives the daemon a mount namespace"
	fi
fi

export PATH=$root/usr/local/bin:$PATH
store=$dir/store
cellctl create "$store" notes d:versions=5 e
cellctl create "$store" news
cellctl snapshot "$store" take nightly
cellctl snapshot -t notes "$store" take noon

# in_bash LINE: what bash offers, one a line.
in_bash() {
	LINE=$1 bash --norc --noprofile -c '
		. /usr/share/bash-completion/bash_completion
		. "$0/share/bash-completion/completions/${LINE%% *}"
		COMP_LINE=$LINE COMP_POINT=${#LINE} COMP_TYPE=9 COMP_KEY=9
		# As readline parts a line: a colon is a word of its own.
		read -ra COMP_WORDS <<<"$(sed "s/[:=]/ & /g" <<<"$LINE")"
		[[ $LINE != *[\ :=] ]] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		compopt() { :; }
		"_${LINE%% *}"
		printf "%s\n" "${COMPREPLY[@]}"' "$root/usr/local"
}

# in_zsh LINE: what zsh is given to offer.
in_zsh() {
	LINE=$1 zsh -f -c '
		compadd() { print -r -- "${@[-1]}" }
		_files() { print -r -- "files $*" }
		words=(${(z)LINE})
		[[ $LINE != *" " ]] || words+=("")
		CURRENT=$#words
		. "$0/share/zsh/site-functions/_cellctl"' "$root/usr/local"
}

# The variable is fish's.
# shellcheck disable=SC2016
in_fish() {
	LINE=$1 fish --no-config -c '
		set -p fish_complete_path $argv[1]
		complete -C "$LINE"' "$root/usr/local/share/fish/vendor_completions.d" |
		cut -f 1
}

# offers SHELL LINE WORD...: exactly these.
offers() {
	local shell=$1 line=$2 said

	shift 2
	said=$("in_$shell" "$line" | sed 's/ *$//; /^$/d' | sort | tr '\n' ' ')
	[ "$said" = "$(printf '%s\n' "$@" | sed '/^$/d' | sort | tr '\n' ' ')" ] ||
		fail "$shell offers for '$line': $said"
}

for shell in bash zsh fish; do
	offers $shell "cellctl drop_" drop_all drop_namespace
	offers $shell "cellctl scan --rowp" --rowprefix
	offers $shell "cellctl get $store n" notes news
	offers $shell "cellctl drop $store not" notes
	offers $shell "cellctl put $store notes row " d: e:
	offers $shell "cellctl alter $store notes --delete " d e
	offers $shell "cellctl snapshot -t n" # no store is named yet
	offers $shell "cellctl snapshot $store -t n" notes news
	offers $shell "cellctl snapshot $store drop ni" nightly
	offers $shell "cellctl snapshot -t notes $store drop n" noon
	offers $shell "cellctl delete_snapshot $store n" noon
	offers $shell "cellctl clone_snapshot -t news $store n"
	offers $shell "cellctl snapshot $store re" rename restore
	offers $shell "cellctl get $dir/none n"
done
[ "$(cellctl complete get '')" = :directories ]
[ "$(cellctl complete backup s '')" = :directories ]
[ "$(cellctl complete create --schema '')" = :files ]
offers bash "cellctl help sn" snapshot
for shell in bash fish; do
	offers $shell "cellfs --h" --help
	offers $shell "cellfs -o nodelete,show_" nodelete,show_control
done

for file in "$root"/usr/local/share/zsh/site-functions/*; do
	zsh -n "$file"
done

# Who may not write there is told of sudo, and only by an installation.
may_install() {
	local as=()

	[ "$(id -u)" != 0 ] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	"${as[@]}" env -u DESTDIR bash -c 'sh -s /build /dev/null /usr/none; exit $?' "$@" \
		<"$here/../tools/install/may-install.sh" 2>&1
}
! said=$(may_install meson install) || fail "who may not write in /usr installs there"
[[ $said == "/usr cannot be written: sudo meson install -C /build" ]] || fail "$said"
may_install meson compile
may_install meson install --destdir=/none

cd "$dir"
ninja -C "$build" uninstall >"$dir/log" || {
	cat "$dir/log"
	exit 1
}
[ ! -e "$root" ] || fail "uninstall leaves:" "$(find "$root")"
