#!/bin/sh
# The version is the same wherever it is said: in meson.build, which the programs
# have theirs from, CHANGELOG.md and debian/changelog. `meson dist` makes no archive
# otherwise, nor one with the version of a tag that is on another commit, and says
# whether that is the release: of the commit that has the tag.
#
# usage: tests/versions.sh
set -eu
cd "${MESON_DIST_ROOT:-$(dirname "$0")/..}"
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
for said in "CHANGELOG.md:$(sed -n 's/^## \([^ ,]*\).*/\1/p' CHANGELOG.md | head -n 1)" \
	"debian/changelog:$(sed -n '1s/^cellfs (\([^-)]*\).*/\1/p' debian/changelog)"; do
	[ "${said#*:}" = "$version" ] || {
		echo "versions: meson.build says $version, ${said%%:*} ${said#*:}" >&2
		exit 1
	}
done
[ -n "${MESON_DIST_ROOT:-}" ] || exit 0
cd "$MESON_SOURCE_ROOT"
! git tag --points-at HEAD | grep -qx "v$version" || exit 0
[ -z "$(git tag --list "v$version")" ] || {
	echo "versions: the tag v$version is on another commit: say a new version" >&2
	exit 1
}
# Meson keeps to itself what a script prints that did not fail.
echo "not a release: the tag v$version is not on this commit" 2>/dev/null >>"/proc/$PPID/fd/2" ||
	:
